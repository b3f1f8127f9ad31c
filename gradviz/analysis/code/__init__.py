"""The lines of the user's code as syntax: statements, calls in them, and what may be changed."""
