"""``gradviz.show``: a graph, or a recording, as a widget.

What only a recording or an explanation needs is imported when there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

from torch import Tensor
from torch.nn import Module

from gradviz.analysis.fold.folding import folding_of
from gradviz.capture import naming
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Explanation, Graph, OptionError, Recording
from gradviz.model.collector import no_collection
from gradviz.model.explanations import Explanations
from gradviz.model.fold import Fold
from gradviz.model.formatting import a_kind
from gradviz.model.progress import working
from gradviz.view.graph.drawing import is_readable
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.base import GraphWidget
from gradviz.view.widgets.picture import Picture

if TYPE_CHECKING:
    from gradviz.view.widgets.player import Player

_FoldOption: TypeAlias = (
    int | Collection[str] | Mapping[str, Collection[str]] | Callable[[Fold], bool] | None
)
_OPTIONS: Final = (
    "names",
    "values",
    "direction",
    "engine_arrows",
    "height",
    "show",
    "hide",
    "density",
    "focus",
    "fold",
    "model",
    "step",
    "stops",
)


@overload
def show(what: Recording, /, **options: Any) -> Player: ...
@overload
def show(what: Explanation, /, **options: Any) -> Player | Picture: ...
@overload
def show(*what: Any, **options: Any) -> Picture: ...
def show(
    *what: Any,
    names: Mapping[str, Tensor] | None = None,
    values: bool | None = None,
    direction: str = "TB",
    engine_arrows: bool = False,
    height: int = 0,
    show: Collection[str] | None = None,
    hide: Collection[str] = (),
    density: str = "auto",
    focus: str | None = None,
    fold: _FoldOption = None,
    model: Module | None = None,
    step: int | str | None = None,
    stops: Iterable[int | str] | None = None,
    **unknown: Any,
) -> Picture | Player:
    """Show the current autograd graph of tensors, or a recording step by step.

    Reads the graph as :func:`snapshot` does, and draws it. In a notebook the result is an
    interactive widget; ``print`` gives the outline, ``.save("graph.svg")`` writes a file.

    Args:
        what: Tensors that require grad, with a module among them if its parameters should be
            shown too; or one :class:`Graph`; or one :class:`Recording`; or an
            :class:`Explanation`, or what :func:`explain` returned, of which the first is shown.
        names: Names that come before those found in your variables.
        values: Which numbers of live tensors are read, as for :func:`snapshot`: ``True`` all,
            ``False`` none, by default up to a budget.
        direction: ``"TB"``: data flows from top to bottom, like the code; ``"LR"``: to the
            right.
        engine_arrows: Draw arrows as the engine runs, along ``next_functions``, instead of as
            data flows.
        height: Height of the widget in CSS pixels, 0 for automatic.
        show: Parts to show, all if not given: ``"saved"``, ``"values"``, ``"grad"``,
            ``"formula"``, ``"shapes"``, ``"hooks"``, ``"constants"``, ``"tags"``, ``"source"``,
            ``"versions"``.
        hide: Parts to leave out.
        density: How much cards say at first: ``"compact"`` (names, ``.grad`` and what is wrong),
            ``"normal"`` (what a learner needs), ``"full"`` (everything), or ``"auto"``: compact
            above six cards, else normal. In the widget it can be changed. Parts that ``show``
            names are in every density.
        focus: Id of a node, ``"n400"``, at which the picture opens: the folds around it are open.
            Of a graph with more than 400 nodes that is not folded the 400 nearest to it are drawn,
            instead of the first 400.
        fold: What is folded into boxes. ``None``: a graph of more than 40 nodes is folded by
            module, and where no module is known by repeated structure, into at most 12 boxes; a
            smaller one of modules too if its nodes are not readable on a screen at once. A number:
            folds open that many levels deep, 0 is one box. A list of module paths,
            ``["model.layers"]``: these are folded, all else is open, up to 400 boxes.
            ``{"open": ["model.layers.2"]}``: these are open, with what is around them, all else
            is folded. A function that is called with each :class:`~gradviz.model.fold.Fold`:
            those are folded for which it returns ``True``. ``False``: nothing, and of more than
            400 nodes 400 are drawn.
        model: The module that made the graph, if no variable leads to it: nodes are folded by its
            modules. Its parameters are not added to the picture.
        step: Step of a recording to show first: its number, counted from the end if negative
            (``"7.3"`` is the third sub-step inside step 7); ``"line:5"``, when line 5 has run;
            ``"backward"``, when backward starts; ``"error"``; or the name of a node,
            ``"MulBackward0"``, when backward has run it. ``"line:5:2"``, ``"backward:2"`` and
            ``"MulBackward0:2"`` are the second ones. By default the step that raised an error,
            else where the forward is done: the last before the first backward.
        stops: Steps of a recording to mark on its timeline, each as ``step``.
        unknown: Any other option raises ``OptionError``.

    Returns:
        A widget with the traits ``selected`` and ``engine_arrows``, ``.graph`` and ``.save()``;
        for a recording the trait ``step``, ``.recording``, ``.save()`` and ``.filmstrip()``.
        ``.close()`` removes it from the page and frees its memory.

    Raises:
        OptionError: If an option does not exist or has a wrong value; the message lists the
            options.
        NotATensorError, NoGraphError, NamesError, GraphBusyError: As :func:`snapshot`.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> picture = gradviz.show(a * a, hide=["values"])
        >>> picture.selected
        ''
    """
    if len(what) == 1 and isinstance(what[0], GraphWidget):
        raise OptionError(
            f"this is {a_kind(what[0])}, which is shown by itself: write its name alone "
            "in the last line of a cell, or display(it) anywhere else"
        )
    if unknown:
        raise OptionError(
            f"show() has no option {next(iter(unknown))!r}; its options are {', '.join(_OPTIONS)}"
        )
    if type(height) is not int or height < 0:
        raise OptionError(f"height={height!r} must be a number of pixels: height=400, or 0")
    if values is not None and any(isinstance(w, (Graph, Recording, Explanation)) for w in what):
        raise OptionError(
            "values= applies to live tensors; what was read of others is decided when they are "
            "made: gradviz.snapshot(loss, values=True), gradviz.record(values=True)"
        )
    options = DrawOptions.of(direction, engine_arrows, show, hide, density, focus)
    if model is not None and not isinstance(model, Module):
        raise OptionError(
            f"model= must be an nn.Module, but is {a_kind(model)}: gradviz.show(loss, model=model)"
        )
    if any(isinstance(one, (Recording, Explanation, Explanations)) for one in what):
        _refuse_folds(fold, model)
    if any(isinstance(one, Recording) for one in what):
        if len(what) > 1 or names is not None:
            raise OptionError(
                "show() takes one recording and nothing else; its tensors keep the names from "
                "the time of the recording: gradviz.show(recording)"
            )
        with working("show"), no_collection():
            from gradviz.view.widgets.player import Player

            return Player(what[0], options, step, stops, height)
    what = tuple(one.first if isinstance(one, Explanations) else one for one in what)
    if any(isinstance(one, Explanation) for one in what):
        if len(what) > 1 or names is not None or step is not None or stops is not None:
            raise OptionError(
                "show() takes one explanation and nothing else, and shows the step of its error: "
                "gradviz.show(error). For other steps show its recording: "
                "gradviz.show(error.recording, step=3)"
            )
        with working("show"), no_collection():
            from gradviz.view.widgets.explanation import explanation_view

            return explanation_view(what[0], options, height, folding_of)
    if step is not None or stops is not None:
        raise OptionError(
            "step= and stops= need a recording; a graph has no steps: "
            "with gradviz.record() as recording: ... and then gradviz.show(recording, step=3)"
        )
    if len(what) == 1 and isinstance(what[0], Graph):
        if names is not None:
            raise OptionError(
                "names= cannot change a Graph, which is a copy; pass the names when the live "
                "graph is read: gradviz.snapshot(loss, names={...})"
            )
        if model is not None:
            raise OptionError(
                "model= cannot change a Graph, which is a copy and contains its modules; pass the "
                "module where the tensor is: gradviz.show(loss, model=model)"
            )
        return _picture(what[0], options, height, fold)
    with working("show"), no_collection():
        graph = snapshot_of(what, names, naming.caller(), values=values, model=model)
        return _picture(graph, options, height, fold, model is not None)


def _picture(
    graph: Graph, options: DrawOptions, height: int, fold: _FoldOption, has_model: bool = False
) -> Picture:
    with working("show"), no_collection():
        return Picture(
            graph,
            options,
            height,
            lambda shown: folding_of(shown, fold, partial(is_readable, options=options), has_model),
        )


def _refuse_folds(fold: object, model: object) -> None:
    """Refuse options of folds for what has steps."""
    if fold is not None or model is not None:
        raise OptionError(
            "fold= and model= apply to tensors and graphs; a recording contains its modules, and "
            "its player folds the steps of a long backward by itself: gradviz.show(recording)"
        )
