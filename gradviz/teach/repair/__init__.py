"""Exercises: a program that a learner repairs, judged by what it does."""
