"""Changes to the user's code after which it works, for errors and for silent faults alike."""
