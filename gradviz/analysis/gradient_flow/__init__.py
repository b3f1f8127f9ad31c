"""How gradients flow through a recording: norms, zeros, steps that moved nothing."""
