"""How a graph is folded: by modules and repeated parts, each box in one fold."""
