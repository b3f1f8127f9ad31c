"""What the browser gets: one JSON document per picture, recording, report and explanation."""
