"""The public functions that report: what they return is a widget with sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

from torch import Tensor
from torch.nn import Module

from gradviz.analysis.audit.auditor import audit_of
from gradviz.analysis.diff.report import comparison_of
from gradviz.analysis.fold.folding import folding_of
from gradviz.analysis.gradient_flow.flow import gradient_flow_of
from gradviz.analysis.memory.count import memory_of, memory_over
from gradviz.capture import naming
from gradviz.capture.audit.reader import audit_facts
from gradviz.capture.memory import read_kept
from gradviz.capture.modules import parameter_shapes
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph, NoGraphError, NotATensorError, OptionError, Recording
from gradviz.model.formatting import a_kind
from gradviz.model.progress import working
from gradviz.view.figures.gradient_heat import heat_of
from gradviz.view.figures.memory import figures_of
from gradviz.view.widgets.report import ReportWidget


def audit(
    loss: Any,
    model: Any,
    optimizer: Any = None,
    *,
    recording: Recording | None = None,
    names: Mapping[str, Tensor] | None = None,
    values: bool | None = None,
) -> ReportWidget:
    """Report for each parameter whether it gets a gradient from ``loss``, and if not, why.

    Works before and after ``backward()``, and also if the loss has no graph. Reads the graph as
    :func:`snapshot` does, each ``.grad`` once (norm, zeros, nan and inf; on a GPU this waits for
    pending work), the groups and state of the optimizer, and named tensors of the caller.
    Changes nothing: no version, gradient, hook, optimizer state or lifetime.

    Live tensors do not always show why the graph does not reach a parameter: they show
    ``detach()`` only while its input is alive, and never show ``item()``. A recording of the
    forward shows the call and the line. What is not known is reported as unknown.

    Args:
        loss: The tensor that backward starts from, or several in a list, tuple or dict.
        model: A module; or tensors or modules in a list, tuple or dict.
        optimizer: An optimizer of torch; adds which parameters its ``step()`` changes, and with
            which gradient. If backward has not run yet, this is about the step after it.
        recording: A recording of the forward, made by :func:`record`.
        names: Names that take precedence over those of your variables.
        values: Which numbers are read, as for :func:`snapshot`: ``True`` all, ``False`` none,
            ``None`` those of the first tensors, up to 262,144 elements. The report names the
            gradients that were not read.

    Returns:
        A report: sentences, a table with one row per parameter, further tables, and the graph
        with the cuts marked. ``report["fc.weight"]`` has the findings for a parameter: ``reached``,
        ``gets_gradient``, ``reason``, ``why``, ``at``, ``grad``, ``stale``, ``updated``, …;
        ``report["h.3"]`` has those for all parameters of a module. More than 12 rows are in blocks
        by module, with totals, problems first; ``list(report)`` has all rows.

    Raises:
        NotATensorError: If ``loss`` is not a tensor, or ``model`` contains no parameters.
        OptionError: If ``optimizer`` or ``recording`` has the wrong type.
        NamesError: If ``names`` does not map names to tensors.
        NoGraphError: If the loss has been freed, or is a view that autograd can no longer follow.
        GraphBusyError: If another thread is running backward on this graph, or is busy setting a
            ``.grad``.

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
            f"recording= is {a_kind(recording)}, not a Recording. Make one like this: "
            "with gradviz.record() as recording: loss = model(x).sum()"
        )
    with working("audit"):
        facts = audit_facts(loss, model, optimizer, names, naming.caller(), values)
        return ReportWidget(audit_of(facts, recording), fold=folding_of)


def memory(
    loss: Any,
    model: Module | None = None,
    *,
    names: Mapping[str, Tensor] | None = None,
    step: int | str | None = None,
) -> ReportWidget:
    """Count the bytes that a graph keeps in memory for backward, by node, module and line.

    Counts the storages of saved tensors: each once, with all its bytes, at the first node in
    visiting order that saves it. Parameters are counted separately, since they are in memory
    without the graph too. Saved tensors that a hook has packed (a checkpoint, an offload) or that
    torch does not show have no known size; they are listed, but not counted. A leaf that its
    AccumulateGrad node keeps alive is not a saved tensor. Only reads the graph, as
    :func:`snapshot` does.

    For a recording, returns the memory after every step, and the count for the step with the most.

    Args:
        loss: Tensors as for :func:`snapshot`; or one :class:`Graph`; or one :class:`Recording`.
        model: Module whose parameters and buffers show to which module a node belongs; by default
            the modules in the caller's variables. A recording contains the modules.
        names: Names that take precedence over those of your variables.
        step: Step of a recording to count, as for :func:`show`.

    Returns:
        A report with tables by node, module, line and storage; ``report.findings`` has ``total``,
        ``parameters``, ``activations``, ``shared``, ``unknown``, ``storages`` and ``curve``, and
        ``report["fc1"]`` has the bytes of one module, with the modules in it, or of one node. More
        than 12 rows of a table are in blocks, most bytes first; a storage that several rows of a
        block keep is counted once in it.

    Raises:
        OptionError: If an option does not apply to the type of ``loss``.
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
            f"model= and names= apply to tensors; {a_kind(loss)} already contains names "
            "and modules: gradviz.memory(recording)"
        )
    if isinstance(loss, Recording):
        with working("memory"):
            found = memory_over(loss, step)
    elif step is not None:
        raise OptionError(
            "step= needs a recording; a graph has no steps: "
            "with gradviz.record() as recording: ... and then gradviz.memory(recording, step=3)"
        )
    elif isinstance(loss, Graph):
        with working("memory"):
            found = memory_of(loss)
    elif model is not None and not isinstance(model, Module):
        raise OptionError(
            f"model= must be an nn.Module, but is {a_kind(model)}; pass several outputs "
            "as one list: gradviz.memory([loss, other], model)"
        )
    else:
        with working("memory"):
            found = memory_of(*read_kept(loss, model, names, naming.caller()))
    return ReportWidget(found, figures=lambda: figures_of(found), fold=folding_of)


def gradient_flow(recording: Recording, model: Module | None = None) -> ReportWidget:
    """Report the gradients of a recording: their norms, and what they moved.

    Shows the norm of what each backward gave each parameter, folded by module, as a table and as a
    heat map. States which gradients are all zeros or have nan or inf, which ReLUs passed none on,
    which norms are far apart or have grown, which steps a ``GradScaler`` skipped, and which
    parameters never moved. A sentence says the threshold that it uses; whether something is meant
    is for you to say. Norms are those that backward gives, before clipping, and before
    ``GradScaler`` divides them by its scale.

    Args:
        recording: A recording of training, made by :func:`record`. It has norms unless it was made
            with ``values=False``; for a large model ``values=True`` reads all of them.
        model: Module whose parameters are shown, by their paths; by default all leaves that got a
            gradient or that an optimizer has, by their names in the code.

    Returns:
        A report; ``report["fc.weight"]`` has ``norms``, ``given``, ``updates`` and ``moved`` of a
        parameter, ``report.findings.backwards`` has the backwards with their lines. More than 12
        rows are in blocks by module.

    Raises:
        OptionError: If ``recording`` is no recording, or ``model`` is no module.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.tensor([3.0, 4.0], requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     for _ in range(2):
        ...         (w * w).sum().backward()
        >>> gradviz.gradient_flow(recording)["w"].norms
        (10.0, 10.0)
    """
    if not isinstance(recording, Recording):
        raise OptionError(
            f"recording is {a_kind(recording)}, not a Recording. Make one like this: "
            "with gradviz.record() as recording: loss.backward()"
        )
    if model is not None and not isinstance(model, Module):
        raise OptionError(
            f"model= must be an nn.Module, but is {a_kind(model)}; without it all "
            "parameters of the recording are shown"
        )
    with working("gradient_flow"):
        found = gradient_flow_of(recording, None if model is None else parameter_shapes(model))
        return ReportWidget(found, figures=lambda: heat_of(found))


def compare(before: Any, after: Any, *, names: Mapping[str, Tensor] | None = None) -> ReportWidget:
    """Report the differences of two graphs or two recordings: sentences, a table and a picture.

    Matches nodes by the structure around them, and by names where several nodes fit; tensors by
    their position in the graph, and by names if they have none. Compares nodes, edges, flags,
    versions, states, hooks, values, gradients, saved tensors and shared storages; of recordings
    also the gradients that optimizers used, how often and in which order backward ran the nodes,
    and what lines with the same text did; so two ranks of a job can be compared. Does not compare
    names of variables, the lines that made a node, and facts that are known of one side only.
    Numbers count as equal up to rounding (a relative difference of 1e-5). The
    picture shows the graph after, with the removed nodes beside it.

    Reads live tensors as :func:`snapshot` does, and changes nothing.

    Args:
        before: A tensor that requires grad, or a list, tuple or dict of them; a :class:`Graph`,
            a :class:`Recording`, or what :func:`show` or a report returned.
        after: The same.
        names: Names of live tensors that take precedence over those of your variables.

    Returns:
        A report; ``.findings`` is true if anything differs, ``.findings.differences`` lists all
        differences.

    Raises:
        NotATensorError: If ``before`` or ``after`` has another type.
        OptionError: If ``names`` is given, but no live tensors.
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
            "names= applies to live tensors; a Graph or Recording already contains its names: "
            "gradviz.snapshot(loss, names={...})"
        )
    frame = naming.caller()
    with working("compare"):
        sides = [
            _read(which, given, names, frame) if one is None else one
            for which, given, one in zip(("before", "after"), (before, after), ready)
        ]
        return ReportWidget(comparison_of(*sides), fold=folding_of)


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
    kind = "None" if given is None else f"{a_kind(given)}"
    if isinstance(given, ReportWidget):
        kind = "a report without a graph"
    raise NotATensorError(
        f"{which} is {kind}; compare() takes a tensor that requires grad or several, a Graph, "
        "a Recording, or what gradviz.show() returned: gradviz.compare(before, loss)"
    )
