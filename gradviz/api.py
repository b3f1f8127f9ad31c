"""The public functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from gradviz.capture import naming
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph


def snapshot(*outputs: Any, names: Mapping[str, Tensor] | None = None) -> Graph:
    """Copy the autograd graph behind ``outputs`` into an immutable :class:`Graph`.

    The live graph is only read: no hook runs or is registered, nothing is unpacked, recomputed
    or copied from a device, and no version, gradient or lifetime changes. Names of tensors are
    found in the caller's variables, also inside containers and modules.

    Two traces stay until the graph dies, neither of which autograd looks at: since torch 2.13
    every node that Python has touched keeps its wrapper (about 50 bytes), and in graphs of more
    than 1,000 nodes some nodes get an entry in ``node.metadata`` that keeps torch from
    overflowing the C stack when it frees them (see :mod:`gradviz.capture.depth`).

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
