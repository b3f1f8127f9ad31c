"""What everything that is shown besides pictures of graphs consists of, and the three writers:
text, HTML, data for the browser."""
