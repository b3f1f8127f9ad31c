"""gradviz: show the autograd graphs that PyTorch builds, read from live tensors.

>>> import torch, gradviz
>>> x = torch.ones(2, requires_grad=True)
>>> print(gradviz.snapshot(x * x)["n0"].name)
MulBackward0
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from gradviz._distribution import VERSION as __version__
from gradviz._distribution import warn_of_namesake as _warn_of_namesake
from gradviz.model import (
    Audit,
    Cause,
    CheckFailed,
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
from gradviz.model.collector import no_collection as _no_collection
from gradviz.model.presentation import Presentation as _Presentation
from gradviz.model.presentation import use as _use

if TYPE_CHECKING:
    from gradviz import check
    from gradviz.api import show
    from gradviz.explaining import explain
    from gradviz.reading import record, snapshot
    from gradviz.reports import audit, compare, gradient_flow, memory
    from gradviz.teach.expected_error import expect_error
    from gradviz.teach.explorer import explore
    from gradviz.teach.predict.predict import predict
    from gradviz.teach.repair.repair import hint, repair
    from gradviz.torchviz_call import make_dot

_MODULES = {
    "audit": "gradviz.reports",
    "compare": "gradviz.reports",
    "expect_error": "gradviz.teach.expected_error",
    "explain": "gradviz.explaining",
    "explore": "gradviz.teach.explorer",
    "gradient_flow": "gradviz.reports",
    "hint": "gradviz.teach.repair.repair",
    "make_dot": "gradviz.torchviz_call",
    "memory": "gradviz.reports",
    "predict": "gradviz.teach.predict.predict",
    "record": "gradviz.reading",
    "repair": "gradviz.teach.repair.repair",
    "show": "gradviz.api",
    "snapshot": "gradviz.reading",
}
"""Where each public function is defined; its module is imported when the function is first used,
so that torch, ipywidgets and whatever else takes time to load is loaded when it is needed."""


def __getattr__(name: str) -> Any:
    if name == "check":
        return _import_module("gradviz.check")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _no_collection():  # what is imported stays
        found = globals()[name] = getattr(_import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _presentation() -> _Presentation:
    from gradviz._presentation import FullPresentation

    return FullPresentation()


_warn_of_namesake()
_use(_presentation)


def load_ipython_extension(shell: object) -> None:
    """Register the cell magic ``%%gradviz``; IPython calls this for ``%load_ext gradviz``."""
    from gradviz import magic

    magic.load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Remove the cell magic; IPython calls this for ``%unload_ext gradviz``."""
    from gradviz import magic

    magic.unload(shell)


__all__ = [
    "Audit",
    "Cause",
    "CheckFailed",
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
    "check",
    "compare",
    "expect_error",
    "explain",
    "explore",
    "gradient_flow",
    "hint",
    "make_dot",
    "memory",
    "predict",
    "record",
    "repair",
    "show",
    "snapshot",
]
