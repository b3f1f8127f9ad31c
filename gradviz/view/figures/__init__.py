"""Drawn figures of a report: memory over time, and the nodes that keep it."""
