"""A custom Function that is marked as differentiable once was differentiated twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.statements import Statement, last_name, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import root_at
from gradviz.analysis.explain.errors.no_graph import origins_of_root
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.torch_messages import index_in
from gradviz.model.events import BackwardEnded, BackwardStarted, NodeRan
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.recording import Code, Recording
from gradviz.model.sentence import Term, say

_MARK: Final = "once_differentiable"
_LEAVES_TORCH: Final = frozenset({"data", "detach", "detach_", "item", "numpy", "tolist"})


@dataclass(frozen=True)
class _Marked:
    """A custom Function with the mark."""

    name: str
    code: Statement
    """Its ``def backward``."""
    mark: ast.expr
    forward: ast.FunctionDef | None

    @property
    def at(self) -> CodeLine:
        """The line of the decorator."""
        code = self.code.code
        number = self.mark.lineno + code.first_line - 1
        return CodeLine(number, code.line(number), code.name)


_WITHOUT: Final = "It is one with @once_differentiable: backward without create_graph=True passes"


@dataclass(frozen=True, kw_only=True)
class Twice(Finding):
    """The Function, if it is known."""

    marked: _Marked | None


def differentiated_twice(context: ErrorContext) -> Iterator[Twice]:
    """The Function that has the mark and that the backward with ``create_graph`` ran."""
    ran = _ran_with_graph(context)
    marked = [
        one for code in context.recording.codes for one in _marked_in(code, context.recording)
    ]
    among = [one for one in marked if f"{one.name}Backward" in ran] or (marked if not ran else [])
    found = among[0] if len(among) == 1 else None
    node = None if found is None else ran.get(f"{found.name}Backward")
    name = "a custom Function" if found is None else found.name
    causes = []
    if found is not None:
        causes.append(Cause("other", say("backward of {} is marked here", found.name), found.at))
    first = _with_graph(context)
    if first is not None:
        at = context.history.line(first)
        causes.append(Cause("backward", say("create_graph=True asks for a second derivative"), at))
    yield Twice(
        history=context.history,
        step=context.step,
        words={"function": name if node is None else Term(node, name)},
        variables=() if found is None else (found.name,),
        node=None if node is None else context.history.node(node, context.step),
        causes=tuple(causes),
        targets={"node": [node]},
        unknown=() if found is not None else (say("which custom Function it is. {}", _WITHOUT),),
        marked=found,
    )


def without_graph(context: ErrorContext) -> Iterator[Twice]:
    """The root is computed from a gradient that has no graph although ``create_graph`` asked for
    one, because a Function with the mark computed it."""
    root = root_at(index_in(context.raised.message) or 0, context)
    way, history = origins_of_root(root, context), context.history
    numbers = {e.number for _, e in history.events(BackwardStarted, context.step) if e.create_graph}
    ended = {step for step, e in history.events(BackwardEnded, context.step) if e.number in numbers}
    made = {history.born(key) for key in way.origins}
    if not way.cuts and made and made <= ended:
        for found in differentiated_twice(context):
            if found.marked is not None and found.node is not None:
                names = (*found.variables, *root.names(context))
                yield replace(found, words={**found.words, "root": root.words}, variables=names)


def _with_graph(context: ErrorContext) -> int | None:
    """The step of the last backward that recorded itself."""
    steps = [s for s, e in context.history.events(BackwardStarted, context.step) if e.create_graph]
    return steps[-1] if steps else None


def _ran_with_graph(context: ErrorContext) -> dict[str, str]:
    """Nodes that a backward with ``create_graph=True`` ran: their ids by their names."""
    history = context.history
    numbers = {e.number for _, e in history.events(BackwardStarted, context.step) if e.create_graph}
    found = {}
    for step, event in history.events(NodeRan, context.step):
        node = history.node(event.node, step) if event.backward in numbers else None
        if node is not None:
            found[node.name] = node.id
    return found


def _marked_in(code: Code, recording: Recording) -> Iterator[_Marked]:
    for one in statements_of(code):
        node, outer = one.node, one.around[-1] if one.around else None
        if not isinstance(node, ast.FunctionDef) or node.name != "backward":
            continue
        for mark in node.decorator_list:
            if last_name(mark) == _MARK and isinstance(outer, ast.ClassDef):
                yield _Marked(outer.name, one, mark, _forward_in(outer.body))
            elif last_name(mark) == _MARK:
                file, _, name = code.name.rpartition(": ")
                yield _Marked(name.rpartition(".")[0], one, mark, _forward_of(one, file, recording))


def _forward_in(body: list[ast.stmt]) -> ast.FunctionDef | None:
    functions = (one for one in body if isinstance(one, ast.FunctionDef))
    return next((one for one in functions if one.name == "forward"), None)


def _forward_of(backward: Statement, file: str, recording: Recording) -> ast.FunctionDef | None:
    """The forward before a backward in the same file; both are given the same ``ctx``."""
    codes = [c for c in recording.codes if c.name.rpartition(": ")[0] == file]
    codes = [c for c in codes if c.first_line < backward.code.first_line]
    for code in sorted(codes, key=lambda c: -c.first_line):
        for one in statements_of(code):
            is_static = isinstance(one.node, ast.FunctionDef) and bool(one.node.decorator_list)
            if isinstance(one.node, ast.FunctionDef) and one.node.name == "forward" and is_static:
                return one.node
    return None


# --- fix -------------------------------------------------------------------------------------


def unmarked(found: Twice) -> Iterator[Fix]:
    """Without the mark, if backward is made of operations of torch on inputs and outputs of
    forward; what forward computes in between has no graph."""
    marked = found.marked
    if marked is not None and _is_differentiable(marked):
        does = say("removes the decorator: backward of {} can be differentiated", marked.name)
        yield Fix(does, "", "instead", marked.at)


def _is_differentiable(marked: _Marked) -> bool:
    backward, forward = marked.code.node, marked.forward
    if not isinstance(backward, ast.FunctionDef) or forward is None or not forward.args.args:
        return False
    kept = _kept_as_given(forward)
    return kept is not None and _is_recorded(backward, kept)


def _kept_as_given(forward: ast.FunctionDef) -> set[str] | None:
    """Attributes of ``ctx`` that forward sets, if all that it keeps are its own arguments, its
    results and constants."""
    (own, *arguments), kept = [one.arg for one in forward.args.args], set()
    values = [one.value for one in ast.walk(forward) if isinstance(one, ast.Return)]
    each = [e for v in values for e in (v.elts if isinstance(v, ast.Tuple) else [v])]
    whole = {*arguments, *(one.id for one in each if isinstance(one, ast.Name))}
    if _writes(forward, set(arguments)):
        return None
    for one in ast.walk(forward):
        saved: list[ast.expr] = []
        if isinstance(one, ast.Call) and last_name(one.func) == "save_for_backward":
            saved = one.args
        elif isinstance(one, ast.Assign):
            targets = [t for t in one.targets if isinstance(t, ast.Attribute)]
            names = [t.attr for t in targets if ast.unparse(t.value) == own]
            kept.update(names)
            saved = [one.value] if names and not isinstance(one.value, ast.Constant) else []
        if not all(isinstance(a, ast.Name) and a.id in whole for a in saved):
            return None
    return kept


def _is_recorded(backward: ast.FunctionDef, kept: set[str]) -> bool:
    """Whether a backward has nothing but operations that autograd records."""
    own = backward.args.args[0].arg if backward.args.args else ""
    known = {"saved_tensors", "needs_input_grad", *kept}
    for part in ast.walk(backward):
        if isinstance(part, (ast.With, ast.AugAssign)) or _is_subscript_write(part):
            return False
        if isinstance(part, ast.Attribute):
            is_own = isinstance(part.value, ast.Name) and part.value.id == own
            is_in_place = part.attr.endswith("_") and not part.attr.startswith("_")
            if part.attr in _LEAVES_TORCH or is_in_place or (is_own and part.attr not in known):
                return False
    return True


def _writes(function: ast.FunctionDef, names: set[str]) -> bool:
    """Whether a forward binds the name of an argument again: then it is no input any more."""
    stores = (n for n in ast.walk(function) if isinstance(n, ast.Name))
    return any(isinstance(n.ctx, ast.Store) and n.id in names for n in stores)


def _is_subscript_write(part: ast.AST) -> bool:
    return isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)
