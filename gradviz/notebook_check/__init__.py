"""Runs notebooks again and compares what they show with what is stored in them."""
