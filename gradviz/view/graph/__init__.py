"""From a graph to its picture: cards, layout, SVG, highlights."""
