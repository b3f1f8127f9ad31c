"""How nodes compute gradients, for learners: trees, their text and their numbers."""

from gradviz.model.derivatives.table import Gradient, gradient_of, rule_of, shapes_behind, table
from gradviz.model.derivatives.wording import calculation_of, words_of

__all__ = [
    "Gradient",
    "calculation_of",
    "gradient_of",
    "rule_of",
    "shapes_behind",
    "table",
    "words_of",
]
