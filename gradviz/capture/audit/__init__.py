"""What an audit reads: parameters, losses, the optimizer, tensors around the graph."""
