"""Which parameters get a gradient from a loss, why others get none, and what is updated."""
