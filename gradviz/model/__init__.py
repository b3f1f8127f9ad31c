"""What gradviz knows about an autograd graph, as plain frozen data.

Numbers and strings only: nothing in this room holds a tensor or a node of torch, so a
:class:`Graph` can be kept, compared, printed and stored without keeping any memory of the
program alive. Nothing here imports torch.
"""

from gradviz.model.audit import Audit, ParameterAudit
from gradviz.model.diff import Comparison, Difference
from gradviz.model.errors import (
    CheckFailed,
    GradvizError,
    GraphBusyError,
    GraphvizNotFoundError,
    NamesError,
    NoGraphError,
    NotATensorError,
    NothingRaisedError,
    OptionError,
    RecordingError,
    UnknownNodeError,
    UnsupportedTorchError,
)
from gradviz.model.explanation import Cause, CodeLine, Explanation, Fix
from gradviz.model.graph import Graph
from gradviz.model.memory import Memory
from gradviz.model.recording import Recording, Step
from gradviz.model.records import Edge, Hook, Node, SavedTensor, TensorInfo, ValueSummary

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
]
