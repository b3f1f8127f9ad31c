"""Which node of one graph is which node of the other."""
