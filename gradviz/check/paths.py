"""Checks of the graph behind a loss: what backward reaches, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradviz.analysis.diff.graphs import differences_between
from gradviz.capture import naming
from gradviz.capture.traversal import snapshot_of
from gradviz.check.arguments import Given, callers_names, listed, tensors_in
from gradviz.check.frames import HIDDEN
from gradviz.check.reading import Behind, as_path, behind, path_between
from gradviz.check.verdict import Failure, Passed, judge, not_known, unknown
from gradviz.model import CheckFailed, Difference, Graph, NoGraphError, ParameterAudit
from gradviz.model.audit import NoGradient

__tracebackhide__ = HIDDEN

_FIXES: Final[dict[NoGradient, str]] = {
    "frozen": "{name}.requires_grad_()  # before the forward",
    "detached": "use the tensor itself in the forward, without detach() or .data",
    "no_grad": "run the forward outside torch.no_grad()",
    "inference mode": "run the forward outside torch.inference_mode()",
    "integer": "use a floating point result: a mean or a softmax has a gradient, argmax has none",
    "left torch": "compute with the tensor, not with .item() or .numpy()",
    "create_graph": "torch.autograd.grad(..., create_graph=True)",
    "not a leaf": "{name}.retain_grad()  # before backward",
    "rebound": "make the optimizer after the parameter was replaced",
    "uninitialised": "run the forward once before this check",
}
_ELSE: Final = "gradviz.show({loss}, {name})  # shows where the graph ends"


def path(loss: Any, *tensors: Any) -> Passed:
    """Check that the graph leads from the loss to each tensor.

    Reads the graph as :func:`gradviz.audit` does; runs nothing.

    Args:
        loss: The tensor that backward would start from, or several in a list, tuple or dict.
        tensors: Tensors, leaves or results, modules (their parameters), or lists, tuples and
            dicts of them.

    Returns:
        What was found, with the nodes of a shortest path; it prints it, and is true.

    Raises:
        CheckFailed: If there is no path to one of them, or if that is not known.
        NotATensorError: If one of the arguments is something else.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> loss = (w * 2).sum()
        >>> gradviz.check.path(loss, w)
        passed: path from loss to w: SumBackward0 → MulBackward0 → AccumulateGrad
    """
    read = behind(loss, tensors, "path(loss, w)")

    def failure(one: Given, row: ParameterAudit) -> Failure | None:
        if row.reached:
            return None
        if row.reached is None or _may_run_more(row):
            return unknown(one.name, f"whether there is a path to {one.name}", row.why)
        found = f"there is no path from {read.loss} to {one.name}"
        return Failure(one.name, found, _why(row), _fix(one, row, read))

    words = f"path from {read.loss} to {listed(read.given)}"
    if len(read.given) == 1 and read.rows[0].reached:
        info = read.graph.tensor(read.rows[0].tensor)
        if info.node is not None:
            words += f": {as_path(path_between(read.graph, (info.node, info.output_nr)))}"
    return _each(read, failure, "a path", words)


def no_path(loss: Any, *tensors: Any) -> Passed:
    """Check that the graph leads from the loss to none of the tensors.

    Reads the graph as :func:`gradviz.audit` does; runs nothing. A loss without a graph leads
    nowhere.

    Args:
        loss: The tensor that backward would start from, or several in a list, tuple or dict.
        tensors: Tensors, leaves or results, modules (their parameters), or lists, tuples and
            dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If there is a path to one of them, or if that is not known.
        NotATensorError: If one of the arguments is something else.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> target = w.exp().detach()
        >>> loss = (w - target).sum()
        >>> gradviz.check.no_path(loss, target)
        passed: no path from loss to target
    """
    read = behind(loss, tensors, "no_path(loss, target)")

    def failure(one: Given, row: ParameterAudit) -> Failure | None:
        if row.reached is None or (not row.reached and _may_run_more(row)):
            return unknown(one.name, f"whether there is a path to {one.name}", row.why)
        if not row.reached:
            return None
        info = read.graph.tensor(row.tensor)
        names = path_between(read.graph, (info.node or "", info.output_nr))
        return Failure(
            one.name,
            f"there is a path from {read.loss} to {one.name}: {as_path(names)}",
            "each operation that used it, or what was computed from it, was recorded",
            f"use {one.code}.detach() in the forward",
        )

    return _each(read, failure, "no path", f"no path from {read.loss} to {listed(read.given)}")


def gets_grad(loss: Any, *tensors: Any) -> Passed:
    """Check that ``loss.backward()`` gives each tensor a ``.grad``, as the graph shows it.

    Reads the graph as :func:`gradviz.audit` does; runs nothing. A result of an operation gets a
    ``.grad`` only if it retains it. It can be asked before and after backward.

    Args:
        loss: The tensor that backward would start from, or several in a list, tuple or dict.
        tensors: Tensors, modules (all their parameters), or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one gets no gradient, with the reason; or if that is not known.
        NotATensorError: If one of the arguments is something else.

    Examples:
        >>> import torch, gradviz
        >>> model = torch.nn.Linear(2, 1)
        >>> loss = model(torch.ones(1, 2)).sum()
        >>> gradviz.check.gets_grad(loss, model)
        passed: model.weight and model.bias get a gradient from loss
    """
    read = behind(loss, tensors, "gets_grad(loss, model)")

    def failure(one: Given, row: ParameterAudit) -> Failure | None:
        if row.gets_gradient:
            return None
        if row.gets_gradient is None:
            what = f"whether {one.name} gets a gradient from {read.loss}"
            return unknown(one.name, what, row.why, f"gradviz.show({read.code})")
        found = f"{one.name} gets no gradient from {read.loss}"
        return Failure(one.name, found, _why(row), _fix(one, row, read))

    verb = "gets" if len(read.given) == 1 else "get"
    words = f"{listed(read.given)} {verb} a gradient from {read.loss}"
    return _each(read, failure, "a gradient", words)


def gets_no_grad(loss: Any, *tensors: Any) -> Passed:
    """Check that ``loss.backward()`` gives none of the tensors a ``.grad``, as the graph shows it.

    Reads the graph as :func:`gradviz.audit` does; runs nothing.

    Args:
        loss: The tensor that backward would start from, or several in a list, tuple or dict.
        tensors: Tensors, modules (all their parameters), or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one gets a gradient, or if that is not known.
        NotATensorError: If one of the arguments is something else.

    Examples:
        >>> import torch, gradviz
        >>> model = torch.nn.Linear(2, 1)
        >>> _ = model.bias.requires_grad_(False)
        >>> loss = model(torch.ones(1, 2)).sum()
        >>> gradviz.check.gets_no_grad(loss, model.bias)
        passed: model.bias gets no gradient from loss
    """
    read = behind(loss, tensors, "gets_no_grad(loss, model)")

    def failure(one: Given, row: ParameterAudit) -> Failure | None:
        if row.gets_gradient is False:
            return None
        if row.gets_gradient is None:
            what = f"whether {one.name} gets a gradient from {read.loss}"
            return unknown(one.name, what, row.why, f"gradviz.show({read.code})")
        return Failure(
            one.name,
            f"{one.name} gets a gradient from {read.loss}",
            "it requires grad, and the graph leads to it",
            f"{one.code}.requires_grad_(False)  # before the forward",
        )

    verb = "gets" if len(read.given) == 1 else "get"
    words = f"{listed(read.given)} {verb} no gradient from {read.loss}"
    return _each(read, failure, "none", words)


def same_graph(one: Any, other: Any) -> Passed:
    """Check that two graphs have the same nodes, with the same links.

    Reads both graphs as :func:`gradviz.snapshot` does; runs nothing. Compared are the names of the
    nodes, their ``next_functions`` and the order of the roots; not names of variables, values,
    versions, saved tensors or ``.grad``: :func:`gradviz.compare` shows those.

    Args:
        one: A tensor, a list, tuple or dict of tensors, or a :class:`~gradviz.Graph`.
        other: The same.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If they differ, or if one has no graph.
        NotATensorError: If one of the arguments is something else.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> gradviz.check.same_graph((w * 2).sum(), (w * 3).sum())
        passed: both graphs have the same 3 nodes
    """
    before, after = _graph(one, "the first"), _graph(other, "the second")
    differences = [found for found in differences_between(before, after) if _is_structure(found)]
    if not differences:
        count = f"the same {len(after)} nodes" if len(after) > 1 else "the same node"
        return Passed(f"both graphs have {count}")
    first = differences[0]
    where = {"new": "only the second graph has", "gone": "only the first graph has"}
    if first.subject == "node":
        found = f"{where[first.kind]} {first.name}"
    else:
        found = (
            f"{first.name}: {first.fact} {first.before} in the first, {first.after} in the second"
        )
    if len(differences) > 1:
        more = len(differences) - 1
        found += f" ({more} more difference{'s' if more > 1 else ''})"
    raise CheckFailed(
        found,
        "the same nodes and links",
        "every recorded operation makes a node; another order of operations makes another graph",
        "gradviz.compare(first, second)",
    )


def _each(
    read: Behind,
    failure: Callable[[Given, ParameterAudit], Failure | None],
    expected: str,
    passed: str,
) -> Passed:
    found = [failure(*pair) for pair in zip(read.given, read.rows)]
    return judge([one for one in found if one is not None], expected, passed)


def _may_run_more(row: ParameterAudit) -> bool:
    """Whether a node runs code and backward again, which no graph shows."""
    return row.gets_gradient is None


def _why(row: ParameterAudit) -> str:
    """The reason an audit gives; what it does not know, as such."""
    return "; ".join([row.why, *row.also])


def _fix(one: Given, row: ParameterAudit, read: Behind) -> str:
    if row.reason == "not a leaf" and not row.reached:
        return _ELSE.format(loss=read.code, name=one.code)
    words = _FIXES.get(row.reason)
    if words is None and not read.has_graph:
        return f"compute {read.code} from tensors that require grad, outside torch.no_grad()"
    return (words or _ELSE).format(loss=read.code, name=one.code)


def _graph(value: Any, which: str) -> Graph:
    if isinstance(value, Graph):
        return value
    call = "gradviz.check.same_graph(loss, other_loss)"
    given = tensors_in(
        value, f"the {which.removeprefix('the ')} graph's tensor", call, callers_names(), False
    )
    try:
        return snapshot_of([one.tensor for one in given], None, naming.caller(), values=False)
    except NoGraphError as error:
        name = given[0].name
        reason = str(error).partition(" ")[2]
        if given[0].tensor.requires_grad:
            not_known(f"which graph {name} has", "a graph", f"it {reason}")
        raise CheckFailed(f"{name} has no graph", "a graph", f"it {reason}") from None


def _is_structure(found: Difference) -> bool:
    return found.subject == "edge" or (found.subject == "node" and found.is_whole) or (
        found.subject == "graph"
    )  # fmt: skip
