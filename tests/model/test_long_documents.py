"""Documents of large graphs are written and read row by row."""

from __future__ import annotations

import json
import math
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradviz
from benchmarks.graphs import multiplications
from gradviz.model import columns, progress
from gradviz.model.long_text import joined
from gradviz.model.serialization import reader

SIZE = 5_000


@pytest.fixture(scope="module")
def graph() -> gradviz.Graph:
    return gradviz.snapshot(multiplications(SIZE))


def test_a_long_document_is_read_and_written_in_less_than_1_kb_a_node(
    graph: gradviz.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name in ((columns, "KEPT"), (reader, "_SHORT")):  # it is as if it were a large one
        monkeypatch.setattr(owner, name, getattr(owner, name) * SIZE // 11_000)
    # On a slow machine it would show how far it is, and import for that.
    monkeypatch.setattr(progress, "AFTER", math.inf)
    tracemalloc.start()
    text = graph.to_json()
    kept, written = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    again = gradviz.Graph.from_json(text)
    read = tracemalloc.get_traced_memory()[1] - kept
    tracemalloc.stop()
    assert again == graph
    assert again.to_json() == text
    assert max(written, read) < 1_000 * SIZE


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(st.text(max_size=3), json_values, min_size=1, max_size=4),
    st.sampled_from([None, 1]),
    st.data(),
)
@settings(deadline=None)
def test_lists_that_are_parsed_again_are_those_of_json(
    document: dict[str, Any], indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps(document, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_SHORT", 1)
        found = reader._split(text)
        assert found is not None
        plain = {k: list(v) if type(v) is reader.Rows else v for k, v in found.items()}
        assert plain == document
        damaged = list(text)
        damaged[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from('"[]{},:x '))
        _check_that_only_json_is_split("".join(damaged))


def _check_that_only_json_is_split(text: str) -> None:
    found = reader._split(text)
    if found is not None:
        plain = {k: list(v) if type(v) is reader.Rows else v for k, v in found.items()}
        assert plain == json.loads(text)


@given(st.lists(st.text(max_size=3)), st.integers(1, 9))
def test_joined_text_is_that_of_join(parts: list[str], least: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradviz.model.long_text._LEAST", least)
        assert joined(parts) == "".join(parts)
