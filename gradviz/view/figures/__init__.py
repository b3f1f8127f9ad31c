"""Drawn figures of a report: memory over time, and who keeps it."""
