from __future__ import annotations

import inspect
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import graphviz
import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.view.graph import layout_program
from tests.programs import PROGRAMS, Program, named

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torchviz import make_dot as of_torchviz

QUICK = [program for program in PROGRAMS if not program.is_slow]
ID = r'(?:"[^"]*"|[\w.]+)'
LABEL = r'(?:"(?:[^"\\]|\\.)*"|[\w.]+)'
BOX = re.compile(rf"\t({ID}) \[label=({LABEL})(?: fillcolor=(\w+))?\]\n", re.DOTALL)
ARROW = re.compile(rf"\t({ID}) -> ({ID})(?: \[(dir|style)=(\w+)\])?\n")


class Drawing:
    """Boxes and arrows of a drawing, read from its statements."""

    def __init__(self, drawing: graphviz.Digraph) -> None:
        text = "".join(drawing.body)
        self.boxes = {key: (label.strip('"'), colour) for key, label, colour in BOX.findall(text)}
        self.arrows = [(a, b, how) for a, b, _, how in ARROW.findall(text)]

    def structure(self, known: Collection[str] = ()) -> Counter[str]:
        """The graph without ids: each box by what it says and what is around it.

        Args:
            known: Names of nodes; others are what torchviz calls them.
        """
        edges = [(a, b, how) for a, b, how in self.arrows if how != "none"]
        ends = {key for a, b, _ in edges for key in (a, b)}
        words = {key: self._words(key) for key in ends}
        if known:
            words = {key: word if word in known else "CppFunction" for key, word in words.items()}
        for _ in range(12):
            around: dict[str, list[str]] = {key: [] for key in ends}
            for a, b, how in edges:
                around[a].append(f">{how}{words[b]}")
                around[b].append(f"<{how}{words[a]}")
            words = {key: str(hash((words[key], *sorted(around[key])))) for key in ends}
        return Counter(words.values())

    @property
    def words(self) -> set[str]:
        return set(map(self._words, self.boxes))

    def _words(self, key: str) -> str:
        """What is written in a box; of tensors the sizes, and names that both tools were given."""
        label, is_tensor = self.boxes[key]
        given = re.match(r"named \d+", label)
        return f"{given[0] if given else ''}{self._sizes(key)}" if is_tensor else label.split()[0]

    def saved(self) -> Counter[tuple[str, str]]:
        """Type of node and sizes of each saved tensor."""
        both = [sorted((a, b), key=self._is_tensor) for a, b, how in self.arrows if how == "none"]
        return Counter((self.boxes[a][0].split()[0], self._sizes(b)) for a, b in both)

    def _is_tensor(self, key: str) -> bool:
        return bool(self.boxes[key][1])

    def _sizes(self, key: str) -> str:
        found = re.search(r"\([^()]*\)", self.boxes[key][0])
        return found[0] if found else ""

    @property
    def colours(self) -> Counter[str]:
        return Counter(colour for _, colour in self.boxes.values())


def both(program: Program, **options: Any) -> tuple[Drawing, Drawing]:
    """A program drawn by gradviz and by torchviz."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = []
        for draw in (gradviz.make_dot, of_torchviz):
            built = program.build()
            params = {f"named {i}": tensor for i, tensor in enumerate(leaves(built.outputs))}
            var = built.outputs[0] if len(built.outputs) == 1 else built.outputs
            drawn.append(Drawing(draw(var, params, **options)))
    return drawn[0], drawn[1]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """torchviz warns of what it imports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def leaves(outputs: tuple[Tensor, ...]) -> Iterator[Tensor]:
    """All leaves of a graph, so that both tools have the same names for them."""
    seen, todo = set(), [t.grad_fn for t in outputs if t.grad_fn is not None]
    for node in todo:
        if node not in seen:
            seen.add(node)
            todo += [following for following, _ in node.next_functions if following is not None]
            if hasattr(node, "variable"):
                yield node.variable


def test_the_call_is_that_of_torchviz() -> None:
    own, other = (inspect.signature(f).parameters for f in (gradviz.make_dot, of_torchviz))
    assert [(p.name, p.default) for p in own.values()] == [
        (p.name, p.default) for p in other.values()
    ]


FAILS = {
    "deep_chain": "it recurses",
    "custom_function_saves_none": "it takes what is None for a tensor",
    "custom_function_modified": "it unpacks what was modified",
    "custom_function_clears": "it reads what can be read once",
    "custom_function_freed": "it unpacks what was freed",
    "nested": "it reads sizes that do not exist",
}
"""Programs that torchviz ends with an error."""
DRAWN = {"two_roots_one_leaf", "views_share_storage", "inplace_view", "cat_and_stack", "rnn"}
DRAWN |= {"custom_function_saves_output", "foreach", "frozen_layer", "create_graph", "detached"}
"""Programs that are compared in every run of the tests."""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(p, id=p.name, marks=() if p.name in DRAWN else pytest.mark.exhaustive)
        for p in QUICK
        if p.name not in FAILS
    ],
)
def test_boxes_and_arrows_are_those_of_torchviz(program: Program) -> None:
    own, other = both(program)
    assert own.structure(other.words) == other.structure()
    assert own.colours == other.colours


def test_what_torchviz_cannot_draw_is_drawn(subtests: pytest.Subtests) -> None:
    for name in FAILS:
        with subtests.test(name=name):
            built = named(name).build()
            drawn = Drawing(
                gradviz.make_dot(built.outputs, built.names, show_saved=True, show_attrs=True)
            )
            nodes = [label.split()[0] for label, colour in drawn.boxes.values() if not colour]
            assert sorted(nodes) == sorted(
                node.name for node in gradviz.snapshot(*built.outputs).nodes
            )


UNPACKS = {"saved_tensors_hooks", "saved_tensors_hooks_on_lists", "save_on_cpu"}
UNPACKS |= {"checkpoint_nonreentrant"}
"""Programs of which torchviz runs the unpack hooks; sizes are not known without."""
CANNOT_BE_READ = {"inplace_after_save", "inplace_after_save_of_output", "inplace_in_list"}
CANNOT_BE_READ |= {"freed_after_backward", "freed_list_save", "partially_freed"}
CANNOT_BE_READ |= {"pruned_backward", "nested_jagged", *FAILS}
"""Programs that torchviz ends with an error when it reads saved tensors."""
FEW = {"lstm", "custom_function_saves_output", "tensor_list_saved", "batch_norm", *UNPACKS}


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(p, id=p.name, marks=() if p.name in FEW else pytest.mark.exhaustive)
        for p in QUICK
        if p.name not in CANNOT_BE_READ
    ],
)
def test_saved_tensors_are_those_of_torchviz(program: Program) -> None:
    own, other = (sorted(drawn.saved().elements()) for drawn in both(program, show_saved=True))
    if program.name in UNPACKS:
        assert [node for node, _ in own] == [node for node, _ in other]
    else:
        assert own == other


@pytest.mark.parametrize("most", [50, 6, 0])
def test_attributes_are_those_of_torchviz(most: int) -> None:
    for name in ("batch_norm", "rnn"):
        drawn = both(named(name), show_attrs=True, max_attr_chars=most)
        own, other = (sorted(t for t, colour in d.boxes.values() if not colour) for d in drawn)
        assert own == other


def test_lists_dicts_and_leaves_can_be_drawn() -> None:
    w = torch.ones(2, requires_grad=True)
    out = {"sum": (w * 2).sum(), "both": [w.exp(), w]}
    assert Drawing(gradviz.make_dot(out)).colours == {
        "": 4,
        "lightblue": 1,
        "darkolivegreen1": 2,
    }
    assert Drawing(gradviz.make_dot(w)).colours == Drawing(of_torchviz(w)).colours
    with pytest.raises(gradviz.NoGraphError):
        gradviz.make_dot(torch.ones(1))


def test_what_is_freed_or_modified_is_said() -> None:
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    out = (h * h).sum()
    h.add_(1)
    assert "modified in place: other, self" in gradviz.make_dot(out).source
    y = w.exp().sum()
    y.backward()
    source = gradviz.make_dot(y, show_saved=True).source
    assert "ExpBackward0\nfreed" in source
    assert "result\n (?) freed" in source


def test_names_are_text_and_bytes_are_the_same() -> None:
    w = torch.ones(2, requires_grad=True)
    sources = {gradviz.make_dot(w * 2, params={"<b>&amp;\\n\x00": w}).source for _ in range(2)}
    (source,) = sources
    assert "<b>&amp;amp;\\\\n\\\\x00" in source
    names = gradviz.make_dot(w * 2).source
    assert 'label="w\n (2)"' in names


def test_it_is_a_digraph_that_renders_and_shows_without_dot(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = torch.ones(2, requires_grad=True)
    drawing = gradviz.make_dot(w * 2)
    assert isinstance(drawing, graphviz.Digraph)

    def missing(*_: Any) -> bytes:
        raise gradviz.GraphvizNotFoundError("no dot")

    monkeypatch.setattr(layout_program, "run_dot", missing)
    svg = drawing._repr_mimebundle_()["image/svg+xml"]
    assert "MulBackward0" in svg
    assert svg.count("<svg") == 1
