"""What a cell shows: the widgets of a picture, a player and a report."""
