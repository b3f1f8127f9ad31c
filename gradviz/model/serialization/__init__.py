"""Graphs and recordings as JSON documents, and back."""
