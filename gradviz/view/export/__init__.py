"""Files: SVG, PNG, PDF, DOT, HTML, JSON, CSV."""
