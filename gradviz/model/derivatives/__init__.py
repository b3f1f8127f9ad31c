"""How nodes compute gradients, in the language of a learner: trees, their text and their numbers."""

from gradviz.model.derivatives.table import Gradient, gradient_of, rule_of, shapes_behind, table
from gradviz.model.derivatives.wording import words_of

__all__ = ["Gradient", "gradient_of", "rule_of", "shapes_behind", "table", "words_of"]
