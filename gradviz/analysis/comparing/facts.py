"""Facts of a node and of a tensor, by the names under which differences tell them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from gradviz.analysis.comparing.sides import Pairs, Reading
from gradviz.analysis.comparing.words import Fact, Values, hook_words, shape_words
from gradviz.model.facts import Node, TensorInfo

Facts: TypeAlias = dict[str, Fact]
_OWN: Final = ("state", "root", "shape", "hooks", "module", "arguments")
"""Names of facts that are not saved numbers of a node."""


def node_facts(old: Node, new: Node, pairs: Pairs) -> tuple[Facts, Facts]:
    """Facts of a node before and after; what one of the two does not know is left out."""
    before = _node(old, pairs.old, pairs.after)
    after = _node(new, pairs.new, pairs.tensors)
    for name, then, now in (
        ("shape", _shapes(old), _shapes(new)),
        *_derivatives(old, new),
        ("module", old.module, new.module),
        ("arguments", _arguments(old), _arguments(new)),
    ):
        if then is not None and now is not None:
            before[name], after[name] = then, now
    return before, after


def _node(node: Node, reading: Reading, compared: Collection[str]) -> Facts:
    facts: Facts = {"state": node.state}
    if node.id in reading.roots:
        facts["root"] = "output " + ", ".join(map(str, reading.roots[node.id]))
    facts.update((f"saved {n}" if n in _OWN else n, value) for n, value in node.attributes)
    known = (info for info in reading.on_node.get(node.id, ()) if info.id in compared)
    on_tensors = [hook for info in known for hook in info.hooks]
    hooks = [hook_words(hook) for hook in node.hooks if hook not in on_tensors]
    if hooks:
        facts["hooks"] = ", ".join(hooks)
    return facts


def _derivatives(old: Node, new: Node) -> Iterator[tuple[str, Fact, Fact]]:
    """Formulas of arguments that need a gradient in both graphs."""
    then, now = (
        dict(line.partition(": ")[::2] for line in (node.formula or "").split("\n"))
        for node in (old, new)
    )
    yield from (
        (f"derivative {name}".strip(), then[name], now[name]) for name in then if name in now
    )


def _shapes(node: Node) -> Fact:
    shapes = node.output_shapes
    return ", ".join(map(shape_words, shapes)) if shapes and None not in shapes else None


def _arguments(node: Node) -> Fact:
    return ", ".join(str(one) for one in node.arguments) or None


def tensor_facts(old: TensorInfo, new: TensorInfo, pairs: Pairs) -> tuple[Facts, Facts]:
    """Facts of a tensor before and after; what one of the two does not know is left out."""
    before, after = _tensor(old), _tensor(new)
    is_leaf = old.id in pairs.old.leaf_node or new.id in pairs.new.leaf_node
    if not is_leaf and _is_moved(old, new, pairs):  # leaves are told as nodes
        before["place"], after["place"] = _place(old, pairs.old), _place(new, pairs.new)
    if old.values is not None and new.values is not None:
        before["value"] = Values(old.values, old.shape)
        after["value"] = Values(new.values, new.shape)
    before[".grad"], after[".grad"] = old.grad, new.grad
    return before, after


def _is_moved(old: TensorInfo, new: TensorInfo, pairs: Pairs) -> bool:
    if old.node is None or new.node is None:
        return old.node is not new.node
    return (pairs.after.get(old.node), old.output_nr) != (new.node, new.output_nr)


def _tensor(info: TensorInfo) -> Facts:
    facts: Facts = {
        "requires_grad": info.requires_grad,
        "is_leaf": "unknown" if info.is_leaf is None else info.is_leaf,
        "retains_grad": info.retains_grad,
        "version": "none" if info.version is None else info.version,
        "shape": shape_words(info.shape),
        "dtype": info.dtype,
        "device": info.device,
    }
    if info.hooks:
        facts["hooks"] = ", ".join(map(hook_words, info.hooks))
    if info.is_view:
        facts["view"] = "of another tensor"
    if info.is_inference:
        facts["inference tensor"] = "yes"
    return facts


def _place(info: TensorInfo, reading: Reading) -> str:
    if info.node is None:
        return "outside the graph"
    return f"output of {reading.end((info.node, info.output_nr))}"
