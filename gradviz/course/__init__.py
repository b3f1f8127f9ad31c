"""What the lessons need beside their notebooks, so that a learner's folder holds notebooks and
nothing else, and no notebook holds an answer."""
