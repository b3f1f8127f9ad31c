"""The public functions that read: live torch becomes plain data, and no widget is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor

from gradviz.capture import naming
from gradviz.capture.recorder import Recorder, RecordingBlock
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph, Recording


def snapshot(*outputs: Any, names: Mapping[str, Tensor] | None = None) -> Graph:
    """Copy the autograd graph behind ``outputs`` into an immutable :class:`Graph`.

    The live graph is only read: no hook runs or is registered, no saved tensor is unpacked,
    recomputed or copied from a device, and no version, gradient or lifetime changes. Names of
    tensors are found in the caller's variables, also inside containers and modules.

    Values of ``.grad`` and of small tensors are read to be shown; on a GPU this waits for it.
    Two traces stay until the graph dies, neither of which autograd looks at: since torch 2.13
    every node that Python has touched keeps its wrapper (about 50 bytes), and in graphs of more
    than 1,000 nodes some nodes get an entry in ``node.metadata`` that keeps torch from
    overflowing the C stack when it frees them (see :mod:`gradviz.capture.deep_graphs`).

    Args:
        outputs: Tensors that require grad, or lists, tuples and dicts of them; a module among
            them names its parameters, and shows also those that the graph does not reach.
        names: Names that come before those found, for example ``{"w": w}``. Tensors named here
            are shown even if they have no place in the graph.

    Returns:
        Nodes in breadth-first order; ``n0`` is the first output's ``grad_fn``. The same program
        gives the same graph.

    Raises:
        NotATensorError: If an output is not a tensor.
        NoGraphError: If there is no graph behind an output: it does not require grad, has no
            floating point or complex values, or has been freed.
        NamesError: If ``names`` does not map names to tensors.
        GraphBusyError: If another thread runs backward on this graph now.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(3, requires_grad=True)
        >>> graph = gradviz.snapshot((w * 2).sum())
        >>> [node.name for node in graph.nodes]
        ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
        >>> graph.leaves[0].name, graph.leaves[0].shape
        ('w', (3,))
    """
    return snapshot_of(outputs, names, naming.caller())


def record(
    into: Any = (),
    *,
    values: bool = True,
    anomaly: bool = False,
    progress: Callable[[int], None] | None = None,
    label: str = "",
) -> AbstractContextManager[Recording]:
    """Record everything torch does in a ``with`` block, forward and backward, step by step.

    The block runs as it would without: same results, same freeing, same errors. Observed are the
    lines of the block (and of what ``into`` names), every call of torch, every node that backward
    runs, and every tensor that has a name. See :class:`Recording`.

    Args:
        into: Functions, classes, Python modules or ``nn.Module`` objects whose lines are steps
            too.
        values: Whether numbers are read: up to 8 of a tensor, then minimum, mean, maximum, norm.
            Without, a GPU is never waited for, and writes that bump no version stay unseen.
        anomaly: Whether torch's anomaly mode is on meanwhile; it changes torch's error texts.
        progress: Called with the number of steps made, every 100 steps.
        label: Title of the recording.

    Returns:
        What ``with`` binds is the :class:`Recording`: empty while the block runs, complete after.

    Raises:
        RecordingError: If another recording runs, if the block is in a generator or coroutine,
            or ``into`` has something without lines.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * 3
        ...     out.backward()
        >>> [recording.graph[node].name for node in recording.backward_order]
        ['MulBackward0', 'AccumulateGrad']
    """
    return RecordingBlock(Recorder(into, values, anomaly, label, progress))
