from __future__ import annotations

from typing import Any

import torch

import gradviz
from gradviz.model import Node, Recording, TensorInfo
from gradviz.model.events import FlagChanged, NodeRan
from gradviz.model.history import History
from gradviz.model.recording import Code, RowChanges, StepRecord
from gradviz.model.source_line import SourceLine


def tensor(number: int, name: str | None, version: int = 0) -> TensorInfo:
    return TensorInfo(
        f"t{number}", name, (), "float32", "cpu", True, True, False, version, None, (), None, 0,
        None, False, False,
    )  # fmt: skip


def step(
    kind: Any = "line", line: int | None = None, *rows: Any, gone: str = "", **facts: Any
) -> StepRecord:
    changed = [(row.id, row) for row in rows] + [(key, None) for key in gone.split()]
    nodes = tuple(pair for pair in changed if pair[0][0] == "n")
    tensors = tuple(pair for pair in changed if pair[0][0] == "t")
    known = {"level": 0, "code": 0, "node": None, "events": (), "backward": None, **facts}
    return StepRecord(
        kind=kind,
        line=line,
        changes=RowChanges(nodes, tensors),
        saved_bytes=0,
        memory=None,
        **known,
    )


def history(*steps: StepRecord) -> History:
    return Recording(steps, [Code("cell", 1, "a\nb\nc"), Code("m.py: f", 1, "d")]).history


def test_a_row_is_the_one_of_its_step_and_the_last_one_after_its_end() -> None:
    first, second = tensor(0, "a"), tensor(0, "a", version=1)
    found = history(step("start"), step("line", 1, first), step("line", 2, second),
                    step("line", 3, gone="t0"))  # fmt: skip
    assert [found.tensor_at("t0", at) for at in range(-1, 5)] == [
        None, None, first, second, None, None,
    ]  # fmt: skip
    assert [found.tensor("t0", at) for at in range(5)] == [None, first, second, second, second]
    assert (found.tensor("t9", 3), found.tensor_at("t9", 3), found.node_at("n9", 3)) == (None,) * 3


def test_what_begins_is_not_what_changes() -> None:
    node = Node("n0", "MulBackward0", (None,))
    found = history(
        step("start", None, tensor(0, "a")),
        step("line", 1, tensor(0, "a", version=1), tensor(1, "b"), node),
        step("line", 2, gone="t1"),
        step("line", 3, tensor(1, "b")),
    )
    assert [found.changed(at) for at in range(4)] == [["t0"], ["n0", "t0", "t1"], [], ["t1"]]
    assert [found.begun(at) for at in range(4)] == [["t0"], ["n0", "t1"], [], ["t1"]]
    assert [found.node_at("n0", at) for at in range(2)] == [None, node]


def test_a_name_belongs_to_those_that_have_it_at_the_step() -> None:
    found = history(
        step("start", None, tensor(2, "y"), tensor(10, "y"), tensor(0, None)),
        step("line", 1, tensor(2, "z"), tensor(0, "y")),
        step("line", 2, gone="t0 t10"),
    )
    assert [found.named("y", at) for at in range(-1, 4)] == [
        (), ("t2", "t10"), ("t0", "t10"), (), (),
    ]  # fmt: skip
    assert [found.named("z", at) for at in range(4)] == [(), ("t2",), ("t2",), ("t2",)]
    assert found.named("x", 2) == ()


def test_the_next_line_is_one_of_the_same_code() -> None:
    found = history(
        step("start"),
        step("line", 1),
        step("node", 2, level=1),
        step("line", 2),
        step("line", 1, code=1),
        step("line", 3),
        step("end"),
    )
    assert found.lines == (0, 1, 3, 4, 5, 6)
    assert [found.next_line(at) for at in range(7)] == [1, 2, 2, None, None, None, None]


def test_what_a_backward_ran_is_told_up_to_a_step_and_after_it() -> None:
    ran = [NodeRan(1, "n0"), NodeRan(2, "n1"), NodeRan(1, "n2")]
    found = history(step("start"), *(step("node", 1, events=(event,)) for event in ran))
    assert found.ran(1, 0) == ([], [ran[0], ran[2]])
    assert found.ran(1, 2) == ([ran[0]], [ran[2]])
    assert found.ran(2, 3) == ([ran[1]], [])
    assert found.ran(3, 3) == ([], [])


def test_the_line_of_a_node_is_data_also_after_json() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        y = (x * 2).exp()
    for one in (recording, gradviz.Recording.from_json(recording.to_json())):
        node = one.graph[one.graph.roots[0][0]]
        assert isinstance(node.source, SourceLine)
        assert (node.source.code, node.source.file) == ("y = (x * 2).exp()", "")
        made = one.history.made_at(node)
        assert made is not None
        assert (made.line, made.text) == (node.source.line, node.source.code)
    assert y.requires_grad


def test_a_flag_counts_as_off_in_the_line_that_changed_it() -> None:
    def flag(is_on: bool, name: str = "requires_grad", key: str = "t0") -> tuple[FlagChanged]:
        return (FlagChanged(key, name, not is_on, is_on),)

    found = history(
        step("start", None, tensor(0, "w"), tensor(1, "b")),
        step("line", 1, events=flag(is_on=False)),
        step("line", 2, events=flag(is_on=True, name="retains_grad")),
        step("line", 3, events=flag(is_on=True)),
        step("line", 4, events=flag(is_on=False, key="t1")),
        step("line", 5, events=flag(is_on=False)),
    )
    assert [found.switched_off("t0", at) for at in range(6)] == [
        None, (1, 0), (1, 0), (1, 0), None, (5, 0),
    ]  # fmt: skip
    assert found.switched_off("t1", 3) is None
    assert found.switched_off("t1", 5) == (4, 0)
