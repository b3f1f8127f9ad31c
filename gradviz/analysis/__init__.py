"""Findings from recorded data: explanations, audits, counts of memory and comparisons.

Plain data in, plain data out: this package imports neither torch nor anything that draws.
"""
