"""Errors that torch raises: one detector per family finds what led to them."""
