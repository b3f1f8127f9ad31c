from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

import gradviz
from tests.lessons.lesson_files import Kernel, check_strictly, code_cells, stored

LESSON = "02-reading-the-graph"
PARTS = ("text/plain", "text/html", "image/svg+xml")
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


def bundle(widget: Any) -> dict[str, str]:
    given = widget._repr_mimebundle_()
    data = given[0] if isinstance(given, tuple) else given
    return {part: data[part] for part in PARTS}


def failed_cells(notebook: Any, folder: Path) -> set[int]:
    path = folder / "mutated.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    done = check_strictly(path)
    results = dict(re.findall(r"::Cell (\d+) (PASSED|FAILED)", done.stdout))
    assert len(results) == len(code_cells(notebook)), done.stdout + done.stderr
    return {int(number) for number, result in results.items() if result == "FAILED"}


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

    def cell(number: int, data: dict[str, str]) -> dict[str, Any]:
        output = {"output_type": "execute_result", "data": data, "execution_count": number}
        return {
            "cell_type": "code",
            "execution_count": number,
            "id": f"picture-{number}",
            "metadata": {},
            "outputs": [{**output, "metadata": {}}],
            "source": PROGRAM,
        }

    notebook = NotebookNode(stored(LESSON))
    notebook.cells = [NotebookNode(cell(n, data)) for n, data in enumerate(outputs, 1)]
    assert failed_cells(notebook, tmp_path) == set(range(1, len(outputs)))


@pytest.mark.slow
def test_faults_in_the_pictures_of_a_lesson_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(gradviz.__file__).parents[1] / "notebooks"))
    notebook = copy.deepcopy(stored(LESSON))
    kernel, faults, expected = Kernel(), list(FAULTS), set()
    for number, cell in enumerate(code_cells(notebook)):
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
        cell.outputs[0].data[part] = wrong[part]
        expected.add(number)
        faults.pop(0)
    assert len(expected) >= 3
    assert failed_cells(notebook, tmp_path) == expected
