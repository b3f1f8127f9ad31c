"""How a graph is folded into boxes: by modules, repeated parts and views."""
