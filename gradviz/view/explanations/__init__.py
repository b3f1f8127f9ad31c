"""An explanation with its fields, links and card."""
