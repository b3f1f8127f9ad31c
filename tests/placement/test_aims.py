"""Nodes are placed where recordings see that they are made, in models in pure torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.placement.models import gallery_models, other_models
from tests.placement.oracle import Judged, judged
from tests.placement.tables import AIMS, percentages, table

Rows = Mapping[str, Sequence[Judged]]


@pytest.fixture(scope="module")
def gallery() -> Rows:
    return {name: judged(make) for name, make in gallery_models(only_torch=True).items()}


@pytest.fixture(scope="module")
def others() -> Rows:
    return {name: judged(make) for name, make in other_models().items()}


@pytest.mark.parametrize("aim", AIMS)
def test_the_aims_are_reached(gallery: Rows, aim: str) -> None:
    """Large models need other packages; in small ones code outside makes many of the nodes."""
    small = {"at block level": "at block level, of nodes that blocks made"}
    assert percentages(gallery)[small.get(aim, aim)] >= AIMS[aim]


def test_of_no_model_is_a_node_placed_wrongly(gallery: Rows, others: Rows) -> None:
    rows = [*gallery.items(), *others.items()]
    assert not [(name, one) for name, nodes in rows for one in nodes if one.is_wrong]


def test_what_is_not_seen_is_said_to_be_inferred(gallery: Rows, others: Rows) -> None:
    for nodes in (*gallery.values(), *others.values()):
        assert all(one.is_inferred == (one.placed is not None) for one in nodes)
        assert not any(one.is_outside for one in nodes)


def test_the_table_has_a_row_per_model(gallery: Rows) -> None:
    lines = list(table("gallery", gallery))
    assert [line.split("  ")[0] for line in lines[1 : 1 + len(gallery)]] == list(gallery)
