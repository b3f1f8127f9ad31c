"""What the tests of the gallery share: generators as before, and warnings of other packages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import torch

OTHERS: Final = (
    # peft asks transformers for what transformers has renamed.
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning",
    # lightning asks torch for what torch has renamed.
    "ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:FutureWarning",
)
"""Warnings of a package about another; every other one is an error here too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in OTHERS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(autouse=True)
def _generators_go_on_as_before() -> Iterator[None]:
    state = random.getstate()
    with torch.random.fork_rng(devices=[]):
        yield
    random.setstate(state)
