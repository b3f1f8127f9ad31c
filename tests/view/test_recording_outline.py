from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from gradviz.model import Recording
from gradviz.model.recording import RowChanges
from gradviz.view.outlines.recording import WIDTH, recording_outline, short_outline
from tests.view.recordings import ALL, product


def test_lines_are_short_enough_to_read() -> None:
    for name, recording in ALL.items():
        assert max(map(len, recording_outline(recording).split("\n"))) <= WIDTH, name


def changed(step: int, **facts: Any) -> Recording:
    recording = product()
    steps = list(recording.records)
    steps[step] = replace(steps[step], **facts)
    return Recording(steps, recording.codes, recording.device, recording.label)


def without(step: int) -> Recording:
    recording = product()
    steps = [facts for i, facts in enumerate(recording.records) if i != step]
    return Recording(steps, recording.codes, recording.device, recording.label)


def swapped(one: int, other: int) -> Recording:
    recording = product()
    steps = list(recording.records)
    steps[one], steps[other] = steps[other], steps[one]
    return Recording(steps, recording.codes, recording.device, recording.label)


def row(step: int, key: str, **facts: Any) -> Recording:
    """The recording with one row of one step seeded with a fault."""
    recording = product()
    changes = recording.records[step].changes
    fault = RowChanges(
        tuple((k, replace(n, **facts) if k == key and n else n) for k, n in changes.nodes),
        tuple((k, replace(t, **facts) if k == key and t else t) for k, t in changes.tensors),
        changes.roots,
    )
    assert fault != changes
    return changed(step, changes=fault)


FAULTS = {
    "a step is missing": without(8),
    "two nodes ran in the other order": swapped(17, 20),
    "a free was not seen": changed(13, changes=RowChanges(), events=(), kind="saved"),
    "a version is off by one": row(4, "t3", version=1),
    "a flag is wrong": row(1, "t0", requires_grad=False),
    "a gradient is wrong": row(16, "t0", grad=None),
    "retains_grad is wrong": row(4, "t3", retains_grad=True),
    "an edge is lost": row(4, "n0", next_functions=(("n1", 0), None)),
    "an edge goes elsewhere": row(4, "n0", next_functions=(("n2", 0), ("n1", 0))),
    "a saved tensor is lost": row(4, "n0", saved=()),
    "a node is called freed": row(4, "n0", state="freed"),
    "bytes are wrong": changed(4, saved_bytes=9),
    "the wrong line": changed(4, line=5),
    "the gradient handed on is wrong": changed(
        14,
        events=(replace(product().records[14].events[0], grad_inputs=()),),  # type: ignore[call-arg]
    ),
}


def test_a_fault_changes_the_outline(subtests: pytest.Subtests) -> None:
    for fault in FAULTS:
        with subtests.test(fault=fault):
            assert recording_outline(FAULTS[fault]) != recording_outline(product())


def test_the_device_stands_in_the_first_line_only() -> None:
    recording = product()
    on_cuda = Recording(recording.records, recording.codes, "cuda:0", recording.label)
    here, there = (recording_outline(r).split("\n") for r in (recording, on_cuda))
    assert here[1:] == there[1:]
    assert (here[0].split("; on ")[1], there[0].split("; on ")[1]) == ("cpu", "cuda:0")


def test_memory_which_differs_between_devices_is_left_out() -> None:
    assert recording_outline(changed(4, memory=123)) == recording_outline(product())


def test_steps_stand_in_the_order_in_which_they_happened_on_several_devices_too() -> None:
    recording = product()
    steps = list(recording.records)
    steps[15:18], steps[18:21] = steps[18:21], steps[15:18]
    text = recording_outline(Recording(steps, recording.codes, None, "code"))
    ran = re.findall(r"^ *\d+    (\w)\.grad was None and became", text, re.MULTILINE)
    assert ran == ["c", "b", "a"]


def test_printing_a_recording_gives_the_short_outline() -> None:
    assert str(product()) == short_outline(product())


def test_a_very_long_recording_says_how_much_is_left_out() -> None:
    facts = product().records
    long = Recording([facts[0], *[facts[1]] * 2100], product().codes, "cpu", "code")
    lines = recording_outline(long).split("\n")
    (place,) = (at for at, line in enumerate(lines) if "not listed" in line)
    assert lines[place].strip() == (
        "…  101 steps and sub-steps are not listed here; recording.to_json() has all"
    )
    assert lines[place - 1].split()[0] == "999"
    assert lines[place + 1].split()[0] == "1101"
    assert lines[-1].split()[0] == "2100"


def test_bytes_are_those_before_and_after_the_step_in_whatever_order_steps_are_listed() -> None:
    recording = product()
    steps = [replace(facts, saved_bytes=8 * index) for index, facts in enumerate(recording.records)]
    text = recording_outline(Recording(steps, recording.codes, None, "code"))
    found = re.findall(r"saved tensors keep (\d+) B, before (\d+) B", text)
    assert {int(now) - int(before) for now, before in found} == {8}
    assert len(found) == len(steps) - 1
