"""What torch passes over: one detector per fault that makes a gradient or an update wrong."""
