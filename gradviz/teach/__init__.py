"""Questions, experiments and expected errors for lessons."""
