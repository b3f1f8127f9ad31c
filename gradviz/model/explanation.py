"""Why torch raised an error, or why a gradient is wrong although it raised none, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from gradviz.model.highlights import Highlight
from gradviz.model.once import Once
from gradviz.model.presentation import Displayed
from gradviz.model.sentence import Sentence

if TYPE_CHECKING:
    from gradviz.model.recording import Recording

ErrorKind: TypeAlias = Literal[
    "",
    "saved tensor written",
    "graph freed",
    "saved tensor read after freeing",
    "leaf written",
    "view of a leaf written",
    "one of several views written",
    "output of a backward hook written",
    "inference tensor saved",
    "inference tensor written",
    "not a scalar",
    "no graph",
    "grad is None",
    "dtype cannot require grad",
    "flag of a non-leaf",
    "numpy of a tensor that requires grad",
    "deepcopy of a non-leaf",
    "non-leaf given to an optimizer",
    "gradient of another shape",
    "unused input",
    "wrong number of gradients",
    "gradient of no tensor",
    "differentiated twice",
    "no derivative",
    "recomputation differs",
    "nan in backward",
    "gradient of another dtype or device",
    "tensor as its own gradient",
    "hook cannot be registered",
    "hook of saved tensors",
    "invalid custom Function",
    "wrong number of arguments",
    "reentrant checkpoint",
    "saved tensors unpacked twice",
    "gradcheck failed",
    "no inputs",
    "outside a dual level",
    "backward under torch.func",
    "number has no graph",
    "does not require grad",
    "out= is not recorded",
    "view made without recording written",
    "view from a custom Function written",
    "view of a written base used",
    "expanded tensor written",
    "resized in place",
    "view detached in place",
    "optimizer without parameters",
    "optimizer given no tensors",
    "parameter in two groups",
    "tensor in place of a parameter",
    "data of another kind",
    "inference tensor cannot require grad",
    "non-leaf sent to another process",
    "gradient depends on a free choice",
    "Python function of each number",
    "not possible under torch.func",
    "function returns no tensor",
    "value read under vmap",
    "write under vmap",
    "random numbers under vmap",
    "parameter unused under DDP",
    "parameter ready twice under DDP",
    "nothing to reduce under DDP",
    "other",
    # torch raises nothing
    "hidden write",
    "write without a node",
    "broadcast",
    "parameter rebound",
    "stale gradient",
    "frozen batch norm moves",
    "gradient thrown away",
    "clipped before backward",
    "gradient added to a used one",
    "update of a loop variable",
    "parameter not registered",
    "first nan or inf",
    "partial gradient",
    "clipped after the step",
    "clipped while scaled",
    "step without gradients",
    "step without backward",
    "loss of one class",
    "gradient withheld by a Function",
    "derivative of 0",
    "softmax before a loss",
    "no logarithm before a loss",
    "graph kept in each pass",
    "target with a gradient",
    "advantage with a gradient",
    "gradient that nothing uses",
    "gradient of another loss",
    "layer made in each pass",
    "parameter without a gradient",
    "frozen by a part of a name",
    "trained in eval mode",
    "evaluated in training mode",
    "scheduler before the optimizer",
    "off the way to the loss",
]
"""The kind of the fault; it does not change between releases of torch."""
SILENT: Final[frozenset[str]] = frozenset(
    {
        "hidden write",
        "write without a node",
        "broadcast",
        "parameter rebound",
        "stale gradient",
        "frozen batch norm moves",
        "gradient thrown away",
        "clipped before backward",
        "gradient added to a used one",
        "update of a loop variable",
        "parameter not registered",
        "first nan or inf",
        "partial gradient",
        "clipped after the step",
        "clipped while scaled",
        "step without gradients",
        "step without backward",
        "loss of one class",
        "gradient withheld by a Function",
        "derivative of 0",
        "softmax before a loss",
        "no logarithm before a loss",
        "graph kept in each pass",
        "target with a gradient",
        "advantage with a gradient",
        "gradient that nothing uses",
        "gradient of another loss",
        "layer made in each pass",
        "parameter without a gradient",
        "frozen by a part of a name",
        "trained in eval mode",
        "evaluated in training mode",
        "scheduler before the optimizer",
        "off the way to the loss",
    }
)
"""Kinds in which torch raises nothing."""


Rank: TypeAlias = Literal["fault", "worth a look"]
"""``"fault"``: what was meant cannot happen, as the error or the recording shows; ``"worth a
look"``: a fact that can be meant, as when gradients add up over steps."""
CauseKind: TypeAlias = Literal["write", "backward", "cut", "save", "other"]
_NOTHING: Final = Sentence()


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of the user's code."""

    line: int | None
    """Its number in the cell or file; ``None`` if it is not known."""
    text: str = ""
    """The line without indentation."""
    code: str = ""
    """``"cell"``, or file and function, as :class:`~gradviz.model.recording.Code` names it."""
    step: int | None = None
    """Step of the recording after which the line had run: place in ``recording.all_steps``."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something in the code that caused the error or the wrong gradient."""

    kind: CauseKind
    """A write in place, an earlier backward, a call that cut the graph, the operation that saved
    (given if the order matters), or something else, described by ``what``."""
    what: Sentence
    """In a sentence without a full stop: ``"add_ wrote h: version 0 became 1"``."""
    at: CodeLine | None = None
    """Where; ``None`` if it is not known."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A change to the code after which it works."""

    does: Sentence
    """What it changes: ``"makes a new tensor; the saved tensor is not modified"``."""
    code: str
    """Python to type."""
    how: Literal["instead", "before", "after", "elsewhere"] = "instead"
    """Where: in place of the line ``at``, before it, after it, or as ``does`` says."""
    at: CodeLine | None = None
    """The line it is about: in which file, too."""
    also: tuple[Fix, ...] = ()
    """Further changes of the same fix; an empty ``code`` removes a line."""

    @property
    def line(self) -> int | None:
        """Number of the line it is about; :attr:`CodeLine.code` of ``at`` is the file."""
        return None if self.at is None else self.at.line


@dataclass(frozen=True, slots=True)
class Explanation(Displayed):
    """Why an error was raised, or why a gradient is wrong without an error, read from the graph.

    The fields are the same for every release of torch and on every device; torch's own message
    is not among them. What is not known is ``None`` or empty, and ``unknown`` says how to find
    it out.
    """

    kind: ErrorKind = ""
    """``""`` until an error or fault is found."""
    raised: str | None = None
    """Class of the exception; ``None`` if torch raised nothing."""
    what: Sentence = _NOTHING
    """What happened, in one sentence."""
    why: Sentence = _NOTHING
    """Why that is an error, or a wrong gradient, in autograd's terms."""
    variables: tuple[str, ...] = ()
    """Names of the variables it is about, the most important first."""
    node: str | None = None
    """Id of the node that saved the tensor, or that raised the error."""
    node_name: str | None = None
    """Its name: ``"ExpBackward0"``."""
    saved: str | None = None
    """Name of its saved tensor: ``"result"``."""
    saved_version: int | None = None
    """Version of the saved tensor when it was saved."""
    current_version: int | None = None
    """Its version when torch checked it."""
    causes: tuple[Cause, ...] = ()
    """The causes, the most important first."""
    noticed: CodeLine | None = None
    """Line at which torch raised the error; without an error, the line at which the gradient or
    the update became wrong."""
    already: tuple[Sentence, ...] = ()
    """What backward had changed before the error: ``"d.grad was None and is [1.0]"``."""
    fixes: tuple[Fix, ...] = ()
    """Up to two fixes that are known to work."""
    unknown: tuple[Sentence, ...] = ()
    """What is not known, and how to find it out."""
    marks: tuple[Highlight, ...] = ()
    """What to mark in a picture of the graph."""
    step: int | None = None
    """Step of the recording at which it was noticed: place in ``recording.all_steps``."""
    rank: Rank = "fault"
    """Whether it is certain that something is wrong, or only worth a look."""
    recording: Recording | None = field(default=None, compare=False, repr=False)
    """The recording it was read from; of a program that was not recorded it has one step."""

    def __bool__(self) -> bool:
        return self.kind != ""

    @property
    def is_silent(self) -> bool:
        """Whether torch raised nothing."""
        return self.kind in SILENT

    @property
    def is_fault(self) -> bool:
        """Whether it is certain that something is wrong; else it is worth a look."""
        return self.rank == "fault"

    @property
    def cause(self) -> Cause | None:
        """The first cause, if it is known."""
        return self.causes[0] if self.causes else None

    @property
    def line(self) -> int | None:
        """Line of the first cause, if it is known."""
        return self.cause.at.line if self.cause is not None and self.cause.at is not None else None

    @classmethod
    def pending(cls) -> tuple[Explanation, Callable[[Explanation], None]]:
        """An empty explanation, and a function that fills it later.

        The function takes the explanation whose fields are read from then on. It can be called
        once; a second call is a ``RuntimeError``.
        """
        once = Once(cls())
        return _Pending(once), once.put


class _Pending(Explanation):
    """Has no fields of its own: each is read from the explanation that was put.

    To ``==``, ``repr``, ``pickle`` and ``dataclasses`` it is that explanation.
    """

    __slots__ = ("_once",)

    def __init__(self, once: Once[Explanation]) -> None:
        object.__setattr__(self, "_once", once)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Explanation]:  # type: ignore[override]
        return Explanation

    def __getattr__(self, name: str) -> Any:
        return getattr(self._once.value, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._once.value.__reduce_ex__(protocol)
