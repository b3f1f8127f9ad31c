"""The lines of the user's code as syntax, and what follows from it."""
