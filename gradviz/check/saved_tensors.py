"""Checks of what a graph keeps for backward: saved tensors, modified ones, freed ones."""

from __future__ import annotations

from typing import Any, Final

from gradviz.check.frames import HIDDEN
from gradviz.check.reading import behind
from gradviz.check.slots import kept, kept_of, raise_if_freed, refuse_hidden, whole
from gradviz.check.verdict import Passed, not_known
from gradviz.model import CheckFailed, OptionError
from gradviz.model.formatting import a_kind

__tracebackhide__ = HIDDEN

_ANY: Final = object()
"""Stands for any saved tensor; ``None`` is what a function returned that should return one."""


def saved(
    loss: Any,
    tensor: Any,
    by: str | None = None,
    *,
    name: str | None = None,
    version: int | None = None,
) -> Passed:
    """Check that a node of the graph has saved a tensor for backward, or a view of it.

    Reads the graph as :func:`gradviz.snapshot` does; runs no hook, unpacks nothing.

    Args:
        loss: A tensor whose graph it is, or several in a list, tuple or dict.
        tensor: The tensor.
        by: The node: torch's name, ``"MulBackward0"``, or an id, ``"n1"``; by default any.
        name: The name under which the node saved it, ``"self"``; by default any.
        version: The version that it had when it was saved; by default any.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If no such node has saved it, or if that is not known.
        NotATensorError: If one of the tensors is something else.
        OptionError: If ``by``, ``name`` or ``version`` is something else.

    Examples:
        >>> import torch, gradviz
        >>> w, x = torch.ones(2, requires_grad=True), torch.ones(2)
        >>> loss = (w * x).sum()
        >>> gradviz.check.saved(loss, x, "MulBackward0", version=0)
        passed: MulBackward0 saved x as other at version 0
    """
    _check_options(by, name, version)
    read = behind(loss, (tensor,), "saved(loss, x)")
    given = read.given[0]
    wanted = " ".join(
        [f"{by or 'a node'} to save {given.name}", *([f"as {name}"] if name else [])]
        + ([f"at version {version}"] if version is not None else [])
    )
    near = kept_of(read)
    own = [one for one in near if one.is_it]
    nodes = [one for one in own if by is None or by in (one.node.name, one.node.id)]
    fits = [one for one in nodes if name in (None, one.slot.name)]
    for one in fits:
        if version in (None, one.slot.saved_version):
            return Passed(str(one))
    if any(one.slot.saved_version is None for one in fits):
        what = f"which version {given.name} had when {fits[0].node.name} saved it"
        why = "torch does not show the version of this saved tensor"
        not_known(what, f"version {version}", why)
    fix = f"print(gradviz.snapshot({read.code}))  # lists saved tensors by node"
    if not fits:
        refuse_hidden(read, by, f"whether {by or 'a node'} saved {given.name}", wanted)
    if near:
        why = "a node keeps the objects that its derivative needs, with their versions of then"
        raise CheckFailed(str((fits or nodes or own or near)[0]), wanted, why, fix)
    raise_if_freed(read, f"no node keeps {given.name}", wanted)
    has_node = by is None or any(by in (node.name, node.id) for node in read.graph.nodes)
    raise CheckFailed(
        f"no node behind {read.loss} saved {given.name}"
        if has_node
        else f"there is no node {by} behind {read.loss}",
        wanted,
        "a node saves only what its derivative needs: a product its factors, a sum nothing",
        fix,
    )


def held(loss: Any) -> Passed:
    """Check that backward could run: all saved tensors of the graph are there, and unmodified.

    Reads the graph as :func:`gradviz.snapshot` does; runs nothing. Over a graph whose nodes save
    nothing backward can run again and again.

    Args:
        loss: A tensor whose graph it is, or several in a list, tuple or dict.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one is freed or modified, or if that is not known.
        NotATensorError: If ``loss`` is something else.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> loss = (w * w).sum()
        >>> loss.backward(retain_graph=True)
        >>> gradviz.check.held(loss)
        passed: the graph of loss holds its saved tensors
    """
    expected = "all saved tensors to be held"
    read = whole(loss, "held(loss)", expected)
    for one in kept(read):
        if one.slot.state == "modified":
            raise CheckFailed(one.with_both_versions, expected, *_MODIFIED)
    raise_if_freed(read, f"the graph of {read.loss} is {read.state}", expected)
    if read.state == "saves nothing":
        return Passed(f"the graph of {read.loss} saves nothing, so backward can run over it")
    return Passed(f"the graph of {read.loss} holds its saved tensors")


def freed(loss: Any) -> Passed:
    """Check that backward has freed the saved tensors of the graph, so that it cannot run again.

    Reads the graph as :func:`gradviz.snapshot` does; runs nothing. A graph whose nodes save
    nothing does not show whether it was freed, and is not known.

    Args:
        loss: A tensor whose graph it is, or several in a list, tuple or dict.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If a saved tensor is there still, or if that is not known.
        NotATensorError: If ``loss`` is something else.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> loss = (w * w).sum()
        >>> loss.backward()
        >>> gradviz.check.freed(loss)
        passed: the graph of loss is freed
    """
    expected = "all saved tensors to be freed"
    read = whole(loss, "freed(loss)", expected)
    if read.state == "saves nothing":
        not_known(
            f"whether the graph of {read.loss} was freed",
            expected,
            "its nodes save nothing: backward can run over it again and again",
        )
    if read.state == "freed":
        return Passed(f"the graph of {read.loss} is freed")
    node = next(one for one in read.graph.nodes if one.state in ("holds", "packed"))
    found = f"{node.name} ({node.id}) behind {read.loss} holds its saved tensors"
    if read.state == "partly freed":
        why = "a backward ran over another part of the graph, or raised an error"
        raise CheckFailed(
            found, expected, why, f"compute {read.code} again; {read.code}.backward()"
        )
    why = "backward has not run yet, or ran with retain_graph=True"
    raise CheckFailed(found, expected, why, f"{read.code}.backward()")


def modified(loss: Any, tensor: Any = _ANY) -> Passed:
    """Check that a saved tensor was written in place since a node saved it.

    Reads the graph as :func:`gradviz.snapshot` does; runs nothing. Backward over this graph would
    raise an error.

    Args:
        loss: A tensor whose graph it is, or several in a list, tuple or dict.
        tensor: The tensor that was saved; by default any.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If none was modified, or if that is not known.
        NotATensorError: If one of the arguments is something else.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> h = w.exp()
        >>> loss = (h + 1).sum()
        >>> _ = h.add_(1)
        >>> gradviz.check.modified(loss, h)
        passed: ExpBackward0 saved h as result at version 0, and it is at version 1 now
    """
    read = behind(loss, (loss,) if tensor is _ANY else (tensor,), "modified(loss, h)")
    given = read.given[0]
    what = "a saved tensor" if tensor is _ANY else given.name
    expected = f"{what} to be modified since it was saved"
    found = kept(read) if tensor is _ANY else kept_of(read)
    for one in found:
        if one.slot.state == "modified":
            return Passed(one.with_both_versions)
    refuse_hidden(read, None, f"whether {what} was modified", expected)
    raise_if_freed(read, f"the graph of {read.loss} is {read.state}", expected)
    if not found:
        raise CheckFailed(
            f"no node behind {read.loss} saved {what}",
            expected,
            "a write in place is an error only if a node saved the tensor before",
            f"gradviz.check.saved({read.code}, {given.code})",
        )
    raise CheckFailed(
        f"{found[0]}, and nothing has written it since",
        expected,
        "each write in place raises the version; backward compares both versions",
        f"{'h' if tensor is _ANY else given.code}.add_(1)  # after the operation that saves",
    )


_MODIFIED: Final = (
    "a write in place changed what the derivative needs; backward compares versions and raises",
    "write out of place, h = h + 1, or before the operation that saves",
)


def _check_options(by: object, name: object, version: object) -> None:
    call = 'Type: gradviz.check.saved(loss, x, "MulBackward0", name="other", version=0)'
    if by is not None and not isinstance(by, str):
        raise OptionError(f"by= is the name of a node, or its id, not {a_kind(by)}. {call}")
    if name is not None and not isinstance(name, str):
        raise OptionError(
            f"name= is the name of a saved tensor, as torch has it, not {a_kind(name)}. {call}"
        )
    if version is not None and (type(version) is not int or version < 0):
        raise OptionError(f"version= is a whole number from 0 on, not {version!r:.40}. {call}")
