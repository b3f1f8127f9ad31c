"""From the model to findings: what went wrong, who gets a gradient, what is kept, what differs.

Plain data in, plain data out: nothing in this room knows torch, and nothing draws.
"""
