"""The facts about one error: the node, its saved tensors, the backward, the operands."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.code.statements import (
    Statement,
    names_bound,
    names_read,
    statement_of,
    statements_of,
)
from gradviz.analysis.explain.torch_names import gradient_words
from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    NodeRan,
    NodeReady,
    Note,
    Operand,
    Raised,
    Refused,
)
from gradviz.model.explanation import CodeLine
from gradviz.model.history import History
from gradviz.model.joining import CELL, PROGRAM, RECORDED
from gradviz.model.recording import Recording
from gradviz.model.records import Node, SavedTensor, TensorInfo
from gradviz.model.sentence import Sentence, say

_BAD: Final = ("modified", "freed")
"""States of saved tensors with which a node cannot run."""


@dataclass(frozen=True)
class ErrorContext:
    """One error of a recording.

    Args:
        history: The recording.
        step: Step at which it was raised.
        raised: The error.
    """

    history: History
    step: int
    raised: Raised

    @property
    def recording(self) -> Recording:
        """Where it was raised."""
        return self.history.recording

    @property
    def is_recorded(self) -> bool:
        """Whether what happened before is known."""
        return self.recording.kind == "whole"

    @cached_property
    def how_to_know(self) -> str:
        """What to type so that a recording shows it: the end of a sentence about what is not known;
        empty in a recording."""
        notes = [note for _, note in self.history.placed(Note) if note.about == "not recorded"]
        if self.is_recorded or not notes:
            return ""
        if CELL in notes[0].values:
            return (
                "; type %gradviz on and run the cells again, from the one that makes the graph: "
                "then %gradviz explain shows it"
            )
        if PROGRAM in notes[0].values:
            return "; gradviz run --record shows it"
        if RECORDED in notes[0].values:
            return "; it is not recorded, as the lines of other threads are not"
        return "; gradviz.record() around the code shows it"

    # ------------------------------------------------------------------ where

    @cached_property
    def noticed(self) -> CodeLine | None:
        """Line that raised."""
        return self.history.line(self.step)

    @cached_property
    def statement(self) -> Statement | None:
        """The line that raised, as syntax; of several statements the one with the call."""
        found = statement_of(self.history, self.noticed)
        return self.site.statement if found is None and self.site is not None else found

    @property
    def names_read(self) -> list[str]:
        """Variables that the line that raised reads."""
        return [] if self.statement is None else names_read(self.statement.node)

    def values_read(self, tree: ast.AST | None) -> list[str]:
        """What an expression reads the values of, as it types it: ``x``, ``self.scale``; no module,
        function or object from which it takes them."""
        parts = [] if tree is None else [*ast.walk(tree)]
        taken_from = {id(part.value) for part in parts if isinstance(part, ast.Attribute)}
        taken_from |= {id(part.func) for part in parts if isinstance(part, ast.Call)}
        found = dict.fromkeys(
            ast.unparse(part)
            for part in parts
            if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
            and isinstance(part.ctx, ast.Load)
            and (
                self.tensor_named(ast.unparse(part)) is not None
                or (isinstance(part, ast.Name) and self._is_value(part.id, id(part) in taken_from))
            )
        )
        return list(found)

    def tensors_read(self, tree: ast.AST | None) -> list[str]:
        """The variables that an expression reads and that are tensors."""
        names = [] if tree is None else names_read(tree)
        return [name for name in names if self.tensor_named(name) is not None]

    def _is_value(self, name: str, is_taken_from: bool) -> bool:
        """Whether a name is that of a value; of what is taken from, only if a line binds it."""
        return not is_taken_from or (name in self._bound and name not in ("self", "cls"))

    @cached_property
    def _bound(self) -> set[str]:
        """Variables and arguments that recorded lines bind."""
        lines = [one for code in self.recording.codes for one in statements_of(code)]
        given = {part.arg for one in lines for part in one.parts if isinstance(part, ast.arg)}
        return given.union(*map(names_bound, lines))

    @cached_property
    def site(self) -> Site | None:
        """The call that raised, as syntax."""
        return site_of(self.history, self.step, self.refused)

    def at(self, line: CodeLine | None) -> Sentence:
        """``line 4``, with the name of the code unless it is the recorded code itself."""
        return self.history.line_term(line)

    def place_of(self, line: CodeLine) -> tuple[bool, int, int, CodeLine] | None:
        """A line that an earlier recording saw, in the order in which such lines ran, those inside
        functions last; ``None`` if its text is not known."""
        place = self.history.code_place(line)
        if place is None or line.line is None:
            return None
        return ":" in line.code, -place, line.line, line

    def statement_at(self, line: CodeLine | None) -> Statement | None:
        """Another line, as syntax."""
        return statement_of(self.history, line)

    # --------------------------------------------------------------- backward

    @cached_property
    def backward(self) -> tuple[int, BackwardStarted] | None:
        """The backward that raised, with the step at which it started."""
        number = self.raised.backward
        found = [*self.history.events(BackwardStarted, self.step)]
        if number is None:
            # A backward that could not start: it has no roots, or torch raised before it ran.
            ended = [e for s, e in self.history.events(BackwardEnded, self.step, self.step)]
            number = ended[-1].number if ended and ended[-1].raised else None
        return next((pair for pair in reversed(found) if pair[1].number == number), None)

    @cached_property
    def node(self) -> Node | None:
        """The node that was running when it was raised."""
        key = self.raised.node
        if key is None and self.backward is not None:
            since, started = self.backward
            ran = {e.node for _, e in self.history.events(NodeRan, self.step, since)}
            ready = [
                e
                for _, e in self.history.events(NodeReady, self.step, since)
                if e.backward == started.number and e.node not in ran
            ]
            if len(ready) > 1:  # several threads: the one that cannot run is meant
                ready = [e for e in ready if any(s.state in _BAD for s in e.used)]
            key = ready[0].node if len(ready) == 1 else None
        return self.history.node(key, self.step)

    @cached_property
    def used(self) -> tuple[SavedTensor, ...]:
        """The saved tensors that the node would have read, in their state at that time."""
        if self.node is None:
            return ()
        for _, event in reversed([*self.history.events(NodeReady, self.step)]):
            if event.node == self.node.id and event.backward == self.raised.backward:
                return event.used or self.node.saved
        return self.node.saved

    @cached_property
    def roots(self) -> list[TensorInfo]:
        """The roots of the backward, as tensors with names."""
        keys = [] if self.backward is None else list(self.backward[1].roots)
        found = [info for key in keys if (info := self.named_output(*key)) is not None]
        return found or [i for o in self.operands[:1] if (i := self._of(o)) is not None]

    def named_output(self, node: str, output_nr: int = 0) -> TensorInfo | None:
        """A tensor with a name that is this output of a node now, else one that was."""
        alive = self.history.tensors(self.step)
        for info in alive:
            if (info.node, info.output_nr) == (node, output_nr) and info.name:
                return info
        key = self.history.output_of(node, self.step, output_nr)
        return self.history.tensor(key, self.step) if self.history.name(key, self.step) else None

    @cached_property
    def already(self) -> tuple[Sentence, ...]:
        """What a failed backward had changed before the error."""
        if self.backward is None:
            return ()
        since, started = self.backward
        changed: dict[str, tuple[Accumulated, Accumulated]] = {}
        for _, event in self.history.events(Accumulated, self.step, since):
            if event.backward == started.number and event.tensor is not None:
                first = changed.get(event.tensor, (event, event))[0]
                changed[event.tensor] = first, event
        found = []
        for key, (first, last) in changed.items():
            how = ", kept by retain_grad" if last.retained else ""
            before, after = gradient_words(first.before), gradient_words(last.after)
            found.append(say("{}.grad was {} and is {}{}", self.term(key), before, after, how))
        return tuple(found)

    # --------------------------------------------------------------- operands

    @cached_property
    def refused(self) -> Refused | None:
        """The innermost call of torch that raised."""
        events = self.recording.records[self.step].events
        return next((e for e in events if isinstance(e, Refused)), None)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The arguments of the call that raised."""
        return () if self.refused is None else self.refused.inputs

    def _of(self, operand: Operand) -> TensorInfo | None:
        return self.history.tensor(operand.tensor, self.step)

    def node_of(self, info: TensorInfo | None) -> Node | None:
        """The node that made a tensor, or accumulates into it."""
        return self.history.node(None if info is None else info.node, self.step)

    def tensor_named(self, name: str) -> TensorInfo | None:
        """The tensor that has a name now."""
        found = [i for i in self.history.tensors(self.step) if i.name == name]
        alive = [i for i in found if self.history.is_alive(i.id, self.step)]
        return next(iter((alive or found)[::-1]), None)

    def name(self, key: str | None) -> str | None:
        """Name of a tensor, the last one it had."""
        return self.history.name(key, self.step)

    def term(self, key: str | None, otherwise: str = "a tensor") -> Sentence:
        """A tensor in a sentence: by its name, else by its id; ``otherwise`` if not known."""
        return self.history.tensor_term(key, self.step, otherwise)
