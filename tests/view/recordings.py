"""Recordings made by hand, so that the tests of animation, captions and player need no torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradviz.model import Node, Recording, TensorInfo, ValueSummary
from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Died,
    Event,
    FlagChanged,
    Freed,
    HookChanged,
    HookFired,
    Made,
    NodeRan,
    Operand,
    Operation,
    Raised,
    Write,
)
from gradviz.model.recording import Code, RowChanges, StepRecord
from gradviz.model.records import Hook
from gradviz.view.animation.animation import opening_of
from gradviz.view.animation.played_scenes import PlayedScenes
from gradviz.view.graph.card_parts import DENSITIES, Density
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.scene import ALL as WHOLE
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.graph_index import GraphIndex
from gradviz.view.step_index import step_indexes
from tests.view.graphs import saved, tensor


class Script:
    """Writes steps one after the other; rows that are not mentioned stay as they are."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.codes = [Code("cell", first_line, text)]
        self.nodes: dict[str, Node] = {}
        self.tensors: dict[str, TensorInfo] = {}
        self.steps: list[StepRecord] = []

    def step(
        self,
        kind: Any,
        line: int | None = None,
        *rows: Node | TensorInfo,
        events: tuple[Event, ...] = (),
        gone: tuple[str, ...] = (),
        node: str | None = None,
        roots: tuple[tuple[str, int], ...] | None = None,
        backward: int | None = None,
        level: int | None = None,
    ) -> None:
        """One more step: rows that are new, and made by it, or have changed, and ids that ceased to
        exist."""
        before = self.tensors.keys() | {key for one in events for key in getattr(one, "made", ())}
        made = [row.id for row in rows if isinstance(row, TensorInfo) and row.id not in before]
        if made and kind != "start":
            events = (Made(tuple(made)), *events)
        for row in rows:
            (self.nodes if isinstance(row, Node) else self.tensors)[row.id] = row  # type: ignore[assignment]
        for key in gone:
            (self.nodes if key[0] == "n" else self.tensors).pop(key)
        nodes = [(r.id, r) for r in rows if isinstance(r, Node)]
        tensors = [(r.id, r) for r in rows if isinstance(r, TensorInfo)]
        changes = RowChanges(
            (*nodes, *((key, None) for key in gone if key[0] == "n")),
            (*tensors, *((key, None) for key in gone if key[0] == "t")),
            roots,
        )
        held = {
            slot.storage: slot.storage_nbytes or 0
            for row in self.nodes.values()
            for slot in row.saved
            if slot.storage
        }
        depth = {"backward": 1, "node": 1, "saved": 2, "hook": 2, "accumulate": 2, "freed": 2}
        self.steps.append(
            StepRecord(
                kind,
                depth.get(kind, 0) if level is None else level,
                line,
                0,
                node,
                events,
                changes,
                sum(held.values()),
                4 * len(self.tensors),
                backward,
            )
        )

    def change(self, key: str, **facts: Any) -> Any:
        """A row with some facts replaced."""
        row: Any = self.nodes.get(key) or self.tensors[key]
        return replace(row, **facts)

    def end(self) -> Recording:
        """The recording of all steps so far; nothing in it is explained."""
        recording = Recording(self.steps, self.codes, "cpu", "cell [1]")
        recording._made["explanations"] = ()
        return recording


def number(value: float) -> ValueSummary:
    """A gradient of no dimensions."""
    return ValueSummary((), "float32", (value,), value, value, value, abs(value), False, False)


PRODUCT = """\
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(4.0, requires_grad=True)
out1 = a * b
out2 = out1 + c
out2.backward()
"""


def product(again: bool = False, hooked: bool = False) -> Recording:
    """``a * b + c`` and its backward; perhaps a second one, which raises; perhaps with hooks."""
    script = Script(PRODUCT + ("out2.backward()\n" if again else ""))
    script.step("start")
    for place, (name, value) in enumerate((("a", 2.0), ("b", 3.0), ("c", 4.0))):
        script.step("line", place + 1, tensor(place, name, values=(value,)))
    _forward(script, hooked)
    _backward(script, hooked)
    script.step(
        "line",
        6,
        events=(BackwardEnded(1, 5),),
        level=0,
    )
    if again:
        start = BackwardStarted(2, (("n3", 0),), (number(1.0),))
        script.step("backward", 7, events=(start,), backward=2)
        ran = NodeRan(2, "n3", (number(1.0),), (number(1.0), number(1.0)))
        script.step("saved", 7, node="n3", backward=2)
        script.step("node", 7, node="n3", events=(ran,), backward=2)
        problem = Raised("RuntimeError", "Trying to backward a second time", "n0", 2)
        script.step("error", 7, events=(problem,), node="n0", backward=2)
    else:
        script.step("end")
    return script.end()


def _forward(script: Script, hooked: bool) -> None:
    made = tensor(3, "out1", node="n0", is_leaf=False, values=(6.0,), storage="s3")
    slots = (
        saved("other", tensor="t1", storage="s1"),
        saved("self", tensor="t0", storage="s0"),
    )
    operation = Operation(
        "mul",
        (Operand("a", "t0", ()), Operand("b", "t1", ())),
        (Operand("out1", "t3", ()),),
        "n0",
        True,
    )
    script.step(
        "line",
        4,
        Node(
            "n0",
            "MulBackward0",
            (("n1", 0), ("n2", 0)),
            slots,
            arguments=("self", "other"),
            output_shapes=((),),
            state="holds",
            formula="self: grad * other\nother: grad * self",
            source="line 4: out1 = a * b",
        ),
        Node("n1", "AccumulateGrad", (), variable="t0", output_shapes=((),)),
        Node("n2", "AccumulateGrad", (), variable="t1", output_shapes=((),)),
        script.change("t0", node="n1"),
        script.change("t1", node="n2"),
        made,
        events=(operation,),
        roots=(("n0", 0),),
    )
    if hooked:
        hook = Hook("tensor", "halve")
        script.step(
            "line",
            4,
            script.change("t3", retains_grad=True, hooks=(hook,)),
            script.change("n0", hooks=(hook,)),
            events=(
                FlagChanged("t3", "retains_grad", False, True),
                HookChanged(hook, True, "t3", "n0"),
            ),
        )
    script.step(
        "line",
        5,
        Node(
            "n3",
            "AddBackward0",
            (("n0", 0), ("n4", 0)),
            arguments=("self", "other"),
            output_shapes=((),),
            formula="self: grad\nother: maybe_multiply(grad, alpha.conj())",
            attributes=(("alpha", 1),),
            source="line 5: out2 = out1 + c",
        ),
        Node("n4", "AccumulateGrad", (), variable="t2", output_shapes=((),)),
        script.change("t2", node="n4"),
        tensor(4, "out2", node="n3", is_leaf=False, values=(10.0,), storage="s4"),
        roots=(("n3", 0),),
    )


def _backward(script: Script, hooked: bool) -> None:
    def sub(kind: str, node: str, *rows: Any, events: tuple[Event, ...] = ()) -> None:
        script.step(kind, 6, *rows, node=node, events=events, backward=1)

    start = BackwardStarted(1, (("n3", 0),), (number(1.0),))
    script.step("backward", 6, events=(start,), backward=1)
    sub("saved", "n3")
    sub("node", "n3", events=(NodeRan(1, "n3", (number(1.0),), (number(1.0), number(1.0))),))
    _leaf(script, "n4", "t2", 1.0)
    given = 1.0
    sub("saved", "n0")
    if hooked:
        given = 0.5
        fired = HookFired(1, Hook("tensor", "halve"), "n0", "t3", number(0.5))
        sub("hook", "n0", events=(fired,))
        kept = Accumulated(1, "n0", "t3", None, number(0.5), number(0.5), retained=True)
        sub("accumulate", "n0", script.change("t3", grad=number(0.5)), events=(kept,))
    slots = script.nodes["n0"].saved
    empty = (saved("other", "freed"), saved("self", "freed"))
    freed = Freed("n0", ("other", "self"), 8)
    sub("freed", "n0", script.change("n0", saved=empty, state="freed"), events=(freed,))
    results = (number(3.0 * given), number(2.0 * given))
    sub("node", "n0", events=(NodeRan(1, "n0", (number(given),), results, slots),))
    _leaf(script, "n1", "t0", 3.0 * given)
    _leaf(script, "n2", "t1", 2.0 * given)


def _leaf(script: Script, node: str, key: str, value: float) -> None:
    grad = number(value)
    script.step("saved", 6, node=node, backward=1)
    kept = Accumulated(1, node, key, None, grad, grad)
    row = script.change(key, grad=grad)
    script.step("accumulate", 6, row, node=node, events=(kept,), backward=1)
    script.step("node", 6, node=node, events=(NodeRan(1, node, (grad,), ()),), backward=1)


CUTS = """\
w = torch.tensor(2.0, requires_grad=True)
y = w * 3
z = y.detach()
z.mul_(2)
with torch.no_grad(): k = y + 1
number = y.item()
y = None
"""


def cuts() -> Recording:
    """``detach``, ``no_grad``, ``item``, a write through ``detach``, and a graph that dies."""
    script = Script(CUTS)
    script.step("start")
    script.step("line", 1, tensor(0, "w", values=(2.0,)))
    script.step(
        "line",
        2,
        Node(
            "n0",
            "MulBackward0",
            (("n1", 0), None),
            (saved("other", tensor=None, storage="s9"), saved("self", "none")),
            state="holds",
            arguments=("self", "other"),
            output_shapes=((),),
            source="line 2: y = w * 3",
        ),
        Node("n1", "AccumulateGrad", (), variable="t0", output_shapes=((),)),
        script.change("t0", node="n1"),
        tensor(1, "y", node="n0", is_leaf=False, values=(6.0,), storage="s1"),
        roots=(("n0", 0),),
    )
    y, z = Operand("y", "t1", ()), Operand("z", "t2", ())
    detach = Operation("detach", (y,), (z,), reason="detach")
    script.step(
        "line",
        3,
        tensor(2, "z", requires_grad=False, values=(6.0,), storage="s1", is_view=True),
        events=(detach,),
    )
    script.step(
        "line",
        4,
        script.change("t1", version=1, values=(12.0,)),
        script.change("t2", version=1, values=(12.0,)),
        events=(
            Operation("mul_", (z, Operand("2")), (z,), reason="no input requires grad"),
            Write("mul_", ("t1", "t2"), "z", "s1", 0, 1, "detach"),
        ),
    )
    k = Operand("k", "t3", ())
    script.step(
        "line",
        5,
        tensor(3, "k", requires_grad=False, values=(13.0,), storage="s3"),
        events=(Operation("add", (y, Operand("1")), (k,), reason="no_grad"),),
    )
    item = Operation("item", (y,), (Operand("12.0"),), reason="left torch")
    script.step("line", 6, events=(item,))
    script.step(
        "line",
        7,
        script.change("t0", node=None),
        gone=("n0", "n1", "t1"),
        events=(Died(("t1",), ("n0", "n1")),),
        roots=(),
    )
    script.step("end")
    return script.end()


def loop(times: int = 3) -> Recording:
    """The same line again and again: graphs of the same form that live one after the other."""
    script = Script("for i in range(3):\n    loss = w * w\n    loss.backward()\n")
    script.step("start", None, tensor(0, "w", values=(2.0,)))
    total = 0.0
    for turn in range(times):
        made, leaf, out = f"n{turn + 1}", "n0", turn + 1
        old = () if not turn else (f"n{turn}", f"t{turn}")
        slots = (saved("other", tensor="t0"), saved("self", tensor="t0"))
        script.step(
            "line",
            2,
            Node(leaf, "AccumulateGrad", (), variable="t0", output_shapes=((),)),
            Node(made, "MulBackward0", ((leaf, 0), (leaf, 0)), slots, state="holds",
                 arguments=("self", "other"), output_shapes=((),)),
            script.change("t0", node=leaf),
            tensor(out, "loss", node=made, is_leaf=False, storage=f"s{out}", values=(4.0,)),
            gone=old,
            roots=((made, 0),),
        )  # fmt: skip
        start = BackwardStarted(turn + 1, ((made, 0),), (number(1.0),))
        script.step("backward", 3, events=(start,), backward=turn + 1)
        ran = NodeRan(turn + 1, made, (number(1.0),), (number(2.0), number(2.0)), slots)
        empty = (saved("other", "freed"), saved("self", "freed"))
        row = script.change(made, saved=empty, state="freed")
        script.step("node", 3, row, node=made, events=(ran,), backward=turn + 1)
        before = number(total) if total else None
        total += 4.0
        kept = Accumulated(turn + 1, leaf, "t0", before, number(4.0), number(total))
        row = script.change("t0", grad=number(total))
        ran = NodeRan(turn + 1, leaf, (number(4.0),))
        script.step("node", 3, row, node=leaf, events=(kept, ran), backward=turn + 1)
        script.step("line", 3, events=(BackwardEnded(turn + 1, 2),))
    script.step("end")
    return script.end()


ALL = {
    "product": product(),
    "second": product(again=True),
    "hooked": product(hooked=True),
    "cuts": cuts(),
    "loop": loop(),
}


def animation_of(
    recording: Recording, options: DrawOptions = DEFAULT, density: Density | None = None
) -> StepPictures:
    """The pictures of all steps, drawn whole."""
    scenes = PlayedScenes(recording, options, DENSITIES)
    list(scenes.play())
    return StepPictures(scenes, density or opening_of(scenes, options))


def texts_of(pictures: StepPictures) -> dict[str, tuple[str, ...]]:
    """The variants of each element as text; ``""``: it does not exist."""
    return {key: tuple(map("".join, looks)) for key, looks in pictures.pieces_of([WHOLE]).items()}


def assert_moments_know_what_their_graphs_know(recording: Recording) -> None:
    """What is kept from step to step is what the graph of the step alone would give."""
    for step, moment, _ in step_indexes(recording):
        graph_index = GraphIndex.of(step.graph)
        for name in ("tags", "consumers", "saved_by", "sharing", "names", "roots"):
            assert getattr(moment, name) == getattr(graph_index, name), name
        assert {kind: count for kind, count in moment.counts.items() if count} == {
            kind: count
            for kind, count in graph_index.counts.items()
            if count and kind not in ("none edges", "tensors")
        }
