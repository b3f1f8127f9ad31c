from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, Literal, cast
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.teach.explorer import Explorer, explore
from gradviz.teach.parts import Number
from gradviz.view.documents.digest import MIME as DIGEST
from gradviz.view.documents.graph import expand
from gradviz.view.text import clean, shorten
from tests.view.documents import as_text
from tests.view.graphs import HOSTILE

VIEW = "application/vnd.jupyter.widget-view+json"


def program(
    a: Any,
    b: Any,
    retain_grad: bool = False,
    detach_here: bool = False,
    no_grad: bool = False,
) -> dict[str, torch.Tensor]:
    with torch.set_grad_enabled(not no_grad):
        y = a * b
    if retain_grad:
        y.retain_grad()
    if detach_here:
        y = y.detach()
    loss = y + a
    loss.backward()
    return {"y": y, "loss": loss}


@pytest.fixture
def explorer() -> Explorer:
    return explore(program, a=2.0, b=3.0)


def switch(explorer: Explorer, name: str, on: bool = True) -> None:
    explorer.controls[name].parts[-1].value = on


def bundle_of(explorer: Explorer) -> dict[str, Any]:
    """What IPython stores of it."""
    bundle: dict[str, Any] = explorer._repr_mimebundle_()[0]
    return bundle


def names_in(graph: gradviz.Graph) -> set[str | None]:
    return {tensor.name for tensor in graph.tensors}


def gradient(explorer: Explorer, name: str) -> object:
    found = explorer.graph.tensor(name).grad
    return found and found.values


def test_a_float_is_a_leaf_with_the_name_of_its_parameter(explorer: Explorer) -> None:
    a = explorer.graph.tensor("a")
    assert (a.is_leaf, a.requires_grad, a.values, a.is_view) == (True, True, (2.0,), False)
    assert gradient(explorer, "b") == (2.0,)
    assert names_in(explorer.graph) == {"a", "b", "y", "loss"}


def test_moving_a_slider_runs_the_function_again(explorer: Explorer) -> None:
    explorer.controls["a"].parts[0].value = 4.0
    assert gradient(explorer, "b") == (4.0,)
    assert "b: .grad 2.0 → 4.0" in explorer.changes.sentences


def test_requires_grad_switched_off_takes_a_leaf_out_and_says_so(explorer: Explorer) -> None:
    switch(explorer, "b", False)
    assert "gone: leaf b" in explorer.changes.sentences
    assert not explorer.graph.tensor("b").requires_grad
    switch(explorer, "b")
    assert any(re.fullmatch(r"new: n\d leaf b", line) for line in explorer.changes.sentences)
    assert 'class="gv-node gv-leaf gv-brief gv-saves-nothing gv-new"' in explorer._still
    assert "+ new" in explorer._still
    assert explorer.wire["legend"][0]["class"] == "gv-new"


def test_the_first_picture_has_no_marks(explorer: Explorer) -> None:
    assert not explorer.changes
    assert "gv-badge" not in explorer._still
    assert "What changed" not in str(explorer)


@pytest.mark.parametrize("name", ["retain_grad", "detach_here", "no_grad"])
def test_what_the_function_asks_for_is_a_switch_that_is_off(explorer: Explorer, name: str) -> None:
    box = explorer.controls[name].parts[0]
    assert box.kind == "switch"
    assert box.value is False
    switch(explorer, name)
    assert explorer.changes.sentences
    assert not explorer.outcome.error
    switch(explorer, name, False)
    assert explorer.graph == explore(program, a=2.0, b=3.0).graph


def test_only_the_last_of_the_returned_tensors_is_a_root(explorer: Explorer) -> None:
    (root,) = explorer.graph.roots
    assert explorer.graph.tensor("loss").node == root[0]
    assert len(explore(lambda a: (a * 2, a * 3), a=1.0).graph.roots) == 2


def test_each_run_has_tensors_of_its_own(explorer: Explorer) -> None:
    first = explorer.graph
    explorer.run()
    assert explorer.graph == first
    assert "Nothing changed in the graph since the run before." in str(explorer)


def test_reset_goes_back_and_runs_once(explorer: Explorer) -> None:
    first = explorer.graph
    explorer.controls["a"].parts[0].value = 5.0
    switch(explorer, "b", False)
    runs: list[int] = []
    explorer.observe(lambda _change: runs.append(1), "wire")
    explorer.reset()
    assert explorer.graph == first
    assert len(runs) == 1


def test_an_error_is_shown_with_its_line_and_the_picture_is_marked_as_old(
    explorer: Explorer,
) -> None:
    shown = explorer.graph
    switch(explorer, "no_grad")
    switch(explorer, "retain_grad")
    text = str(explorer)
    assert "RuntimeError: can't retain_grad on Tensor that has requires_grad=False" in text
    assert re.search(r"^line \d+ of program: y\.retain_grad\(\)$", text, re.MULTILINE)
    assert "The picture shows the last run without an error: a = 2.0" in text
    assert "What changed" not in text
    assert explorer.graph != shown  # no_grad alone worked
    bundle = bundle_of(explorer)
    assert "image/svg+xml" not in bundle
    assert "The picture shows the last run" in bundle["text/html"]
    assert 'role="alert"' in bundle["text/html"]
    switch(explorer, "no_grad", False)
    assert not explorer.outcome.error
    assert "The picture shows the last run" not in str(explorer)


def test_an_error_in_the_first_run_leaves_no_picture() -> None:
    def fails(a: torch.Tensor) -> torch.Tensor:
        raise ValueError(f"a is <b>{a.item()}</b>")

    explorer = explore(fails, a=1.0)
    assert "ValueError: a is <b>1.0</b>" in str(explorer)
    assert "old" not in str(explorer)
    assert explorer.wire["exploration"]["has_picture"] is False
    assert set(bundle_of(explorer)) == {VIEW, DIGEST, "text/plain", "text/html"}
    assert "<b>1.0</b>" not in bundle_of(explorer)["text/html"]


def test_a_function_that_returns_no_tensor_is_told() -> None:
    assert "NotATensorError: the function returned None" in str(explore(lambda a: None, a=1.0))
    assert "returned a float" in str(explore(lambda a: a.item(), a=1.0))


def test_a_result_without_a_graph_shows_the_tensors_and_says_why() -> None:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        out = a * b
        return out

    explorer = explore(product, a=2.0, b=3.0)
    switch(explorer, "a", False)
    switch(explorer, "b", False)
    assert "No graph: the result does not require a gradient" in str(explorer)
    assert len(explorer.graph) == 0
    assert names_in(explorer.graph) == {"a", "b", "out"}
    assert "gone: MulBackward0" in explorer.changes.sentences
    assert "image/svg+xml" in bundle_of(explorer)


def test_what_is_printed_and_warned_is_shown_and_not_printed(capsys: Any) -> None:
    def talks(a: torch.Tensor) -> torch.Tensor:
        print("hello <script>\x1b[31m")
        warnings.warn("careful", UserWarning, stacklevel=1)
        return a * 2

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        explorer = explore(talks, a=1.0)
    assert "printed\n  hello <script>\\x1b[31m\n  UserWarning: careful" in str(explorer)
    assert "<script>" not in bundle_of(explorer)["text/html"]
    assert capsys.readouterr() == ("", "")


def test_the_same_random_numbers_are_drawn_in_every_run_and_none_outside() -> None:
    def noisy(a: torch.Tensor) -> torch.Tensor:
        return a * torch.randn(3)

    torch.manual_seed(7)
    explorer = explore(noisy, a=1.0)
    first = explorer.graph
    explorer.run()
    assert explorer.graph == first
    after = torch.randn(2)
    torch.manual_seed(7)
    assert torch.equal(after, torch.randn(2))


def test_grad_mode_set_by_the_function_does_not_stay() -> None:
    def off(a: torch.Tensor) -> torch.Tensor:
        out = a * 2
        torch.set_grad_enabled(False)
        return out

    explore(off, a=1.0)
    assert torch.is_grad_enabled()


def kinds(explorer: Explorer) -> dict[str, list[str]]:
    return {
        n: [f"{p.kind}, whole" if getattr(p, "is_whole", False) else p.kind for p in c.parts]
        for n, c in explorer.controls.items()
    }


def test_what_an_input_is_decides_its_control() -> None:
    def many(
        scalar: Any,
        vector: Any,
        large: Any,
        numbers: Any,
        rate: float = 0.1,
        count: int = 2,
        on: bool = True,
        kind: Literal["sum", "mean"] = "mean",
        option: Any = ("relu", "tanh"),
        text: str = "x",
        nothing: Any = None,
        module: Any = torch.nn.Linear(5, 1),  # noqa: B008
    ) -> torch.Tensor:
        assert isinstance(rate, float)
        assert isinstance(count, int)
        out: torch.Tensor = module(large).sum() * scalar * vector.sum() * numbers.sum() * count
        out.backward()
        return out

    explorer = explore(
        many,
        scalar=torch.tensor(2.0, dtype=torch.float64),
        vector=torch.tensor([1.0, 2.0], requires_grad=True),
        large=torch.ones(1, 5),
        numbers=torch.tensor([1, 2]),
    )
    assert kinds(explorer) == {
        "scalar": ["number", "switch"],
        "vector": ["number", "number", "switch"],
        "large": ["switch"],
        "numbers": ["number, whole", "number, whole"],
        "rate": ["number"],
        "count": ["number, whole"],
        "on": ["switch"],
        "kind": ["choice"],
        "option": ["choice"],
        "text": ["text"],
        "nothing": [],
        "module": [],
    }
    assert "large (1, 5) float32, fixed" in str(explorer)
    assert "module: Linear, fixed" in str(explorer)
    assert [c.parts[0].value for n, c in explorer.controls.items() if n in ("kind", "option")] == [
        "mean",
        "relu",
    ]
    assert {"module.weight", "module.bias", "scalar", "vector"} <= names_in(explorer.graph)
    assert explorer.graph.tensor("scalar").dtype == "float64"
    explorer.controls["vector"].parts[1].value = 7.0
    assert explorer.graph.tensor("vector").values == (1.0, 7.0)
    before = gradient(explorer, "module.bias")
    explorer.run()
    assert gradient(explorer, "module.bias") == before  # not added to in the next run


def test_the_document_is_the_stored_one(check_golden: Callable[[str, str], None]) -> None:
    def stored(w: Any, x: Any, *, kind: Literal["a", "b"] = "b", n: int = 2, text: str = "") -> Any:
        print("ran", kind, n)
        return (w * x).sum()

    explorer = explore(stored, w=torch.ones(2, 2, requires_grad=True), x=2.0)
    explorer.controls["x"].parts[0].value = 3.0
    exploration = {**explorer.wire["exploration"], "code": "the source text"}
    check_golden("exploration.json", as_text(exploration))


def test_every_control_has_a_label(explorer: Explorer) -> None:
    labels = [p.label for c in explorer.controls.values() for p in c.parts]
    assert labels == [
        "a",
        "a requires_grad",
        "b",
        "b requires_grad",
        "retain_grad",
        "detach_here",
        "no_grad",
    ]


def test_a_slider_reaches_round_numbers_on_both_sides(subtests: pytest.Subtests) -> None:
    for value, span, step in [
        (2.0, 5, 0.1),
        (0.1, 0.5, 0.01),
        (-3.0, 10, 0.2),
        (0.0, 5, 0.1),
        (1234.5, 5000, 100),
    ]:
        with subtests.test(value=value, span=span):
            slider = slider_of(explore(lambda a: a * 2, a=value))
            assert (slider.min, slider.max) == (-span, span)
            assert slider.step == pytest.approx(step)
            assert slider.value == value


def slider_of(explorer: Explorer) -> Any:
    return next(p for c in explorer.controls.values() for p in c.parts if isinstance(p, Number))


def shown(explorer: Explorer, name: str, number: int = 0) -> Any:
    """What the browser gets of a part."""
    controls = explorer.wire["exploration"]["controls"]
    return next(c for c in controls if c["name"] == name)["parts"][number]


def test_the_browser_gets_each_value_with_its_first_and_its_range(explorer: Explorer) -> None:
    explorer.controls["a"].parts[0].value = -1.5
    assert shown(explorer, "a") == {
        "kind": "number",
        "label": "a",
        "text": "a",
        "tip": "",
        "value": -1.5,
        "first": 2.0,
        "whole": False,
        "step": 0.1,
        "slider": {"min": -5, "max": 5},
    }
    switch = shown(explorer, "a", 1)
    assert (switch["label"], switch["text"], switch["value"]) == (
        "a requires_grad",
        "requires_grad",
        True,
    )


def test_a_number_beyond_the_slider_makes_it_longer(explorer: Explorer) -> None:
    explorer.controls["a"].parts[0].value = 300.0
    assert explorer.graph.tensor("a").values == (300.0,)
    assert (slider_of(explorer).min, slider_of(explorer).max) == (-1000, 1000)


def test_one_change_is_one_run(explorer: Explorer) -> None:
    runs: list[int] = []
    explorer.observe(lambda _change: runs.append(1), "wire")
    explorer.controls["a"].parts[0].value = 1.0
    assert len(runs) == 1
    explorer.controls["a"].parts[0].value = 1.0
    assert len(runs) == 1
    explorer.controls["a"].parts[0].value = 400.0
    assert len(runs) == 2


def ask(explorer: Explorer, turn: int, *values: Any) -> None:
    """Ask as the browser does."""
    explorer.set_state({"request": {"turn": turn, "values": [list(one) for one in values]}})


def test_a_request_of_the_browser_sets_all_its_values_in_one_run_and_is_answered(
    explorer: Explorer,
) -> None:
    seen: list[str] = []
    explorer.observe(lambda change: seen.append(change["name"]), ["wire", "answered"])
    ask(explorer, 1, ("a", 0, 4.0), ("b", 1, False), ("retain_grad", 0, True))
    assert seen == ["wire", "answered"]
    assert explorer.answered == 1
    assert gradient(explorer, "a") == (4.0,)
    assert str(explorer).split("\n")[1:4] == [
        "  a = 4.0 · requires_grad · ∂loss/∂a 4.0",
        "  b = 3.0",
        "  [x] retain_grad",
    ]


def test_a_request_without_a_new_value_is_answered_without_a_run(explorer: Explorer) -> None:
    runs: list[int] = []
    explorer.observe(lambda _change: runs.append(1), "wire")
    ask(explorer, 1)
    ask(explorer, 2, ("a", 0, 2.0))
    assert (explorer.answered, runs) == (2, [])


@pytest.mark.parametrize("wrong", [None, "2", True, float("nan"), float("inf"), [1.0]])
def test_a_value_that_a_part_cannot_have_is_not_taken(explorer: Explorer, wrong: Any) -> None:
    ask(explorer, 1, ("a", 0, wrong), ("b", 0, 7.0))
    assert explorer.answered == 1
    assert [explorer.controls[name].parts[0].value for name in "ab"] == [2.0, 7.0]
    with pytest.raises(gradviz.OptionError, match=r"^a = .* must be a number$"):
        explorer.controls["a"].parts[0].value = wrong


def test_a_request_is_answered_also_when_the_run_is_interrupted(explorer: Explorer) -> None:
    def stopped(a: torch.Tensor) -> torch.Tensor:
        if a > 2:
            raise KeyboardInterrupt
        return a * a

    explorer = explore(stopped, a=1.0)
    with pytest.raises(KeyboardInterrupt):
        ask(explorer, 1, ("a", 0, 3.0))
    assert explorer.answered == 1
    ask(explorer, 2, ("a", 0, 2.0))
    assert explorer.graph.tensor("a").values == (2.0,)


def test_an_option_is_chosen_by_its_place_whatever_it_is() -> None:
    options = (torch.ones(2), torch.zeros(2))
    explorer = explore(lambda a, x: (a * x).sum(), a=2.0, x=options)
    ask(explorer, 1, ("x", 0, 1))
    assert explorer.controls["x"].parts[0].value is options[1]
    assert shown(explorer, "x")["options"] == ["tensor([1., 1.])", "tensor([0., 0.])"]
    ask(explorer, 2, ("x", 0, 2), ("x", 0, -1))
    assert shown(explorer, "x")["value"] == 1


def test_a_number_that_its_dtype_cannot_hold_is_an_error_of_the_run() -> None:
    explorer = explore(lambda a, n: a * n.sum(), a=2.0, n=torch.tensor([1, 2], dtype=torch.uint8))
    explorer.controls["n"].parts[0].value = 300
    assert "RuntimeError: value cannot be converted to type uint8" in str(explorer)
    explorer.reset()
    assert not explorer.outcome.error


def test_a_whole_number_that_a_browser_cannot_hold_stays_fixed() -> None:
    explorer = explore(lambda a, seed: a * 2, a=1.0, seed=2**60)
    assert kinds(explorer)["seed"] == []
    assert "seed: int, fixed" in str(explorer)


def test_what_cannot_be_a_number_on_a_slider_stays_fixed() -> None:
    explorer = explore(lambda a, z: (a * z.real).sum(), a=torch.tensor(float("inf")), z=1j)
    assert kinds(explorer) == {"a": ["switch"], "z": []}


def same_picture(explorer: Explorer) -> gradviz.Graph:
    names: dict[str, Any] = {"__name__": "__main__"}
    lines = explorer.code.replace("gradviz.show(", "graph = gradviz.snapshot(")
    exec(lines, names)
    graph: gradviz.Graph = names["graph"]
    return graph


@pytest.mark.parametrize("name", ["a", "b", "retain_grad", "no_grad"])
def test_the_code_leads_to_the_same_graph(explorer: Explorer, name: str) -> None:
    box = explorer.controls[name].parts[-1]
    box.value = not box.value
    explorer.controls["a"].parts[0].value = 2.5
    graph = same_picture(explorer)
    # The code has more variables than the function: result["y"] is y.
    tensors = tuple(replace(info, aliases=()) for info in graph.tensors)
    assert gradviz.Graph.of(graph.nodes, graph.roots, tensors) == explorer.graph


def by_place(a: torch.Tensor, /, w: Any) -> Any:
    """Has a parameter that is only taken by place."""
    out = (a * w).sum()
    return out


def test_the_code_has_small_tensors_whole_and_the_rest_by_name() -> None:
    explorer = explore(by_place, a=2.0, w=torch.tensor([[1.0], [2.0]], dtype=torch.float64))
    assert explorer.code.endswith(
        "a = torch.tensor(2.0, requires_grad=True)\n"
        "w = torch.tensor([[1.0], [2.0]], dtype=torch.float64)\n"
        "out = by_place(a, w=w)\n"
        "out.backward(retain_graph=True)\n"
        "gradviz.show(out)\n"
    )
    assert same_picture(explorer) == explorer.graph
    large = explore(by_place, a=2.0, w=torch.ones(3, 3))
    assert "w = w.detach().clone().requires_grad_(False)  # the tensor you gave" in large.code


def numbers_of(explorer: Explorer) -> tuple[list[str], list[str]]:
    """The results, and the gradients beside the inputs, as they are read."""
    found = explorer.wire["exploration"]
    gradients = (control["gradient"] for control in found["controls"])
    return (
        [f"{one['name']} = {one['value']}" for one in found["results"]],
        [f"{one['label']} {one['value']}".rstrip() for one in gradients if one],
    )


def squared(x: Any, w: Any) -> torch.Tensor:
    loss: torch.Tensor = (w * x - 1) ** 2
    return loss


def test_beside_each_input_is_the_derivative_that_backward_computed() -> None:
    explorer = explore(squared, x=2.0, w=3.0)
    assert numbers_of(explorer) == (["loss = 25.0"], ["∂loss/∂x 30.0", "∂loss/∂w 20.0"])
    explorer.controls["w"].parts[0].value = 1.0
    assert numbers_of(explorer) == (["loss = 1.0"], ["∂loss/∂x 2.0", "∂loss/∂w 4.0"])
    assert gradient(explorer, "w") == (4.0,)
    assert "∂loss/∂w 4.0" in str(explorer)
    assert explorer.wire["exploration"]["backward"] == (
        "After each run gradviz calls loss.backward(retain_graph=True)."
    )


def test_boxes_have_the_values_that_their_nodes_made_and_edges_the_gradients() -> None:
    explorer = explore(squared, x=2.0, w=3.0)
    svg = explorer._still

    def numbers() -> tuple[list[str], list[str]]:
        values = re.findall(r'<text class="gv-name"[^>]*>(-?[\d.]+)</text>', svg)
        chips = re.findall(r'<g class="gv-gradient">.*?<text[^>]*>(.*?)</text>', svg, re.DOTALL)
        return values, chips

    assert numbers() == (["5.0", "6.0"], ["10.0", "10.0", "20.0", "30.0"])
    explorer.controls["w"].parts[0].value = 1.0
    svg = explorer._still
    assert numbers() == (["1.0", "2.0"], ["2.0", "2.0", "4.0", "2.0"])
    assert 'class="gv-gradient"' in svg
    assert any(entry["class"] == "gv-flow" for entry in explorer.wire["legend"])


def test_while_a_slider_is_dragged_no_number_is_marked_as_changed() -> None:
    explorer = explore(squared, x=2.0, w=3.0)
    explorer.controls["w"].parts[0].value = 1.0
    assert explorer.changes
    assert explorer.changes.marks == ()
    assert "→" not in explorer._still


@pytest.mark.parametrize("value", [0.1, -0.7, 2.0, 2.3456])
def test_no_box_moves_while_a_slider_is_dragged(value: float) -> None:
    explorer = explore(squared, x=2.0, w=3.0)
    explorer.controls["w"].parts[0].value = 1.0

    def boxes() -> list[str]:
        return re.findall(r'data-id="(?:n\d+|t\d+)".*? transform="(.*?)"', explorer._still)

    before = boxes()
    assert len(before) == 5
    explorer.controls["x"].parts[0].value = value
    assert boxes() == before


def test_what_is_no_derivative_is_called_grad() -> None:
    def twice(a: torch.Tensor) -> torch.Tensor:
        (a * 2).backward()
        out = a * 3
        out.backward()
        return out

    def cut(a: torch.Tensor) -> torch.Tensor:
        out = a * a.detach()
        return out

    def through_python(a: torch.Tensor) -> torch.Tensor:
        out = a * a.item()
        return out

    def of_another(a: torch.Tensor) -> dict[str, torch.Tensor]:
        y = a * 3
        y.backward()
        return {"loss": a * 2}

    def hooked(a: torch.Tensor) -> torch.Tensor:
        a.register_hook(lambda grad: grad * 10)
        out = a * 2
        return out

    assert numbers_of(explore(twice, a=2.0)) == (["out = 6.0"], ["a.grad 5.0"])
    assert numbers_of(explore(cut, a=2.0)) == (["out = 4.0"], ["a.grad 2.0"])
    assert numbers_of(explore(through_python, a=2.0)) == (["out = 4.0"], ["a.grad 2.0"])
    assert numbers_of(explore(of_another, a=2.0)) == (["loss = 4.0"], ["a.grad 3.0"])
    assert numbers_of(explore(hooked, a=2.0)) == (["out = 4.0"], ["a.grad 20.0"])
    assert explore(twice, a=2.0).wire["exploration"]["backward"] == (
        "The function calls backward() 2 times."
    )


def test_a_gradient_that_is_not_there_is_none_and_after_an_error_unknown() -> None:
    def vector(a: torch.Tensor, b: Any, fails: bool = False) -> torch.Tensor:
        if fails:
            raise ValueError("no")
        out = a * torch.ones(3)
        return out

    explorer = explore(vector, a=2.0, b=1.0)
    assert numbers_of(explorer) == (["out = [2.0, 2.0, 2.0]"], ["a.grad None", "b.grad None"])
    said = explorer.wire["exploration"]["backward"]
    assert said == "No backward(): out has 3 numbers, and it starts at one."
    switch(explorer, "b", False)
    assert numbers_of(explorer)[1] == ["a.grad None", "no gradient"]
    switch(explorer, "fails")
    assert numbers_of(explorer) == (["out = ?"], ["a.grad ?", "no gradient"])


def test_an_error_of_the_backward_that_follows_leaves_the_picture() -> None:
    def written(a: torch.Tensor) -> torch.Tensor:
        b = a.exp()
        out = b * b
        b.add_(1)
        return out

    explorer = explore(written, a=1.0)
    assert not explorer.outcome.error
    said = explorer.wire["exploration"]["backward"]
    assert said.startswith("out.backward() raises RuntimeError: one of the variables needed")
    assert numbers_of(explorer) == (["out = 7.389"], ["a.grad None"])


def test_backward_adds_to_no_tensor_of_the_notebook() -> None:
    outside = torch.tensor(2.0, requires_grad=True)

    def product(a: torch.Tensor, layer: Any) -> torch.Tensor:
        out: torch.Tensor = layer(a * outside).sum()
        return out

    layer = torch.nn.Linear(1, 1)
    explorer = explore(product, a=torch.ones(1, requires_grad=True), layer=layer)
    assert outside.grad is None
    assert layer.weight.grad is None
    weight = explorer.graph.tensor("layer.weight").grad
    assert weight is not None
    assert weight.values == (2.0,)
    assert "retain_graph=True, inputs=[a, *layer.parameters()]" in explorer.code


def test_what_backward_prints_is_shown_and_its_random_numbers_are_the_same() -> None:
    def hooked(a: torch.Tensor) -> torch.Tensor:
        out = a * 2
        out.register_hook(lambda grad: print("hook", grad.item(), torch.rand(1).item()))
        return out

    torch.manual_seed(0)
    explorer = explore(hooked, a=1.0)
    printed = explorer.outcome.printed
    assert printed.startswith("hook 1.0 0.")
    explorer.run()
    assert explorer.outcome.printed == printed


def test_nothing_is_observed_inside_of_a_recording() -> None:
    with gradviz.record() as recording:
        explorer = explore(squared, x=2.0, w=3.0)
    assert numbers_of(explorer) == (["loss = 25.0"], ["x.grad None", "w.grad None"])
    assert len(recording.graph) > 0


def test_it_is_one_widget_with_the_code_in_it(explorer: Explorer) -> None:
    assert not hasattr(explorer, "children")
    assert explorer.wire["exploration"]["code"] == explorer.code
    explorer.controls["a"].parts[0].value = 7.0
    assert "a = torch.tensor(7.0, requires_grad=True)" in explorer.wire["exploration"]["code"]


def test_the_page_it_saves_has_the_last_run_and_the_other_files_its_graph(
    explorer: Explorer, tmp_path: Path
) -> None:
    explorer.controls["a"].parts[0].value = 7.0
    explorer.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<b>program(a, b, retain_grad, detach_here, no_grad)</b> a = 7.0" in page
    assert "<li" in page.split("<script")[0]
    assert '"answered"' not in page.split('id="gradviz-code"')[0]  # it has no kernel to answer
    explorer.save(tmp_path / "graph.json")
    text = (tmp_path / "graph.json").read_text("utf-8")
    assert gradviz.Graph.from_json(text) == explorer.graph
    with pytest.raises(gradviz.OptionError, match=r"\.png"):
        explorer.save(tmp_path / "x.tif")


def test_the_bundle_serves_readers_without_a_kernel_and_is_the_same_bytes() -> None:
    def made() -> Explorer:
        explorer = explore(program, a=2.0, b=3.0)
        switch(explorer, "retain_grad")
        return explorer

    bundles = [bundle_of(made()) for _ in range(2)]
    views = [bundle.pop(VIEW) for bundle in bundles]
    assert views[0] != views[1]
    assert bundles[0] == bundles[1]
    bundle = bundles[0]
    lines = bundle["text/plain"].split("\n")
    assert lines[:4] == [
        "program(a, b, retain_grad, detach_here, no_grad)",
        "  a = 2.0 · requires_grad · ∂loss/∂a 4.0",
        "  b = 3.0 · requires_grad · ∂loss/∂b 2.0",
        "  [x] retain_grad",
    ]
    assert lines[-2:] == [
        "What changed since the run before",
        "  y: retains_grad False → True; .grad None → 1.0",
    ]
    assert str(made().graph) in bundle["text/plain"]
    assert "What changed since the run before" in bundle["text/html"]
    assert "data:image/svg+xml" in bundle["text/html"]
    ET.fromstring(bundle["image/svg+xml"])
    assert not re.search(r"0x[0-9a-f]{6}", str(bundle))


def test_the_state_that_is_saved_has_the_last_run(explorer: Explorer) -> None:
    switch(explorer, "b", False)
    saved = expand(explorer.get_state()["wire"])["exploration"]
    assert saved["changed"][0] == "What changed since the run before"
    assert "gone: leaf b" in saved["changed"]
    assert "b = torch.tensor(3.0)" in saved["code"]
    (part,) = [p for c in saved["controls"] for p in c["parts"] if p["label"] == "b requires_grad"]
    assert (part["value"], part["first"]) == (False, True)


def test_what_cannot_be_explored_is_an_error_that_says_what_to_type(
    subtests: pytest.Subtests,
) -> None:
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: explore(cast("Any", 3)), "needs a function, and this is an int"),
        (lambda: explore(program, a=1.0), "needs a first value for 'b'"),
        (lambda: explore(program, a=1.0, b=1.0, c=1.0), "has no parameter of that name; it has a"),
        (lambda: explore(torch.mul, a=1.0), "the parameters of mul are not known"),
        (lambda: explore(lambda a: a, a=()), "must be several options"),
    ]
    for call, message in refused:
        with (
            subtests.test(call=call, message=message),
            pytest.raises(gradviz.OptionError, match=re.escape(message)),
        ):
            call()


def test_an_interrupt_is_not_swallowed() -> None:
    def stopped(a: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(stopped, a=1.0)


def test_many_changes_are_counted() -> None:
    def chain(a: torch.Tensor, count: int = 1) -> torch.Tensor:
        for _ in range(count):
            a = a.sin()
        return a

    explorer = explore(chain, a=1.0, count=1)
    explorer.controls["count"].parts[0].value = 10
    explorer.controls["count"].parts[0].value = 1
    assert explorer.changes.sentences == ["gone: SinBackward0"] * 9 + [
        "n0 SinBackward0: root none → output 0",
        "a: .grad 0.07929 → 0.5403",
    ]
    explorer.controls["count"].parts[0].value = 30
    assert str(explorer).endswith("more changes")


def test_the_title_is_clean_however_the_function_is_called(subtests: pytest.Subtests) -> None:
    for name in [*HOSTILE, "\u2066f\u2068"]:
        with subtests.test(name=name):

            def function(a: torch.Tensor) -> torch.Tensor:
                return a * a

            function.__name__ = name
            widget = explore(function, a=2.0)
            title = str(widget).split("\n")[0]
            assert title == f"{shorten(clean(name), 120)}(a)"
            assert len(title) < 150
            assert widget.wire["exploration"]["title"] == title
            assert f"<b>{escape(title)}</b>" in bundle_of(widget)["text/html"]
