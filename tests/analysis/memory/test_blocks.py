from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import gradviz
from gradviz.model.formatting import size
from gradviz.model.memory import Memory
from gradviz.model.report import Block, RowMember, Table
from tests.deep import Transformer

SAMPLE = Transformer(100, detached=7)


@pytest.fixture(scope="module")
def memory() -> Memory:
    model = SAMPLE
    found: Memory = gradviz.memory(model.loss(), model).findings
    return found


def blocks(members: tuple[RowMember, ...]) -> Iterator[Block]:
    for one in members:
        if isinstance(one, Block):
            yield one
            yield from blocks(one.members)


def cells(table: Table, block: Block) -> dict[str, object]:
    return dict(zip((column.name for column in table.columns), block.cells, strict=True))


def kept_by(memory: Memory, nodes: set[str]) -> tuple[int, int, int]:
    """Bytes of nodes, of these those that others keep too, and those that they own."""
    mine = [one for one in memory.storages if not nodes.isdisjoint(one.nodes)]
    shared = [one for one in mine if not nodes.issuperset(one.nodes)]
    owned = [one for one in mine if one.owner in nodes]
    return tuple(sum(one.nbytes for one in some) for some in (mine, shared, owned))  # type: ignore[return-value]


def tables(memory: Memory) -> Iterator[tuple[Table, list[tuple[str, ...]]]]:
    """The tables of holders, and the nodes of each of their rows."""
    yield memory.tables[0], [one.nodes for one in memory.nodes]
    by_module = next(one for one in memory.tables if one.caption == "By module")
    yield by_module, [one.nodes for one in memory.modules]


def test_blocks_have_the_bytes_of_their_nodes_each_storage_once(memory: Memory) -> None:
    for table, nodes_of in tables(memory):
        assert len(table.members) == 1
        alone = [kept_by(memory, set(nodes))[0] for nodes in nodes_of]
        for block in blocks(table.members):
            nodes = {node for row in block.rows for node in nodes_of[row]}
            found = cells(table, block)
            expected = kept_by(memory, nodes)
            assert (found["bytes"], found["shared"], found["counted"]) == expected
            assert found["% of total"] == round(100 * expected[0] / memory.total, 1)
            bytes_of = [alone[row] for row in block.rows]
            added = None if sum(bytes_of) == expected[0] else sum(bytes_of)
            assert found["rows add up to"] == added


def test_the_first_block_of_each_table_is_the_total(memory: Memory) -> None:
    for table in memory.tables:
        (total,) = table.members
        assert isinstance(total, Block)
        assert total.cells[0] == "total"
        assert cells(table, total)["bytes"] == memory.total
        assert sorted(total.rows) == list(range(len(table.rows)))


def test_every_table_of_a_hundred_layers_fits_a_screen_and_its_largest_rows_come_first(
    memory: Memory,
) -> None:
    for table in memory.tables:
        assert len(list(table.lines())) <= 15
        place = [column.name for column in table.columns].index("bytes")
        for block in blocks(table.members):
            sizes = [
                int((table.rows[one] if isinstance(one, int) else one.cells)[place] or 0)
                for one in block.members
            ]
            assert sizes == sorted(sizes, reverse=True)


def test_equal_layers_are_one_block(memory: Memory) -> None:
    (table, *_) = memory.tables
    names = [str(block.cells[0]) for block in blocks(table.members)]
    assert any(name.endswith("×99") and "model.h.0" in name for name in names)
    assert len(list(blocks(table.members))) > 99


def test_a_module_has_the_bytes_of_everything_in_it(memory: Memory) -> None:
    for path in ("model.h.3", "model.h.3.mlp", "model.h", "model"):
        nodes = {
            node
            for one in memory.modules
            if f"{one.id}.".startswith(f"{path}.")
            for node in one.nodes
        }
        found = memory[path]
        assert set(found.nodes) == nodes
        assert (found.nbytes, found.shared, found.counted) == kept_by(memory, nodes)
    assert memory["h.3"] == memory["model.h.3"]
    held = memory["h.3"]
    assert str(held).startswith(
        f"{held.name}: {size(held.nbytes)} saved by {len(held.nodes)} nodes"
    )
    assert memory["h.3.mlp.0"].nbytes < memory["h.3.mlp"].nbytes < memory["h.3"].nbytes


def test_layers_have_the_bytes_that_hooks_count_while_they_run(memory: Memory) -> None:
    model = SAMPLE
    block = model.h[3]
    x = torch.ones(2, 6, 8, requires_grad=True)
    sizes: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        sizes[storage._cdata] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _ = block(x)
    assert memory["h.3"].nbytes == sum(sizes.values())


def test_a_module_that_is_inferred_is_marked_as_such(memory: Memory) -> None:
    inferred = sum(one.inferred for one in memory.nodes)
    assert 0 < inferred == sum(one.inferred for one in memory.modules)
    rows = [row for row in memory.tables[0] if str(row["module"]).endswith(" (inferred)")]
    assert len(rows) == inferred
    (said,) = [words for words in memory.sentences if "inferred" in words]
    assert f"and from the nodes around it (here of {inferred:,} nodes)" in said


def test_a_storage_of_two_blocks_is_counted_once_in_what_is_around_them() -> None:
    first, second = (torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(8))) for _ in "ab")
    model = torch.nn.ModuleList([first, second])
    x = torch.ones(2, 4, requires_grad=True)
    found: Memory = gradviz.memory(first(x).sum() + second(x).sum(), model).findings
    one, other, both = found["model.0"], found["model.1"], found["model"]
    assert one.nbytes + other.nbytes == both.nbytes + x.untyped_storage().nbytes()
    assert one.shared == other.shared == x.untyped_storage().nbytes()
    (table, *_) = found.tables
    (total,) = table.members
    assert isinstance(total, Block)
    assert (cells(table, total)["bytes"], cells(table, total)["rows add up to"]) == (
        found.total,
        found.total + x.untyped_storage().nbytes(),
    )


def test_a_graph_with_few_nodes_has_no_blocks() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    found = gradviz.memory(model(torch.ones(1, 2)).sum(), model).findings
    assert [table.members for table in found.tables] == [()] * len(found.tables)
