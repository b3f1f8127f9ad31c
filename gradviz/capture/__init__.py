"""From live torch objects to the model: the only room that imports torch to read it.

``autograd`` is the only place that touches torch's private attributes; ``deep_graphs`` keeps deep
graphs from overflowing the C stack when torch frees them, which every reader of this room
should know about; ``threads`` refuses to read a graph that another thread runs backward on.
"""
