"""The saved tensors of a graph, seen from one tensor: which of them is it, or shares its memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from gradviz.check.frames import HIDDEN
from gradviz.check.reading import Behind, behind
from gradviz.check.verdict import not_known
from gradviz.model import CheckFailed, Node, SavedTensor, TensorInfo

__tracebackhide__ = HIDDEN

Relation: TypeAlias = Literal["", "a view of ", "a tensor on the memory of "]
"""What a saved tensor is to the one that was asked about: itself, or something else of it."""
_SEEN: Final = ("held", "modified")


class Kept(NamedTuple):
    """A saved tensor that has to do with the one that was asked about."""

    node: Node
    slot: SavedTensor
    name: str
    relation: Relation

    @property
    def is_it(self) -> bool:
        """Whether it is the tensor, or a view of it."""
        return self.relation != "a tensor on the memory of "

    def __str__(self) -> str:
        at = "" if self.slot.saved_version is None else f" at version {self.slot.saved_version}"
        return f"{self.node.name} saved {self.relation}{self.name} as {self.slot.name}{at}"

    @property
    def with_both_versions(self) -> str:
        """The same, and its version now."""
        now = self.slot.current_version
        return str(self) if now is None else f"{self}, and it is at version {now} now"


def kept_of(read: Behind) -> list[Kept]:
    """Saved tensors that are the first tensor that was asked about, or on its memory."""
    info = read.graph.tensor(read.rows[0].tensor)
    found = []
    for node, slot in visible(read):
        relation = _relation(slot, info)
        if relation is not None:
            found.append(Kept(node, slot, read.given[0].name, relation))
    return found


def kept(read: Behind) -> list[Kept]:
    """All saved tensors that can be seen."""
    return [Kept(node, slot, *_called(slot, read)) for node, slot in visible(read)]


def visible(read: Behind) -> Iterator[tuple[Node, SavedTensor]]:
    """Saved tensors that can be seen, in the order of nodes."""
    for node in read.graph.nodes:
        for slot in node.saved:
            if slot.state in _SEEN:
                yield node, slot


def _relation(slot: SavedTensor, info: TensorInfo) -> Relation | None:
    if slot.tensor == info.id:
        return ""
    if slot.view_of == info.id:
        return "a view of "
    if slot.storage is None or slot.storage != info.storage:
        return None
    # What a node has saved of its own result comes back as another object.
    is_result = slot.tensor is None and slot.name.startswith("result")
    if is_result and not info.is_view and slot.shape == info.shape:
        return ""
    return "a tensor on the memory of "


def _called(slot: SavedTensor, read: Behind) -> tuple[str, Relation]:
    if slot.tensor is not None and (name := read.graph.tensor(slot.tensor).name):
        return name, ""
    if slot.view_of is not None and (name := read.graph.tensor(slot.view_of).name):
        return name, "a view of "
    return "a tensor without a name", ""


def whole(loss: Any, call: str, expected: str) -> Behind:
    """The graph of a loss, of which it is known what each node holds.

    Raises:
        CheckFailed: If there is no graph, or if that is not known.
    """
    read = behind(loss, loss, call)
    if not read.has_graph:
        raise CheckFailed(
            f"{read.loss} has no graph",
            expected,
            "it does not require grad: no operation was recorded",
            "compute it from a tensor that requires grad, outside torch.no_grad()",
        )
    for node in read.graph.nodes:
        if node.state == "opaque":
            why = "torch does not show what this node saves"
            not_known(f"what {node.name} ({node.id}) holds", expected, why)
    return read


def refuse_hidden(read: Behind, by: str | None, what: str, expected: str) -> None:
    """Give up where a node, or the one node that counts, keeps something that cannot be seen.

    Raises:
        CheckFailed: If there is such a node.
    """
    for node in read.graph.nodes:
        if by is not None and by not in (node.name, node.id):
            continue
        packed = next((slot.name for slot in node.saved if slot.state == "packed"), None)
        if packed is not None:
            where = f"{packed} of {node.name} ({node.id})"
            not_known(what, expected, f"a hook has packed {where}; unpacking it would run code")
        if node.state == "opaque":
            not_known(what, expected, f"torch does not show what {node.name} ({node.id}) saves")


def raise_if_freed(read: Behind, found: str, expected: str) -> None:
    """End the check if saved tensors were freed.

    Raises:
        CheckFailed: If they were.
    """
    if "freed" in read.state:
        raise CheckFailed(
            found,
            expected,
            "backward frees what the nodes it runs have saved, unless retain_graph=True",
            f"{read.code}.backward(retain_graph=True), or compute {read.code} again",
        )
