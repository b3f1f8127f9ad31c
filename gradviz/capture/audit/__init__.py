"""What an audit reads from live objects: parameters, losses, the optimizer, tensors around the graph."""
