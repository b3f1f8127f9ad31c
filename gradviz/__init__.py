"""gradviz: PyTorch's real autograd graphs, read from live objects and shown.

>>> import torch, gradviz
>>> x = torch.ones(2, requires_grad=True)
>>> print(gradviz.snapshot(x * x)["n0"].name)
MulBackward0
"""

from gradviz._distribution import VERSION as __version__
from gradviz._distribution import warn_of_namesake as _warn_of_namesake
from gradviz._presentation import FullPresentation as _FullPresentation
from gradviz.api import audit, compare, memory, record, show, snapshot
from gradviz.model import (
    Audit,
    Cause,
    CodeLine,
    Comparison,
    Difference,
    Edge,
    Explanation,
    Fix,
    GradvizError,
    Graph,
    GraphBusyError,
    GraphvizNotFoundError,
    Hook,
    Memory,
    NamesError,
    Node,
    NoGraphError,
    NotATensorError,
    NothingRaisedError,
    OptionError,
    ParameterAudit,
    Recording,
    RecordingError,
    SavedTensor,
    Step,
    TensorInfo,
    UnknownNodeError,
    UnsupportedTorchError,
    ValueSummary,
)
from gradviz.model.presentation import use as _use
from gradviz.teach import expect_error, explore

_warn_of_namesake()
_use(_FullPresentation())


def load_ipython_extension(shell: object) -> None:
    """Called by ``%load_ext gradviz``: there is a cell magic ``%%gradviz`` now."""
    from gradviz import magic

    magic.load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Called by ``%unload_ext gradviz``."""
    from gradviz import magic

    magic.unload(shell)


__all__ = [
    "Audit",
    "Cause",
    "CodeLine",
    "Comparison",
    "Difference",
    "Edge",
    "Explanation",
    "Fix",
    "GradvizError",
    "Graph",
    "GraphBusyError",
    "GraphvizNotFoundError",
    "Hook",
    "Memory",
    "NamesError",
    "NoGraphError",
    "Node",
    "NotATensorError",
    "NothingRaisedError",
    "OptionError",
    "ParameterAudit",
    "Recording",
    "RecordingError",
    "SavedTensor",
    "Step",
    "TensorInfo",
    "UnknownNodeError",
    "UnsupportedTorchError",
    "ValueSummary",
    "__version__",
    "audit",
    "compare",
    "expect_error",
    "explore",
    "memory",
    "record",
    "show",
    "snapshot",
]
