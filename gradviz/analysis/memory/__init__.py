"""What a graph keeps in memory for backward, and who keeps it."""
