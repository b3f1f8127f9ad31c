"""A whole recording as text: what nbval compares, terminals print and screen readers read."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final, TypeVar

from gradviz.model.explanation import Explanation
from gradviz.model.facts import Node, SavedTensor, TensorInfo
from gradviz.model.recording import Recording, Step, set_recording_words
from gradviz.view import phrases
from gradviz.view.captions import caption, captions
from gradviz.view.explanation_fields import explained
from gradviz.view.explanation_text import explanation_text
from gradviz.view.story import said
from gradviz.view.text import clean

WIDTH: Final = 110
MOST: Final = 2000
"""Steps that are listed; a line says how many are not."""
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
    """What is different since the step before, in words."""

    def __init__(self, recording: Recording) -> None:
        self._nodes: dict[str, Node] = {}
        self._tensors: dict[str, TensorInfo] = {}
        self._names = {info.id: phrases.tensor_name(info) for info in recording.graph.tensors}
        self._saved = 0

    def lines(self, step: Step) -> Iterator[str]:
        """One line per node and tensor that changed."""
        found: list[str] = []
        for key, info in step.facts.changes.tensors:
            name = self._names[key] if info is None else phrases.tensor_name(info)
            self._names[key] = name
        for key, node in step.facts.changes.nodes:
            found += self._node(key, self._nodes.get(key), node)
            _put(self._nodes, key, node)
        for key, info in step.facts.changes.tensors:
            found += self._tensor(key, self._tensors.get(key), info)
            _put(self._tensors, key, info)
        if step.saved_bytes != self._saved:
            before, now = phrases.size(self._saved), phrases.size(step.saved_bytes)
            found.append(f"saved tensors keep {now}, before {before}")
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

    def _node(self, key: str, old: Node | None, node: Node | None) -> Iterator[str]:
        if node is None:
            if old is not None:
                yield f"{key} {clean(old.name)} is gone"
            return
        if old is None:
            yield self._new_node(node)
            return
        if old.state != node.state:
            yield f"{key} {clean(node.name)}: {old.state} -> {node.state}"
        before = {slot.name: slot for slot in old.saved}
        changed = [
            (before.get(slot.name), slot) for slot in node.saved if before.get(slot.name) != slot
        ]
        for was, slot in changed:
            yield f"{key} saved {self._slot(was)} -> {self._slot(slot, was)}"
        if old.hooks != node.hooks:
            none = "unknown" if node.hooks_unknown else "none"
            hooks = ", ".join(map(phrases.hook, node.hooks)) or none
            yield f"{key} {clean(node.name)}: hooks {hooks}"

    def _new_node(self, node: Node) -> str:
        words = [f"{node.id} {clean(node.name)}"]
        if node.variable is not None:
            words.append(f"of {self._names.get(node.variable, node.variable)}")
        else:
            words.append(node.state)
        entries = [
            "None" if entry is None else entry[0] + (f":{entry[1]}" if entry[1] else "")
            for entry in node.next_functions
        ]
        if entries:
            words.append("-> " + ", ".join(entries))
        words += [f"saved {self._slot(s)}" for s in node.saved if s.state != "none"]
        words += [phrases.hook(hook) for hook in node.hooks]
        words += [f"in {clean(node.module)}"] if node.module else []
        return " · ".join(words)

    def _slot(self, slot: SavedTensor | None, was: SavedTensor | None = None) -> str:
        if slot is None:
            return "none"
        name = phrases.saved_name(slot, self._names) if was is None else ""
        state = "" if slot.state == "held" else slot.state
        version = phrases.version(slot.saved_version, slot.current_version)
        sizes = phrases.shape(slot.shape) if slot.shape is not None and was is None else ""
        return phrases.join((name, state, sizes, version), " ") or "held"

    def _tensor(self, key: str, old: TensorInfo | None, info: TensorInfo | None) -> Iterator[str]:
        name = self._names.get(key, key)
        if info is None:
            if old is not None:
                yield f"{name} is gone"
            return
        if old is None:
            yield self._new_tensor(info)
            return
        parts = [f"name {phrases.tensor_name(old)} -> {name}"] if old.name != info.name else []
        for flag in ("is_leaf", "requires_grad", "retains_grad"):
            if getattr(old, flag) != getattr(info, flag):
                parts.append(f"{flag} {getattr(old, flag)} -> {getattr(info, flag)}")
        if old.version != info.version:
            parts.append(f"v{old.version} -> v{info.version}")
        if old.node != info.node:
            parts.append(f"node {old.node} -> {info.node}")
        if old.shape != info.shape:
            parts.append(f"shape {phrases.shape(old.shape)} -> {phrases.shape(info.shape)}")
        if old.values != info.values:
            parts.append(f"values {_values(old)} -> {_values(info)}")
        if old.grad != info.grad:
            parts.append(f".grad {phrases.summary(old.grad)} -> {phrases.summary(info.grad)}")
        if old.hooks != info.hooks:
            parts.append(f"hooks {', '.join(map(phrases.hook, info.hooks)) or 'none'}")
        if parts:
            yield f"{name}: {'; '.join(parts)}"

    def _new_tensor(self, info: TensorInfo) -> str:
        version = "no version" if info.version is None else f"v{info.version}"
        facts = (phrases.shape(info.shape), phrases.dtype(info.dtype), version)
        words = [phrases.join((phrases.tensor_name(info), "is", *facts), " ")]
        words[0] += f" = {_values(info)}" if info.values is not None else ""
        words += phrases.flags(info)
        words += [f"output {info.output_nr} of {info.node}"] if info.node else []
        words += [f".grad {phrases.summary(info.grad)}"] if info.grad is not None else []
        words += [phrases.hook(hook) for hook in info.hooks]
        return " · ".join(words)


def _values(info: TensorInfo) -> str:
    return "?" if info.values is None else phrases.numbers(info.values, info.shape)


def _put(rows: dict[str, Row], key: str, row: Row | None) -> None:
    if row is None:
        rows.pop(key, None)
    else:
        rows[key] = row


set_recording_words(recording_outline, caption)
