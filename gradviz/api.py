"""The public functions that show: what they return is a widget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import FrameType
from typing import Any, Final, overload

from torch import Tensor
from torch.nn import Module

from gradviz.analysis.audit.auditor import audit_of
from gradviz.analysis.diff.report import comparison_of
from gradviz.analysis.memory.count import memory_of, memory_over
from gradviz.capture import naming
from gradviz.capture.audit.reader import audit_facts
from gradviz.capture.module_storages import read_owned
from gradviz.capture.traversal import snapshot_of
from gradviz.model import (
    Explanation,
    Graph,
    NoGraphError,
    NotATensorError,
    OptionError,
    Recording,
)
from gradviz.view.figures.memory import figures_of
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.explanation import explanation_view
from gradviz.view.widgets.picture import Picture
from gradviz.view.widgets.player import Player
from gradviz.view.widgets.report import ReportWidget

_OPTIONS: Final = (
    "names",
    "direction",
    "engine_arrows",
    "height",
    "show",
    "hide",
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
    direction: str = "TB",
    engine_arrows: bool = False,
    height: int = 0,
    show: Collection[str] | None = None,
    hide: Collection[str] = (),
    step: int | None = None,
    stops: Iterable[int] | None = None,
    **unknown: Any,
) -> Picture | Player:
    """Show the autograd graph behind tensors, as it stands now, or a recording, step by step.

    Reads like :func:`snapshot` and draws what it returned. In a notebook the result is an
    interactive widget; ``print`` gives the outline, ``.save("graph.svg")`` writes a file.

    Args:
        what: Tensors that require grad, with a module among them if its parameters should be
            shown too; or one :class:`Graph`; or one :class:`Recording`.
        names: Names that come before those found in your variables.
        direction: ``"TB"``: data flows from top to bottom, like the code; ``"LR"``: to the
            right.
        engine_arrows: Draw arrows as the engine runs, along ``next_functions``, instead of as
            data flows.
        height: Height of the widget in CSS pixels, 0 for automatic.
        show: Parts to show, all if not given: ``"saved"``, ``"values"``, ``"grad"``,
            ``"formula"``, ``"shapes"``, ``"hooks"``, ``"constants"``, ``"tags"``, ``"source"``,
            ``"versions"``.
        hide: Parts to leave out.
        step: Step of a recording that is shown first, counted from the end if negative; if not
            given the one at which an error was raised, else the first.
        stops: Steps of a recording that matter; they are marked on its timeline.
        unknown: Nothing; any other option is an error.

    Returns:
        A widget with the traits ``selected`` and ``engine_arrows``, ``.graph`` and ``.save()``;
        for a recording the trait ``step``, ``.recording``, ``.save()`` and ``.filmstrip()``.

    Raises:
        OptionError: If an option does not exist or has a value it cannot take; the message
            lists those that there are.
        NotATensorError, NoGraphError, NamesError, GraphBusyError: As :func:`snapshot`.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> picture = gradviz.show(a * a, hide=["values"])
        >>> picture.selected
        ''
    """
    if unknown:
        raise OptionError(
            f"show() has no option {next(iter(unknown))!r}; its options are {', '.join(_OPTIONS)}"
        )
    if type(height) is not int or height < 0:
        raise OptionError(f"height={height!r} must be a number of pixels: height=400, or 0")
    options = DrawOptions.of(direction, engine_arrows, show, hide)
    if any(isinstance(one, Recording) for one in what):
        if len(what) > 1 or names is not None:
            raise OptionError(
                "a recording is shown alone, and its tensors have the names they had while it "
                "ran: gradviz.show(recording)"
            )
        return Player(what[0], options, step, stops, height)
    if any(isinstance(one, Explanation) for one in what):
        if len(what) > 1 or names is not None or step is not None or stops is not None:
            raise OptionError(
                "an explanation is shown alone, at the step where its error was noticed: "
                "gradviz.show(error). For other steps show its recording: "
                "gradviz.show(error.recording, step=3)"
            )
        return explanation_view(what[0], options, height)
    if step is not None or stops is not None:
        raise OptionError(
            "step= and stops= are for recordings; a graph is one moment: "
            "with gradviz.record() as recording: ... and then gradviz.show(recording, step=3)"
        )
    if len(what) == 1 and isinstance(what[0], Graph):
        if names is not None:
            raise OptionError(
                "names= cannot rename a Graph, which is data already; give the names when the "
                "live graph is read: gradviz.snapshot(loss, names={...})"
            )
        graph = what[0]
    else:
        graph = snapshot_of(what, names, naming.caller())
    return Picture(graph, options, height)


def audit(
    loss: Any,
    model: Any,
    optimizer: Any = None,
    *,
    recording: Recording | None = None,
    names: Mapping[str, Tensor] | None = None,
) -> ReportWidget:
    """Say per parameter whether it gets a gradient from ``loss``, and if not, why not.

    Works before and after ``backward()``, and also where the loss has no graph at all. Read are
    the graph, as :func:`snapshot` reads it, every ``.grad`` (its norm, zeros, nan and inf, for
    which a GPU is waited for), the optimizer's groups and state, and named tensors around.
    Nothing is changed: no version, gradient, hook, state of the optimizer or lifetime.

    What is alive does not always tell why the graph leads to no parameter: it tells of ``detach()``
    while the tensor before it is alive, and of ``item()`` nothing. A recording of the forward tells
    the call and the line. What is not known is said to be unknown.

    Args:
        loss: The tensor that backward starts from, or several in a list, tuple or dict.
        model: A module; or tensors or modules in a list, tuple or dict.
        optimizer: An optimizer of torch: which parameters does its ``step()`` change, and from
            which gradient? If backward has still to run, that is the step after it.
        recording: The forward, run within :func:`record`.
        names: Names that come before those found in your variables.

    Returns:
        Sentences, a table with a row per parameter, further tables, and the graph with the cuts
        marked. ``report["fc.weight"]`` is what was found about a parameter: ``reached``,
        ``gets_gradient``, ``reason``, ``why``, ``at``, ``grad``, ``stale``, ``updated``, …

    Raises:
        NotATensorError: If ``loss`` is no tensor, or ``model`` has nothing with parameters.
        OptionError: If ``optimizer`` or ``recording`` is something else.
        NamesError: If ``names`` does not map names to tensors.
        NoGraphError: If the loss has been freed, or is a view that autograd can no longer follow.
        GraphBusyError: If another thread runs backward on this graph now.

    Examples:
        >>> import torch, gradviz
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
        >>> h = model[0](torch.ones(1, 2))
        >>> loss = model[1](h.detach()).sum()
        >>> report = gradviz.audit(loss, model)
        >>> report["0.weight"].gets_gradient, report["0.weight"].reason
        (False, 'detached')
        >>> with gradviz.record() as recording:
        ...     loss = model[1](model[0](torch.ones(1, 2)).detach()).sum()
        >>> gradviz.audit(loss, model, recording=recording)["0.bias"].at.text
        'loss = model[1](model[0](torch.ones(1, 2)).detach()).sum()'
    """
    if recording is not None and not isinstance(recording, Recording):
        raise OptionError(
            f"recording= is a {type(recording).__name__}, not a Recording. It is what a block "
            "binds: with gradviz.record() as recording: loss = model(x).sum()"
        )
    return ReportWidget(
        audit_of(audit_facts(loss, model, optimizer, names, naming.caller()), recording)
    )


def memory(
    loss: Any,
    model: Module | None = None,
    *,
    names: Mapping[str, Tensor] | None = None,
    step: int | None = None,
) -> ReportWidget:
    """Count what a graph keeps in memory for backward, and say which nodes and modules keep it.

    Counted are the storages behind saved tensors: each once, with all its bytes, at the first
    node in visiting order that saves it. Parameters are told apart; they are alive without the
    graph as well. What a hook has packed (a checkpoint, an offload) and what torch does not show
    has no known size: it is listed, and not in the numbers. A leaf that its AccumulateGrad keeps
    alive is no saved tensor. The graph is only read, as by :func:`snapshot`.

    Of a recording it is the memory after every step, and the count for the step at which most is
    kept.

    Args:
        loss: Tensors as for :func:`snapshot`; or one :class:`Graph`; or one :class:`Recording`.
        model: Module whose parameters and buffers tell which module a node belongs to; if not
            given, modules that are variables do. A recording knows modules by itself.
        names: Names of tensors that come before those found.
        step: Step of a recording that is counted, from the end if negative.

    Returns:
        A report with tables by node, module, line and storage; ``report.findings`` has ``total``,
        ``parameters``, ``activations``, ``shared``, ``unknown``, ``storages`` and ``curve``, and
        ``report["fc1"]`` is what one module or node keeps.

    Raises:
        OptionError: If an option does not go with what is counted.
        UnknownNodeError: If a recording has no such step.
        NotATensorError, NoGraphError, NamesError, GraphBusyError: As :func:`snapshot`.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.ones(1000, requires_grad=True)
        >>> report = gradviz.memory(a.exp().sum())
        >>> report.findings.total, report["n1"].name
        (4000, 'ExpBackward0')
        >>> [(row["node"], row["bytes"]) for row in report]
        [('n1', 4000)]
    """
    is_data = isinstance(loss, (Graph, Recording))
    if is_data and (model is not None or names is not None):
        raise OptionError(
            f"model= and names= are for tensors; a {type(loss).__name__} is data already and "
            "knows what was seen when it was made: gradviz.memory(recording)"
        )
    if isinstance(loss, Recording):
        found = memory_over(loss, step)
    elif step is not None:
        raise OptionError(
            "step= is for recordings; a graph is one moment: "
            "with gradviz.record() as recording: ... and then gradviz.memory(recording, step=3)"
        )
    elif isinstance(loss, Graph):
        found = memory_of(loss)
    elif model is not None and not isinstance(model, Module):
        raise OptionError(
            f"model= must be an nn.Module, and this is a {type(model).__name__}; several outputs "
            "are one list: gradviz.memory([loss, other], model)"
        )
    else:
        found = memory_of(*read_owned(loss, model, names, naming.caller()))
    return ReportWidget(found, figures=figures_of(found))


def compare(before: Any, after: Any, *, names: Mapping[str, Tensor] | None = None) -> ReportWidget:
    """What differs between two graphs or two recordings: sentences, a table and one picture.

    Nodes are matched by the structure around them, and by names where it leaves a choice; tensors
    by their places, and by names where they have none. Compared are nodes, edges, flags, versions,
    states, hooks, values, gradients, saved tensors and who shares memory; of two recordings also
    how often and in which order backward ran the nodes, and what lines with the same text did.
    Names of variables are not compared, nor lines of code that made a node, nor what one of the
    two does not know; numbers apart from their rounding (a hundred-thousandth). In the picture is
    the graph after, with what is gone beside it.

    Live tensors are read as :func:`snapshot` reads them; nothing is changed.

    Args:
        before: A tensor that requires grad, or a list, tuple or dict of them; a :class:`Graph`,
            a :class:`Recording`, or what :func:`show` or a report returned.
        after: The same.
        names: Names of live tensors that come before those found in your variables.

    Returns:
        A report; ``.findings`` is true if anything differs, ``.findings.differences`` has all.

    Raises:
        NotATensorError: If ``before`` or ``after`` is nothing of that kind.
        OptionError: If there are names, but no live tensors to bear them.
        NoGraphError, NamesError, GraphBusyError: As :func:`snapshot`.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> out = a * 3
        >>> before = gradviz.snapshot(out)
        >>> out.backward()
        >>> report = gradviz.compare(before, out)
        >>> report.findings.sentences[-1]
        'a: .grad None → 3.0'
    """
    ready = [_compared("before", before), _compared("after", after)]
    if names is not None and None not in ready:
        raise OptionError(
            "names= names live tensors; graphs and recordings have the names they were read with: "
            "gradviz.snapshot(loss, names={...})"
        )
    frame = naming.caller()
    sides = [
        _read(which, given, names, frame) if one is None else one
        for which, given, one in zip(("before", "after"), (before, after), ready)
    ]
    return ReportWidget(comparison_of(*sides))


def _read(
    which: str, given: Any, names: Mapping[str, Tensor] | None, frame: FrameType | None
) -> Graph:
    """The graph of live tensors; errors say ``before`` or ``after``."""
    try:
        return snapshot_of((given,), names, frame)
    except (NoGraphError, NotATensorError) as error:
        raise type(error)(str(error).replace("outputs[0]", which, 1)) from None


def _compared(which: str, given: Any) -> Graph | Recording | None:
    """The data in what :func:`compare` was given; ``None`` for live tensors."""
    for found in (given, getattr(given, "recording", None), getattr(given, "graph", None)):
        if isinstance(found, (Graph, Recording)):
            return found
    if naming.is_tensor(given) or (isinstance(given, (list, tuple, dict)) and given):
        return None
    kind = "None" if given is None else f"a {type(given).__name__}"
    if isinstance(given, ReportWidget):
        kind = "a report without a graph"
    raise NotATensorError(
        f"{which} is {kind}; compare() takes a tensor that requires grad or several, a Graph, "
        "a Recording, or what gradviz.show() returned: gradviz.compare(before, loss)"
    )
