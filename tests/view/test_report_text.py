from __future__ import annotations

import pytest

from gradviz.model.report import Block, Column, Table
from gradviz.view.outlines.text_of import text_of
from gradviz.view.parts.part import Parts, Rows
from gradviz.view.parts.text import as_text
from gradviz.view.text import cells
from tests.view.graphs import HOSTILE
from tests.view.reports import MadeUp, hostile, many

EXPECTED = """\
1 of 4 parameters gets no gradient from loss
frozen gets no gradient: requires_grad is False.
a, b and c are reached.

Parameters
parameter  reached  norm      kept  why
a          yes       3.0      24 B
b          yes       2.0  48.8 KiB
c          yes       1.0      24 B
frozen     no                       requires_grad is False"""


def table_text(table: Table) -> str:
    return as_text(Parts(((Rows(table),),)))


def test_findings_print_as_sentences_and_aligned_tables() -> None:
    assert str(MadeUp()) == EXPECTED


def test_a_long_table_ends_in_what_is_left_out() -> None:
    lines = text_of(many(52)).splitlines()
    assert lines[-2:] == ["node 39  39", "… and 12 more rows"]
    assert text_of(many(40)).splitlines()[-1] == "node 39  39"
    assert text_of(many(41)).splitlines()[-1] == "… and 1 more row"


def test_a_table_without_rows_says_so() -> None:
    assert table_text(Table("Cuts", (Column("call"),), ())) == "Cuts\nno rows"


def test_columns_are_aligned_by_what_is_seen_and_long_cells_are_shortened() -> None:
    rows = (("重み", 1), ("w", 22), ("model.layers.0.attention." * 3, 3))
    lines = table_text(Table("", (Column("name"), Column("n", "number")), rows)).splitlines()
    assert {cells(line) for line in lines} == {40 + 2 + 2}
    assert "…" in lines[-1]


def test_hostile_words_stay_in_their_line(subtests: pytest.Subtests) -> None:
    for word in HOSTILE:
        with subtests.test(word=word):
            text = text_of(hostile(word))
            assert len(text.split("\n")) == 7
            assert not set(text) & set("\x00\x1b\r\u202e\u2028\ud800")


def test_of_blocks_the_open_ones_are_printed_and_the_closed_rows_counted() -> None:
    columns = (Column("node"), Column("bytes", "bytes"))
    inner = Block(("two of them", 5), (2, 1))
    table = Table("kept", columns, (("n1", 1), ("n2", 2), ("n3", 3)), (), (
        Block(("all", 6), (inner, 0), is_open=True),
    ))  # fmt: skip
    assert table_text(table).splitlines() == [
        "kept",
        "node             bytes",
        "▾ all              6 B",
        "  ▸ two of them    5 B",
        "  n1               1 B",
        "▸ 2 rows are in closed blocks: .rows of the table has all.",
    ]
