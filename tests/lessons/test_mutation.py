from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

import gradviz
from gradviz.model.events import Freed, NodeRan
from gradviz.model.recording import StepRecord
from gradviz.notebook_check.as_text import notebook_lines
from gradviz.view.documents.digest import MIME
from tests.lessons.lesson_files import Kernel, check_strictly, code_cells, stored
from tests.lessons.lesson_shell import lesson_shell

PICTURED = ("01-which-tensors-remember", "02-reading-the-graph")
"""Lessons that have enough pictures between them; each imports what it needs."""
PARTS = ("text/plain", "text/html", "image/svg+xml", MIME)
Graph = gradviz.Graph
PROGRAM = """\
import torch, gradviz
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
k = torch.tensor(5.0)
out = (a * k).exp() - b
gradviz.show(out)
"""


def with_node(
    graph: Graph, wanted: Callable[[Any], bool], **changes: Callable[[Any], Any]
) -> Graph:
    nodes = list(graph.nodes)
    place = next(i for i, node in enumerate(nodes) if wanted(node))
    node = nodes[place]
    nodes[place] = replace(node, **{name: change(node) for name, change in changes.items()})
    return Graph.of(nodes, graph.roots, graph.tensors)


def holds(node: Any) -> bool:
    return any(slot.state == "held" for slot in node.saved)


def with_saved(graph: Graph, change: Callable[[Any], Any]) -> Graph:
    def saved(node: Any) -> Any:
        place = next(i for i, slot in enumerate(node.saved) if slot.state == "held")
        return (*node.saved[:place], change(node.saved[place]), *node.saved[place + 1 :])

    return with_node(graph, holds, saved=saved)


def edge_lost(graph: Graph) -> Graph:
    def without_last(node: Any) -> Any:
        place = max(i for i, entry in enumerate(node.next_functions) if entry is not None)
        return (*node.next_functions[:place], None, *node.next_functions[place + 1 :])

    return with_node(graph, lambda n: any(n.next_functions), next_functions=without_last)


def flag_flipped(graph: Graph) -> Graph:
    tensors = list(graph.tensors)
    tensors[-1] = replace(tensors[-1], retains_grad=not tensors[-1].retains_grad)
    return Graph.of(list(graph.nodes), graph.roots, tensors)


def version_off_by_one(graph: Graph) -> Graph:
    return with_saved(graph, lambda slot: replace(slot, saved_version=slot.saved_version + 1))


def state_wrong(graph: Graph) -> Graph:
    return with_saved(graph, lambda slot: replace(slot, state="freed"))


def operands_swapped(graph: Graph) -> Graph:
    return with_node(
        graph,
        lambda n: len(set(n.next_functions)) > 1,
        next_functions=lambda n: n.next_functions[::-1],
    )


FAULTS = (edge_lost, flag_flipped, version_off_by_one, state_wrong, operands_swapped)

Recording = gradviz.Recording
Row = Any


def with_rows(recording: Recording, wrong: Callable[[Row], Row]) -> Recording:
    """The recording with other nodes and tensors in all its steps."""

    def step(facts: StepRecord) -> StepRecord:
        changes = facts.changes
        nodes = tuple((key, wrong(row)) for key, row in changes.nodes)
        tensors = tuple((key, wrong(row)) for key, row in changes.tensors)
        return replace(facts, changes=replace(changes, nodes=nodes, tensors=tensors))

    return with_steps(recording, [step(facts) for facts in recording.records])


def with_steps(recording: Recording, steps: list[StepRecord]) -> Recording:
    """The recording with other steps; the same ones would be no fault."""
    made = Recording(steps, recording.codes, recording.device, recording.label)
    assert made != recording
    return made


def steps_swapped(recording: Recording) -> Recording:
    """The first node that runs and the one after it, each with all that belongs to it."""
    steps = list(recording.records)
    ran = [i for i, facts in enumerate(steps) if any(isinstance(e, NodeRan) for e in facts.events)]
    first, second = ran[0] + 1, ran[1] + 1
    begin = next(i for i, facts in enumerate(steps) if facts.kind == "backward") + 1
    steps[begin:second] = steps[first:second] + steps[begin:first]
    return with_steps(recording, steps)


def freed_forgotten(recording: Recording) -> Recording:
    known: dict[str, Any] = {}

    def still_held(row: Row) -> Row:
        if getattr(row, "state", "") == "holds":
            known[row.id] = row
        return known[row.id] if getattr(row, "state", "") == "freed" else row

    wrong = with_rows(recording, still_held)
    steps = [
        replace(facts, events=tuple(e for e in facts.events if not isinstance(e, Freed)))
        for facts in wrong.records
        if facts.kind != "freed"
    ]
    return with_steps(recording, steps)


def saved_version_off_by_one(recording: Recording) -> Recording:
    def later(slot: Any) -> Any:
        is_known = slot.saved_version is not None
        return replace(slot, saved_version=slot.saved_version + 1) if is_known else slot

    def wrong(row: Row) -> Row:
        return replace(row, saved=tuple(map(later, row.saved))) if hasattr(row, "saved") else row

    return with_rows(recording, wrong)


def tensor_version_off_by_one(recording: Recording) -> Recording:
    return with_rows(
        recording, lambda r: replace(r, version=r.version + 1) if hasattr(r, "version") else r
    )


def gradient_changed(recording: Recording) -> Recording:
    def wrong(row: Row) -> Row:
        if (grad := getattr(row, "grad", None)) is None:
            return row
        return replace(row, grad=replace(grad, values=(*grad.values[:-1], grad.values[-1] + 1)))

    return with_rows(recording, wrong)


RECORDED_FAULTS = (
    steps_swapped,
    freed_forgotten,
    saved_version_off_by_one,
    tensor_version_off_by_one,
    gradient_changed,
)
OPENED_EARLY = "opened one step early"


def bundle(widget: Any) -> dict[str, Any]:
    given = widget._repr_mimebundle_()
    data = given[0] if isinstance(given, tuple) else given
    return {part: data[part] for part in PARTS}


def picture_of(cell: Any) -> Any:
    """The output with the picture; what the cell printed stands before it."""
    return next(output for output in cell.outputs if "data" in output)


def failed_cells(notebook: Any, folder: Path) -> set[int]:
    path = folder / "mutated.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    found = check_strictly(path)
    assert not found.problem
    assert found.count("equal", "different") == len(code_cells(notebook)), list(
        notebook_lines(found)
    )
    return {at for at, cell in enumerate(found.cells) if cell.verdict == "different"}


def test_each_fault_in_each_part_of_an_output_is_found(tmp_path: Path) -> None:
    kernel = Kernel()
    kernel.run("program", PROGRAM)
    kernel.run("graph", "graph = gradviz.snapshot(out)")
    right = bundle(kernel.shown["program"])
    outputs = [right]
    for fault in FAULTS:
        wrong = bundle(gradviz.show(fault(kernel.names["graph"])))
        outputs += [{**right, part: wrong[part]} for part in PARTS]
        assert all(wrong[part] != right[part] for part in PARTS), fault.__name__

    def cell(number: int, data: dict[str, Any]) -> dict[str, Any]:
        output = {"output_type": "execute_result", "data": data, "execution_count": number}
        return {
            "cell_type": "code",
            "execution_count": number,
            "id": f"picture-{number}",
            "metadata": {},
            "outputs": [{**output, "metadata": {}}],
            "source": PROGRAM,
        }

    notebook = NotebookNode(stored(PICTURED[0]))
    notebook.cells = [NotebookNode(cell(n, data)) for n, data in enumerate(outputs, 1)]
    assert failed_cells(notebook, tmp_path) == set(range(1, len(outputs)))


def wrong_bundles(player: Any, step: int | None) -> dict[str, dict[str, Any]]:
    """What the player of each faulty recording would have left in the notebook."""
    made = {
        fault.__name__: bundle(gradviz.show(fault(player.recording), step=step))
        for fault in RECORDED_FAULTS
    }
    early = gradviz.show(player.recording, step=player.step - 1)
    return {**made, OPENED_EARLY: bundle(early)}


SETUP = "import contextlib\n\nimport torch\n\nimport gradviz"
RECORDED = """\
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
with contextlib.suppress(RuntimeError), gradviz.record() as twice:
    out = (2 * y).sum()
    out.backward()
    out.backward()
with gradviz.record() as once:
    z = 2 * y + 1
    loss = z.sum()
    loss.backward()"""
SHOW_ERROR = "gradviz.show(twice)"
SHOW_STEP = "gradviz.show(once, step=4)"


def code_cell(key: str, source: str, *outputs: Any, count: int = 1) -> Any:
    made = {"cell_type": "code", "id": key, "metadata": {}, "source": source}
    return NotebookNode({**made, "execution_count": count, "outputs": list(outputs)})


@pytest.mark.slow
def test_each_fault_in_each_part_of_a_recorded_output_is_found(tmp_path: Path) -> None:
    cells = [code_cell("setup", SETUP), code_cell("record", RECORDED)]
    expected: set[int] = set()
    seen = {name: set[str]() for name in (OPENED_EARLY, *(f.__name__ for f in RECORDED_FAULTS))}

    def add(source: str, data: dict[str, Any]) -> None:
        count = len(cells) + 1
        output = {"output_type": "execute_result", "data": data, "execution_count": count}
        cells.append(code_cell(f"cell-{count}", source, {**output, "metadata": {}}, count=count))

    with lesson_shell(tmp_path) as shell:
        for cell in tuple(cells):
            shell.run(cell.source)
        for source, step in ((SHOW_ERROR, None), (SHOW_STEP, 4)):
            (player,) = shell.run(source).objects
            right = bundle(player)
            add(source, right)
            for name, wrong in wrong_bundles(player, step).items():
                for part in PARTS:
                    if wrong[part] != right[part]:
                        seen[name].add(part)
                        expected.add(len(cells))
                        add(source, {**right, part: wrong[part]})
    assert seen.pop(OPENED_EARLY) == {"text/html", "image/svg+xml", MIME}
    assert all(parts == set(PARTS) for parts in seen.values()), seen

    notebook = NotebookNode(stored(PICTURED[0]))
    notebook.cells = cells
    assert failed_cells(notebook, tmp_path) == expected


@pytest.mark.slow
def test_faults_in_the_pictures_of_lessons_are_found(tmp_path: Path) -> None:
    notebook = copy.deepcopy(stored(PICTURED[0]))
    notebook.cells = [cell for lesson in PICTURED for cell in code_cells(stored(lesson))]
    kernel, faults, expected = Kernel(), list(FAULTS), set()
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.execution_count = f"cell-{number}", number + 1
        kernel.run(cell.id, cell.source)
        widget: Any = kernel.shown.get(cell.id)
        if not faults or not hasattr(widget, "graph"):
            continue
        graph = widget.graph
        try:
            wrong = bundle(gradviz.show(faults[0](graph)))
        except StopIteration:
            continue  # this picture has nothing that the fault could touch
        part = PARTS[len(faults) % len(PARTS)]
        picture_of(cell).data[part] = wrong[part]
        expected.add(number)
        faults.pop(0)
    assert len(expected) >= 3
    assert failed_cells(notebook, tmp_path) == expected
