"""The models whose nodes are placed: those of the gallery, and more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tests.placement.architectures.entry import MODELS


def gallery_models(only_torch: bool = False) -> dict[str, Callable[[], Any]]:
    """What makes each model of the gallery with its loss, by name.

    Args:
        only_torch: Whether models of other packages, and slow ones, are left out.
    """
    found: dict[str, Callable[[], Any]] = {}
    if find_spec("tests.models") is not None:
        gallery: Any = import_module("tests.models.gallery")
        for model in gallery.GALLERY:
            is_here = all(find_spec(name) is not None for name in model.needs)
            if is_here and not (only_torch and (model.needs or model.is_slow)):
                found[model.name] = model.build
    return found


def other_models() -> dict[str, Callable[[], Any]]:
    """Models in other forms, most of them small: many make little in blocks, and much outside."""
    for name in ("attention", "convolutions", "others"):  # which add theirs to the list
        import_module(f"tests.placement.architectures.{name}")
    return MODELS
