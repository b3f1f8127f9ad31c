"""What a graph keeps in memory for backward: by node, module and line."""
