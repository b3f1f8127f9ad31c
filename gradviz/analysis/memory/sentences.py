"""A count of memory in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from gradviz.analysis.memory.modules import OUTSIDE, UNKNOWN
from gradviz.analysis.row_blocks import FEW
from gradviz.model.devices import has_no_memory, is_shared_out
from gradviz.model.formatting import plural, size
from gradviz.model.graph import Graph
from gradviz.model.memory import Curve, CurvePoint, Holder, Memory
from gradviz.model.sentence import listed

_KINDS: Final = (
    "of parameters",
    "of buffers",
    "of tensors that this graph did not compute",
    "of activations",
)

_ON_META: Final = "on the device meta, which has no memory"
_FAKE: Final = "fake tensors, which have no memory"


def title_of(memory: Memory, label: str) -> str:
    """The answer: ``"Backward of loss keeps 11.5 MiB in 16 saved tensors, most of it in fc1"``.

    Args:
        memory: What was counted.
        label: What was recorded, ``""`` for a graph.
    """
    whose, when = f" of {_roots(memory.graph)}", ""
    if memory.curve is not None:
        peak = ", the peak," if memory.step == memory.curve.peak else ""
        whose, when = f" of {label}" if label else "", f" at step {memory.number}{peak}"
    unknown = f"{plural(len(memory.unknown), 'saved tensor')} of unknown size"
    amount = f"{unknown if memory.unknown else 'nothing'}{when}"
    if memory.total:
        saves = sum(len(one.saves) for one in memory.storages)
        amount = f"{size(memory.total)}{when} in {plural(saves, 'saved tensor')}"
        amount += f" and {unknown}" if memory.unknown else ""
    return f"Backward{whose} keeps {amount}{_most(memory)}"


def _most(memory: Memory) -> str:
    """Where most of the bytes are, in words."""
    first = where_most_is(memory)
    if first is None:
        return ""
    name = f"{first.name} ({first.id})" if first in memory.nodes else first.id
    if 2 * first.nbytes > memory.total:
        return f", most of it in {name}"
    return f", the largest part, {size(first.nbytes)}, in {name}"


def where_most_is(memory: Memory) -> Holder | None:
    """The module that is known, or the node, that keeps most; ``None`` if several keep as much, or
    only one node keeps anything.

    Args:
        memory: What was counted.
    """
    if len(memory.nodes) < 2 or not memory.total:
        return None
    known = [one for one in _outer_modules(memory) if one.id not in (OUTSIDE, UNKNOWN)]
    # A module that has others in it is no part of the whole.
    above = {path for one in known for path in accumulate(one.id.split(".")[:-1], "{}.{}".format)}
    parts = [one for one in known if one.id not in above]
    node = memory.nodes[0]
    first = max((*parts, node), key=lambda one: one.nbytes)
    alike = memory.nodes if first is node else parts
    return first if sum(one.nbytes == first.nbytes for one in alike) == 1 else None


def notes_of(memory: Memory) -> tuple[str, ...]:
    """Those of the sentences that say how it is counted, and what the tables have too."""
    return (
        *((*_largest(memory), *_largest_groups(memory)) if memory.total else ()),
        *_how_it_is_counted(memory),
        *_how_modules_are_known(memory),
    )


def sentences_of(memory: Memory) -> Iterator[str]:
    """The findings, most important first."""
    if memory.curve is not None:
        yield from _over_the_steps(memory, memory.curve)
    if memory.total:
        yield from _kinds(memory)
        yield from _largest(memory)
        yield from _largest_groups(memory)
    elif not memory.unknown:
        yield _why_nothing(memory)
    for what, nbytes in _without_memory(memory).items():
        yield f"{size(nbytes)} are {what}: tensors on a real device would take as much."
    if memory.unknown:
        yield _not_counted(memory)
    yield from _how_it_is_counted(memory)
    yield from _what_is_allocated(memory)
    yield from _how_modules_are_known(memory)


def _how_it_is_counted(memory: Memory) -> Iterator[str]:
    if memory.shared:
        yield (
            f"{size(memory.shared)} are saved by more than one node, and counted at the first of "
            "them: the column counted adds up to the total, the column bytes to more."
        )
    if memory.graph and any(is_shared_out(s.device) for n in memory.graph.nodes for s in n.saved):
        yield "Of DTensors the part that this process holds is counted."


def _what_is_allocated(memory: Memory) -> Iterator[str]:
    """No note: on a machine without a GPU there is none, and the number of notes is the same."""
    if memory.allocated is not None:
        yield (
            f"torch.cuda.memory_allocated() is {size(memory.allocated)}: the allocator rounds up "
            "to blocks of 512 bytes, and counts all live tensors."
        )


def line_words(point: CurvePoint) -> str:
    """``"line 3: y = x * 2"``, of another file ``"net.py line 3: y = x * 2"``."""
    where = f"{point.code} " if point.code else ""
    return "" if point.line is None else f"{where}line {point.line}: {point.text}".rstrip(": ")


def _how_modules_are_known(memory: Memory) -> Iterator[str]:
    unknown = sum(len(one.nodes) for one in memory.modules if one.id == UNKNOWN)
    inferred = sum(one.inferred for one in memory.modules)
    if not unknown and not inferred:
        return
    said = "Without a recording, the module of a node is inferred from the parameters that it uses"
    said += " and from the nodes around it"
    if inferred:
        said += f" (here of {plural(inferred, 'node')})"
    more = f" of {unknown:,} it is not known;" if unknown else ""
    yield f"{said};{more} gradviz.record() records the module of every node."


def _roots(graph: Graph | None) -> str:
    if graph is None or not graph.roots:
        return "an empty graph"
    names = {(info.node, info.output_nr): info.name for info in graph.tensors if info.name}
    found = [names.get(root) or f"{graph[root[0]].name} ({root[0]})" for root in graph.roots]
    return listed(list(dict.fromkeys(found)), 3)


def _over_the_steps(memory: Memory, curve: Curve) -> Iterator[str]:
    peak, last = curve.points[curve.peak], curve.points[-1]
    if not peak.held:
        yield "At no step does the graph keep saved tensors of known size."
        return
    at = f"at step {peak.number}"
    if peak.line is not None:
        at += f", {'after' if peak.level == 0 else 'in'} {line_words(peak)}"
    end = f"{size(last.held)} are" if last.held else "nothing is"
    yield f"The peak is {size(peak.held)} {at}; at the end {end} kept."


def _kinds(memory: Memory) -> Iterator[str]:
    amounts = (memory.parameters, memory.buffers, memory.inputs, memory.activations)
    parts = [f"{size(n)} {words}" for n, words in zip(amounts, _KINDS) if n]
    yield f"This is {listed(parts)}."


def _largest(memory: Memory) -> Iterator[str]:
    node = memory.nodes[0]
    here = f"{node.name} ({node.id}) {_with(node, memory.nodes)}{_elsewhere(memory, node)}"
    yield f"The node that keeps most is {here}."


def _largest_groups(memory: Memory) -> Iterator[str]:
    """Module and line; they hold no other bytes than the nodes."""
    said = []
    for words, found in (("module", _outer_modules(memory)), ("line of code", memory.lines)):
        first = [f"{_named(one, words)} {_with(one, found)}" for one in _until_known(found)]
        if first:
            said.append(f"by {words}: most at {', then '.join(first)}")
    if said:
        yield f"The same bytes {'; '.join(said)}."


def _outer_modules(memory: Memory) -> Sequence[Holder]:
    """The modules; of many of them those that the outermost one consists of, with all inside, and
    what is in none of these."""
    if len(memory.modules) <= FEW:
        return memory.modules
    whole = {one.id: one for one in (*memory.modules, *memory.blocks)}
    paths = [key.split(".") for key in whole if key not in (OUTSIDE, UNKNOWN)]
    depth = next(n for n in range(1, 99) if len({".".join(path[:n]) for path in paths}) > 1)
    parts = [one for one in whole.values() if one.id.count(".") == depth - 1]
    no_path = [one for one in memory.modules if one.id in (OUTSIDE, UNKNOWN)]
    around = [
        replace(one, id=f"{one.id} itself")
        for one in memory.modules
        if one not in no_path and one.id.count(".") < depth - 1
    ]
    found = {one.id: one for one in (*parts, *no_path, *around)}
    return sorted(found.values(), key=lambda one: -one.nbytes)


def _named(one: Holder, what: str) -> str:
    return {OUTSIDE: "no module", UNKNOWN: f"nodes whose {what} is not known"}.get(one.id, one.id)


def _with(one: Holder, found: Sequence[Holder]) -> str:
    """``"with 1.5 MiB in 2 nodes, as 6 more do"``."""
    many = f" in {plural(len(one.nodes), 'node')}" if len(one.nodes) > 1 else ""
    others = sum(other.nbytes == one.nbytes for other in found) - 1
    same = f", as {others} more {'does' if others == 1 else 'do'}" if others else ""
    return f"with {size(one.nbytes)}{many}{same}"


def _elsewhere(memory: Memory, holder: Holder) -> str:
    """What a holder keeps, but the figure has at another that saves it too."""
    if holder.nbytes == holder.counted:
        return ""
    own = set(holder.nodes)
    owners = [
        one.owner
        for one in memory.storages
        if one.nbytes and one.owner not in own and not own.isdisjoint(one.nodes)
    ]
    found = list(dict.fromkeys(owners))
    names = " and ".join(found) if len(found) <= 2 else f"{len(found)} other nodes"
    moved = holder.nbytes - holder.counted
    return f" ({size(moved)} of it counted at {names}, which {_saves(len(found))} it too)"


def _saves(count: int) -> str:
    return "saves" if count == 1 else "save"


def _until_known(found: Sequence[Holder]) -> Sequence[Holder]:
    """The largest, up to the first that is a module or a line."""
    known = (i for i, one in enumerate(found) if one.id not in (OUTSIDE, UNKNOWN))
    return found[: next(known, -1) + 1]


def _without_memory(memory: Memory) -> dict[str, int]:
    """Bytes of storages that have sizes only, by what they are."""
    nodes = () if memory.graph is None else memory.graph.nodes
    there: dict[str, dict[str | None, None]] = {}
    for slot in (slot for node in nodes for slot in node.saved):
        if has_no_memory(slot.device):
            what = _ON_META if slot.device == "meta" else _FAKE
            there.setdefault(what, {})[slot.storage] = None
    return {
        what: sum(one.nbytes for one in memory.storages if one.id in storages)
        for what, storages in there.items()
    }


def _why_nothing(memory: Memory) -> str:
    graph = memory.graph
    if memory.storages:
        return "Nothing is kept: what nodes have saved has no elements."
    freed = 0 if graph is None else graph.counts.get("nodes freed", 0)
    if freed:
        nodes = "node has freed its" if freed == 1 else "nodes have freed their"
        return f"Nothing is kept: {freed} {nodes} saved tensors."
    return "Nothing is kept: no node of the graph has saved a tensor."


def _not_counted(memory: Memory) -> str:
    why = Counter(one.why for one in memory.unknown)
    reasons = ", ".join(f"{count} {words}" for words, count in why.most_common(3))
    more = ", …" if len(why) > 3 else ""
    return (
        f"Not counted, since its size is not known: "
        f"{plural(len(memory.unknown), 'saved tensor')} ({reasons}{more})."
    )
