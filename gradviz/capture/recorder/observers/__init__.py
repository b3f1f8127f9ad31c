"""What is written down while code runs: one class per kind of event, one protocol for all."""
