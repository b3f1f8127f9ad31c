"""Faults that torch does not raise are found, told with their line, and fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from textwrap import indent
from typing import Any

import pytest
import torch

from gradviz.capture.recorder.observers import call_events
from gradviz.model.explanation import CodeLine, Explanation
from tests.analysis.explain.running import sentences
from tests.analysis.explain.silent_innocents import INNOCENTS, Innocent
from tests.analysis.explain.silent_running import FIRST, fixed, run_plain, run_recorded
from tests.analysis.explain.silent_scenarios import SCENARIOS, Scenario

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


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


@cache
def explained(scenario: Scenario, device: str) -> tuple[Explanation, ...]:
    """The explanations of a recorded program, made once for all tests."""
    return run_recorded(scenario.text, scenario.before).explanations


def value(space: dict[str, Any], expression: str) -> torch.Tensor:
    found = eval(expression, space)
    return torch.cat([t.flatten() for t in found]) if isinstance(found, tuple) else found


def told(line: CodeLine | None) -> tuple[int | None, str] | None:
    return None if line is None else (line.line, line.text)


def line_of(scenario: Scenario, text: str) -> int:
    lines = [line.strip() for line in scenario.text.split("\n")]
    return FIRST + len(lines) - 1 - lines[::-1].index(text)


@every_scenario
def test_the_fault_is_told_once_with_its_line(scenario: Scenario, device: str) -> None:
    (found,) = explained(scenario, device)
    assert (found.kind, found.raised, found.is_silent) == (scenario.kind, None, True)
    assert found.variables == scenario.variables
    assert (found.node_name, found.saved) == (scenario.node, scenario.saved)
    assert told(found.noticed) == (line_of(scenario, scenario.noticed), scenario.noticed)
    assert scenario.unknown in "".join(found.unknown)
    assert bool(found.unknown) == bool(scenario.unknown)
    culprit = found.causes[0].at
    if scenario.culprit:
        assert told(culprit) == (line_of(scenario, scenario.culprit), scenario.culprit)
    else:
        assert culprit is None


@every_scenario
def test_its_sentences_name_what_they_speak_of(scenario: Scenario, device: str) -> None:
    (found,) = explained(scenario, device)
    names = {term.text for text in sentences(found) for term in text.terms}
    assert names
    assert set(found.variables[:1]) <= names


@every_scenario
def test_it_points_into_its_recording(scenario: Scenario, device: str) -> None:
    (found,) = explained(scenario, device)
    assert found.recording is not None
    step = found.recording.all_steps[found.step or 0]
    assert step.line == line_of(scenario, scenario.noticed)
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


@every_scenario
def test_the_program_is_wrong_and_each_fix_makes_it_right(scenario: Scenario, device: str) -> None:
    (found,) = explained(scenario, device)
    fixes = [fix for fix in found.fixes if fix.how != "elsewhere"]
    assert len(fixes) == len(scenario.right)
    broken = run_plain(scenario.text, scenario.before)
    for fix, right in zip(fixes, scenario.right, strict=True):
        text = fixed(scenario.text, fix)
        space = run_plain(text, scenario.before)
        expected = value(space, right)
        assert not torch.allclose(value(broken, scenario.result), value(broken, right))
        assert torch.allclose(value(space, scenario.result), expected), fix.code
        assert run_recorded(text, scenario.before).explanations == (), fix.code


def test_cards_read_as_they_were_written_down(check_golden: Callable[[str, str], None]) -> None:
    torch.set_default_device("cpu")  # two of the programs need it
    cards = [(f"# {one.name}", *map(str, explained(one, "cpu")), "") for one in SCENARIOS]
    check_golden("silent.txt", "\n".join(line for card in cards for line in card))


every_innocent = pytest.mark.parametrize("innocent", INNOCENTS, ids=str)


@every_innocent
def test_where_nothing_is_wrong_nothing_is_told(innocent: Innocent) -> None:
    recording = run_recorded(innocent.text, innocent.before)
    assert recording.at_error is None
    assert [str(found) for found in recording.explanations if found.is_fault] == []
    assert {found.kind for found in recording.explanations} == {*innocent.looks}


@every_innocent
def test_nothing_is_told_where_not_everything_was_seen(
    innocent: Innocent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_events, "MOST_EVENTS", 1)
    recording = run_recorded(innocent.text, innocent.before, budget=100)
    assert [str(found) for found in recording.explanations] == []


@every_innocent
def test_nothing_is_told_of_a_function_whose_lines_are_not_recorded(innocent: Innocent) -> None:
    function = "def work():\n" + indent(innocent.text, "    ")
    scope = "\n".join(line for line in innocent.before.split("\n") if line)
    recording = run_recorded("work()", f"{scope}\n{function}")
    assert recording.at_error is None
    assert [str(found) for found in recording.explanations if found.is_fault] == []
    assert {found.kind for found in recording.explanations} <= {*innocent.looks}
