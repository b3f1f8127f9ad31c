"""A step of training of each model is recorded whole, and is the same step as without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

import gradviz
from gradviz.capture.autograd.guards import is_compiled_now
from gradviz.model.events import BackwardStarted, Event, Operation, OptimizerStepped
from tests.models.gallery import EACH, Model
from tests.models.placement import placed
from tests.truth.recorded import Seen, assert_same, facts, in_order, nodes_now
from tests.truth.walk import root_of, unqualified


def story_of(model: Model) -> Callable[[Any, Seen], None]:
    """A step and one more backward, and everything that they have changed or left."""

    def story(block: Any, seen: Seen) -> None:
        built = model.build()
        with block:
            built.step()
            loss = built.loss()
            loss.backward()
        named = [*built.model.named_parameters(), *built.model.named_buffers()]
        seen["facts"] = {name: facts(tensor) for name, tensor in named}
        seen["nodes"] = nodes_now([loss])  # with their hooks; the accumulators are among them

    return story


@pytest.mark.parametrize("model", EACH)
def test_a_step_of_training_is_the_same_with_and_without_a_recording(model: Model) -> None:
    assert_same(story_of(model), values=[True])


# --- what ran, noted in another run ---------------------------------------------------------


@dataclass
class Ran:
    """What ran without a recording."""

    nodes: list[list[str]] = field(default_factory=list)
    """Per backward the names of nodes, in the order in which they ran."""
    updates: int = 0
    """How often an optimizer made a step."""


@contextmanager
def noting() -> Iterator[Ran]:
    """Notes what runs, by hooks on all nodes behind the roots of each backward."""
    ran, original = Ran(), torch.autograd.graph._engine_run_backward

    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiled_now():
            return original(outputs, *args, **kwargs)
        names: list[str] = []
        ran.nodes.append(names)
        roots = [o[0] if isinstance(o, tuple) else root_of(o)[0] for o in outputs]
        handles = []
        for node in in_order(roots):
            name = unqualified(node.name())
            handles += [node.register_hook(lambda *_, name=name: names.append(name))]
        result = original(outputs, *args, **kwargs)
        for handle in handles:
            handle.remove()
        return result

    def updated(*_: Any) -> None:
        ran.updates += 1

    handle = register_optimizer_step_post_hook(updated)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.autograd.graph, "_engine_run_backward", run)
        patch.setattr(torch.autograd, "_engine_run_backward", run)
        yield ran
    handle.remove()


def events(recording: gradviz.Recording) -> Iterator[Event]:
    for step in recording.all_steps:
        yield from step.events


def recorded(model: Model) -> gradviz.Recording:
    built = model.build()
    with gradviz.record() as recording:
        built.step()
    return recording


@pytest.mark.parametrize("model", EACH)
def test_a_recording_has_all_that_ran_and_follows_the_lines_of_the_gallery_only(
    model: Model,
) -> None:
    with noting() as ran:
        model.build().step()
    recording = recorded(model)
    assert ran.nodes
    names = [recording.graph[node].name for node in recording.backward_order]
    assert names == [name for one in ran.nodes for name in one]
    assert sum(isinstance(e, BackwardStarted) for e in events(recording)) == len(ran.nodes)
    assert sum(isinstance(e, OptimizerStepped) for e in events(recording)) == ran.updates
    has_the_line_and_the_call_that_made_each_loss(recording)
    files = {path.name for path in Path(__file__).parent.glob("*.py")}
    assert {code.name.partition(":")[0] for code in recording.codes} <= files


def has_the_line_and_the_call_that_made_each_loss(recording: gradviz.Recording) -> None:
    steps = list(recording.all_steps)
    made_in = {n: step for step in reversed(steps) for n, _ in step.record.changes.nodes}
    calls = {event.node for event in events(recording) if isinstance(event, Operation)}
    started = [event for event in events(recording) if isinstance(event, BackwardStarted)]
    roots = {node for event in started for node, _ in event.roots}
    assert roots
    for root in roots:
        step = made_in[root]
        assert step.code is not None
        assert step.line is not None
        assert step.code.line(step.line)
        assert root in calls or recording.history.is_partial(step.index)


# --- modules --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [one for one in EACH if one.id != "compiled"])
def test_a_recording_places_each_node_in_the_module_that_made_it(model: Model) -> None:
    built = model.build()
    loss, modules = placed(built.model, built.loss)
    again = model.build()
    with gradviz.record() as recording:
        again.loss().backward()
    (root,) = next(e.roots for e in events(recording) if isinstance(e, BackwardStarted))
    for node_id, node in side_by_side(recording.graph, root[0], root_of(loss)[0]).items():
        if node in modules:
            found, path = recording.graph[node_id].module, modules[node]
            assert is_of(found, path), (recording.graph[node_id].name, found, path)


def is_of(found: str | None, path: str | None) -> bool:
    """Whether a recording, which names the model too, means the module with this path.

    What runs in no module of the model may be in another: ``criterion``.
    """
    if not path or found is None:
        return found is path or "." not in (found or "")
    return f".{found}".endswith(f".{path}")


def side_by_side(graph: gradviz.Graph, root: str, live: Any) -> dict[str, Any]:
    """The nodes of a graph, by id, and those of a live graph that has the same form."""
    found: dict[str, Any] = {}
    stack = [(root, live)]
    while stack:
        node_id, node = stack.pop()
        if node_id not in found:
            found[node_id] = node
            entries = zip(graph[node_id].next_functions, node.next_functions, strict=True)
            stack += [(ours[0], theirs[0]) for ours, theirs in entries if ours is not None]
    return found
