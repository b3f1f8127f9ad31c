"""The sentence of each step: its form, its length, and whether what it prints is true."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model import Recording
from gradviz.view.captions.caption import Caption, captions
from gradviz.view.captions.catalogue import LABELS, MOST, SENTENCES, sentence
from gradviz.view.captions.names import names_of
from gradviz.view.documents.recording import recording_document
from gradviz.view.outlines.recording import recording_outline
from tests.programs import PROGRAMS, named
from tests.view.recordings import ALL

LONG = [f"a_rather_long_name_{letter}" for letter in "abcdefgh"]
SLOTS: dict[str, Any] = {
    **dict.fromkeys(("names", "values"), LONG),
    **dict.fromkeys(("name", "node", "module", "hook", "error"), LONG[0]),
    "count": 3,
    "number": "3 of 8",
    "what": "4 nodes",
    "condition": "its result > 0",
    **dict.fromkeys(("before", "after"), "[1.0, 2.0]"),
}


def test_there_are_at_most_40_forms() -> None:
    assert len(SENTENCES) <= 40


@pytest.mark.parametrize("form", SENTENCES)
def test_a_form_is_one_short_sentence_that_begins_with_what_happens(form: str) -> None:
    words = sentence(form, **SLOTS)
    assert len(words.split()) <= MOST
    assert "{" not in words
    assert "|" not in words
    assert words.endswith(".")
    first = "3" if form == "ready" else words.split()[0]
    assert first == "3" or (first[0].isupper() and first.endswith("s"))
    assert not re.search(r"\b(?:was|were|been|being) \w+ed\b", words)


def test_one_and_many_are_told_apart() -> None:
    assert sentence("zero", count=1) == "Fills 1 gradient with 0."
    assert sentence("zero", count=2) == "Fills 2 gradients with 0."
    assert sentence("starts", names=["a"], values=["1.0"]) == "Starts at a with gradient 1.0."
    several = sentence("starts", names=["a", "b"], values=["1.0", "2.0"])
    assert several == "Starts at a and b with gradients 1.0 and 2.0."


def test_many_names_are_counted() -> None:
    long = sentence("nodes", names=[f"batch norm {number}" for number in range(9)], count=9)
    assert long == "Makes batch norm 0, batch norm 1 and 7 more: 9 nodes."


@cache
def recorded(name: str) -> Recording:
    program = named(name)
    with suppress(RuntimeError), gradviz.record() as recording:
        built = program.build()
        if program.backward == "runs":
            outputs = [out for out in built.outputs if out.requires_grad]
            torch.autograd.backward(outputs, [torch.ones_like(out) for out in outputs])
    return recording


LONG_ONES = ("deep_chain",)
"""Programs of thousands of nodes."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(str(one), marks=[pytest.mark.exhaustive] * (str(one) in LONG_ONES))
        for one in PROGRAMS
        if not one.is_slow
    ],
)
def test_each_step_of_a_program_has_a_short_sentence_without_a_name_of_torch(name: str) -> None:
    check(recorded(name))


@pytest.mark.parametrize("name", ALL)
def test_each_step_written_by_hand_has_one_too(name: str) -> None:
    check(ALL[name])


def check(recording: Recording) -> None:
    for step, caption in zip(recording.all_steps, captions(recording), strict=True):
        words = caption.words
        assert len(words.split()) <= MOST, words
        assert not re.search(r"Backward\d|AccumulateGrad", f"{caption.place} {words}"), words
        assert words.endswith(".")
        assert step.caption == words
        assert caption.details == step.details
        assert all(row.label in ("", *LABELS) for row in caption.rows)
        for row in caption.rows:
            is_printed_right(str(row.cells[-1]))


EQUATION = re.compile(r"^([-+×/²() \d.e\[\],]+) ([=≈]) ([-\d.e\[\], ]+)$")


def is_printed_right(words: str) -> None:
    """Evaluates an equation in what is printed; ``=`` only where it holds in the printed digits."""
    if (found := EQUATION.match(words)) is None:
        return
    left, sign, right = found.groups()
    computed = values(left.replace("×", "*").replace("²", "**2"))
    printed = values(right)
    if sign == "=":
        rounded = [float(f"{number:.4g}") for number in computed.flatten().tolist()]
        assert rounded == pytest.approx(printed.flatten().tolist(), rel=1e-9), words
    else:
        assert torch.allclose(computed, printed, rtol=5e-3), words


def values(text: str) -> Tensor:
    with_tensors = re.sub(
        r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]", lambda found: f"tensor({found[0]})", text
    )
    made = eval(with_tensors, {"tensor": lambda one: torch.tensor(one, dtype=torch.float64)})
    return torch.as_tensor(made, dtype=torch.float64)


def test_equations_are_evaluated_at_all() -> None:
    is_printed_right("2.0 × 3.0 = 6.0")
    is_printed_right("1.0 + [2.0, 3.0] = [3.0, 4.0]")
    with pytest.raises(AssertionError):
        is_printed_right("2.0 × 3.0 = 6.1")
    with pytest.raises(AssertionError):
        is_printed_right("2.0 × 3.0 ≈ 7.0")


# ------------------------------------------------------------------------------- formulas of boxes


def by_linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return nn.functional.linear(x, weight, bias)


def by_hand(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ weight.T + bias


def turned(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (weight @ x.T).T + bias


def not_turned(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.addmm(bias, x, weight.view(3, 4).t())


@pytest.mark.parametrize("program", [by_linear, by_hand, turned, not_turned])
def test_a_formula_with_the_names_of_tensors_gives_the_gradient(
    program: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> None:
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(*shape, requires_grad=True) for shape in ((5, 4), (3, 4), (3,)))
    grad = torch.randn(5, 3)
    with gradviz.record() as recording:
        y = program(x, weight, bias)
        y.backward(grad)
    known = {"grad": grad, "x": x.detach(), "weight": weight.detach()}
    checked = set()
    for caption in captions(recording):
        for name, formula in sent(caption):
            if re.fullmatch(r"[\w ᵀ@]+", formula) and "grad" in formula and "@" in formula:
                expression = re.sub(r"(\w+)ᵀ", r"\1.T", formula)
                if not set(re.findall(r"[a-z]\w*", expression)) <= known.keys():
                    continue
                expected = {"x": x.grad, "weight": weight.grad}[name]
                given = grad if "(5, 3)" in str(caption.rows[0]) else grad.T
                found = eval(expression, {**known, "grad": given})
                torch.testing.assert_close(found, expected)
                checked.add(name)
    assert checked == ({"weight"} if program is not_turned else {"x", "weight"})


def sent(caption: Caption) -> Iterator[tuple[str, str]]:
    for row in caption.rows:
        if row.label == "sends":
            yield str(row.cells[0]), str(row.cells[-1])


# ------------------------------------------------------------------------------- lines


def model() -> Recording:
    with gradviz.record() as recording:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.ones(4, 2)
        loss = net(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return recording


@cache
def of_model() -> dict[str, list[str]]:
    recording = model()
    found: dict[str, list[str]] = {}
    for step, caption in zip(recording.all_steps, captions(recording), strict=True):
        found.setdefault(step.kind, []).append(str(caption.words))
    return found


def test_lines_say_what_they_do_and_not_how_a_layer_fills_its_weights() -> None:
    assert of_model()["line"][1:] == [
        "Makes net.0.weight, net.0.bias, net.2.weight and net.2.bias, which require grad.",
        "Changes nothing in the graph.",
        "Makes x, which needs no gradient.",
        "Makes Linear net.0, ReLU, Linear net.2 and mean: 6 nodes.",
        "Sends the gradient back through 10 nodes.",
        "Updates 4 parameters from their gradients.",
        "Clears 4 gradients: .grad is None again.",
    ]


def test_nodes_say_where_the_gradient_goes() -> None:
    said = of_model()["node"]
    assert "Sends gradients to ReLU, weight and bias." in said
    assert "Passes the gradient to Linear where its result > 0." in said
    assert "Passes the gradient, rearranged, to weight." in said


def test_where_the_forward_is_done_the_player_says_how_many_nodes_backward_will_run() -> None:
    recording = model()
    document = recording_document(recording)
    opening = document["views"][document["open"]]["caption"]
    assert opening["place"] == ["forward done"]
    ran = sum(step.kind == "node" for step in recording.all_steps)
    assert opening["words"][0] == f"{ran} nodes are ready. Press → to send the gradient back."
    rows = [[row[0], *("".join(_text(cell)) for cell in row[1:])] for row in opening["rows"]]
    loss = recording.all_steps[document["open"]].graph.tensor("loss")
    assert loss.values is not None
    assert rows[0] == ["", "loss", f"{loss.values[0]:.4g}"]
    assert rows[-1] == ["waits", "4 .grad"]
    others = [view["caption"]["words"] for view in document["views"]]
    assert sum("Press" in str(words) for words in others) == 1


def _text(cell: Any) -> Iterator[str]:
    for part in cell:
        yield part if isinstance(part, str) else part["text"]


def test_a_write_in_place_names_what_saved_the_tensor() -> None:
    x = torch.ones(3, requires_grad=True)
    with gradviz.record() as recording:
        h = x.exp()
        h.add_(1)
    assert recording[2].caption == "Changes h in place, after exp saved it."


def test_a_write_that_autograd_cannot_detect_says_so() -> None:
    x = torch.ones(3, requires_grad=True)
    with gradviz.record() as recording:
        y = x * 2
        y.data.add_(1)
    assert recording[2].caption == "Changes y in place; autograd cannot detect it."


def test_an_error_in_backward_says_where_it_stops() -> None:
    x = torch.ones(3, requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        h = x.exp()
        h.add_(1)
        h.sum().backward()
    assert str(captions(recording)[-1]) == "exp: Raises RuntimeError."


# ------------------------------------------------------------------------------- printed


def test_printing_a_recording_says_the_sentences_of_the_steps() -> None:
    recording = model()
    lines = str(recording).split("\n")
    told = captions(recording)
    shown = [step for step in recording.all_steps if step.level < 2]
    assert len(lines) == 1 + len(shown)
    for step, line in zip(shown, lines[1:], strict=True):
        assert line.split(maxsplit=1) == [str(step.number), str(told[step.index])]


def test_the_full_outline_is_the_text_that_notebooks_store() -> None:
    recording = model()
    assert recording.outline() == str(recording)
    assert recording.outline(full=True) == recording_outline(recording)
    assert recording_document(recording)["text"] == recording_outline(recording)
    assert len(recording.outline()) * 3 < len(recording.outline(full=True))


# ------------------------------------------------------------------------------- steps in one box


def attention() -> Recording:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4)
    query, key, value = (nn.Linear(4, 4) for _ in range(3))
    with gradviz.record() as recording:
        scores = query(x) @ key(x).transpose(1, 2)
        y = scores.softmax(-1) @ value(x)
        loss = y.square().mean()
        loss.backward()
    return recording


def test_steps_of_one_box_one_after_the_other_are_one_step_which_says_what_its_operation_sent() -> (
    None
):
    recording = attention()
    document = recording_document(recording)
    runs = document["runs"]
    assert len(runs) > 3
    told = captions(recording)
    heads = names_of(recording.history)
    covered: set[int] = set()
    for run in runs:
        steps = [
            step
            for step in recording.all_steps[run["first"] : run["last"] + 1]
            if step.kind == "node"
        ]
        assert len(steps) == run["nodes"] > 1
        assert len({heads.head(step.node or "") for step in steps}) == 1
        assert covered.isdisjoint(range(run["first"], run["last"] + 1))
        covered.update(range(run["first"], run["last"] + 1))
        ran = [step.node for step in steps]
        if heads.head(ran[0] or "") in ran:
            assert "within" not in "".join(_text(run["caption"]["words"]))
        said = "".join(_text(run["caption"]["details"]))
        assert all(told[step.index].details in said for step in steps)
    assert sum("within" in str(one.words) for one in told) > 3  # each step still says its own


def test_a_step_that_the_author_marked_is_not_put_away_with_others() -> None:
    recording = attention()
    run = recording_document(recording)["runs"][0]
    stop = str(recording.all_steps[run["first"]].number)
    marked = recording_document(recording, stops=[stop])["runs"]
    assert [one["open"] for one in marked] == [True] + [False] * (len(marked) - 1)


def test_a_step_with_an_explanation_is_not_put_away_with_others() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        y = x.view(3, 2).exp().view(2, 3)
        y.add_(1)
        y.sum().backward()
    assert recording.at_error is not None
    runs = recording_document(recording).get("runs", [])
    assert all(not run["first"] <= recording.at_error.index <= run["last"] for run in runs)
