"""Nodes are placed where recordings see that they are made, in models in pure torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.placement.models import models
from tests.placement.oracle import Judged, judged
from tests.placement.tables import AIMS, percentages, table

Rows = Mapping[str, Sequence[Judged]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return {name: judged(make) for name, make in models(only_torch=True).items()}


@pytest.mark.parametrize("aim", AIMS)
def test_the_aims_are_reached(rows: Rows, aim: str) -> None:
    assert percentages(rows)[aim] >= AIMS[aim]


def test_of_no_model_is_a_node_placed_wrongly(rows: Rows) -> None:
    wrong = [(name, one) for name, nodes in rows.items() for one in nodes if one.is_wrong]
    assert not wrong


def test_what_is_not_seen_is_said_to_be_inferred(rows: Rows) -> None:
    for nodes in rows.values():
        assert not any(one.placed is None for one in nodes if one.is_inferred)
        assert any(one.is_inferred for one in nodes) == any(one.placed is not None for one in nodes)


def test_the_table_has_a_row_per_model(rows: Rows) -> None:
    lines = list(table(rows))
    assert [line.split("  ")[0] for line in lines[1 : 1 + len(rows)]] == list(rows)
