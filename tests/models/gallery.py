"""Models as people build them, small and with random weights. This is the only list of them.

Each gives its model, a loss and a whole step of training; see :mod:`tests.models.entry`. Those
that need packages of the extra ``models``, and those that take seconds, are tested by
``make test-models``, the others by ``make test`` too.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.models import libraries, recurrent, training, vision
from tests.models.entry import Built, Model

__all__ = ["EACH", "GALLERY", "Built", "Model", "named"]

GALLERY: Final[tuple[Model, ...]] = (
    *vision.MODELS,
    *recurrent.MODELS,
    *training.MODELS,
    *libraries.MODELS,
)
EACH: Final = [
    pytest.param(
        model, id=model.name, marks=pytest.mark.models if model.needs or model.is_slow else ()
    )
    for model in GALLERY
]
"""The same for ``pytest.mark.parametrize``."""


def named(name: str) -> Model:
    """The model with this name."""
    return next(model for model in GALLERY if model.name == name)
