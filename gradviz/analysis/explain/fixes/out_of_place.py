"""A write in place as an operation that makes a new tensor: for loud and silent faults alike."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Final, Literal

from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import (
    Span,
    Statement,
    TextChange,
    end_of,
    is_named,
    last_name,
    start_of,
    times_read,
)
from gradviz.analysis.explain.fixes.rewriting import Rewriting, before
from gradviz.model.history import ALIASES

_FILLED: Final = {"zero_": "torch.zeros_like({0})", "fill_": "torch.full_like({0}, {1})"}
"""New tensors in place of writes that do not read the old values."""
COPIED: Final = frozenset(
    {
        "apply_", "as_strided_", "bernoulli_", "cauchy_", "copy_", "embedding_renorm_",
        "exponential_", "fill_", "fill_diagonal_", "geometric_", "index_fill_", "log_normal_",
        "map2_", "map_", "normal_", "random_", "uniform_",
        # in place these keep the dtype, else they give booleans
        "eq_", "ge_", "greater_", "greater_equal_", "gt_", "le_", "less_", "less_equal_",
        "logical_and_", "logical_not_", "logical_or_", "logical_xor_", "lt_", "ne_", "not_equal_",
    }
)  # fmt: skip
"""Writes without a function that gives the same values in a new tensor: a copy is written."""
NO_WRITE: Final = frozenset(
    {
        "detach_", "requires_grad_", "resize_", "resize_as_", "resize_as_sparse_", "set_",
        "share_memory_", "sparse_resize_", "sparse_resize_and_clear_",
    }
)  # fmt: skip
"""Calls that change a tensor, but not its values; they have no equivalent."""
_SIGNS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@",
    ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_MODULES: Final = frozenset({"F", "functional", "init", "nn", "torch"})
"""Last names of modules whose functions write to their first argument."""
_SIMPLE: Final = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript)

Way = Literal["itself", "alias", "part"]
"""How an expression is about a tensor: it is its name, ``h.data``, or ``h[0]``."""


def out_of_place(
    site: Site, by: str, name: str | None, is_read: bool = True, mode: str = ""
) -> Rewriting | None:
    """The statement with a write replaced by an operation that makes a new tensor.

    Its values are those of the write in place, and the name is bound to the new tensor. What has
    no such operation, or writes to a part, writes to a copy.

    Args:
        site: The expression that writes.
        by: Name of the function that wrote.
        name: How the tensor that is written is typed there, ``None`` if it has no name.
        is_read: Whether other lines read the written tensor.
        mode: ``with …: `` to put before it, so that it is recorded.
    """
    found = _rewritten(site, by, name, is_read, mode)
    if found is None or not mode:
        return found
    if site.statement.is_compound or not site.statement.is_alone:
        return None
    return replace(found, changes=((start_of(site.statement.node), mode), *found.changes))


def copied_before(
    site: Site, name: str, changes: tuple[TextChange, ...] = (), in_line: bool = False
) -> Rewriting | None:
    """The statement continues with a copy of a tensor, under the same name."""
    statement = site.statement
    if _is_own(name, statement) or _is_in_lambda(site):
        return None
    copy = f"{name} = {name}.clone()"
    first = before(statement, copy)
    if in_line or (changes and not statement.is_compound):
        first = start_of(statement.node), f"{copy}; "
    return None if first is None else Rewriting(statement, (first, *changes), name)


def target_of(site: Site, by: str) -> ast.expr | None:
    """What a line writes to, as written there: ``h`` of ``h.add_(1)``, ``h[0]`` of ``h[0] = 1``.

    ``None`` if the expression is none that writes: a call of a function that does it inside.
    """
    node, statement = site.node, site.statement.node
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Call):
        return _written(node, by) if _writes(node, by) else None
    if isinstance(statement, ast.AugAssign) and node is statement.target:
        return node
    is_part = isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store)
    return node if is_part else None


def spelled(node: ast.expr | None, name: str | None) -> str | None:
    """How a tensor is typed in an expression that is about it: inside of a method ``self.state``
    is what is ``model.state`` outside; ``None`` if the expression is about something else."""
    own = "" if name is None else f"self.{name.rpartition('.')[2]}"
    for one in (name, own if "." in own and own[5:].isidentifier() else None):
        if node is not None and one is not None and way_to(node, one) is not None:
            return one
    return None


def way_to(node: ast.AST, name: str) -> Way | None:
    """How an expression is about a tensor; ``None`` if it may have other memory."""
    way: Way = "itself"
    while not is_named(node, name):
        is_only_alias = _aliased(node) is not None and way != "part"
        way = "alias" if is_only_alias else "part"
        if isinstance(node, ast.Call):
            if last_name(node.func) not in ALIASES or not isinstance(node.func, ast.Attribute):
                return None
            node = node.func.value
        elif (isinstance(node, ast.Attribute) and node.attr in ALIASES) or isinstance(
            node, ast.Subscript
        ):
            node = node.value
        else:
            return None
    return way


# --- changes ---------------------------------------------------------------------------------


def _rewritten(site: Site, by: str, name: str | None, is_read: bool, mode: str) -> Rewriting | None:
    target, node = target_of(site, by), site.statement.node
    if target is None or by in NO_WRITE or _is_in_lambda(site):
        return None
    way = None if name is None else way_to(target, name)
    if isinstance(site.node, ast.Call):
        return _of_call(site, site.node, by, name, way, is_read, mode)
    if name is None or way is None:
        return None
    if isinstance(node, ast.AugAssign) and way != "part":
        return Rewriting(site.statement, _augmented(site.statement, node, name))
    plain = _without_aliases(site.statement.node, name)
    if isinstance(node, ast.Assign) and way != "part":
        return Rewriting(site.statement, plain)  # h.data = x
    return copied_before(site, name, plain, bool(mode))


def _augmented(statement: Statement, node: ast.AugAssign, name: str) -> tuple[TextChange, ...]:
    value = statement.segment(node.value, _without_aliases(node.value, name))
    if not isinstance(node.value, _SIMPLE):
        value = f"({value})"
    return ((node, f"{name} = {name} {_SIGNS[type(node.op)]} {value}"),)


def _of_call(
    site: Site,
    call: ast.Call,
    by: str,
    name: str | None,
    way: Way | None,
    is_read: bool,
    mode: str,
) -> Rewriting | None:
    new = _new(site.statement, call, by, name if way is not None else None)
    is_read = is_read or (name is not None and _is_read_there(site, name))
    if name is None or way is None:
        return None if is_read or new is None else Rewriting(site.statement, new)
    bound = None if way == "part" else _binding(site.statement.node, call, name, is_read)
    if new is not None and bound is not None:
        return Rewriting(site.statement, (*bound, *new))
    if mode and any(k.arg == "out" for k in call.keywords):
        return None  # such a call cannot be recorded
    plain = _without_aliases(site.statement.node, name)
    return copied_before(site, name, plain, bool(mode))


def _binding(
    statement: ast.stmt, call: ast.Call, name: str, is_read: bool
) -> tuple[TextChange, ...] | None:
    """Changes that bind a name to what a call gives, if the statement can do so."""
    if isinstance(statement, ast.Expr) and statement.value is call:
        return ((start_of(statement), f"{name} = "),)
    if isinstance(statement, ast.Assign) and statement.value is call:
        targets = [t for t in statement.targets if times_read(t, name)]
        if all(is_named(t, name) for t in targets):
            return () if targets or not is_read else ((start_of(call), f"{name} = "),)
    return None if is_read else ()


def _new(
    statement: Statement, call: ast.Call, by: str, name: str | None
) -> tuple[TextChange, ...] | None:
    """Changes to a call after which it gives a new tensor, and writes none."""
    written = _written(call, by)
    last = last_name(call.func)
    given = [one for one in call.args if one is not written]
    is_copied = by in COPIED and not (by == "fill_" and _is_number(given))
    if written is None or is_copied or last.endswith("__"):
        return None
    if by in _FILLED:
        text = name or statement.segment(written)
        values = [statement.segment(one) for one in given]
        is_plain = len(values) == _FILLED[by].count("{") - 1 and not call.keywords
        return ((call, _FILLED[by].format(text, *values)),) if is_plain else None
    keywords = {k.arg: k for k in call.keywords}
    plain = () if name is None else _without_aliases(call, name)
    if "out" in keywords:
        others = [*call.args, *(k for k in call.keywords if k.arg != "out")]
        behind = keywords["out"] is call.keywords[-1] and others
        if not behind:
            return None
        return (*_within(plain, others), (Span(end_of(others[-1]), end_of(keywords["out"])), ""))
    if last.endswith("_"):
        row, column = end_of(call.func)
        return (*plain, (Span((row, column - 1), (row, column)), ""))
    value = keywords["inplace"].value if "inplace" in keywords else None
    if isinstance(value, ast.Constant) and value.value is True:
        return (*plain, (value, "False"))
    return None


def _within(changes: tuple[TextChange, ...], nodes: list[ast.AST]) -> tuple[TextChange, ...]:
    spans = [(start_of(node), end_of(node)) for node in nodes]
    return tuple(c for c in changes if any(a <= start_of(c[0]) < b for a, b in spans))


def _without_aliases(node: ast.AST, name: str) -> tuple[TextChange, ...]:
    """Changes after which ``h.data`` and ``h.detach()`` are ``h``."""
    found: list[TextChange] = []
    for part in ast.walk(node):
        inner = _aliased(part)
        if inner is not None and way_to(inner, name) is not None:
            found.append((Span(end_of(inner), end_of(part)), ""))
    return tuple(found)


# --- the text of the line -----------------------------------------------------------------------


def _writes(call: ast.Call, by: str) -> bool:
    """Whether a call is the call of torch that wrote, not of a function around it."""
    return last_name(call.func) in (by, by.removesuffix("_"))


def _written(call: ast.Call, by: str) -> ast.expr | None:
    """What a call writes to."""
    out = next((k.value for k in call.keywords if k.arg == "out"), None)
    if out is not None:
        return out
    func = call.func
    if isinstance(func, ast.Attribute) and not (
        isinstance(func.value, (ast.Name, ast.Attribute)) and last_name(func.value) in _MODULES
    ):
        return func.value
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    return next((k.value for k in call.keywords if k.arg == "input"), None)


def _is_number(given: list[ast.expr]) -> bool:
    value = given[0] if len(given) == 1 else None
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    return isinstance(value, ast.Constant)


def _is_read_there(site: Site, name: str) -> bool:
    """Whether the line itself reads a tensor besides writing it, or writes it several times."""
    around = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    loops = [part for part in site.statement.parts if isinstance(part, around)]
    return any(map(site.is_in, loops)) or times_read(site.statement.node, name) > 1


def _is_own(name: str, statement: Statement) -> bool:
    """Whether a name is a variable of a comprehension of the statement."""
    loops = [part for part in statement.parts if isinstance(part, ast.comprehension)]
    base = name.partition(".")[0].partition("[")[0]
    return any(times_read(loop.target, base) for loop in loops)


def _is_in_lambda(site: Site) -> bool:
    lambdas = (part for part in site.statement.parts if isinstance(part, ast.Lambda))
    return any(map(site.is_in, lambdas))


def _aliased(node: ast.AST) -> ast.expr | None:
    """What an expression is an alias of, if it is ``….data`` or ``….detach()``."""
    if isinstance(node, ast.Call):
        is_detached = last_name(node.func) == "detach" and not node.args
        return node.func.value if is_detached and isinstance(node.func, ast.Attribute) else None
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else None
