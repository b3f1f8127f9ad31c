"""A whole recording as text: what nbval compares, terminals print and screen readers read."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final, TypeVar

from gradviz.model.explanation import Explanation
from gradviz.model.fact_list import (
    FLAGS,
    NodeFacts,
    SlotFacts,
    TensorFacts,
    TensorKey,
    node_facts,
    slot_facts,
    tensor_facts,
)
from gradviz.model.facts import Node
from gradviz.model.recording import Recording, Step
from gradviz.view import phrases
from gradviz.view.captions import captions
from gradviz.view.explanation_fields import explained
from gradviz.view.explanation_text import explanation_text
from gradviz.view.story import said
from gradviz.view.text import clean

WIDTH: Final = 110
MOST: Final = 2000
"""Steps that are listed; a line says how many are not."""
NEW_TENSOR: Final[tuple[TensorKey, ...]] = ("shape", "dtype", "version", "values")
"""Facts that the line of a new tensor begins with."""
TENSOR_CHANGES: Final[tuple[TensorKey, ...]] = (
    "name",
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "version",
    "node",
    "shape",
    "values",
    "grad",
    "hooks",
)
"""Facts of a tensor whose change is told."""
_STEP: Final = "{:>3}  "
Row = TypeVar("Row")


def recording_outline(recording: Recording) -> str:
    """The recording as text, the same for the same recording; the device is in the first line.

    Every step says what happened, and below what is different since the step before: nodes,
    saved tensors with their versions, flags, versions and ``.grad`` of tensors. Where something was
    explained, the explanation stands there too.

    Examples:
        >>> from gradviz.model.recording import Changes, Recording, StepFacts
        >>> start = StepFacts("start", 0, None, 0, None, (), Changes(), 0, None)
        >>> print(recording_outline(Recording([start], label="cell")))
        recording of cell: 1 step, 0 nodes, 0 leaves
          0  before the first line
    """
    lines = [recording_title(recording) + ": " + summary(recording)]
    if recording.device is not None:
        lines[0] += f"; on {clean(recording.device)}"
    teller, why = _Changes(recording), explained(recording)
    for number, step in enumerate(_in_order(recording)[:MOST]):
        lines += _step_lines(number, step, said(captions(recording)[step.index]))
        for one in why.get(step.index, ()):
            lines += _explanation(one, step)
        lines += teller.lines(step)
    if len(recording) > MOST:
        lines.append(f"… {phrases.plural(len(recording) - MOST, 'more step')} not listed")
    return "\n".join(lines)


def recording_title(recording: Recording) -> str:
    """``recording of cell [3]``."""
    return f"recording of {clean(recording.label) or 'code'}"


def summary(recording: Recording) -> str:
    """How many steps, nodes and leaves, and how it ended."""
    graph = recording.graph
    parts = [
        phrases.plural(len(recording), "step"),
        phrases.plural(len(graph), "node"),
        phrases.plural(len(graph.leaves), "leaf"),
    ]
    backwards = len({s.backward for s in recording.facts if s.backward is not None})
    if backwards:
        parts.append(phrases.plural(backwards, "backward"))
    if recording.at_error is not None:
        parts.append("an error")
    return ", ".join(parts)


def _in_order(recording: Recording) -> list[Step]:
    """The steps as they ran; on several devices, whose engine threads run as they like, the
    nodes of a backward in the order of their ids."""
    steps = list(recording.steps)
    if recording.device is not None:
        return steps
    found: list[Step] = []
    blocks: list[list[Step]] = []
    block: list[Step] = []

    def close() -> None:
        blocks.sort(key=lambda steps: -int((steps[-1].node or "n0")[1:]))
        found.extend(step for steps in blocks for step in steps)
        found.extend(block)
        blocks.clear()
        block.clear()

    for step in steps:
        if step.node is None or step.level == 0:
            close()
            found.append(step)
            continue
        block.append(step)
        if step.kind == "node":
            blocks.append(list(block))
            block.clear()
    close()
    return found


def _explanation(explanation: Explanation, step: Step) -> Iterator[str]:
    indent = " " * (len(_STEP.format(0)) + 2 * step.level + 2)
    for line in explanation_text(explanation).split("\n"):
        yield f"{indent}! {line}"


def _step_lines(number: int, step: Step, words: str) -> Iterator[str]:
    first = _STEP.format(number) + "  " * step.level
    yield from wrap(
        words,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * (len(first) + 2),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


class _Changes:
    """What is different since the step before, in words; the surroundings of each row."""

    def __init__(self, recording: Recording) -> None:
        self._rows: dict[str, Node] = {}
        self._nodes: dict[str, NodeFacts] = {}
        self._tensors: dict[str, TensorFacts] = {}
        self._saved = 0
        self.names = {info.id: phrases.tensor_name(info) for info in recording.graph.tensors}
        self.roots: dict[str, list[int]] = {}
        self.sharing: dict[str, tuple[str, ...]] = {}
        self.has_one_device = True

    def node_name(self, node_id: str) -> str:
        """Name of a node that exists already, else its id."""
        node = self._nodes.get(node_id)
        return node_id if node is None else node["name"].words

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""
        return clean(text)

    def lines(self, step: Step) -> Iterator[str]:
        """One line per node and tensor that changed."""
        found: list[str] = []
        for key, info in step.facts.changes.tensors:
            if info is not None:
                self.names[key] = phrases.tensor_name(info)
        for key, node in step.facts.changes.nodes:
            facts = None if node is None else node_facts(node, self, ())
            found += self._node(self._rows.get(key), self._nodes.get(key), node, facts)
            _put(self._rows, key, node)
            _put(self._nodes, key, facts)
        for key, info in step.facts.changes.tensors:
            now = None if info is None else tensor_facts(info, self)
            found += self._tensor(key, self._tensors.get(key), now)
            _put(self._tensors, key, now)
        if step.saved_bytes != self._saved:
            before, after = phrases.size(self._saved), phrases.size(step.saved_bytes)
            found.append(f"saved tensors keep {after}, before {before}")
            self._saved = step.saved_bytes
        indent = " " * (len(_STEP.format(0)) + 2 * step.level + 2)
        for text in found:
            yield from wrap(
                text,
                WIDTH,
                initial_indent=indent + "| ",
                subsequent_indent=indent + "|   ",
                break_long_words=False,
                break_on_hyphens=False,
            )

    def _node(
        self, was: Node | None, old: NodeFacts | None, node: Node | None, new: NodeFacts | None
    ) -> Iterator[str]:
        if node is None or new is None:
            if old is not None:
                yield f"{_node_name(old)} is gone"
            return
        if was is None or old is None:
            yield _new_node(node, new)
            return
        if old["state"].value != new["state"].value:
            yield f"{_node_name(new)}: {old['state'].words} -> {new['state'].words}"
        before = {slot.name: slot for slot in was.saved}
        for slot, facts in zip(node.saved, new.saved, strict=True):
            then = before.get(slot.name)
            if then != slot:
                # Named as tensors are now: the slot may keep one that has another name since.
                words = "none" if then is None else _slot(slot_facts(then, self))
                yield f"{node.id} saved {words} -> {_slot(facts, is_new=then is None)}"
        if was.hooks != node.hooks:
            yield f"{_node_name(new)}: {new['hooks'].label} {new['hooks'].short}"

    def _tensor(self, key: str, old: TensorFacts | None, new: TensorFacts | None) -> Iterator[str]:
        if new is None:
            if old is not None:
                yield f"{self.names[key]} is gone"
        elif old is None:
            yield _new_tensor(new)
        else:
            parts = list(_tensor_changes(old, new))
            if parts:
                yield f"{self.names[key]}: {'; '.join(parts)}"


def _node_name(facts: NodeFacts) -> str:
    return f"{facts['id'].words} {facts['name'].words}"


def _new_node(node: Node, facts: NodeFacts) -> str:
    words = [_node_name(facts)]
    words += facts.short("variable" if node.variable is not None else "state", "next_functions")
    words += [f"saved {_slot(s)}" for s in facts.saved if s["state"].value != "none"]
    words += [hook.long for hook in facts["hooks"].parts]
    return " · ".join((*words, *facts.short("module")))


def _slot(facts: SlotFacts, is_new: bool = True) -> str:
    """A slot; of one that was there already, only what may be another now."""
    state = "" if facts["state"].value == "held" else facts["state"].words
    name, sizes = (facts["name"].short, facts["shape"].short) if is_new else ("", "")
    return phrases.join((name, state, sizes, facts["versions"].words), " ") or "held"


def _new_tensor(facts: TensorFacts) -> str:
    words = [" ".join((facts["name"].words, "is", *facts.short(*NEW_TENSOR)))]
    words += facts.long(*FLAGS)
    words += facts.short("place") if facts["place"].value else []
    words += facts.short("grad") if facts["grad"].value else []
    words += [hook.long for hook in facts["hooks"].parts]
    return " · ".join(words)


def _tensor_changes(old: TensorFacts, new: TensorFacts) -> Iterator[str]:
    for key in TENSOR_CHANGES:
        then, now = old[key], new[key]
        if then.value == now.value:
            continue
        if key == "version":
            yield f"{then.short} -> {now.short}"
        elif key == "hooks":
            yield f"{now.label} {now.words}"
        else:
            yield f"{now.label} {then.words or '?'} -> {now.words or '?'}"


def _put(rows: dict[str, Row], key: str, row: Row | None) -> None:
    if row is None:
        rows.pop(key, None)
    else:
        rows[key] = row
