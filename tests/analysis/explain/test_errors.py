"""Every error of autograd names the variable, the node, the version, the line and a fix."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._utils import ExceptionWrapper

import gradviz
from gradviz.analysis.explain.raised_errors import errors_in
from gradviz.model import Recording
from gradviz.model.events import Raised
from gradviz.model.explanation import Explanation, Fix
from gradviz.model.sentence import Sentence
from tests.analysis.explain.gradient_scenarios import ALL
from tests.analysis.explain.running import (
    anomaly,
    explained,
    fixed,
    is_right,
    line_of,
    run,
    sentences,
    still_wrong,
)
from tests.analysis.explain.scenarios import Scenario, named
from tests.analysis.explain.stored import Stored, fields_of, on_device, said

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
FILE = "explanations.txt"


def first_of_each_sort() -> set[str]:
    """The first program of each kind: with a node and without, in code of the user's or not."""
    texts = Stored(FILE, map(str, ALL)).texts
    first: dict[tuple[object, ...], str] = {}
    for scenario in ALL:
        fields = fields_of(texts.get(scenario.name, ""))
        has_node = not fields.keys().isdisjoint(("node", "saved tensor"))
        sort = (fields.get("kind"), fields.get("raised"), has_node, scenario.inside)
        first.setdefault(sort, scenario.name)
    return {*first.values()}


FIRST_OF_EACH_SORT = first_of_each_sort()


@pytest.fixture(params=DEVICES, autouse=True)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """All tensors of the programs are made there."""
    torch.set_default_device(request.param)
    yield request.param
    torch.set_default_device(None)


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest) -> Stored:
    """What is said of each program."""
    return Stored(FILE, map(str, ALL), bool(request.config.getoption("--update-golden")))


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_an_error_is_explained_as_stored_and_every_fix_gives_the_right_gradient(
    scenario: Scenario, device: str, stored: Stored
) -> None:
    if device != "cpu" and scenario.only_cpu:
        pytest.skip("speaks of the CPU")
    found = explained(scenario.text)
    expected = stored.of(scenario.name, said(found), device)
    assert on_device(said(found), device) == on_device(expected, device)
    assert_marked_lines_are_named(scenario, found)
    assert_sentences_name_what_their_text_says(found)
    if found.kind == "saved tensor written":
        assert_caption_names_the_writer(found)
    for place, fix in enumerate(found.fixes):
        right = (scenario.right[place:] or scenario.right[-1:])[:1]
        assert_gives_one_of(right, scenario, fix, found)
    unrecorded = explained(scenario.text, record=False)
    assert_nobody_is_blamed_in_error(scenario, unrecorded, found)
    for fix in unrecorded.fixes:
        assert_gives_one_of(scenario.right, scenario, fix, found)
    if scenario.name in FIRST_OF_EACH_SORT:
        with anomaly():
            assert explained(scenario.text) == found
        assert_node_is_found_where_the_recorder_could_not_tell_it(found)


def assert_marked_lines_are_named(scenario: Scenario, found: Explanation) -> None:
    assert found.line == line_of(scenario.text, "culprit")
    assert found.noticed is not None
    assert found.noticed.line == line_of(scenario.text, "noticed")
    saves = [cause.at.line for cause in found.causes if cause.kind == "save" and cause.at]
    saved = line_of(scenario.text, "saved")
    assert saves == ([] if saved is None else [saved])


def assert_sentences_name_what_their_text_says(found: Explanation) -> None:
    assert found.recording is not None
    assert found.step is not None
    history, step = found.recording.history, found.step
    for sentence in sentences(found):
        assert isinstance(sentence, Sentence)
        for term in sentence.terms:
            if term.id.startswith("line:"):
                _, place, line = term.id.split(":")
                assert term.text == f"line {line}"
                assert found.recording.codes[int(place)].has(int(line))
            elif term.id[0] == "t":
                names = {row.name for row in history.tensor_rows(term.id, step)}
                assert term.text in names | {term.id}
            else:
                node = history.node(term.id, step)
                assert node is not None
                assert term.text in (node.name, node.name.removesuffix("Backward"))


def writer_in_caption(found: Explanation) -> tuple[str, int] | None:
    """Who wrote what was saved first, and in which line, by the caption of the error."""
    assert found.recording is not None
    assert found.step is not None
    caption = found.recording.details(found.step)
    writer = re.search(r"now @v\d+: ([^;]+) in line (\d+)[^;]*? wrote it", caption)
    return None if writer is None else (writer[1], int(writer[2]))


def assert_caption_names_the_writer(found: Explanation) -> None:
    writer = writer_in_caption(found)
    assert writer is not None
    assert writer[1] == found.line
    assert found.cause is not None
    assert "__setitem__" in writer[0] or writer[0] in str(found)


def assert_gives_one_of(
    results: tuple[dict[str, str], ...], scenario: Scenario, fix: Fix, found: Explanation
) -> None:
    if fix.how == "elsewhere":
        return
    variables = run(fixed(scenario.text, fix), lambda: gradviz.record())
    assert found.recording is not None
    told = variables["found"].explanations
    assert still_wrong(found, found.recording.explanations, told) == [], fix
    wrong = [
        {left: right for left, right in result.items() if not is_right(variables, left, right)}
        for result in results
    ]
    assert {} in wrong, fix


def assert_nobody_is_blamed_in_error(
    scenario: Scenario, unrecorded: Explanation, recorded: Explanation
) -> None:
    assert unrecorded.kind == recorded.kind
    assert unrecorded.node_name in (None, recorded.node_name) or recorded.node_name is None
    assert unrecorded.saved in (None, recorded.saved)
    assert {*unrecorded.variables} <= {*recorded.variables}
    assert unrecorded.noticed is not None
    assert unrecorded.noticed.line == line_of(scenario.text, "noticed") or scenario.inside
    if unrecorded.line is not None:
        assert unrecorded.line == line_of(scenario.text, "culprit")
    else:
        assert any("gradviz.record()" in words for words in unrecorded.unknown)


def assert_node_is_found_where_the_recorder_could_not_tell_it(found: Explanation) -> None:
    # On a GPU the engine runs nodes in another thread than the one that raises.
    assert found.recording is not None
    without_node = [
        replace(
            step,
            events=tuple(
                replace(event, node=None) if isinstance(event, Raised) else event
                for event in step.events
            ),
        )
        for step in found.recording.records
    ]
    (again,) = errors_in(Recording(without_node, found.recording.codes))
    assert again == found


def test_every_stored_explanation_is_of_a_program(stored: Stored) -> None:
    assert stored.file.read_text("utf-8") == stored.whole()


def test_a_write_that_raised_the_counter_of_data_is_named_by_nobody() -> None:
    text = """
x = torch.ones(2, requires_grad=True)
y = x.exp()
d = y.data
d.mul_(2)
d.mul_(2)
y.add_(1)  # culprit
y.sum().backward()
"""
    found = explained(text)
    assert found.line == line_of(text, "culprit")
    assert writer_in_caption(found) == ("add_", found.line)


def test_with_anomaly_mode_the_line_that_saved_is_known_without_a_recording(device: str) -> None:
    scenario = named("result of exp")
    with anomaly():
        found = explained(scenario.text, record=False)
    culprit, save = found.causes
    assert (culprit.kind, culprit.at) == ("write", None)
    assert save.at is not None
    assert (save.kind, save.at.line) == ("save", line_of(scenario.text, "saved"))
    (fix,) = found.fixes
    variables = run(fixed(scenario.text, fix))
    assert is_right(variables, "w.grad", scenario.right[0]["w.grad"])


def fails() -> None:
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    h.add_(1)
    h.sum().backward()


def test_of_a_function_that_is_not_followed_no_line_is_known_and_no_fix() -> None:
    with gradviz.expect_error(only=()) as found:
        fails()
    assert found.unknown == ("which line inside fails; gradviz.record() without only= shows it",)
    assert found.fixes == ()
    with gradviz.expect_error() as found:
        fails()
    assert found.unknown == ()
    assert found.cause is not None
    assert found.cause.at is not None
    assert found.cause.at.text == "h.add_(1)"
    assert len(found.fixes) == 2


class Gate(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g = torch.sigmoid(x)
        twice = g * 2
        g += 1
        return twice * g


class Inner(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu_(x)


def test_of_a_module_that_is_not_followed_no_inplace_is_switched_off() -> None:
    net = Gate()
    with gradviz.expect_error(only=()) as found:
        loss = net(torch.ones(2, requires_grad=True)).sum()
        loss.backward()
    assert found.unknown == ("which line inside net; gradviz.record() without only= shows it",)
    assert found.fixes == ()
    with gradviz.expect_error() as found:
        loss = net(torch.ones(2, requires_grad=True)).sum()
        loss.backward()
    assert found.unknown == ()
    assert found.cause is not None
    assert found.cause.at is not None
    assert found.cause.at.text == "g += 1"


def test_inplace_is_switched_off_only_where_the_code_shows_that_it_is_on() -> None:
    made = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.ReLU(inplace=True))
    mine = torch.nn.Sequential(torch.nn.Sigmoid(), Inner())
    for both in ([made], [mine]):
        with gradviz.expect_error(only=()) as found:
            net = both.pop()
            net(torch.ones(2, requires_grad=True)).sum().backward()
        assert found.cause is not None
        assert "wrote it in place" in found.cause.what
        assert found.fixes == ()


def test_an_error_of_the_code_itself_is_said_to_be_another() -> None:
    w = torch.ones(2, requires_grad=True)
    with contextlib.suppress(ValueError), gradviz.record() as recording:
        w.exp()
        raise ValueError("mine")
    (found,) = recording.explanations
    assert (found.kind, found.raised) == ("other", "ValueError")
    assert found.noticed is not None
    assert found.noticed.text == 'raise ValueError("mine")'


def test_errors_that_the_code_catches_are_explained_too() -> None:
    with gradviz.record() as recording:
        w = torch.ones(2, requires_grad=True)
        loss = w.exp().sum()
        loss.backward()
        for _ in range(2):
            with contextlib.suppress(RuntimeError):
                loss.backward()
        with contextlib.suppress(RuntimeError):
            w.add_(1)
    kinds = [found.kind for found in recording.explanations]
    assert kinds == ["graph freed", "graph freed", "leaf written"]
    first, second, third = recording.explanations
    assert first.line == second.line
    assert [step.explanation for step in recording.all_steps if step.explanation] == [
        first,
        second,
        third,
    ]


def test_what_was_written_before_the_recording_is_not_blamed_on_a_line_of_it() -> None:
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    h.add_(1)
    with gradviz.expect_error() as found:
        h = h * 2
        h.add_(1)
        h.sum().backward()
    assert (found.node_name, found.saved_version, found.current_version) == ("ExpBackward0", 0, 1)
    assert found.line is None
    assert found.unknown == (
        "which line wrote it first: the recording does not contain that write. "
        "Begin gradviz.record() before it; in a notebook, type %gradviz on and run the earlier "
        "cells again",
    )


def test_a_cut_that_a_line_of_very_many_calls_hides_is_not_blamed_on_another() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.expect_error() as found:
        loss = sum((w * 1).detach() for _ in range(150)).sum()  # type: ignore[union-attr]
        loss.backward()
    assert (found.kind, found.line) == ("no graph", None)
    assert found.unknown == (
        "where the graph was cut: the computation of the value could not be followed. "
        "Print the requires_grad of what each line computes: the first False is the cut",
    )


def test_what_was_freed_before_the_recording_is_not_blamed_on_a_backward_of_it() -> None:
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    h.sum().backward()
    with gradviz.expect_error() as found:
        other = (w * 2).sum()
        other.backward()
        h.sum().backward()
    assert found.node_name == "ExpBackward0"
    assert found.line is None
    assert found.what == (
        "ExpBackward0 needs its saved tensor result, but an earlier backward has freed it before "
        "this recording"
    )
    assert found.unknown == (
        "which backward freed it: it ran before this recording. "
        "Begin gradviz.record() before it; in a notebook, type %gradviz on and run the earlier "
        "cells again",
        "which line made h: run it again together with this backward, both recorded",
    )
    assert found.fixes == ()


def test_what_another_thread_has_freed_is_blamed_on_no_line_and_no_backward_is_changed() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.expect_error() as found:
        y = (w * w).sum()
        other = threading.Thread(target=y.backward)
        other.start()
        other.join()
        y.backward()
    culprit, save = found.causes
    assert (culprit.kind, culprit.what, culprit.at) == ("backward", "", None)
    assert save.kind == "save"
    assert found.line is None
    assert found.fixes == ()
    assert "but they have been freed" in found.what
    assert "culprit: not known" in str(found)


def test_without_a_recording_no_backward_is_changed() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.expect_error(record=False) as found:
        h = w.exp()
        one, two = (h * 2).sum(), (h * 3).sum()
        one.backward()
        two.backward()
    assert found.kind == "graph freed"
    assert found.line is None
    assert found.fixes == ()


def test_a_line_that_sets_several_flags_is_told_once_with_each_tensor() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with gradviz.expect_error() as found:
        b.requires_grad, a.requires_grad = False, False
        loss = (a * b).sum()
        loss.backward()
    assert sorted(found.variables) == ["a", "b", "loss"]
    assert [cause.what for cause in found.causes] == ["set requires_grad of b and a to False"]


def test_without_the_text_of_the_code_the_call_that_cut_is_known_or_said_to_be_unknown() -> None:
    for text, line in (
        ("loss = torch.tensor(w.exp().sum().item())", 4),
        ("value = w.exp().sum().item()\n    loss = torch.tensor(value)", None),
    ):
        code = f"""import gradviz, torch
w = torch.ones(2, requires_grad=True)
with gradviz.expect_error() as found:
    {text}
    loss.backward()
"""
        space: dict[str, Any] = {"__name__": "program"}
        exec(compile(code, "nowhere.py", "exec"), space)
        found = space["found"]
        assert (found.kind, found.line) == ("no graph", line)
        assert bool(found.unknown) == (line is None)
        assert found.fixes == ()


def test_what_has_no_position_is_said_to_be_unknown(tmp_path: Path) -> None:
    text = "w = torch.ones(2, requires_grad=True)\nh = w * w; h.sum().backward()\n"
    assert explained(f"{text}h.sum().backward()\n").fixes
    code = (
        "import torch, gradviz\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "with gradviz.expect_error() as error:\n"
        "    h = w * w; h.sum().backward()\n"
        "    h.sum().backward()\n"
        "print(len(error.fixes), *error.unknown)\n"
    )
    file = tmp_path / "program.py"
    file.write_text(code)
    command = [sys.executable, "-X", "no_debug_ranges", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == (
        "0 which expression of line 4 did it: Python gives no position for it. "
        "Write one call per line"
    )


def test_the_line_that_got_the_error_of_a_worker_is_not_accused() -> None:
    try:
        torch.ones(3, requires_grad=True, device="cpu").numpy()
    except RuntimeError:
        # What a worker of a DataLoader sends to the process that reads from it.
        sent = ExceptionWrapper(where="in DataLoader worker process 0")
    weight = torch.ones(3, requires_grad=True)
    with gradviz.expect_error() as found:
        [sent.reraise() for _ in weight]
    assert found.kind == "numpy of a tensor that requires grad"
    assert not found.causes
    assert not found.fixes
    assert not found.variables
    assert "DataLoader worker process 0" in str(found.what)
    assert "num_workers=0" in str(found.unknown[0])
