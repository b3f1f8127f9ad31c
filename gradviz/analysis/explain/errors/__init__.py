"""Errors that torch raises: one detector per family, which finds in the recording what led to it."""
