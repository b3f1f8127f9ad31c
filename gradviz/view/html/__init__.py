"""HTML without script, for notebooks that are not trusted and for pages."""
