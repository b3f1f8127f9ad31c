"""How lines and calls of functions are observed: by ``sys.monitoring``, or by a trace function."""
