"""Changes to a line that write to a new tensor, to a copy, or where autograd sees it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, Literal

from gradviz.analysis.explaining.silent.words import way_of
from gradviz.analysis.explaining.statements import (
    Statement,
    end_of,
    is_expression,
    last_name,
    same_block,
    statement_of,
)
from gradviz.analysis.explaining.words import is_result
from gradviz.model.explanation import Cure
from gradviz.model.facts import Node, SavedTensor
from gradviz.model.history import Act, History, Place

_METHODS: Final = (
    "abs add clamp clamp_max clamp_min clip cos cumsum div divide exp fmod index_add index_fill "
    "log logit masked_fill masked_scatter mul multiply neg pow reciprocal relu round rsqrt "
    "scatter scatter_add sigmoid sign sin sqrt square sub subtract tan tanh tril triu"
)
_OUT_OF_PLACE: Final = frozenset(_METHODS.split())
"""Methods of a tensor that have a twin in place."""
_MODES: Final = {
    "no_grad": "with torch.enable_grad(): ",
    "set_grad_enabled": "with torch.enable_grad(): ",
    "inference_mode": "with torch.inference_mode(False): ",
}


def cures_of_hidden(
    act: Act, place: Place, name: str, node: Node | None, slot: SavedTensor, history: History
) -> tuple[Cure, ...]:
    """What makes the gradient right where saved memory was written.

    Args:
        act: The write.
        place: When backward used the memory.
        name: Variable that was saved.
        node: The node that had saved it, if it is the only one.
        slot: Its slot.
        history: The recording.
    """
    found = [*copied_alias(act, name, history)]
    if not _is_leaf(slot.tensor or slot.view_of, act, history):
        found += recorded_write(act, name, history, "; what was saved stays")
    if len(found) < 2 and node is not None:
        found += _saved_copy(node, slot, name, history)
    if len(found) < 2:
        found += moved(act.place, place, "after", "backward has used it by then", history)
    return tuple(found[:2])


def moved(
    place: Place, to: Place, side: Literal["before", "after"], does: str, history: History
) -> Iterator[Cure]:
    """A line taken to another line of the same block."""
    line, other = history.line(place), history.line(to)
    one, two = statement_of(history, place), statement_of(history, to)
    if line is None or other is None or one is None or two is None or line.line == other.line:
        return
    if not one.is_compound and not two.is_compound and same_block(one, two):
        gone = Cure("", "", "instead", line.line)
        words = f"moves {history.line_term(line)} {'behind' if side == 'after' else 'before'} "
        words += f"{history.line_term(other)}: {does}"
        yield Cure(words, one.text, side, other.line, (gone,))


def recorded_write(act: Act, name: str, history: History, price: str = "") -> Iterator[Cure]:
    """The write as an operation that autograd records, to a new tensor."""
    line = history.line(act.place)
    statement = statement_of(history, line)
    if statement is None or line is None or not is_expression(name):
        return
    code = _as_operation(statement, name)
    if code is None:
        return
    does = f"makes a new tensor with a node that backward goes through{price}"
    yield Cure(does, mode_around(statement) + code, "instead", line.line)


def copied_alias(act: Act, name: str, history: History) -> Iterator[Cure]:
    """A copy where other code got hold of the memory."""
    way = way_of(act, history)
    line = history.line(act.place)
    if way.at is None or line is None or way.at.line == line.line:
        return
    statement = statement_of(history, way.at)
    calls = [] if statement is None else [
        node
        for node in statement.parts
        if isinstance(node, (ast.Call, ast.Attribute))
        and last_name(node.func if isinstance(node, ast.Call) else node) == way.call
        and (isinstance(node, ast.Call) or way.call == "data")
    ]  # fmt: skip
    if statement is None or len(calls) != 1:
        return
    copy = ".copy()" if way.call == "numpy" else ".clone()"
    code = statement.edited([(end_of(calls[0]), copy)])
    yield Cure(
        f"{history.line_term(line)} writes to a copy; {name} stays", code, "instead", way.at.line
    )


def _saved_copy(node: Node, slot: SavedTensor, name: str, history: History) -> Iterator[Cure]:
    """The operation saves a copy that nobody else can write."""
    line = history.made_at(node)
    statement = statement_of(history, line)
    value = getattr(statement.node, "value", None) if statement is not None else None
    if statement is None or line is None or value is None or not is_expression(name):
        return
    does = f"{node.name} keeps a memory of its own"
    if not is_result(slot):
        uses = [n for n in ast.walk(value) if _is(n, name)]
        if uses:
            code = statement.edited([(end_of(use), ".clone()") for use in uses])
            yield Cure(does, code, "instead", line.line)
    elif isinstance(statement.node, ast.Assign) and _is(statement.node.targets[0], name, ast.Store):
        text = statement.segment(value)
        whole = isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
        copy = f"{text}.clone()" if whole else f"({text}).clone()"
        yield Cure(does, statement.edited([(value, copy)]), "instead", line.line)


def _as_operation(statement: Statement, name: str) -> str | None:
    """A write in place as code that binds the name to a new tensor."""
    node = statement.node
    parts = [part for part in statement.parts if _is_alias(part, name)]
    plain = [(part, name) for part in parts]
    text = statement.edited(plain)
    copy = f"{name} = {name}.clone(); "
    if isinstance(node, ast.AugAssign):
        if _is(node.target, name, ast.Store) or _is_alias(node.target, name):
            value = statement.segment(node.value)
            if not isinstance(node.value, (ast.Constant, ast.Name, ast.Call, ast.Attribute)):
                value = f"({value})"
            return f"{name} = {name} {_SIGNS.get(type(node.op), '+')} {value}"
        return copy + text if _root(node.target, name) else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if _is_alias(target, name):
            return text
        return copy + text if _root(target, name) else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _call_as_operation(node.value, statement, name, copy + text)
    return None


def _call_as_operation(
    call: ast.Call, statement: Statement, name: str, otherwise: str
) -> str | None:
    if not isinstance(call.func, ast.Attribute) or not _root(call.func.value, name):
        return None
    method = call.func.attr.removesuffix("_")
    if _is(call.func.value, name) or _is_alias(call.func.value, name):
        arguments = ", ".join(map(statement.segment, (*call.args, *call.keywords)))
        if method in _OUT_OF_PLACE:
            return f"{name} = {name}.{method}({arguments})"
        if method == "zero":
            return f"{name} = {name} * 0"
    return otherwise


_SIGNS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


def mode_around(statement: Statement) -> str:
    """What switches recording on again, in a block that has switched it off."""
    for around in reversed(statement.around):
        for item in getattr(around, "items", ()):
            call = item.context_expr
            mode = _MODES.get(last_name(call.func if isinstance(call, ast.Call) else call))
            if mode is not None:
                return mode
    return ""


def _root(node: ast.AST, name: str) -> bool:
    """Whether an expression is a part, or a method's result, of a variable."""
    while not (_is(node, name) or _is(node, name, ast.Store)):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return False
    return True


def _is_alias(node: ast.AST, name: str) -> bool:
    """Whether an expression is ``h.data`` or ``h.detach()``."""
    if isinstance(node, ast.Call) and not node.args and last_name(node.func) == "detach":
        return isinstance(node.func, ast.Attribute) and _is(node.func.value, name)
    return isinstance(node, ast.Attribute) and node.attr == "data" and _is(node.value, name)


def _is(node: ast.AST, name: str, context: type[ast.expr_context] = ast.Load) -> bool:
    """Whether an expression is just a variable, or the path that a name is."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return False
    return isinstance(node.ctx, context) and ast.unparse(node) == _normal(name)


def _normal(name: str) -> str:
    try:
        return ast.unparse(ast.parse(name, mode="eval"))
    except (SyntaxError, ValueError):
        return name


def _is_leaf(tensor: str | None, act: Act, history: History) -> bool:
    info = history.tensor(tensor, act.place[0])
    if info is not None and info.requires_grad and info.is_leaf:
        return True
    return history.has_leaf_on(act.event.storage, act.place[0])
