"""Questions about code that really runs: its value is the key."""
