"""Everything of the model as text: what ``print`` writes and nbval compares."""
