"""What there is to say of a node, a tensor and a saved tensor: every fact once, in its words.

Whoever shows facts chooses them by key, and of each fact a form: beside its label, short, or
long. The words are those of PyTorch, and the same in pictures, texts, tables and comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

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


@dataclass(frozen=True, slots=True)
class Fact:
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


class Facts(Generic[Key]):
    """The facts of one thing by key; each key is there for each thing of its kind."""

    __slots__ = ("_facts",)

    def __init__(self, facts: Mapping[Key, Fact]) -> None:
        self._facts = facts

    def __getitem__(self, key: Key) -> Fact:
        return self._facts[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._facts)

    def short(self, *keys: Key) -> list[str]:
        """Short forms of these facts, without those that go without saying."""
        return [short for key in keys if (short := self._facts[key].short)]

    def long(self, *keys: Key) -> list[str]:
        """Long forms of these facts, without those that go without saying."""
        return [long for key in keys if (long := self._facts[key].long)]

    def rows(self, *keys: Key) -> list[tuple[str, str]]:
        """Label and words of these facts, as far as there is anything to say."""
        found = (self._facts[key] for key in keys)
        return [(fact.label, fact.words) for fact in found if fact.words]


TensorFacts: TypeAlias = Facts[TensorKey]
SlotFacts: TypeAlias = Facts[SlotKey]


class NodeFacts(Facts[NodeKey]):
    """The facts of a node, and those of each saved tensor."""

    __slots__ = ("saved",)

    def __init__(self, facts: Mapping[NodeKey, Fact], saved: tuple[SlotFacts, ...]) -> None:
        super().__init__(facts)
        self.saved: Final = saved
        """Facts of each slot, in the order of ``Node.saved``."""


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
    has_values = info.values is not None
    values = numbers(info.values, info.shape) if info.values is not None else ""
    hooks = _hooks(info.hooks, around)
    hook_words = _listed(hooks)
    sharing = ", ".join(around.sharing.get(info.id, ()))
    shared = f"shares memory with {sharing}" if sharing else ""
    output = str(info.output_nr) if info.node else ""
    is_one = info.node is not None and info.output_nr
    return Facts(
        {
            "id": Fact("id", info.id, info.id),
            "name": Fact("name", info.name, around.tidy(info.name) if info.name else info.id),
            "shape": _shape(info.shape),
            "dtype": _dtype(info.dtype, around),
            "device": _device(info.device, around),
            "output": Fact("output", info.output_nr, output, f"output {output}" if is_one else ""),
            **_flags(info),
            "version": _version(info.version),
            "values": Fact(
                "values",
                Values(info.values, info.shape) if info.values is not None else None,
                values,
                f"= {values}" if has_values else "",
                f"values {values}" if has_values else "",
            ),
            "grad": _grad(info),
            "grad summary": _grad_summary(info.grad, around),
            "hooks": Fact("hooks", hook_words or None, hook_words or "none", parts=hooks),
            "node": Fact("node", info.node, info.node or "None"),
            "place": _place(info, around),
            "storage": _storage(info.storage, None),
            "sharing": Fact("shares memory with", sharing or None, sharing, shared, shared),
        }
    )


def _flags(info: TensorInfo) -> dict[TensorKey, Fact]:
    leaf = {True: "leaf", False: "not a leaf", None: "leaf not known"}[info.is_leaf]
    is_leaf = "not known" if info.is_leaf is None else info.is_leaf
    requires = "requires grad" if info.requires_grad else "does not require grad"
    retains = "retain_grad" if info.retains_grad else ""
    view, viewed = ("view", "of another tensor") if info.is_view else ("", None)
    inferred = "yes" if info.is_inference else None
    brief, whole = ("inference", "inference tensor") if inferred else ("", "")
    return {
        "is_leaf": Fact("is_leaf", is_leaf, str(is_leaf), leaf, leaf),
        "requires_grad": Fact(
            "requires_grad", info.requires_grad, str(info.requires_grad), requires, requires
        ),
        "retains_grad": Fact(
            "retains_grad", info.retains_grad, str(info.retains_grad), retains, retains
        ),
        "view": Fact("view", viewed, viewed or "", view, view),
        "inference": Fact("inference tensor", inferred, inferred or "", brief, whole),
    }


def _version(version: int | None) -> Fact:
    if version is None:  # an inference tensor
        return Fact("version", None, "none", "no version", "no version")
    return Fact("version", version, str(version), f"v{version}", f"version {version}")


def _grad(info: TensorInfo) -> Fact:
    """It goes without saying where backward puts no gradient and there is none."""
    words = summary(info.grad)
    is_told = info.requires_grad and (info.is_leaf or info.retains_grad)
    if info.grad is None and not is_told:
        return Fact(".grad", None, words)
    return Fact(".grad", info.grad, words, f".grad {words}", f"grad {words}")


def _grad_summary(grad: ValueSummary | None, around: Surroundings) -> Fact:
    """What is known of ``.grad`` apart from its values."""
    if grad is None:
        return Fact(".grad")
    norm = "" if grad.norm is None else f"norm {number(grad.norm)}"
    words = ", ".join(filter(None, (shape(grad.shape), _dtype(grad.dtype, around).short, norm)))
    return Fact(".grad", grad, words, words, words)


def _place(info: TensorInfo, around: Surroundings) -> Fact:
    """Whose output it is."""
    if info.node is None:
        outside = "outside the graph"
        return Fact("place", None, outside, outside, outside)
    name, of = around.node_name(info.node), f"output {info.output_nr} of"
    value = (info.node, info.output_nr)
    return Fact("place", value, f"{of} {info.node} {name}", f"{of} {info.node}", f"{of} {name}")


def _shape(sizes: tuple[int, ...] | None) -> Fact:
    words = shape(sizes)
    if sizes is None:
        return Fact("shape", None, words)
    return Fact("shape", words, words, words, f"shape {words}")


def _dtype(dtype: str | None, around: Surroundings) -> Fact:
    """Of float32 the short form is empty: it goes without saying."""
    words = around.tidy(dtype or "")
    return Fact("dtype", dtype, words, "" if dtype == "float32" else words, words)


def _device(device: str | None, around: Surroundings) -> Fact:
    if device is None or around.has_one_device:
        return Fact("device", device)
    words = around.tidy(device)
    return Fact("device", device, words, f"on {words}", f"on {words}")


def _storage(storage: str | None, nbytes: int | None) -> Fact:
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
    made = ", ".join(around.names[one.id] for one in tensors if one.id != node.variable)
    source, module = around.tidy(node.source or ""), around.tidy(node.module or "")
    leaf = around.names.get(node.variable or "", node.variable or "")
    arguments = ", ".join(map(str, node.arguments))
    name = around.tidy(node.name)
    return NodeFacts(
        {
            "id": Fact("id", node.id, node.id),
            "name": Fact("name", node.name, name),
            "root": _root(node, around),
            "state": Fact("state", node.state, node.state, node.state, node.state),
            "source": Fact("made by", node.source, source, source, source and f"made by {source}"),
            "module": Fact(
                "module",
                node.module,
                module,
                module and f"in {module}",
                module and f"module {module}",
            ),
            "variable": Fact(
                "leaf", node.variable, leaf, leaf and f"of {leaf}", leaf and f"leaf {leaf}"
            ),
            "shapes": _output_shapes(node),
            "tensors": Fact("tensors", None, made, long=made and f"made {made}"),
            "arguments": Fact("arguments", arguments or None, arguments),
            "next_functions": _entries(node, around),
            "derivative": _derivative(node, around),
            "saved numbers": _attributes(node, around),
            **_node_hooks(node, around, tensors),
        },
        tuple(slot_facts(slot, around) for slot in node.saved),
    )


def _root(node: Node, around: Surroundings) -> Fact:
    outputs = around.roots.get(node.id)
    if not outputs:
        return Fact("root")
    words = "output " + ", ".join(map(str, outputs))
    return Fact("root", words, words, "root" if list(outputs) == [0] else f"root {words}", "root")


def _output_shapes(node: Node) -> Fact:
    """As data only where all of them are known."""
    words = ", ".join(map(shape, node.output_shapes))
    value = None if None in node.output_shapes else words or None
    return Fact("output shapes", value, words, words and f"→ {words}", words and f"output {words}")


def argument_of(node: Node, slot: int) -> str | None:
    """Name of the argument behind an entry of ``next_functions``, where it is known."""
    return node.arguments[slot] if slot < len(node.arguments) else None


def _entries(node: Node, around: Surroundings) -> Fact:
    """Entries of ``next_functions``; the label is the argument, else the place."""
    parts = []
    for slot, entry in enumerate(node.next_functions):
        label = around.tidy(argument_of(node, slot) or str(slot))
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


def _derivative(node: Node, around: Surroundings) -> Fact:
    """torch's formula, line by line: the label is the argument."""
    parts = []
    for line in node.formula.split("\n") if node.formula else ():
        argument, colon, expression = line.partition(": ")
        label, words = (argument, expression) if colon else ("", line)
        label, words = around.tidy(label), around.tidy(words)
        brief = f"∂{label}: {words}" if label else words
        whole = f"derivative {label}: {words}" if label else f"derivative {words}"
        parts.append(Fact(label, words, words, brief, whole))
    return Fact("derivative", node.formula, parts=tuple(parts))


def _attributes(node: Node, around: Surroundings) -> Fact:
    parts = []
    for name, value in node.attributes:
        label, words = around.tidy(name), attribute(value, tidy=around.tidy)
        parts.append(Fact(label, value, words, f"{label}={words}", f"{label}={words}"))
    brief = ", ".join(part.short for part in parts)
    return Fact("saved numbers", None, brief, brief, brief and f"with {brief}", tuple(parts))


def _node_hooks(
    node: Node, around: Surroundings, tensors: Sequence[TensorInfo]
) -> dict[NodeKey, Fact]:
    """All hooks that can be seen, and of them those that are not told of a tensor."""
    told = {hook for info in tensors for hook in info.hooks}
    parts = _hooks(node.hooks, around)
    own = tuple(part for part, hook in zip(parts, node.hooks, strict=True) if hook not in told)
    seen = _listed(parts)
    others = ("others unknown" if parts else "unknown") if node.hooks_unknown else ""
    words = ", ".join(filter(None, (seen, others))) or "none"
    known = "" if node.hooks_unknown else "all hooks known"
    return {
        "hooks": Fact("hooks", seen or None, words, seen or words, parts=parts),
        "own hooks": Fact("hooks", _listed(own) or None, _listed(own), parts=own),
        "hooks known": Fact("all hooks known", bool(known), str(bool(known)), known, known),
    }


def slot_facts(slot: SavedTensor, around: Surroundings) -> SlotFacts:
    """What there is to say of a saved tensor."""
    name, tensor = around.tidy(slot.name), _saved_tensor(slot, around)
    equal = f"{name} = {tensor}" if tensor else name
    amount = "" if slot.nbytes is None else size(slot.nbytes)
    return Facts(
        {
            "name": Fact("saved", slot.name, name, equal, f"saved {equal}"),
            "tensor": Fact("tensor", slot.tensor or slot.view_of, tensor, tensor, tensor),
            **_slot_state(slot, around),
            "shape": _shape(slot.shape),
            "dtype": _dtype(slot.dtype, around),
            "device": _device(slot.device, around),
            "nbytes": Fact("bytes", slot.nbytes, amount, amount, amount),
            "storage": _storage(slot.storage, slot.storage_nbytes),
        }
    )


def _saved_tensor(slot: SavedTensor, around: Surroundings) -> str:
    """Name of the tensor in a slot: ``b``, ``view of x``, or empty when it is not known."""
    if slot.view_of is not None and slot.view_of in around.names:
        return f"view of {around.names[slot.view_of]}"
    return around.names.get(slot.tensor or "", "")


def _slot_state(slot: SavedTensor, around: Surroundings) -> dict[SlotKey, Fact]:
    """State, whose short form has what matters most in it, and versions."""
    saved, now = slot.saved_version, slot.current_version
    if saved is None:
        words = "" if now is None else f"saved version unknown, now v{now}"
    else:
        words = f"v{saved}" if now in (None, saved) else f"saved v{saved}, now v{now}"
    brief = f"⚠ {words or 'modified'}" if slot.state == "modified" else words
    at = f"at version {saved}" if saved is not None and slot.state == "held" else ""
    versions = Fact("versions", None if saved is None else (saved, now), words, brief, at)
    if slot.state == "packed":
        state = f"packed by {around.tidy(slot.packed_by)}" if slot.packed_by else "packed"
        return {"state": Fact("state", "packed", state, state, state), "versions": versions}
    if slot.state == "held":
        return {"state": Fact("state", "held", "held", brief, at), "versions": versions}
    if slot.state == "modified":
        whole = f"modified, {words or 'modified'}"
        return {"state": Fact("state", "modified", "modified", brief, whole), "versions": versions}
    state = f"{slot.state} {words}".rstrip()
    return {"state": Fact("state", slot.state, slot.state, state, state), "versions": versions}
