"""The public functions that read: live torch becomes plain data, and no widget is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor

from gradviz.capture import naming
from gradviz.capture.recorder import BUDGET, Recorder, RecordingBlock
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph, Recording
from gradviz.model.progress import working


def snapshot(
    *outputs: Any, names: Mapping[str, Tensor] | None = None, values: bool | None = None
) -> Graph:
    """Copy the autograd graph of ``outputs`` into an immutable :class:`Graph`.

    Only reads the live graph: runs and registers no hook, unpacks, recomputes and copies no saved
    tensor, and changes no version, gradient or lifetime. Names of tensors are those of the
    caller's variables, also inside containers and modules.

    Values of ``.grad`` and of small tensors are read; on a GPU this waits for pending work. Other
    threads may use the same tensors: a ``backward()`` that they begin waits until saved tensors
    and ``.grad`` have been read, and a ``.grad`` that they are setting, as ``zero_grad()`` does, is
    waited for. Two things are not noticed: a ``.grad`` that is set with ``setattr()``, which could
    crash Python, and numbers that another thread writes while they are read, which may be shown
    partly old and partly new.

    A trace that ``torch.jit.trace`` makes, and the events of a profiler, are those of the code
    alone; but ``profile_memory=True`` also counts what a recording allocates, and
    ``with_stack=True`` also lists Python functions of gradviz.

    Two changes remain until the graph is freed; autograd uses neither. Since torch 2.13 every node
    that Python has accessed keeps its Python wrapper (about 50 bytes). In graphs of more than 1,000
    nodes, some nodes get an entry in ``node.metadata``, so that freeing them cannot overflow the C
    stack (see :mod:`gradviz.capture.deep_graphs`).

    Args:
        outputs: Tensors that require grad, or lists, tuples and dicts of them. A module among
            them gives its parameters their names, and adds those that the graph does not reach.
        names: Names that take precedence over variables, for example ``{"w": w}``. These tensors
            are part of the result even if they are not in the graph.
        values: Whether to read the values of ``.grad`` and of tensors of up to 8 elements. With
            ``True`` all are read, with ``False`` none, and a GPU is never waited for. By default
            262,144 elements, leaves first, in the order of nodes; a ``.grad`` counts as at least
            4,096. What was not read then has ``is_unread``.

    Returns:
        Nodes in breadth-first order; ``n0`` is the first output's ``grad_fn``. The same program
        gives the same graph.

    Raises:
        NotATensorError: If an output is not a tensor.
        NoGraphError: If an output has no graph: it does not require grad, has neither a floating
            point nor a complex dtype, or its graph has been freed.
        NamesError: If ``names`` does not map names to tensors.
        GraphBusyError: If another thread is running backward on this graph, or is busy setting a
            ``.grad``.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(3, requires_grad=True)
        >>> graph = gradviz.snapshot((w * 2).sum())
        >>> [node.name for node in graph.nodes]
        ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
        >>> graph.leaves[0].name, graph.leaves[0].shape
        ('w', (3,))
    """
    with working("snapshot"):
        return snapshot_of(outputs, names, naming.caller(), values=values)


def record(
    into: Any = (),
    *,
    only: Any = None,
    values: bool = True,
    anomaly: bool = False,
    label: str = "",
    budget: int = BUDGET,
) -> AbstractContextManager[Recording]:
    """Record what torch does in a ``with`` block, forward and backward, step by step.

    The block gives the same results, frees the same memory and raises the same errors as without
    recording. Recorded are the lines of the block and of the functions of yours that it calls,
    wherever they are defined, every call of torch, every node that backward runs, and every tensor
    with a name. See :class:`Recording`.

    Args:
        into: What else is followed into: functions, classes, Python modules, packages or
            ``nn.Module`` objects of installed packages or of torch. A package means all modules in
            it, an ``nn.Module`` all blocks in it that are not torch's. Yours is what is in no file
            of Python, torch or an installed package; a package installed in place is yours.
        only: What is followed into and nothing else; ``()``: nothing, so that each line of the
            block is one step.
        values: Whether to read the values of tensors: all of up to 8 elements, of larger ones
            minimum, mean, maximum and norm. With ``False`` a GPU is never waited for, and writes
            that do not change the version are not detected.
        anomaly: Whether torch's anomaly mode is on in the block; it changes torch's error texts.
        label: Title of the recording.
        budget: How many steps, events and changed rows are kept. Of a recording that is longer, and
            of a loop of more than 50 turns that takes an eighth of it, the first and the last ones
            are kept as they were, and turns in which an error was caught; of what lies between,
            each line is one step with how often it ran and what it did in total. The order in
            which nodes ran is always whole.

    Returns:
        A context manager; ``with`` binds the :class:`Recording`, which is empty while the block
        runs and complete after it.

    Raises:
        RecordingError: If another recording is running, if the block is in a generator or
            coroutine, or if something in ``into`` or ``only`` has no lines.
        OptionError: If ``budget`` is not a whole number from 100 on.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * 3
        ...     out.backward()
        >>> [recording.graph[node].name for node in recording.backward_order]
        ['MulBackward0', 'AccumulateGrad']
    """
    return RecordingBlock(Recorder(into, only, values, anomaly, label, budget))
