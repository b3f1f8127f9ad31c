"""The moment after an error, read from its traceback alone."""

from __future__ import annotations

import gc
import runpy
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradviz.capture.post_mortem import post_mortem_of
from gradviz.model import Recording
from gradviz.model.events import Note, Raised, Refused


def post_mortem(function: Callable[[], object]) -> Recording:
    try:
        function()
    except RuntimeError as error:
        return post_mortem_of(error)
    raise AssertionError("nothing was raised")


def write_and_run() -> None:
    a = torch.ones(2, requires_grad=True)
    h = a.exp()
    h.add_(1)
    h.sum().backward()


def test_it_has_one_moment_and_says_that_nothing_was_recorded() -> None:
    recording = post_mortem(write_and_run)
    assert (recording.kind, recording.label) == ("post-mortem", "aftermath")
    assert [step.kind for step in recording.all_steps] == ["start", "error"]
    last = recording.all_steps[-1].events
    assert [e.type for e in last if isinstance(e, Raised)] == ["RuntimeError"]
    assert [e.text for e in last if isinstance(e, Note)] == ["not recorded"]


def test_it_reads_graph_versions_and_names_as_they_are_when_the_error_was_raised() -> None:
    graph = post_mortem(write_and_run).all_steps[-1].graph
    exp = next(node for node in graph.nodes if node.name == "ExpBackward0")
    (slot,) = exp.saved
    assert (slot.state, slot.saved_version, slot.current_version) == ("modified", 0, 1)
    assert {info.name for info in graph.tensors} >= {"a", "h"}


def test_it_knows_the_line_of_the_users_code_and_not_one_inside_torch() -> None:
    recording = post_mortem(write_and_run)
    step = recording.all_steps[-1]
    assert step.code is not None
    assert step.line is not None
    assert step.code.text.split("\n")[step.line - step.code.first_line].strip() == (
        "h.sum().backward()"
    )


def test_a_comprehension_is_part_of_the_statement_that_has_it() -> None:
    parameters = [torch.ones(2, requires_grad=True) for _ in range(2)]

    def norms() -> Any:
        return sum(
            one.grad.norm()  # type: ignore[union-attr]
            for one in parameters
        )

    def slopes() -> list[Tensor]:
        return [part.mul_(2) for one in parameters for part in [one]]

    for function, word in ((norms, "grad is None"), (slopes, "leaf written")):
        try:
            function()
        except (AttributeError, RuntimeError) as error:
            recording = post_mortem_of(error)
        found = recording.explanation
        assert found is not None
        assert found.kind == word
        assert found.noticed is not None
        assert found.noticed.text.startswith("return")


def test_a_root_without_a_name_is_found_in_the_frames_of_torch() -> None:
    recording = post_mortem(write_and_run)
    (refused,) = (e for e in recording.all_steps[-1].events if isinstance(e, Refused))
    assert refused.name == "backward"
    root = recording.all_steps[-1].graph.tensor(refused.inputs[0].tensor or "")
    assert recording.all_steps[-1].graph[root.node or ""].name == "SumBackward0"


def test_an_error_outside_any_graph_has_its_tensors() -> None:
    def number() -> None:
        counts = torch.ones(2, dtype=torch.int64)
        counts.requires_grad_()

    graph = post_mortem(number).all_steps[-1].graph
    assert [info.name for info in graph.tensors] == ["counts"]
    assert len(graph) == 0


def test_reading_it_changes_and_keeps_nothing() -> None:
    kept: list[Tensor] = []

    def fails() -> None:
        w = torch.ones(3, requires_grad=True)
        h = w.exp()
        view = h[1:]
        h.add_(1)
        kept.extend((w, h, view))
        h.sum().backward()

    with pytest.raises(RuntimeError) as caught:
        fails()
    w, h, view = kept
    before = [t._version for t in kept]
    node = h.grad_fn
    recording = post_mortem_of(caught.value)
    assert len(recording.all_steps[-1].graph) > 0
    assert [t._version for t in kept] == before
    assert h.grad_fn is node
    assert w.grad is None
    assert node is not None
    metadata: object = node.metadata  # a dictionary, though torch declares a method
    assert "gradviz" not in repr(metadata)
    dies = weakref.ref(view)
    kept.clear()
    del w, h, view, caught, node
    gc.collect()
    assert dies() is None


def test_the_same_program_gives_the_same_bytes() -> None:
    assert post_mortem(write_and_run).to_json() == post_mortem(write_and_run).to_json()


def test_lines_that_made_the_nodes_are_known_in_anomaly_mode() -> None:
    anomaly = torch.autograd.set_detect_anomaly(True, check_nan=False)
    with pytest.warns(UserWarning, match="Error detected"), anomaly:
        graph = post_mortem(write_and_run).all_steps[-1].graph
    exp = next(node for node in graph.nodes if node.name == "ExpBackward0")
    assert exp.source is not None
    assert exp.source.endswith("h = a.exp()")


def test_code_of_a_cell_or_script_is_known_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\n\na = torch.ones(2, requires_grad=True)\na.add_(1)\n")
    recording = post_mortem(lambda: runpy.run_path(str(script)))
    step = recording.all_steps[-1]
    assert step.line == 4
    assert step.code is not None
    assert step.code.name == "script.py"
    assert step.code.text.split("\n")[3] == "a.add_(1)"
    assert [info.name for info in step.tensors] == ["a"]


def test_an_error_in_a_hook_belongs_to_the_line_that_called_backward() -> None:
    def refuses(gradient: Tensor) -> None:
        gradient.numpy().fill(0)
        raise RuntimeError("no")

    def fails() -> None:
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        y.register_hook(refuses)
        y.sum().backward()

    recording = post_mortem(fails)
    step = recording.all_steps[-1]
    assert step.code is not None
    assert step.line is not None
    assert step.code.name.endswith("fails")
    assert {info.name for info in step.tensors} >= {"w", "y"}
