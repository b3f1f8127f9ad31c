"""What an autograd graph keeps in memory for its backward, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from gradviz.model.errors import UnknownNodeError
from gradviz.model.formatting import plural, size
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.presentation import Printed
from gradviz.model.report import Cell, Table

StorageKind: TypeAlias = Literal["parameter", "buffer", "input", "activation"]
KINDS: Final[tuple[StorageKind, ...]] = ("parameter", "buffer", "input", "activation")
"""``"parameter"``: of an ``nn.Parameter``; ``"buffer"``: of a buffer of the module that was given;
``"input"``: of another known tensor that no node of the graph made, such as data, targets and
what was detached (in a recording buffers too, of which it knows no more);
``"activation"``: everything else, made by the forward or without a name."""
KIND_WORDS: Final = MappingProxyType(
    {
        "parameter": "parameters",
        "buffer": "buffers",
        "input": "not computed",
        "activation": "activations",
    }
)
"""The kinds as they are shown. A detached tensor is an input of the graph, but not of the model;
that the graph did not compute it is true of both."""


@dataclass(frozen=True, slots=True)
class HeldStorage:
    """Memory that saved tensors keep alive: one storage, however many of them share it."""

    id: str
    """``"s0"``, as in ``SavedTensor.storage``."""
    nbytes: int
    """Bytes of the whole storage; a view keeps all of it."""
    kind: StorageKind
    name: str
    """Name of a tensor on it, ``""`` if none is known."""
    saves: tuple[tuple[str, str], ...]
    """Node and slot of each saved tensor on it, in visiting order."""

    @property
    def owner(self) -> str:
        """Id of the node it is counted at: the first, in visiting order, that saves it."""
        return self.saves[0][0]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Ids of the nodes that save it, the owner first."""
        return tuple(dict.fromkeys(node for node, _ in self.saves))


@dataclass(frozen=True, slots=True)
class UnknownSave:
    """A saved tensor, or a node, of which torch does not show how many bytes it keeps."""

    node: str
    slot: str
    """Name of the slot, ``""`` for a node that does not show its slots."""
    why: str
    """``"packed by checkpoint.pack_hook"``, ``"torch does not show what this node saves"``."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A node, a module or a line of code, and what it keeps."""

    id: str
    """``"n3"``, path of the module, or the line; ``""``: in no module; ``"?"``: not known."""
    name: str
    """Name of the node; else ``id`` in words."""
    nbytes: int
    """Bytes of everything it saves, each storage once."""
    counted: int
    """Bytes that count here: of storages whose owner it is. All of them together are the total."""
    shared: int
    """Of ``nbytes``, what other holders save as well."""
    by_kind: tuple[int, int, int, int]
    """Of ``nbytes``, what is of parameters, buffers, inputs and activations."""
    saves: int
    """How many saved tensors it holds."""
    nodes: tuple[str, ...]
    """Ids of its nodes that save something."""
    unknown: int = 0
    """How many saves of unknown size it has."""
    inferred: int = 0
    """Of how many of its nodes the module is not known, but inferred from the nodes around."""

    def __str__(self) -> str:
        facts = [f"{size(self.nbytes)} saved by {plural(len(self.nodes), 'node')}"]
        if self.shared:
            facts.append(f"{size(self.shared)} of it by others, too")
        if self.unknown:
            facts.append(f"{plural(self.unknown, 'save')} of unknown size")
        return f"{self.name}: {', '.join(facts)}"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Memory after one step of a recording."""

    step: int
    """Place among all steps and sub-steps."""
    level: int
    """0 for lines; 1 and 2 inside backward."""
    line: int | None
    code: str
    """``""`` for the recorded code itself, else the file of the line."""
    text: str
    """The line without indentation."""
    held: int
    """Bytes that saved tensors keep alive."""
    beside: int | None
    """What is allocated in all; see :attr:`Curve.beside`."""
    number: int | str
    """The number that the player shows for the step."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Memory over the steps of a recording."""

    points: tuple[CurvePoint, ...]
    peak: int
    """Place in ``points`` of the first step at which most is held."""
    beside: Literal["allocated", "live"]
    """``"allocated"``: ``torch.cuda.memory_allocated()``; ``"live"``: bytes of the live tensors
    that the recording knows, where there is no such allocator."""


@dataclass(frozen=True, slots=True)
class Memory(Printed):
    """What a graph keeps in memory for backward: bytes by node, by module and by line.

    Each storage is counted once, with all its bytes, at the first node in visiting order that
    saves it. What a hook has packed and what torch does not show is not in the numbers, but in
    :attr:`unknown`. ``memory["fc1"]`` is the :class:`Holder` with this module path, id of a
    node or line.
    """

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    """By node; then, where there is something to say, by module, by line of code, over the steps;
    by storage; and what is not known."""
    graph: Graph | None
    """The graph that was counted."""
    storages: tuple[HeldStorage, ...]
    """In the order in which nodes save them."""
    nodes: tuple[Holder, ...]
    """Nodes that save something, most bytes first."""
    modules: tuple[Holder, ...] = ()
    """Modules with the nodes they made themselves, most bytes first; empty if none is known."""
    blocks: tuple[Holder, ...] = ()
    """Modules that have modules in them with everything these made too, the outermost first; a
    storage that several of these save is counted once."""
    lines: tuple[Holder, ...] = ()
    """Lines of code, most bytes first; empty if none is known."""
    unknown: tuple[UnknownSave, ...] = ()
    """Saves whose size torch does not show."""
    allocated: int | None = None
    """``torch.cuda.memory_allocated()`` at that moment; ``None`` if nothing is on CUDA."""
    step: int | None = None
    """Step of the recording that was counted: its place in ``curve.points``."""
    curve: Curve | None = None
    """Over all steps of a recording."""
    marks: tuple[Highlight, ...] = field(default=())
    notes: tuple[str, ...] = ()
    """Those of ``sentences`` that say how it is counted, and what the tables have too."""

    @property
    def number(self) -> int | str | None:
        """The number that the player shows for the step that was counted."""
        if self.curve is None or self.step is None:
            return None
        return self.curve.points[self.step].number

    @property
    def total(self) -> int:
        """Bytes of all storages that saved tensors keep alive."""
        return _sum(self.storages)

    @property
    def parameters(self) -> int:
        """Of the total, bytes of parameters; they are alive without the graph as well."""
        return self._of("parameter")

    @property
    def buffers(self) -> int:
        """Of the total, bytes of buffers of the module that was given."""
        return self._of("buffer")

    @property
    def inputs(self) -> int:
        """Of the total, bytes of other known tensors that no node of the graph made."""
        return self._of("input")

    @property
    def activations(self) -> int:
        """Of the total, everything else: what the forward made, and what has no name."""
        return self._of("activation")

    @property
    def shared(self) -> int:
        """Of the total, bytes of storages that more than one node saves."""
        return _sum(one for one in self.storages if len(one.nodes) > 1)

    def _of(self, kind: StorageKind) -> int:
        return _sum(one for one in self.storages if one.kind == kind)

    def __getitem__(self, name: str) -> Holder:
        """What a module with the modules in it, a node or a line keeps.

        Args:
            name: Path of a module, also without its beginning if only one ends so; id of a node;
                or a line as ``memory.lines`` has it, ``"line 3"`` for short.

        Raises:
            UnknownNodeError: If nothing of this name saves anything; the message lists names.
        """
        whole = {one.id for one in self.blocks}
        alone = tuple(one for one in self.modules if one.id not in whole)
        everything = (*alone, *self.nodes, *self.lines, *self.blocks)
        exact = [one for one in everything if one.id == name]
        ends = [one for one in (*alone, *self.blocks) if one.id.endswith(f".{name}")]
        starts = [one for one in self.lines if one.id.startswith(f"{name}:")]
        found = next((some for some in (exact, ends, starts) if len(some) == 1), None)
        if found is None:
            known = ", ".join(one.id for one in everything if one.id) or "none"
            known = known if len(known) <= 400 else known[:400] + "…"
            raise UnknownNodeError(
                f"nothing that saves tensors has the name {name!r}, or several have; names: {known}"
            )
        return found[0]

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return iter(self.tables[0])

    def __repr__(self) -> str:
        return f"<Memory: {self.total} bytes in {len(self.storages)} storages>"


def _sum(storages: Iterable[HeldStorage]) -> int:
    return sum(one.nbytes for one in storages)
