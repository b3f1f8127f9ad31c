"""What there is to say of a node, a tensor and a saved tensor: every fact once, in its words.

Whoever shows facts chooses them by key, and of each fact a form: beside its label, short, or
long. The words are those of PyTorch, and the same in pictures, texts, tables and comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from gradviz.model.facts import Attribute, Hook, Node, Number, SavedTensor, TensorInfo, ValueSummary
from gradviz.model.words import attribute, number, numbers, shape, size, summary

TensorKey: TypeAlias = Literal[
    "id",
    "name",
    "shape",
    "dtype",
    "device",
    "output",
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "view",
    "inference",
    "version",
    "values",
    "grad",
    "grad summary",
    "hooks",
    "node",
    "place",
    "storage",
    "sharing",
]
NodeKey: TypeAlias = Literal[
    "id",
    "name",
    "root",
    "state",
    "source",
    "module",
    "variable",
    "shapes",
    "tensors",
    "arguments",
    "next_functions",
    "derivative",
    "saved numbers",
    "hooks",
    "own hooks",
    "hooks known",
]
SlotKey: TypeAlias = Literal[
    "name", "tensor", "state", "versions", "shape", "dtype", "device", "nbytes", "storage"
]
Key = TypeVar("Key", bound=str)
Row = TypeVar("Row")

FLAGS: Final[tuple[TensorKey, ...]] = (
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "view",
    "inference",
)
"""What is true of a tensor or not."""
_HOOKS: Final = {
    "tensor": "hook",
    "post_accumulate_grad": "post-accumulate-grad hook",
    "node_pre": "node prehook",
    "node_post": "node hook",
}


@dataclass(frozen=True, slots=True)
class Values:
    """All values of a small tensor."""

    values: tuple[Number, ...]
    shape: tuple[int, ...]


FactValue: TypeAlias = "Values | ValueSummary | Attribute"


class Fact(NamedTuple):
    """One thing that is so, ready to be said."""

    label: str
    """What stands before :attr:`words` in a list of facts: ``"version"``."""
    value: FactValue = None
    """The fact as data: where it is equal, nothing differs. ``None`` if there is none."""
    words: str = ""
    """The value beside its label: ``"1"``. Empty where there is nothing to say."""
    short: str = ""
    """The whole fact where room is scarce: ``"v1"``. Empty where it goes without saying."""
    long: str = ""
    """The whole fact among others: ``"version 1"``. Empty where it goes without saying."""
    parts: tuple[Fact, ...] = ()
    """What it consists of: hooks, entries of ``next_functions``, saved numbers, derivatives."""


class Surroundings(Protocol):
    """What the facts of one thing take from the rest of the graph."""

    @property
    def names(self) -> Mapping[str, str]:
        """Name of each known tensor, fit to be shown."""

    @property
    def roots(self) -> Mapping[str, Sequence[int]]:
        """Output numbers of each node that is a root."""

    @property
    def sharing(self) -> Mapping[str, Sequence[str]]:
        """Names of the other tensors on the same storage."""

    @property
    def has_one_device(self) -> bool:
        """Whether all tensors are on one device, which then goes without saying."""

    def node_name(self, node_id: str) -> str:
        """Name of a node, for a leaf with its variable, fit to be shown."""

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""


Maker: TypeAlias = Callable[[Row, Surroundings], Fact]


class Facts(Generic[Key, Row]):
    """The facts of one thing by key, each made when it is first chosen.

    Each key is there for each thing of its kind; what there is nothing to say of has no words.

    Args:
        row: The thing.
        around: Its graph.
        makers: How each fact is made.
    """

    __slots__ = ("_around", "_made", "_makers", "_row")

    def __init__(self, row: Row, around: Surroundings, makers: Mapping[Key, Maker[Row]]) -> None:
        self._row, self._around, self._makers = row, around, makers
        self._made: dict[Key, Fact] = {}

    def __getitem__(self, key: Key) -> Fact:
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._makers[key](self._row, self._around)
        return made

    def __iter__(self) -> Iterator[Key]:
        return iter(self._makers)

    def short(self, *keys: Key) -> list[str]:
        """Short forms of these facts, without those that go without saying."""
        return [short for key in keys if (short := self[key].short)]

    def long(self, *keys: Key) -> list[str]:
        """Long forms of these facts, without those that go without saying."""
        return [long for key in keys if (long := self[key].long)]

    def rows(self, *keys: Key) -> list[tuple[str, str]]:
        """Label and words of these facts, as far as there is anything to say."""
        found = (self[key] for key in keys)
        return [(fact.label, fact.words) for fact in found if fact.words]


@dataclass(frozen=True, slots=True)
class Made:
    """A node with the known tensors that it made, and its leaf."""

    node: Node
    tensors: Sequence[TensorInfo]


TensorFacts: TypeAlias = Facts[TensorKey, TensorInfo]
SlotFacts: TypeAlias = Facts[SlotKey, SavedTensor]


class NodeFacts(Facts[NodeKey, Made]):
    """The facts of a node, and those of each saved tensor."""

    __slots__ = ("saved",)

    def __init__(self, row: Made, around: Surroundings) -> None:
        super().__init__(row, around, _NODE)
        self.saved: Final = tuple(slot_facts(slot, around) for slot in row.node.saved)
        """Facts of each slot, in the order of ``Node.saved``."""


def tensor_facts(info: TensorInfo, around: Surroundings) -> TensorFacts:
    """What there is to say of a tensor.

    Examples:
        >>> from gradviz.model import Graph, Node, TensorInfo
        >>> from gradviz.view.context import Context
        >>> info = TensorInfo("t0", "w", (2,), "float32", "cpu", True, True, False, 1, None, (),
        ...                   None, 0, None, False, False)
        >>> found = tensor_facts(info, Context.of(Graph.of([], [], [info])))
        >>> found["version"].words, found.short("shape", "version"), found.long(*FLAGS)
        ('1', ['(2,)', 'v1'], ['leaf', 'requires grad'])
    """
    return Facts(info, around, _TENSOR)


def _tensor_name(info: TensorInfo, around: Surroundings) -> Fact:
    return Fact("name", info.name, around.tidy(info.name) if info.name else info.id)


def _output(info: TensorInfo, around: Surroundings) -> Fact:
    """Which output of its node it is; of the first it goes without saying."""
    if info.node is None:
        return Fact("output")
    words = str(info.output_nr)
    return Fact("output", info.output_nr, words, f"output {words}" if info.output_nr else "")


def _is_leaf(info: TensorInfo, around: Surroundings) -> Fact:
    said = {True: "leaf", False: "not a leaf", None: "leaf not known"}[info.is_leaf]
    value = "not known" if info.is_leaf is None else info.is_leaf
    return Fact("is_leaf", value, str(value), said, said)


def _requires_grad(info: TensorInfo, around: Surroundings) -> Fact:
    said = "requires grad" if info.requires_grad else "does not require grad"
    return Fact("requires_grad", info.requires_grad, str(info.requires_grad), said, said)


def _retains_grad(info: TensorInfo, around: Surroundings) -> Fact:
    said = "retain_grad" if info.retains_grad else ""
    return Fact("retains_grad", info.retains_grad, str(info.retains_grad), said, said)


def _view(info: TensorInfo, around: Surroundings) -> Fact:
    if not info.is_view:
        return Fact("view")
    return Fact("view", "of another tensor", "of another tensor", "view", "view")


def _inference(info: TensorInfo, around: Surroundings) -> Fact:
    label = "inference tensor"
    return Fact(label, "yes", "yes", "inference", label) if info.is_inference else Fact(label)


def _version(info: TensorInfo, around: Surroundings) -> Fact:
    if info.version is None:  # an inference tensor
        return Fact("version", None, "none", "no version", "no version")
    words = str(info.version)
    return Fact("version", info.version, words, f"v{words}", f"version {words}")


def _values(info: TensorInfo, around: Surroundings) -> Fact:
    if info.values is None:
        return Fact("values")
    words = numbers(info.values, info.shape)
    value = Values(info.values, info.shape)
    return Fact("values", value, words, f"= {words}", f"values {words}")


def _grad(info: TensorInfo, around: Surroundings) -> Fact:
    """It goes without saying where backward puts no gradient and there is none."""
    words = summary(info.grad)
    is_told = info.requires_grad and (info.is_leaf or info.retains_grad)
    if info.grad is None and not is_told:
        return Fact(".grad", None, words)
    return Fact(".grad", info.grad, words, f".grad {words}", f"grad {words}")


def _grad_summary(info: TensorInfo, around: Surroundings) -> Fact:
    """What is known of ``.grad`` apart from its values."""
    grad = info.grad
    if grad is None:
        return Fact(".grad")
    norm = "" if grad.norm is None else f"norm {number(grad.norm)}"
    dtype = _dtype_fact(grad.dtype, around).short
    words = ", ".join(filter(None, (shape(grad.shape), dtype, norm)))
    return Fact(".grad", grad, words, words, words)


def _tensor_hooks(info: TensorInfo, around: Surroundings) -> Fact:
    hooks = _hooks(info.hooks, around)
    words = _listed(hooks)
    return Fact("hooks", words or None, words or "none", parts=hooks)


def _place(info: TensorInfo, around: Surroundings) -> Fact:
    """Whose output it is."""
    if info.node is None:
        outside = "outside the graph"
        return Fact("place", None, outside, outside, outside)
    name, of = around.node_name(info.node), f"output {info.output_nr} of"
    value = (info.node, info.output_nr)
    return Fact("place", value, f"{of} {info.node} {name}", f"{of} {info.node}", f"{of} {name}")


def _sharing(info: TensorInfo, around: Surroundings) -> Fact:
    words = ", ".join(around.sharing.get(info.id, ()))
    label = "shares memory with"
    return (
        Fact(label, words, words, f"{label} {words}", f"{label} {words}") if words else Fact(label)
    )


def _shape_fact(sizes: tuple[int, ...] | None) -> Fact:
    words = shape(sizes)
    if sizes is None:
        return Fact("shape", None, words)
    return Fact("shape", words, words, words, f"shape {words}")


def _dtype_fact(dtype: str | None, around: Surroundings) -> Fact:
    """Of float32 the short form is empty: it goes without saying."""
    words = around.tidy(dtype or "")
    return Fact("dtype", dtype, words, "" if dtype == "float32" else words, words)


def _device_fact(device: str | None, around: Surroundings) -> Fact:
    if device is None or around.has_one_device:
        return Fact("device", device)
    words = around.tidy(device)
    return Fact("device", device, words, f"on {words}", f"on {words}")


def _storage_fact(storage: str | None, nbytes: int | None) -> Fact:
    if storage is None:
        return Fact("storage")
    amount = "" if nbytes is None else f" of {size(nbytes)}"
    return Fact("storage", storage, storage, f"in {storage}", f"storage {storage}{amount}")


def hook_fact(hook: Hook, tidy: Callable[[str], str] = str) -> Fact:
    """A hook: its kind is the label, its name are the words.

    Args:
        hook: The hook.
        tidy: Makes text of the user's program fit to be shown.

    Examples:
        >>> hook_fact(Hook("node_pre", "clip")).long
        'node prehook clip'
    """
    kind, name = _HOOKS.get(hook.kind) or tidy(hook.kind), tidy(hook.name)
    return Fact(kind, hook.name, name, f"{kind} {name}", f"{kind} {name}")


def _hooks(hooks: Sequence[Hook], around: Surroundings) -> tuple[Fact, ...]:
    return tuple(hook_fact(hook, around.tidy) for hook in hooks)


def _listed(facts: Sequence[Fact]) -> str:
    return ", ".join(fact.long for fact in facts)


_TENSOR: Final[dict[TensorKey, Maker[TensorInfo]]] = {
    "id": lambda info, around: Fact("id", info.id, info.id),
    "name": _tensor_name,
    "shape": lambda info, around: _shape_fact(info.shape),
    "dtype": lambda info, around: _dtype_fact(info.dtype, around),
    "device": lambda info, around: _device_fact(info.device, around),
    "output": _output,
    "is_leaf": _is_leaf,
    "requires_grad": _requires_grad,
    "retains_grad": _retains_grad,
    "view": _view,
    "inference": _inference,
    "version": _version,
    "values": _values,
    "grad": _grad,
    "grad summary": _grad_summary,
    "hooks": _tensor_hooks,
    "node": lambda info, around: Fact("node", info.node, info.node or "None"),
    "place": _place,
    "storage": lambda info, around: _storage_fact(info.storage, None),
    "sharing": _sharing,
}
"""Every fact of a tensor, in order."""


def node_facts(node: Node, around: Surroundings, tensors: Sequence[TensorInfo]) -> NodeFacts:
    """What there is to say of a node.

    Args:
        node: The node.
        around: Its graph.
        tensors: Known tensors that it made, and its leaf: what is told of them is not told of the
            node again.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> from gradviz.view.context import Context
        >>> node = Node("n0", "SinBackward0", (None,))
        >>> found = node_facts(node, Context.of(Graph.of([node], [("n0", 0)])), ())
        >>> found["state"].words, found["root"].words, found["next_functions"].parts[0].words
        ('saves nothing', 'output 0', 'None: no gradient needed')
    """
    return NodeFacts(Made(node, tensors), around)


def _state(made: Made, around: Surroundings) -> Fact:
    words = made.node.state
    return Fact("state", words, words, words, words)


def _source(made: Made, around: Surroundings) -> Fact:
    words = around.tidy(made.node.source or "")
    return Fact("made by", made.node.source, words, words, words and f"made by {words}")


def _module(made: Made, around: Surroundings) -> Fact:
    if not made.node.module:
        return Fact("module")
    words = around.tidy(made.node.module)
    return Fact("module", made.node.module, words, f"in {words}", f"module {words}")


def _variable(made: Made, around: Surroundings) -> Fact:
    leaf = made.node.variable
    if leaf is None:
        return Fact("leaf")
    words = around.names.get(leaf, leaf)
    return Fact("leaf", leaf, words, f"of {words}", f"leaf {words}")


def _tensors(made: Made, around: Surroundings) -> Fact:
    """Known tensors that it made."""
    variable = made.node.variable
    words = ", ".join(around.names[one.id] for one in made.tensors if one.id != variable)
    return Fact("tensors", None, words, long=words and f"made {words}")


def _arguments(made: Made, around: Surroundings) -> Fact:
    words = ", ".join(map(str, made.node.arguments))
    return Fact("arguments", words or None, words)


def _root(made: Made, around: Surroundings) -> Fact:
    outputs = around.roots.get(made.node.id)
    if not outputs:
        return Fact("root")
    words = "output " + ", ".join(map(str, outputs))
    return Fact("root", words, words, "root" if list(outputs) == [0] else f"root {words}", "root")


def _output_shapes(made: Made, around: Surroundings) -> Fact:
    """As data only where all of them are known."""
    shapes = made.node.output_shapes
    words = ", ".join(map(shape, shapes))
    value = None if None in shapes else words or None
    return Fact("output shapes", value, words, words and f"→ {words}", words and f"output {words}")


def argument_of(node: Node, slot: int) -> str | None:
    """Name of the argument behind an entry of ``next_functions``, where it is known."""
    return node.arguments[slot] if slot < len(node.arguments) else None


def _entries(made: Made, around: Surroundings) -> Fact:
    """Entries of ``next_functions``; the label is the argument, else the place."""
    parts = []
    for slot, entry in enumerate(made.node.next_functions):
        label = around.tidy(argument_of(made.node, slot) or str(slot))
        if entry is None:
            none = "no gradient needed"
            parts.append(Fact(label, None, f"None: {none}", "None", none))
            continue
        target, output_nr = entry
        name, output = around.node_name(target), f", output {output_nr}" if output_nr else ""
        brief = target + (f":{output_nr}" if output_nr else "")
        parts.append(Fact(label, entry, f"{target} {name}{output}", brief, name))
    brief = ", ".join(part.short for part in parts)
    return Fact("next_functions", None, brief, brief and f"-> {brief}", parts=tuple(parts))


def _derivative(made: Made, around: Surroundings) -> Fact:
    """torch's formula, line by line: the label is the argument."""
    formula, parts = made.node.formula, []
    for line in formula.split("\n") if formula else ():
        argument, colon, expression = line.partition(": ")
        label, words = (argument, expression) if colon else ("", line)
        label, words = around.tidy(label), around.tidy(words)
        brief = f"∂{label}: {words}" if label else words
        whole = f"derivative {label}: {words}" if label else f"derivative {words}"
        parts.append(Fact(label, words, words, brief, whole))
    return Fact("derivative", formula, parts=tuple(parts))


def _attributes(made: Made, around: Surroundings) -> Fact:
    parts = []
    for name, value in made.node.attributes:
        label, words = around.tidy(name), attribute(value, tidy=around.tidy)
        parts.append(Fact(label, value, words, f"{label}={words}", f"{label}={words}"))
    brief = ", ".join(part.short for part in parts)
    return Fact("saved numbers", None, brief, brief, brief and f"with {brief}", tuple(parts))


def _node_hooks(made: Made, around: Surroundings) -> Fact:
    """All hooks that can be seen."""
    node, parts = made.node, _hooks(made.node.hooks, around)
    seen = _listed(parts)
    others = ("others unknown" if parts else "unknown") if node.hooks_unknown else ""
    words = ", ".join(filter(None, (seen, others))) or "none"
    return Fact("hooks", seen or None, words, seen or words, parts=parts)


def _own_hooks(made: Made, around: Surroundings) -> Fact:
    """Of the hooks that can be seen those that are not told of a tensor."""
    told = {hook for info in made.tensors for hook in info.hooks}
    parts = _hooks([hook for hook in made.node.hooks if hook not in told], around)
    return Fact("hooks", _listed(parts) or None, _listed(parts), parts=parts)


def _hooks_known(made: Made, around: Surroundings) -> Fact:
    is_known = not made.node.hooks_unknown
    said = "all hooks known" if is_known else ""
    return Fact("all hooks known", is_known, str(is_known), said, said)


_NODE: Final[dict[NodeKey, Maker[Made]]] = {
    "id": lambda made, around: Fact("id", made.node.id, made.node.id),
    "name": lambda made, around: Fact("name", made.node.name, around.tidy(made.node.name)),
    "root": _root,
    "state": _state,
    "source": _source,
    "module": _module,
    "variable": _variable,
    "shapes": _output_shapes,
    "tensors": _tensors,
    "arguments": _arguments,
    "next_functions": _entries,
    "derivative": _derivative,
    "saved numbers": _attributes,
    "hooks": _node_hooks,
    "own hooks": _own_hooks,
    "hooks known": _hooks_known,
}
"""Every fact of a node, in order."""


def slot_facts(slot: SavedTensor, around: Surroundings) -> SlotFacts:
    """What there is to say of a saved tensor."""
    return Facts(slot, around, _SLOT)


def _slot_name(slot: SavedTensor, around: Surroundings) -> Fact:
    """Its name and, when it is a known tensor or a view of one, which: ``self = b``."""
    name, tensor = around.tidy(slot.name), _saved_tensor(slot, around)
    equal = f"{name} = {tensor}" if tensor else name
    return Fact("saved", slot.name, name, equal, f"saved {equal}")


def _slot_tensor(slot: SavedTensor, around: Surroundings) -> Fact:
    words = _saved_tensor(slot, around)
    return Fact("tensor", slot.tensor or slot.view_of, words, words, words)


def _saved_tensor(slot: SavedTensor, around: Surroundings) -> str:
    """Name of the tensor in a slot: ``b``, ``view of x``, or empty when it is not known."""
    if slot.view_of is not None and slot.view_of in around.names:
        return f"view of {around.names[slot.view_of]}"
    return around.names.get(slot.tensor or "", "")


def _versions(slot: SavedTensor, around: Surroundings) -> Fact:
    """``v0``; when they differ, both; what torch does not tell is called unknown."""
    saved, now = slot.saved_version, slot.current_version
    if saved is None:
        words = "" if now is None else f"saved version unknown, now v{now}"
    else:
        words = f"v{saved}" if now in (None, saved) else f"saved v{saved}, now v{now}"
    brief = f"⚠ {words or 'modified'}" if slot.state == "modified" else words
    at = f"at version {saved}" if saved is not None and slot.state == "held" else ""
    return Fact("versions", None if saved is None else (saved, now), words, brief, at)


def _slot_state(slot: SavedTensor, around: Surroundings) -> Fact:
    """State, whose short form has what matters most in it."""
    versions = _versions(slot, around)
    if slot.state == "packed":
        said = f"packed by {around.tidy(slot.packed_by)}" if slot.packed_by else "packed"
        return Fact("state", "packed", said, said, said)
    if slot.state == "held":
        return Fact("state", "held", "held", versions.short, versions.long)
    if slot.state == "modified":
        whole = f"modified, {versions.words or 'modified'}"
        return Fact("state", "modified", "modified", versions.short, whole)
    said = f"{slot.state} {versions.words}".rstrip()
    return Fact("state", slot.state, slot.state, said, said)


def _nbytes(slot: SavedTensor, around: Surroundings) -> Fact:
    words = "" if slot.nbytes is None else size(slot.nbytes)
    return Fact("bytes", slot.nbytes, words, words, words)


_SLOT: Final[dict[SlotKey, Maker[SavedTensor]]] = {
    "name": _slot_name,
    "tensor": _slot_tensor,
    "state": _slot_state,
    "versions": _versions,
    "shape": lambda slot, around: _shape_fact(slot.shape),
    "dtype": lambda slot, around: _dtype_fact(slot.dtype, around),
    "device": lambda slot, around: _device_fact(slot.device, around),
    "nbytes": _nbytes,
    "storage": lambda slot, around: _storage_fact(slot.storage, slot.storage_nbytes),
}
"""Every fact of a saved tensor, in order."""
