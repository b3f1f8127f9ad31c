"""Notebooks as pages and slides that need no kernel and no network."""
