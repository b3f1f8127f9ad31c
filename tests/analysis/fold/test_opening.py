"""Which folds are open at first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradviz.analysis.fold.opening import DRAWN, FEW, opened
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import Graph
from gradviz.model.errors import OptionError
from gradviz.model.fold import Fold, FoldTree, Opening
from gradviz.model.records import Node
from tests.each import each


def layered(layers: int = 4) -> FoldTree:
    """A model with layers of two modules each, two nodes in each."""
    names = ("Cos", "Sin", "Exp", "Log")
    paths = [
        f"model.layers.{layer}.{part}"
        for layer in range(layers)
        for part in ("first", "first", "last", "last")
    ]
    count = len(paths)
    nodes = [
        Node(
            f"n{i}",
            f"{names[(count - 1 - i) % 4]}Backward0",
            (None if i == count - 1 else (f"n{i + 1}", 0),),
            module=paths[count - 1 - i],
        )
        for i in range(count)
    ]
    return fold_tree(Graph.of(nodes, [("n0", 0)]))


def boxes(tree: FoldTree, opening: Opening) -> list[Fold | int]:
    """What is on the screen."""
    if tree.root.id not in opening.ids:
        return [tree.root]
    found: list[Fold | int] = []
    todo: list[Fold | int] = [tree.root]
    while todo:
        one = todo.pop()
        if isinstance(one, Fold) and one.id in opening.ids:
            todo += one.members
        else:
            found.append(one)
    return found


def closed_paths(tree: FoldTree, opening: Opening) -> set[str]:
    return {one.path for one in boxes(tree, opening) if isinstance(one, Fold)}


def test_by_itself_few_boxes_are_on_the_screen() -> None:
    tree = layered(50)
    opening = opened(tree)
    assert 1 < len(boxes(tree, opening)) <= FEW
    assert opening.note == ""


def test_true_is_as_nothing_asked_for() -> None:
    tree = layered()
    assert opened(tree, True) == opened(tree, None) == opened(tree)


def test_zero_levels_are_one_box() -> None:
    assert opened(layered(), 0).ids == frozenset()


@each("levels", [1, 2, 3])
def test_a_number_is_how_many_levels_are_open(levels: int) -> None:
    tree = layered()
    for fold in tree:
        assert (fold.id in opened(tree, levels).ids) == (len(tree.around(fold.id)) < levels)


def test_false_opens_all() -> None:
    tree = layered()
    assert opened(tree, False).ids == {fold.id for fold in tree}


def test_a_list_of_modules_folds_these_and_opens_all_else() -> None:
    tree = layered()
    opening = opened(tree, ["model.layers.0.first", "model.layers.2"])
    assert closed_paths(tree, opening) == {"model.layers.0.first", "model.layers.2"}


def test_modules_to_open_are_open_with_what_is_around_them_and_nothing_else() -> None:
    tree = layered()
    asked = opened(tree, {"open": ["model.layers.2", "layers.0.last"]})
    wanted = {fold for fold in tree if fold.path in ("model.layers.2", "model.layers.0.last")}
    around = {one.id for fold in wanted for one in tree.around(fold.id)}
    assert asked.ids == {tree.root.id, *around, *(fold.id for fold in wanted)}
    assert opened(tree, {"open": []}).ids == {tree.root.id}


@each("fold", [{}, {"closed": ["model"]}, {"open": "model"}, {"open": [], "x": 1}])
def test_a_mapping_says_what_to_open_and_nothing_else(fold: object) -> None:
    with pytest.raises(OptionError, match="does not list what to open: it may be"):
        opened(layered(), fold)


def test_a_module_to_open_that_is_not_there_is_refused_with_near_ones() -> None:
    with pytest.raises(OptionError, match=r"model\.layers\.2"):
        opened(layered(), {"open": ["model.layer.2"]})


def test_modules_can_be_named_as_the_model_names_them() -> None:
    tree = layered()
    assert opened(tree, ("layers.1",)) == opened(tree, {"model.layers.1"})


def test_a_function_says_what_is_folded() -> None:
    tree = layered()
    assert closed_paths(tree, opened(tree, lambda fold: fold.path.endswith("last"))) == {
        f"model.layers.{layer}.last" for layer in range(4)
    }


def test_a_function_is_not_asked_about_what_is_in_a_closed_fold() -> None:
    tree = layered()
    asked: list[str] = []

    def ask(fold: Fold) -> bool:
        asked.append(fold.id)
        return fold.kind == "graph"

    assert opened(tree, ask).ids == frozenset()
    assert asked == ["f0"]


class Hostile:
    def __call__(self, _fold: Fold) -> bool:
        raise RuntimeError("")


class NoTextError(Exception):
    def __str__(self) -> str:
        raise ValueError


def raises_without_text(_fold: Fold) -> bool:
    raise NoTextError


def no_truth(_fold: Fold) -> object:
    class Undecided:
        def __bool__(self) -> bool:
            raise ValueError("of several elements")

    return Undecided()


@each(
    ("ask", "named"),
    [
        (lambda fold: fold.layer, "<lambda> raised AttributeError: "),
        (Hostile(), "Hostile raised RuntimeError;"),
        (
            raises_without_text,
            "raised tests.analysis.fold.test_opening.NoTextError: <",
        ),
        (no_truth, "no_truth raised ValueError: of several elements;"),
    ],
)
def test_a_function_that_raises_is_named_and_the_usual_folds_are_open(
    ask: Callable[[Fold], bool], named: str
) -> None:
    tree = layered()
    opening = opened(tree, ask)
    assert opening.ids == opened(tree).ids
    assert named in opening.note


def test_an_interrupt_inside_a_function_interrupts() -> None:
    def ask(_fold: Fold) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(layered(), ask)


@each("fold", [2.5, object(), {"model": 1}, b"model", iter(["model"])])
def test_what_is_no_way_to_fold_is_refused_with_what_may_be_said(fold: object) -> None:
    with pytest.raises(OptionError, match=r"number of levels.*list of the modules.*function.*None"):
        opened(layered(), fold)


def test_a_number_below_zero_is_refused() -> None:
    with pytest.raises(OptionError, match="fold=-1 is less than 0"):
        opened(layered(), -1)


def test_text_alone_is_refused_with_the_list_that_is_meant() -> None:
    with pytest.raises(OptionError, match=r"fold=\['model.layers'\]"):
        opened(layered(), "model.layers")


def test_a_list_of_something_else_is_refused() -> None:
    with pytest.raises(OptionError, match="fold= has 3 in it"):
        opened(layered(), [3])


def test_an_unknown_module_is_refused_with_near_ones() -> None:
    with pytest.raises(OptionError, match=r"near ones are .*'model\.layers\.1\.first'"):
        opened(layered(), ["model.layer.1.first"])


def test_without_modules_an_unknown_module_is_refused_too() -> None:
    tree = fold_tree(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
    with pytest.raises(OptionError, match="no module is known"):
        opened(tree, ["model"])


def test_what_is_asked_for_is_drawn_up_to_the_largest_picture_and_said() -> None:
    tree = layered(1000)
    opening = opened(tree, False)
    assert len(boxes(tree, opening)) <= DRAWN
    assert "folds are closed" in opening.note
    for fold in tree:
        above = tree.above(fold.id)
        assert fold.id not in opening.ids or above is None or above.id in opening.ids


def test_whole_numbers_of_other_libraries_count_too() -> None:
    numpy = pytest.importorskip("numpy")
    tree = layered()
    assert opened(tree, numpy.int64(2)) == opened(tree, 2)
