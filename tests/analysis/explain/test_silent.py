"""Faults that torch does not raise are found, told with their line, and fixed."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent
from typing import Any

import pytest
import torch

from gradviz.capture.recorder.observers import call_events
from gradviz.model import Recording
from gradviz.model.explanation import Explanation
from tests.analysis.explain.running import fixed, line_of, sentences, unmarked
from tests.analysis.explain.scenarios import Scenario
from tests.analysis.explain.silent_innocents import INNOCENTS, Innocent
from tests.analysis.explain.silent_running import FIRST, run_plain, run_recorded
from tests.analysis.explain.silent_scenarios import SCENARIOS
from tests.analysis.explain.stored import Stored, on_device, said

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
FILE = "silent.txt"


@pytest.fixture(params=DEVICES, autouse=True)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """All tensors of the programs are made there, but for those that numpy has too."""
    callspec = getattr(request.node, "callspec", None)
    for program in [] if callspec is None else callspec.params.values():
        if request.param != "cpu" and "numpy" in getattr(program, "text", ""):
            pytest.skip("numpy's memory is on the CPU")
    torch.set_default_device(request.param)
    yield request.param
    torch.set_default_device(None)


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest) -> Stored:
    """What is said of each program."""
    return Stored(FILE, map(str, SCENARIOS), bool(request.config.getoption("--update-golden")))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_silent_fault_is_told_once_as_stored_and_each_fix_makes_it_right(
    scenario: Scenario, device: str, stored: Stored
) -> None:
    text = unmarked(scenario.text)
    (found,) = run_recorded(text, scenario.before).explanations
    expected = stored.of(scenario.name, said(found), device)
    assert on_device(said(found), device) == on_device(expected, device)
    assert found.raised is None
    assert found.is_silent
    assert_marked_lines_are_named(scenario, found)
    assert_sentences_name_variables(found)
    assert_points_into_its_recording(found)
    fixes = [fix for fix in found.fixes if fix.how != "elsewhere"]
    assert bool(fixes) == bool(scenario.right)
    broken = run_plain(text, scenario.before)
    for place, fix in enumerate(fixes):
        (right,) = (scenario.right[place:] or scenario.right[-1:])[:1]
        new = fixed(text, fix, FIRST)
        space = run_plain(new, scenario.before)
        for result, expected in right.items():
            assert not is_equal(broken, result, expected)
            assert is_equal(space, result, expected), fix.code
        assert run_recorded(new, scenario.before).explanations == (), fix.code


def is_equal(space: dict[str, Any], result: str, expected: str) -> bool:
    return torch.allclose(value(space, result), value(space, expected))


def value(space: dict[str, Any], expression: str) -> torch.Tensor:
    found = eval(expression, space)
    return torch.cat([t.flatten() for t in found]) if isinstance(found, tuple) else found


def assert_marked_lines_are_named(scenario: Scenario, found: Explanation) -> None:
    assert found.line == line_of(scenario.text, "culprit", FIRST)
    assert found.noticed is not None
    assert found.noticed.line == line_of(scenario.text, "noticed", FIRST)


def assert_sentences_name_variables(found: Explanation) -> None:
    names = {term.text for text in sentences(found) for term in text.terms}
    assert names
    assert {*found.variables[:1]} <= names


def assert_points_into_its_recording(found: Explanation) -> None:
    assert found.recording is not None
    assert found.noticed is not None
    step = found.recording.all_steps[found.step or 0]
    assert step.line == found.noticed.line
    assert step.explanation is (found if found.is_fault else None)
    graph = step.graph
    if found.node is not None:
        assert graph[found.node].name == found.node_name
    assert bool(found.marks) == found.is_fault
    for mark in found.marks:
        node, _, rest = mark.id.partition(".")
        if rest.startswith("saved."):
            assert graph[node].saved[int(rest[6:])].name == found.saved
        elif node.startswith("n"):
            assert not rest or graph[node].next_functions[int(rest)] is not None
        else:
            assert graph.tensor(node).id == node


def test_every_stored_text_is_of_a_program(stored: Stored) -> None:
    assert stored.file.read_text("utf-8") == stored.whole()


@pytest.mark.parametrize("innocent", INNOCENTS, ids=str)
def test_where_nothing_is_wrong_nothing_is_told(
    innocent: Innocent, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = run_recorded(innocent.text, innocent.before)
    assert recording.at_error is None
    assert faults_in(recording) == []
    assert {found.kind for found in recording.explanations} == {*innocent.looks}

    # Of a function whose lines are not recorded.
    function = "def work():\n" + indent(innocent.text, "    ")
    scope = "\n".join(line for line in innocent.before.split("\n") if line)
    recording = run_recorded("work()", f"{scope}\n{function}")
    assert recording.at_error is None
    assert faults_in(recording) == []
    assert {found.kind for found in recording.explanations} <= {*innocent.looks}

    # Where not everything was seen.
    monkeypatch.setattr(call_events, "MOST_EVENTS", 1)
    recording = run_recorded(innocent.text, innocent.before, budget=100)
    assert [str(found) for found in recording.explanations] == []


def faults_in(recording: Recording) -> list[str]:
    return [str(found) for found in recording.explanations if found.is_fault]
