"""Progress is shown after two seconds, where somebody can see it, and is gone at the end."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz._presentation import FullPresentation
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import progress
from gradviz.model.progress import AFTER, STRIDE, Terminal, Work, counted, working
from gradviz.view.widgets.progress_display import progress_display
from gradviz.view.widgets.progress_line import ProgressLine
from tests.each import each


def chain(count: int) -> Tensor:
    y = torch.ones(2, requires_grad=True)
    for _ in range(count):
        y = y.sin()
    return y


class Display:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def show(self, text: str) -> None:
        self.told.append(text)

    def end(self) -> None:
        self.told.append("end")


class Clock:
    """Goes on by one step each time it is read."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def shown_of(step: float, count: int) -> list[str]:
    display = Display()
    with working("snapshot", lambda name: Work(name, Clock(step), lambda: display)):
        assert list(counted(range(count), "nodes read", count)) == list(range(count))
    assert not progress.is_running()
    return display.told


def test_short_work_shows_nothing() -> None:
    assert shown_of(AFTER / 10, 5 * STRIDE) == []


def test_long_work_shows_how_far_it_is_and_removes_it_at_the_end() -> None:
    assert shown_of(1.0, 4 * STRIDE) == [
        f"gradviz snapshot: {2 * STRIDE - STRIDE:,} of {4 * STRIDE:,} nodes read",
        f"gradviz snapshot: {2 * STRIDE:,} of {4 * STRIDE:,} nodes read",
        f"gradviz snapshot: {3 * STRIDE:,} of {4 * STRIDE:,} nodes read",
        "end",
    ]


def test_work_inside_other_work_is_a_part_of_it() -> None:
    display = Display()
    with working("show", lambda name: Work(name, Clock(AFTER), lambda: display)):
        with working("snapshot"):
            progress.at("nodes found", 1_234)
        assert progress.is_running()
    assert display.told == ["gradviz show: 1,234 nodes found so far", "end"]


def test_without_work_nothing_is_counted() -> None:
    numbers = [1, 2]
    assert counted(numbers, "nodes") is numbers


def test_a_line_is_removed_if_work_raises() -> None:
    display = Display()

    def work() -> None:
        with working("show", lambda name: Work(name, Clock(AFTER), lambda: display)):
            progress.at("nodes read", 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert display.told[-1] == "end"
    assert not progress.is_running()


def test_a_terminal_has_one_line_and_then_none() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream)
    terminal.show("one")
    terminal.show("two")
    terminal.end()
    assert stream.getvalue() == "\r\x1b[2Kone\r\x1b[2Ktwo\r\x1b[2K"


def recorded(count: int) -> gradviz.Recording:
    with gradviz.record() as recording:
        chain(count).sum().backward()
    return recording


GRAPH = gradviz.snapshot(chain(50))
TEXT = GRAPH.to_json()
RECORDING = recorded(20)
RECORDING_TEXT = RECORDING.to_json()
PICTURE = gradviz.show(GRAPH)


@each(
    ("name", "work"),
    [
        ("snapshot", lambda: gradviz.snapshot(chain(50))),
        ("show", lambda: gradviz.show(chain(50))),
        ("show", lambda: gradviz.show(RECORDING)),
        ("fold", lambda: fold_tree(GRAPH)),
        ("find", lambda: PICTURE._answer_to({"find": "sin"})),
        ("outline", lambda: str(GRAPH)),
        ("to_json", GRAPH.to_json),
        ("to_json", RECORDING.to_json),
        ("from_json", lambda: gradviz.Graph.from_json(TEXT)),
        ("from_json", lambda: gradviz.Recording.from_json(RECORDING_TEXT)),
        ("compare", lambda: gradviz.compare(GRAPH, chain(50))),
        ("memory", lambda: gradviz.memory(chain(50))),
        ("explain", lambda: gradviz.explain(RECORDING)),
        ("record", lambda: recorded(20)),
    ],
)
def test_every_door_tells_how_far_it_is(
    name: str, work: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    display = Display()
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(FullPresentation, "progress_display", lambda *_: display)
    work()
    told = [text for text in display.told if text.startswith(f"gradviz {name}: ")]
    assert told
    assert display.told[-1] == "end"
    assert display.told.count("end") == (2 if name == "record" else 1)


def test_recorded_code_has_the_terminal_for_itself(
    in_kernel: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[bool] = []

    def display_of(_: object, is_alone: bool) -> None:
        shown.append(is_alone)

    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(FullPresentation, "progress_display", display_of)
    recorded(20)
    assert shown == [False, True]  # while it runs; when it has ended
    assert progress_display(is_alone=False) is None
    in_kernel(allow_stdin=True)
    assert isinstance(progress_display(is_alone=False), ProgressLine)


@pytest.fixture
def in_kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def ask(kind: str = "execute_request", allow_stdin: bool = False) -> None:
        parent = {"header": {"msg_type": kind}, "content": {"allow_stdin": allow_stdin}}
        shell = SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda: parent))
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    return ask


def test_a_notebook_that_somebody_looks_at_shows_a_line_that_is_no_output(
    in_kernel: Callable[..., None],
) -> None:
    in_kernel(allow_stdin=True)
    line = progress_display()
    assert isinstance(line, ProgressLine)
    line.show("gradviz snapshot: 1 nodes read so far")
    assert line.get_state()["text"] == "gradviz snapshot: 1 nodes read so far"
    line.end()
    assert line.comm is None


def test_a_notebook_that_nobody_looks_at_shows_nothing(in_kernel: Callable[..., None]) -> None:
    in_kernel()
    assert progress_display() is None


def test_what_the_browser_asks_for_shows_a_line(in_kernel: Callable[..., None]) -> None:
    in_kernel("comm_msg")
    assert isinstance(progress_display(), ProgressLine)


def test_what_is_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_display() is None
