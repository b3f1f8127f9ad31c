from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.analysis.row_blocks import FEW, LONG, MOST, Path, blocks_of
from gradviz.model.report import Block, Cell, Column, RowMember, Table


class Numbers:
    """Rows of a table with a path and a number."""

    def __init__(self, rows: Sequence[tuple[str, int]], is_ordered: bool = False) -> None:
        self._rows = rows
        self.is_ordered = is_ordered
        self.paths: Sequence[Path] = [tuple(path.split(".")) for path, _ in rows]

    def label(self, path: Path) -> str:
        return ".".join(path)

    def name(self, row: int) -> str:
        return self._rows[row][0]

    def alike(self, row: int) -> Hashable:
        return self._rows[row][1]

    def rank(self, rows: Sequence[int]) -> int:
        return -sum(self._rows[row][1] for row in rows)

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        return label, sum(self._rows[row][1] for row in rows)


class InOrder(Numbers):
    """The same, in the order they have."""

    def __init__(self, rows: Sequence[tuple[str, int]]) -> None:
        super().__init__(rows, is_ordered=True)

    def alike(self, row: int) -> Hashable:
        return row

    def rank(self, rows: Sequence[int]) -> int:
        return 0


def table(rows: Sequence[tuple[str, int]]) -> Table:
    columns = (Column("name"), Column("number", "number"))
    return Table("", columns, tuple(rows), members=blocks_of(Numbers(rows)))


def shown(rows: Sequence[tuple[str, int]]) -> list[str]:
    made = table(rows)
    return ["  " * (line.level - 1) + str(made.cells(line)[0]) for line in made.lines()]


def test_few_rows_are_in_no_block() -> None:
    rows = [(f"h.{i}", i) for i in range(FEW)]
    assert table(rows).members == ()
    assert shown(rows) == [name for name, _ in rows]


def test_equal_modules_are_one_block_and_others_are_beside_it() -> None:
    rows = [(f"h.{i}.{name}", 9 if i == 3 else 1) for i in range(100) for name in ("w", "b")]
    assert shown([("wte", 50), *rows]) == [
        "total", "  h", "    h.0 … 2, 4 … 99 ×99", "    h.3", "      h.3.w", "      h.3.b", "  wte",
    ]  # fmt: skip
    assert shown(rows[:4] + rows[8:])[:2] == ["total", "  h.0 … h.99 ×98"]


def test_a_block_with_few_rows_is_not_divided_any_further() -> None:
    rows = [(f"a.{i}.x.w{k}", k) for i in range(2) for k in range(FEW)]
    (total,) = table(rows).members
    assert isinstance(total, Block)
    inside = [one for one in total.members if isinstance(one, Block)]
    assert [one.cells[0] for one in inside] == ["a.0.x", "a.1.x"]
    assert all(isinstance(row, int) for one in inside for row in one.members)


def test_of_many_different_rows_the_largest_are_shown_and_the_others_counted() -> None:
    lines = shown([(f"layer_{i}", i) for i in range(40)])
    assert lines == ["total", *(f"  layer_{i}" for i in range(39, 27, -1)), "  28 more"]


def test_very_many_equal_rows_are_in_parts() -> None:
    (total,) = table([(f"p.{i}", 1) for i in range(10 * LONG)]).members
    assert isinstance(total, Block)
    (equal,) = total.members
    assert isinstance(equal, Block)
    assert equal.cells == ("p.0 … p.1999 ×2000", 10 * LONG)
    assert [one.cells for one in equal.members if isinstance(one, Block)][:2] == [
        ("p.0 … p.99", 100),
        ("p.100 … p.199", 100),
    ]


def test_rows_that_stay_in_their_order_are_in_parts_where_they_are_many() -> None:
    rows = [(f"{i}", 1000 - i if i % 7 else i) for i in range(40)]
    (total,) = blocks_of(InOrder(rows))
    assert isinstance(total, Block)
    assert [one.cells[0] for one in total.members if isinstance(one, Block)][:3] == [
        "0 … 3",
        "4 … 7",
        "8 … 11",
    ]
    assert total.rows == tuple(range(40))


def blocks(members: Sequence[RowMember]) -> list[Block]:
    found = [one for one in members if isinstance(one, Block)]
    return [*found, *(inner for one in found for inner in blocks(one.members))]


parts = st.sampled_from(["h", "0", "1", "2", "10", "attn", "", "?"])
paths = st.lists(parts, min_size=1, max_size=5).map(".".join)


def test_in_order_the_layers_of_a_model_are_opened_before_what_is_around_them() -> None:
    rows = [
        *((f"embeddings.{name}", 1) for name in "abcde"),
        *((f"encoder.layer.{at}.{name}", 1) for at in range(12) for name in "wb"),
        *((f"pooler.{name}", 1) for name in "wb"),
    ]
    (total,) = blocks_of(InOrder(rows))
    assert isinstance(total, Block)
    opened = {one.cells[0]: one.is_open for one in total.members if isinstance(one, Block)}
    assert opened["encoder.layer"]
    assert not opened["embeddings"]


@given(st.lists(st.tuples(paths, st.integers(0, 3)), max_size=120))
def test_every_row_is_there_once_and_totals_are_the_sums_of_their_rows(
    rows: list[tuple[str, int]],
) -> None:
    made = table(rows)
    lines = list(made.lines(closed=True))
    assert sorted(x.member for x in lines if isinstance(x.member, int)) == list(range(len(rows)))
    assert len(list(made.lines())) <= MOST
    for block in blocks(made.members):
        assert block.cells[1] == sum(rows[row][1] for row in block.rows)
        assert len(block.members) > 0
    if made.members:
        (total,) = made.members
        assert isinstance(total, Block)
        assert total.is_open
        assert sorted(total.rows) == list(range(len(rows)))


@given(st.permutations([(f"h.{i}.{n}", i % 3) for i in range(9) for n in "wb"]))
def test_rows_of_a_block_are_sorted_by_what_matters_most(rows: list[tuple[str, int]]) -> None:
    facts = Numbers(rows)
    for block in blocks(table(rows).members):
        sums = [facts.rank([one] if isinstance(one, int) else one.rows) for one in block.members]
        assert sums == sorted(sums)


@pytest.mark.parametrize("depth", [1, 200])
def test_a_path_may_be_deep(depth: int) -> None:
    rows = [(".".join(["m"] * (i % depth + 1)), 1) for i in range(200)]
    assert len(shown(rows)) <= MOST
