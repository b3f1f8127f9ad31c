"""The labelled fields of an explanation, and what their words link to."""
