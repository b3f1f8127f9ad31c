"""Which parts each thing consists of that is shown besides pictures of graphs."""
