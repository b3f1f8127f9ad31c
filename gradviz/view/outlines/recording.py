"""A whole recording as text: what nbval compares, terminals print and screen readers read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

from gradviz.model.events import BackwardStarted
from gradviz.model.explanation import Explanation
from gradviz.model.facts import (
    FLAGS,
    NodeFacts,
    SlotFacts,
    TensorFacts,
    TensorKey,
    node_facts,
    slot_facts,
    tensor_facts,
)
from gradviz.model.recording import Recording, Step
from gradviz.model.records import Node, TensorInfo
from gradviz.model.sentence import Sentence
from gradviz.view import formatting
from gradviz.view.aria import VALUES_LEFT_OUT
from gradviz.view.captions.caption import captions
from gradviz.view.captions.details import all_details
from gradviz.view.contents.explanation import explanation_parts
from gradviz.view.explanations.fields import explained, worth_a_look
from gradviz.view.parts.text import as_text
from gradviz.view.text import clean

WIDTH: Final = 110
MOST: Final = 2000
"""Steps that are listed, the first and the last ones; a line counts those between."""
NEW_TENSOR: Final[tuple[TensorKey, ...]] = ("shape", "dtype", "version", "values")
"""Facts that the line of a new tensor begins with."""
TENSOR_CHANGES: Final[tuple[TensorKey, ...]] = (
    "name",
    "aliases",
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
"""Facts of a tensor whose changes are listed."""


def recording_outline(recording: Recording, sentences: Sequence[Sentence] | None = None) -> str:
    """The recording as text, the same for the same recording; the device is in the first line.

    Every step has its number and caption, its explanations, and the changes since the step before:
    nodes, saved tensors with their versions, and flags, versions and ``.grad`` of tensors.

    Args:
        recording: The recording.
        sentences: The captions of its steps, if they have been made.

    Examples:
        >>> from gradviz.model.recording import Recording, RowChanges, StepRecord
        >>> start = StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None)
        >>> print(recording_outline(Recording([start], label="cell")))
        recording of cell: 0 steps, 0 nodes, 0 leaves
          0  before the first line
    """
    lines = [recording_title(recording) + ": " + summary(recording)]
    if recording.device is not None:
        lines[0] += f"; on {clean(recording.device)}"
    sentences, why = sentences or all_details(recording), explained(recording)
    notes = worth_a_look(recording)
    for step, number, indent, gap in _listed(recording.all_steps, "steps and sub-steps"):
        lines += [gap] if gap else []
        lines += _step_lines(number, indent, sentences[step.index])
        for one in why.get(step.index, ()):
            lines += _explanation(one, indent, "!")
        for one in notes.get(step.index, ()):
            lines += _explanation(one, indent, "·")
        lines += _Changes(recording, step).lines(indent)
    return "\n".join(lines)


def short_outline(recording: Recording) -> str:
    """The recording as text in short: a sentence for each step, as the player says it, and the
    explanations. What happens inside a node is left to ``recording.outline(full=True)``.

    Args:
        recording: The recording.

    Examples:
        >>> from gradviz.model.recording import Recording, RowChanges, StepRecord
        >>> start = StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None)
        >>> print(short_outline(Recording([start], label="cell")))
        recording of cell: 0 steps, 0 nodes, 0 leaves
          0  Starts before the first line.
    """
    lines, told = [recording_title(recording) + ": " + summary(recording)], captions(recording)
    why, notes = explained(recording), worth_a_look(recording)
    steps = [s for s in recording.all_steps if s.level < 2 or {*why, *notes} & {s.index}]
    for step, number, indent, gap in _listed(steps, "steps"):
        lines += [gap] if gap else []
        lines += _step_lines(number, indent, str(told[step.index]))
        for one in why.get(step.index, ()):
            lines += _explanation(one, indent, "!")
        for one in notes.get(step.index, ()):
            lines += _explanation(one, indent, "·")
    return "\n".join(lines)


def _listed(steps: Sequence[Step], what: str) -> Iterator[tuple[Step, str, str, str]]:
    """The first and the last steps, each with its number, its indentation, and a line for those
    that are left out before it."""
    gap = range(MOST // 2, len(steps) - MOST // 2) if len(steps) > MOST else range(0)
    listed = [step for at, step in enumerate(steps) if at not in gap]
    wide = max(3, *(len(str(step.number)) for step in listed))
    for at, step in enumerate(listed):
        more = f"{len(gap):,} {what} are not listed here; recording.to_json() has all"
        more = f"{'…':>{wide}}  {more}" if gap and at == gap.start else ""
        indent = " " * (wide + 2 + 2 * nesting(step))
        yield step, f"{step.number:>{wide}}", indent, more


def nesting(step: Step) -> int:
    """How far a step is indented: inside backward, inside a node, inside calls."""
    return step.level + step.record.depth


def recording_title(recording: Recording) -> str:
    """``recording of cell [3]``."""
    return f"recording of {clean(recording.label) or 'code'}"


def summary(recording: Recording) -> str:
    """How many steps, sub-steps, nodes and leaves, and how it ended."""
    graph, inside, counted = recording.graph, recording.numbers.inside, recording.counted
    parts = [
        formatting.plural(len(recording), "step"),
        *([formatting.plural(inside, "sub-step")] if inside else []),
        *([f"{counted:,} more counted"] if counted else []),
        formatting.plural(len(graph), "node"),
        formatting.plural(len(graph.leaves), "leaf"),
    ]
    backwards = sum(
        e.times for s in recording.records for e in s.events if isinstance(e, BackwardStarted)
    )
    if backwards:
        parts.append(formatting.plural(backwards, "backward"))
    if recording.at_error is not None:
        parts.append("an error")
    if recording.values_left_out:
        parts.append(VALUES_LEFT_OUT)
    return ", ".join(parts)


def _explanation(explanation: Explanation, indent: str, sign: str) -> Iterator[str]:
    for line in as_text(explanation_parts(explanation)).split("\n"):
        yield f"{indent}  {sign} {line}"


def _step_lines(number: str, indent: str, words: str) -> Iterator[str]:
    first = number + indent[len(number) :]
    yield from wrap(
        words,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


class _OutlineNames(Mapping[str, str]):
    """Names of tensors at a step; for tensors that are new later, their last name."""

    def __init__(self, recording: Recording, step: int) -> None:
        self._history = recording.history
        self._steps = (step, len(recording.records))

    def __getitem__(self, key: str) -> str:
        for step in self._steps:
            if (info := self._history.tensor(key, step)) is not None:
                return formatting.tensor_name(info)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._history.tensor_ids)

    def __len__(self) -> int:
        return len(self._history.tensor_ids)


class _Changes:
    """The changes since the step before, in words; also the surroundings of each row."""

    def __init__(self, recording: Recording, step: Step) -> None:
        self._recording = recording
        self._history = recording.history
        self._step = step
        self.names = _OutlineNames(recording, step.index)
        self.roots: dict[str, list[int]] = {}
        self.sharing: dict[str, tuple[str, ...]] = {}
        self.has_one_device = True

    def node_at(self, node_id: str) -> Node | None:
        """A node that exists at the step."""
        return self._history.node_at(node_id, self._step.index)

    def node_name(self, node_id: str) -> str:
        """Name of a node that exists, else its id."""
        node = self.node_at(node_id)
        return node_id if node is None else clean(node.name)

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""
        return clean(text)

    def lines(self, indent: str) -> Iterator[str]:
        """One line per node and tensor that changed."""
        for text in self._found():
            yield from wrap(
                text,
                WIDTH,
                initial_indent=indent + "  | ",
                subsequent_indent=indent + "  |   ",
                break_long_words=False,
                break_on_hyphens=False,
            )

    def _found(self) -> Iterator[str]:
        changes, before = self._step.record.changes, self._step.index - 1
        for key, node in changes.nodes:
            yield from self._node(self._history.node_at(key, before), node)
        for key, info in changes.tensors:
            yield from self._tensor(self._history.tensor_at(key, before), info)
        now = self._step.saved_bytes
        was = self._recording.records[before].saved_bytes if before >= 0 else 0
        if now != was:
            yield f"saved tensors keep {formatting.size(now)}, before {formatting.size(was)}"

    def _node(self, was: Node | None, node: Node | None) -> Iterator[str]:
        if node is None:
            if was is not None:
                yield f"{_node_name(was)} no longer exists"
            return
        facts = node_facts(node, self, ())
        if was is None:
            yield _new_node(node, facts)
            return
        if was.state != node.state:
            yield f"{_node_name(node)}: {was.state} -> {node.state}"
        before = {slot.name: slot for slot in was.saved}
        for slot, now in zip(node.saved, facts.saved, strict=True):
            then = before.get(slot.name)
            if then != slot:
                words = "none" if then is None else _slot(slot_facts(then, self))
                yield f"{node.id} saved {words} -> {_slot(now, is_new=then is None)}"
        if was.hooks != node.hooks:
            yield f"{_node_name(node)}: {facts['hooks'].label} {facts['hooks'].short}"

    def _tensor(self, was: TensorInfo | None, info: TensorInfo | None) -> Iterator[str]:
        if info is None:
            if was is not None:
                yield f"{self.names[was.id]} no longer exists"
        elif was is None:
            yield _new_tensor(tensor_facts(info, self))
        else:
            parts = list(_tensor_changes(tensor_facts(was, self), tensor_facts(info, self)))
            if parts:
                yield f"{self.names[info.id]}: {'; '.join(parts)}"


def _node_name(node: Node) -> str:
    return f"{node.id} {clean(node.name)}"


def _new_node(node: Node, facts: NodeFacts) -> str:
    words = [_node_name(node)]
    words += facts.short("variable" if node.variable is not None else "state", "next_functions")
    words += [f"saved {_slot(s)}" for s in facts.saved if s["state"].value != "none"]
    words += [hook.long for hook in facts["hooks"].parts]
    return " · ".join((*words, *facts.short("module")))


def _slot(facts: SlotFacts, is_new: bool = True) -> str:
    """A saved tensor; if it is not new, only facts that can change."""
    state = "" if facts["state"].value == "held" else facts["state"].words
    name, sizes = (facts["name"].short, facts["shape"].short) if is_new else ("", "")
    values, versions = facts["values"].short, facts["versions"].words
    size = facts["storage"].short if facts["storage"].value is None else ""
    return formatting.join((name, values, state, sizes, versions, size), " ") or "held"


def _new_tensor(facts: TensorFacts) -> str:
    words = [" ".join((facts["name"].words, "is", *facts.short(*NEW_TENSOR)))]
    words += facts.short("aliases")
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
        nothing = "none" if key == "aliases" else "?"
        if key == "version":
            yield f"{then.short} -> {now.short}"
        elif key == "hooks":
            yield f"{now.label} {now.words}"
        else:
            yield f"{now.label} {then.words or nothing} -> {now.words or nothing}"
