"""One sentence per step of a recording: what happened, and why."""
