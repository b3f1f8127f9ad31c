"""A recording is whole at any length: totals, order, the first and the last steps."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz import Recording
from gradviz.capture.recorder import BUDGET
from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    Freed,
    Note,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.recording import StepRecord
from tests.analysis.explain.silent_running import run_recorded
from tests.each import each

WHOLE = 10**8
"""A budget that nothing here comes near."""
SMALL = 1_000
TOTALS = (Accumulated, Write, OptimizerStepped, ZeroedGrad, Raised, Freed, BackwardEnded)


def trained(turns: int, budget: int, broken: int | None = None, kept: bool = False) -> Recording:
    """A training loop; in one turn a saved tensor may be written, losses may be kept alive."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(5, 3)
    losses: list[Tensor] = []
    recording = Recording.empty()
    try:
        with gradviz.record(budget=budget) as recording:
            for turn in range(turns):
                opt.zero_grad()
                hidden = model[0](x).tanh()
                if turn == broken:
                    hidden.add_(1)
                loss = model[2](hidden).pow(2).mean()
                loss.backward()
                opt.step()
                losses += [loss] if kept else []
    except RuntimeError:
        assert broken is not None
    return recording


def totals(recording: Recording) -> dict[str, Counter[Any]]:
    """How often each thing happened, and each line ran."""
    found: dict[str, Counter[Any]] = {kind.kind: Counter() for kind in TOTALS}
    lines: Counter[Any] = Counter()
    for record in recording.records:
        if record.kind == "line":
            lines[record.code, record.line, record.depth, calls(record)] += record.times or 1
        for event in record.events:
            if isinstance(event, Accumulated):
                found[event.kind]["times"] += event.times
            elif isinstance(event, Freed):
                found[event.kind]["times"] += event.times
                found[event.kind]["bytes"] += event.nbytes
            elif isinstance(event, BackwardEnded):
                found[event.kind]["nodes"] += event.nodes
                found[event.kind]["raised"] += event.times if event.raised else 0
            elif isinstance(event, Write):
                found[event.kind][event.by, event.name] += event.times
            elif isinstance(event, TOTALS):
                found[event.kind]["times"] += event.times
    return found | {"lines": lines}


def arrivals(recording: Recording) -> Counter[str | None]:
    """How often each tensor got a gradient."""
    found: Counter[str | None] = Counter()
    for record in recording.records:
        for event in record.events:
            if isinstance(event, Accumulated):
                found[event.tensor] += event.times
    return found


def calls(record: StepRecord) -> bool:
    return any(getattr(event, "about", "") == "calls a function" for event in record.events)


def check_same(short: Recording, whole: Recording) -> None:
    """That a recording has all that matters of the same code's recording without a limit."""
    assert whole.counted == 0
    assert short.backward_order == whole.backward_order
    assert totals(short) == totals(whole)
    last_graph = whole.all_steps[-1].graph
    for tensor in last_graph.tensors:
        assert arrivals(short)[tensor.id] == arrivals(whole)[tensor.id]
    kept = [record for record in short.records if record.times is None]
    assert len(kept) + short.counted == len(whole.records)
    first = next((i for i, one in enumerate(short.records) if one.times is not None), len(kept))
    assert short.records[:first] == whole.records[:first]
    ends = [at for at, one in enumerate(short.records) if one.times is not None]
    last = len(short.records) - (ends[-1] + 1 if ends else 0)
    tail, same = short.records[len(short.records) - last :], whole.records[-last:]
    assert last >= 1
    assert tail == same
    for back in range(1, last + 1):
        assert short.all_steps[-back].graph == whole.all_steps[-back].graph
    assert str(short.explanation) == str(whole.explanation)
    assert Recording.from_json(short.to_json()) == short


def test_a_long_loop_has_all_totals_and_its_first_and_last_turns_as_they_were() -> None:
    short, whole = trained(60, SMALL), trained(60, WHOLE)
    check_same(short, whole)
    assert len(short.records) < len(whole.records) / 3
    assert [turn.times for turn in short.turns if turn.times > 1]
    assert {turn.count for turn in short.turns} == {60}
    assert sum(turn.times for turn in short.turns) == 60


def test_of_a_loop_of_very_many_turns_only_so_many_are_kept_although_there_is_room() -> None:
    w = torch.ones(1, requires_grad=True)
    with gradviz.record(values=False) as recording:
        for _ in range(400):
            out = w * 2
            out.backward()
        for _ in range(3):
            out = chain(w, 20)
            out.backward()
    loop = [turn for turn in recording.turns if turn.count == 400]
    (counted,) = (turn for turn in loop if turn.times > 1)
    assert sum(turn.times for turn in loop) == 400
    assert counted.number is not None
    assert counted.number >= 15
    assert loop.index(counted) < len(loop) - 15
    assert len(recording.records) < 2_000
    assert sum(turn.count == 3 for turn in recording.turns) == 3
    assert len(recording.backward_order) == 400 * 2 + 3 * 21


def test_layers_of_a_model_are_no_loop_that_is_counted() -> None:
    layers = [nn.Linear(2, 2) for _ in range(48)]
    x = torch.ones(1, 2)
    with gradviz.record(values=False) as recording:
        for layer in layers:
            x = layer(x).tanh()
        x.sum().backward()
    assert recording.counted == 0


def test_what_stays_alive_in_the_middle_stays_in_the_graph() -> None:
    short, whole = trained(40, SMALL, kept=True), trained(40, WHOLE, kept=True)
    check_same(short, whole)
    assert short.all_steps[-1].graph == whole.all_steps[-1].graph


def test_an_error_in_a_late_turn_is_explained_as_in_the_first_ones() -> None:
    late, early = trained(70, SMALL, broken=50), trained(70, SMALL, broken=2)
    assert late.counted
    assert not early.counted
    check_same(late, trained(70, WHOLE, broken=50))
    found, known = late.explanation, early.explanation
    assert found is not None
    assert known is not None
    assert (found.what, found.line, found.fixes) == (known.what, known.line, known.fixes)
    assert found.unknown == ()


def test_a_turn_in_which_an_error_was_caught_is_kept_as_it_was() -> None:
    def run(budget: int) -> Recording:
        w = torch.ones(2, requires_grad=True)
        with gradviz.record(budget=budget) as recording:
            for turn in range(80):
                y = w.exp()
                if turn == 40:
                    y.mul_(2)
                try:
                    y.sum().backward()
                except RuntimeError:
                    w.grad = None
        return recording

    short, whole = run(SMALL), run(WHOLE)
    check_same(short, whole)
    (found,) = short.explanations
    (known,) = whole.explanations
    assert found.line == known.line
    assert [turn.times == 1 for turn in short.turns if (turn.number or 0) <= 41][-1]
    assert sum(turn.times for turn in short.turns) == 80


def chain(w: Tensor, count: int) -> Tensor:
    for _ in range(count):
        w = w * 1.0
    return w


def test_of_a_backward_with_very_many_nodes_the_order_is_whole_and_the_ends_are_followed() -> None:
    def run(budget: int) -> Recording:
        w = torch.ones(1, requires_grad=True)
        with gradviz.record(budget=budget) as recording:
            out = chain(w, 300)
            out.backward()
        return recording

    short, whole = run(SMALL), run(WHOLE)
    assert short.backward_order == whole.backward_order
    assert len(short.backward_order) == 301
    assert totals(short)["accumulated"] == totals(whole)["accumulated"]
    assert totals(short)["backward ended"] == totals(whole)["backward ended"]
    assert totals(short)["freed"] == totals(whole)["freed"]
    assert short.all_steps[-1].graph == whole.all_steps[-1].graph
    ran = [step.node for step in short.all_steps if step.kind == "node"]
    assert (ran[0], ran[-1]) == (whole.backward_order[0], whole.backward_order[-1])
    assert "backward ran 301 nodes" in short["line:" + str(short[-1].line)].details
    assert "300 nodes freed their saved tensors" in short[-1].details


def test_what_was_counted_once_is_not_counted_again() -> None:
    w = torch.ones(1, requires_grad=True)
    with gradviz.record(budget=SMALL, values=False) as recording:
        for _ in range(6):
            out = chain(w, 150)
            out.backward()
    told = [
        step.kind
        for step in recording.all_steps
        for event in step.events
        if isinstance(event, Note) and event.about == "steps counted"
    ]
    assert told
    assert set(told) == {"counted"}
    headers = [step.times or 0 for step in recording.all_steps if step.kind == "counted"]
    nodes = sum(step.kind == "node" for step in recording.all_steps)
    assert len(recording.backward_order) == 6 * 151
    assert sum(headers) >= 6 * 151 - nodes
    assert recording.counted < 6 * (151 * 4 + 10)


def test_an_error_of_a_node_that_is_only_counted_names_the_node() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            raise ValueError("no gradient")

    recording = Recording.empty()

    def run() -> None:
        nonlocal recording
        w = torch.ones(1, requires_grad=True)
        apply: Any = Fails.apply
        with gradviz.record(budget=SMALL) as recording:
            out = chain(apply(chain(w, 150)), 150)
            out.backward()

    with pytest.raises(ValueError, match="no gradient"):
        run()
    error = next(e for e in recording.all_steps[-1].events if isinstance(e, Raised))
    assert error.node is not None
    assert error.node not in recording.backward_order
    assert recording.graph[error.node].name == "FailsBackward"


def test_hooks_and_gradients_that_are_kept_are_recorded_where_nodes_are_only_counted() -> None:
    seen: list[float] = []
    w = torch.ones(1, requires_grad=True)
    middle = chain(w, 150)
    middle.retain_grad()
    middle.register_hook(lambda grad: seen.append(grad.item()))
    with gradviz.record(budget=SMALL) as recording:
        out = chain(middle, 150)
        out.backward()
    assert seen == [1.0]
    assert totals(recording)["accumulated"].total() == 2
    assert any(step.kind == "hook" for step in recording.all_steps)
    assert middle.grad is not None
    row = recording.all_steps[-1].graph.tensor("middle")
    assert row.grad is not None
    assert row.grad.values == (1.0,)


def test_many_leaves_accumulate_where_nodes_are_only_counted() -> None:
    leaves = [torch.ones(1, requires_grad=True) for _ in range(200)]
    with gradviz.record(budget=SMALL) as recording:
        total = torch.stack(leaves).sum()
        total.backward()
    assert set(arrivals(recording).values()) == {1}
    assert len(arrivals(recording)) == 200
    assert all(row.grad is not None for row in recording.all_steps[-1].graph.leaves)


def test_a_node_that_an_inner_backward_runs_is_not_run_by_the_outer_one_as_well() -> None:
    def run(budget: int) -> tuple[Recording, int]:
        block = nn.Linear(1, 1)
        found: list[Tensor] = []
        block.weight.register_hook(found.append)
        x = torch.ones(1, 1, requires_grad=True)
        with gradviz.record(budget=budget) as recording:
            once = checkpoint(block, chain(x, 20), use_reentrant=True)
            twice = checkpoint(block, once, use_reentrant=True)
            twice.sum().backward()
        return recording, len(found)

    for budget in (100, SMALL, WHOLE):
        recording, times = run(budget)
        row = recording.all_steps[-1].graph.tensor("block.weight")
        assert arrivals(recording)[row.id] == times == 2
        assert Counter(recording.backward_order)[row.node or ""] in (0, 2)
        ended = totals(recording)["backward ended"]["nodes"]
        assert ended == len(recording.backward_order)
    assert run(100)[0].backward_order == run(WHOLE)[0].backward_order


def test_turns_of_a_loop_inside_another_say_only_what_is_known() -> None:
    def run(budget: int) -> Recording:
        w = torch.ones(2, requires_grad=True)
        with gradviz.record(budget=budget) as recording:
            for _ in range(3):
                total = w * 1
                for turn in range(60):
                    total = total + w * turn
                    total = total.sin()
        return recording

    short, whole = run(SMALL), run(WHOLE)
    check_same(short, whole)
    inner = [turn for turn in short.turns if turn.level == 1]
    assert sum(turn.times for turn in inner) == 180
    assert [turn.number for turn in inner][:2] == [1, 2]
    many = next(turn for turn in inner if turn.times > 1)
    assert (many.number, many.count, many.words) == (None, None, f"{many.times} turns")
    assert inner[-1].words == "a turn"
    assert "a turn begins with turn = 59" in short.all_steps[inner[-1].first].details
    names = [short.history.node_name(node.id) for node in short.graph.nodes]
    assert not any("None" in name.words for name in names if name is not None)
    for turn in whole.turns:
        assert turn.words == f"turn {turn.number} of {turn.count}"


LOOPS = {
    "a loop whose body begins with a loop": """
for e in range(5):
    for b in range(12):
        loss = (w * b).sum()
        if b == 9 and e % 2:
            break
    loss.backward()
""",
    "a loop whose body begins with a block": """
for i in range(60):
    with torch.no_grad():
        w.add_(0.01)
    (w * i).sum().backward()
""",
    "two loops": """
for i in range(40):
    (w * i).sum().backward()
for i in range(60):
    (w * i).sum().backward()
""",
    "a loop without a head": """
n = 0
while True:
    n += 1
    if n % 7 == 0:
        continue
    (w * n).sum().backward()
    if n > 90:
        break
""",
}


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_turns_are_counted_wherever_the_recording_is_cut(text: str) -> None:
    before = "w = torch.ones(2, requires_grad=True)"
    whole = run_recorded(text, before, budget=WHOLE)
    for budget in (100, 150, 333, SMALL):
        short = run_recorded(text, before, budget=budget)
        for line in {turn.line for turn in whole.turns if turn.level == 0}:
            known, found = ([t for t in r.turns if t.line == line] for r in (whole, short))
            assert sum(turn.times for turn in found) == len(known), budget
            assert {turn.count for turn in found} == {turn.count for turn in known}, budget
            assert found[-1].number is not None, budget
            assert found[-1].number + found[-1].times - 1 == len(known), budget


@pytest.mark.parametrize("count", [5, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_whatever_the_budget_the_same_happened(count: int) -> None:
    @settings(max_examples=count, deadline=None)
    @given(st.integers(100, 1_500), st.integers(1, 25), st.integers(1, 3), st.booleans())
    def check(budget: int, turns: int, inner: int, leaves: bool) -> None:
        the_same_happens_within(budget, turns, inner, leaves)

    check()


def the_same_happens_within(budget: int, turns: int, inner: int, leaves: bool) -> None:
    def run(budget: int) -> Recording:
        w, v = (torch.full((2,), 0.5, requires_grad=True) for _ in range(2))
        opt = torch.optim.SGD([w], lr=0.1)
        kept = []
        with gradviz.record(into=[step], budget=budget) as recording:
            for turn in range(turns):
                for _ in range(inner):
                    loss = step(w, v, turn)
                    loss.backward()
                if turn % 3 == 0:
                    opt.step()
                    opt.zero_grad()
                else:
                    kept += [w * turn]
                if leaves:
                    v = torch.ones(2, requires_grad=True)
        return recording

    short, whole = run(budget), run(WHOLE)
    check_same(short, whole)


def step(w: Tensor, v: Tensor, turn: int) -> Tensor:
    out = w.exp()
    if turn % 2:
        out = out * v
    return out.sum()


def test_the_same_program_is_cut_at_the_same_places() -> None:
    assert trained(50, SMALL).to_json() == trained(50, SMALL).to_json()


def written_in_a_counted_turn(lines: int) -> Any:
    """The error where one line writes, or two, in a turn of which only the number is kept."""
    w = torch.ones(2, requires_grad=True)
    b = torch.zeros(2)
    old = None
    with gradviz.expect_error(budget=SMALL) as found:
        for turn in range(100):
            out = (w * b).sum()
            if turn == 50:
                old = out
            if turn % 3 == 1 < lines:
                b.add_(1)
            b.sub_(1)
        assert old is not None
        old.backward()
    return found


def test_where_it_is_not_known_which_of_several_lines_wrote_first_none_is_blamed() -> None:
    found = written_in_a_counted_turn(lines=2)
    assert found.line is None
    first, then = map(str, found.unknown)
    assert first.startswith("which line wrote it first")
    assert "gradviz.record(budget=10_000)" in then


def test_where_one_line_alone_wrote_it_is_named_though_its_runs_are_counted() -> None:
    found = written_in_a_counted_turn(lines=1)
    assert found.cause is not None
    assert found.cause.at is not None
    assert found.cause.at.text == "b.sub_(1)"


def test_captions_and_outline_say_what_is_counted() -> None:
    recording = trained(60, SMALL)
    first = next(step for step in recording.all_steps if step.times is not None)
    (turn,) = (turn for turn in recording.turns if turn.times > 1)
    assert first.details.startswith(f"{turn.words} of the loop in line {turn.line}, ")
    assert "faults without an error are looked for only before them" in first.details
    assert f"{recording.counted:,} more counted" in str(recording).split("\n")[0]
    backward = next(s for s in recording.all_steps if s.times and "backward" in s.details)
    assert f"ran {turn.times} times: loss.backward(); {turn.times} backwards ran" in (
        next(s.details for s in recording.all_steps if s.times and s.line == backward.line)
        if backward.kind == "line"
        else next(s.details for s in recording.all_steps if s.times and "loss.backw" in s.details)
    )


@each("budget", [0, 99, -1, 2.5, "many", True, None])
def test_a_budget_that_is_none_is_refused_with_what_it_may_be(budget: Any) -> None:
    with pytest.raises(gradviz.OptionError, match="whole number from 100 on; without it 40,000"):
        gradviz.record(budget=budget)
    assert BUDGET == 40_000
