"""No node is placed wrongly in random trees of modules; recordings are the oracle."""

from __future__ import annotations

import pytest

from tests.each import each
from tests.placement.oracle import Judged, judged
from tests.placement.random_models import random_model

_FEW = range(12)


def placed_wrongly(seed: int) -> list[Judged]:
    made = random_model(seed)
    return [one for one in judged(lambda: made) if one.is_wrong] if made is not None else []


@each("seed", _FEW)
def test_no_node_of_a_few_random_models_is_placed_wrongly(seed: int) -> None:
    assert not placed_wrongly(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(len(_FEW), 512, 50))
def test_no_node_of_many_random_models_is_placed_wrongly(first: int) -> None:
    wrong = {seed: placed_wrongly(seed) for seed in range(first, first + 50)}
    assert not {seed: found for seed, found in wrong.items() if found}
