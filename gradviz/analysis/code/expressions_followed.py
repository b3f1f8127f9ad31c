"""What is in the value of an expression, by its syntax: see :mod:`.python_flow`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

from gradviz.analysis.code.followed_values import Value, elements, together
from gradviz.analysis.code.statements import last_name

_NUMERIC_WORDS: Final = (
    "Decimal Fraction abs complex copy deepcopy divmod float int iter list max min next "
    "pow reversed round set sorted sum tuple"
)
_NUMERIC: Final = frozenset(_NUMERIC_WORDS.split())
"""Functions whose result has the numbers that go in."""
_LIBRARIES: Final = frozenset({"math", "cmath", "np", "numpy", "statistics", "operator"})
"""Modules that have such functions only, but for those of ``_NO_VALUE``."""
_NO_VALUE_WORDS: Final = (
    "all any arange argmax argmin argsort array_equal bool callable ceil comb count endswith "
    "find floor format getattr hasattr hash id index input is_integer isclose isfinite isinf "
    "isinstance isnan issubclass keys len nonzero ones open print range repr searchsorted "
    "shape size startswith str type zeros"
)
_NO_VALUE: Final = frozenset(_NO_VALUE_WORDS.split())
"""Functions and methods whose result has no gradient, whatever goes in."""
_ADDING_WORDS: Final = "add append appendleft extend insert push setdefault update"
_ADDING: Final = frozenset(_ADDING_WORDS.split())
"""Methods that put what they get into what they are called on."""
_MOVING: Final = frozenset({"clear", "pop", "popleft", "remove", "reverse", "rotate", "sort"})
"""Methods after which elements of a list have other places."""
_OF_ARRAYS: Final = frozenset({"T", "mT", "real", "imag", "flat", "values"})
"""Attributes of an array that have its numbers."""


_Comprehension: TypeAlias = "ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp"


class Frame(Protocol):
    """A call of a function whose lines are followed."""

    def name(self, name: str) -> Value:
        """What a variable refers to."""

    def bind(self, name: str, value: Value) -> None:
        """Let a variable refer to something else."""

    def made(self, node: ast.expr) -> Value | None:
        """The result of a call of torch that was recorded at an expression."""

    def returned(self, node: ast.Call) -> Value | None:
        """What a function returned to a call; ``None`` if no line of it was recorded."""

    def is_users(self, node: ast.Call) -> bool:
        """Whether a call may be of a function of the user."""


class Expressions:
    """Finds out what is in the values of expressions.

    Args:
        frame: The call of a function whose line it is.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def value(self, node: ast.expr | None) -> Value:
        """What is in the value of an expression."""
        if node is None:
            return Value()
        made = self._frame.made(node)
        if made is not None and not isinstance(node, ast.Call):
            return made
        read = _READERS.get(type(node))
        return Value() if read is None else read(self, node)

    def bind(self, target: ast.expr, value: Value) -> None:
        """Do what an assignment to a target does."""
        if isinstance(target, ast.Name):
            self._frame.bind(target.id, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, together([value]))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one, part in zip(target.elts, elements(value, len(target.elts))):
                self.bind(one, part)
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            owner, key = self.value(target.value), key_of(target)
            if key is not None and (owner.count is None or key in owner.parts):
                owner.parts[key] = value
            elif isinstance(target, ast.Subscript):
                owner.add(value)

    def _name(self, node: ast.Name) -> Value:
        return self._frame.name(node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner, key = self.value(node.value), f".{node.attr}"
        found = owner.part(key)
        if found is None and node.attr in _OF_ARRAYS and owner.own:
            return together([owner])
        if found is None:
            found = owner.parts[key] = Value()  # of an object: known from now on
        return found

    def _subscript(self, node: ast.Subscript) -> Value:
        return self.value(node.value).item(key_of(node))

    def _call(self, node: ast.Call) -> Value:
        name, function = last_name(node.func), node.func
        given = [self.value(one) for one in node.args]
        given += [self.value(one.value) for one in node.keywords]
        if isinstance(function, ast.Name) and name == "zip":
            return Value({}, {str(place): together([one]) for place, one in enumerate(given)})
        if isinstance(function, ast.Name) and name == "enumerate":
            return Value({}, {"0": Value(), "1": together(given)})
        made = self._frame.made(node)
        if made is not None:  # a tensor, or the number that it took out of one
            return together([made, *given]) if made.own else made
        returned = self._frame.returned(node)
        if returned is not None:
            return returned
        owner = self.value(function.value) if isinstance(function, ast.Attribute) else Value()
        if name in _NO_VALUE:
            return Value()
        if isinstance(function, ast.Attribute) and name in _ADDING:
            for one in given:
                owner.append(one) if name == "append" else owner.add(one)
            return Value()
        if isinstance(function, ast.Attribute) and name in _MOVING:
            owner.forget_places()
        if self.is_numeric(node):
            return together(given)
        if isinstance(function, ast.Attribute) and owner.whole():
            return together([owner, *given])
        if self._frame.is_users(node):
            return together(given).changed(is_sure=False)
        return _object(node, given)

    @staticmethod
    def is_numeric(node: ast.Call) -> bool:
        """Whether a call is of a function whose result has the numbers that go in."""
        function, name = node.func, last_name(node.func)
        if isinstance(function, ast.Name):
            return name in _NUMERIC or name in _MATH
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        is_library = isinstance(root, ast.Name) and root.id in _LIBRARIES
        return is_library and name not in _NO_VALUE

    def _computed(self, node: ast.BinOp | ast.UnaryOp) -> Value:
        if isinstance(node, ast.BinOp):
            return together([self.value(node.left), self.value(node.right)])
        is_not = isinstance(node.op, ast.Not)
        return Value() if is_not else together([self.value(node.operand)])

    def _choice(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return together([self.value(node.body), self.value(node.orelse)])

    def _compared(self, node: ast.Compare) -> Value:
        for one in (node.left, *node.comparators):
            self.value(one)
        return Value()

    def _any(self, node: ast.BoolOp) -> Value:
        return together([self.value(one) for one in node.values])

    def _sequence(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        found = Value(count=0)
        for one in node.elts:
            value = self.value(one)
            found.add(value) if isinstance(one, ast.Starred) else found.append(value)
        return found

    def _dict(self, node: ast.Dict) -> Value:
        found = Value()
        for key, one in zip(node.keys, node.values):
            value = self.value(one)
            if isinstance(key, ast.Constant):
                found.parts[repr(key.value)] = value
            else:
                found.add(value)
        return found

    def _starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def _named(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _comprehension(self, node: _Comprehension) -> Value:
        inside = node.value if isinstance(node, ast.DictComp) else node.elt
        return self.within([node], inside)

    def within(self, around: Sequence[_Comprehension], node: ast.expr) -> Value:
        """What is in the value of an expression inside comprehensions, the outermost first, whose
        variables are their own."""
        if not around:
            return together([self.value(node)])
        targets = [name for one in around[0].generators for name in ast.walk(one.target)]
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        before = [self._frame.name(name) for name in names]
        for one in around[0].generators:
            self.bind(one.target, self.item(one.iter))
        found = self.within(around[1:], node)
        for name, value in zip(names, before):
            self._frame.bind(name, value)
        return found

    def item(self, node: ast.expr) -> Value:
        """What one turn of a loop gets."""
        value = self.value(node)
        is_zipped = isinstance(node, ast.Call) and last_name(node.func) in ("zip", "enumerate")
        return value if is_zipped else together([value])


_READERS: Final[dict[type[ast.expr], Callable[[Expressions, Any], Value]]] = {
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Call: Expressions._call,
    ast.BinOp: Expressions._computed,
    ast.UnaryOp: Expressions._computed,
    ast.IfExp: Expressions._choice,
    ast.BoolOp: Expressions._any,
    ast.Compare: Expressions._compared,
    ast.Tuple: Expressions._sequence,
    ast.List: Expressions._sequence,
    ast.Set: Expressions._sequence,
    ast.Dict: Expressions._dict,
    ast.Starred: Expressions._starred,
    ast.NamedExpr: Expressions._named,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
}
"""How an expression is read; what is not here, as a text, has no number."""
_MATH_WORDS: Final = (
    "acos asin atan atan2 cos cosh degrees erf exp expm1 fabs fsum hypot log log10 log1p log2 "
    "mean median prod radians sin sinh sqrt stdev tan tanh"
)
_MATH: Final = frozenset(_MATH_WORDS.split())
"""Functions of ``math`` that may be imported by name."""


def _object(node: ast.Call, given: Sequence[Value]) -> Value:
    """A new object whose attributes, or items of a dict, are the arguments with names."""
    named = zip(node.keywords, given[len(node.args) :])
    is_dict = last_name(node.func) == "dict"
    return Value({}, {(repr(k.arg) if is_dict else f".{k.arg}"): one for k, one in named if k.arg})


def comprehensions_around(node: ast.AST, statement: ast.AST) -> list[_Comprehension]:
    """The comprehensions of a statement in which an expression is, the outermost first."""
    kinds = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
    found = [one for one in ast.walk(statement) if isinstance(one, kinds)]
    return [one for one in found if any(part is node for part in ast.walk(one))]


def key_of(node: ast.Attribute | ast.Subscript) -> str | None:
    """The key of an attribute, or of an item with a constant one."""
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    index = node.slice
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        return f"-{index.operand.value!r}" if isinstance(index.operand, ast.Constant) else None
    return repr(index.value) if isinstance(index, ast.Constant) else None


def targets_of(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement assigns to."""
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        yield node.target
