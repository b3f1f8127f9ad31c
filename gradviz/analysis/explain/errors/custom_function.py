"""A custom Function whose backward returned too few or too many gradients, or one that does not
fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.arguments import arguments_of
from gradviz.analysis.code.statements import Statement, names_bound, names_read, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import returned_gradients
from gradviz.analysis.explain.torch_messages import (
    gradients_in,
    index_in,
    position_in,
    shapes_in,
)
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.formatting import plural, shape
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, Term, say


@dataclass(frozen=True, kw_only=True)
class WrongNumber(Finding):
    """The expected and the returned number of gradients, and the line that returns them."""

    counts: tuple[int, int] | None
    returned: Statement | None
    needed: tuple[bool, ...]
    """Which arguments of forward need a gradient."""
    may_vary: bool
    """Whether other calls may give forward as many arguments as there are gradients."""


@dataclass(frozen=True, kw_only=True)
class OtherShape(Finding):
    """The shape of a gradient and the one it must have, and the line that computes it."""

    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None
    input: Sentence
    computed: Statement | None
    value: ast.expr | None
    """The gradient, as that line has it."""


def wrong_number(context: ErrorContext) -> Iterator[WrongNumber]:
    """The expected and the returned number of gradients, and the line that returns them."""
    counts, function = gradients_in(context.raised.message), _function(context)
    returned = _return_of(context, counts and counts[1])
    value = _value_of(returned)
    yield WrongNumber(
        history=context.history,
        step=context.step,
        case="" if counts is not None else "numbers not known",
        words={
            "function": function,
            "gave": "" if counts is None else plural(counts[1], "gradient"),
            "owed": "" if counts is None else plural(counts[0], "input"),
        },
        variables=tuple(_tensors_read(value, returned)),
        node=context.node,
        causes=tuple(_causes(returned, say("{}.backward returns them", function), context)),
        targets={"node": [None if context.node is None else context.node.id]},
        unknown=_unknown(returned, context),
        counts=counts,
        returned=returned,
        needed=context.raised.needed,
        may_vary=counts is not None and _may_vary(counts[1], context),
    )


def other_shape(context: ErrorContext) -> Iterator[OtherShape]:
    """The gradient that does not fit its input, and the line that computes it."""
    node, shapes, function = context.node, shapes_in(context.raised.message), _function(context)
    if shapes is None:
        return
    place = index_in(context.raised.message) or 0
    name, given = _input(node, place, context)
    returned = _return_of(context, None)
    computed, value = _computed(returned, _argument(node, place, context))
    variable = computed and next(iter(names_bound(computed)), None)
    what = say("{}.backward computes the gradient of {}", function, given)
    yield OtherShape(
        history=context.history,
        step=context.step,
        case="returned",
        words={
            "function": function,
            "root": given,
            "given": shape(shapes[0]),
            "wanted": shape(shapes[1]),
        },
        variables=(variable, name) if variable else (name,),
        node=node,
        causes=tuple(_causes(computed, what, context)),
        targets={"it": [None if node is None else node.id]},
        unknown=_unknown(computed, context),
        shapes=shapes,
        input=given,
        computed=computed,
        value=value,
    )


@dataclass(frozen=True, kw_only=True)
class NotATensor(Finding):
    """A gradient for an argument that is no tensor, and the line that returns it."""

    place: int
    returned: Statement | None


def for_no_tensor(context: ErrorContext) -> Iterator[NotATensor]:
    """backward returned a gradient for an argument of forward that is no tensor."""
    place, function = position_in(context.raised.message), _function(context)
    if place is None:
        return
    returned = _return_of(context, None)
    entries = [] if returned is None else returned_gradients.entries_of(returned)
    entry = entries[place] if place < len(entries) else None
    argument = _argument_name(place, context)
    yield NotATensor(
        history=context.history,
        step=context.step,
        words={
            "function": function,
            "it": argument or f"argument {place + 1} of forward",
        },
        variables=(argument, *_tensors_read(entry, returned)),
        node=context.node,
        causes=tuple(_causes(returned, say("{}.backward returns it", function), context)),
        targets={"node": [None if context.node is None else context.node.id]},
        unknown=_unknown(returned, context),
        place=place,
        returned=returned,
    )


def no_gradient(context: ErrorContext) -> Iterator[NotATensor]:
    """backward returned something that is no tensor."""
    function, returned = _function(context), _return_of(context, None)
    yield NotATensor(
        history=context.history,
        step=context.step,
        words={"function": function},
        variables=tuple(_tensors_read(_value_of(returned), returned)),
        node=context.node,
        causes=tuple(_causes(returned, say("{}.backward returns it", function), context)),
        targets={"node": [None if context.node is None else context.node.id]},
        unknown=_unknown(returned, context),
        returned=returned if "numpy.ndarray" in context.raised.message else None,
        place=0,
    )


def from_numpy(found: NotATensor) -> Iterator[Fix]:
    """The array as a tensor."""
    if found.returned is not None:
        yield from returned_gradients.of_array(found.returned)


def none_there(found: NotATensor) -> Iterator[Fix]:
    """``None`` in that place."""
    if found.returned is not None:
        yield from returned_gradients.without(found.returned, found.place)


def _argument_name(place: int, context: ErrorContext) -> str | None:
    """Name of an argument of the forward of the class, after ``ctx``."""
    forward = _forward(context)
    names = [] if forward is None else _arguments(forward)
    return names[place] if place < len(names) else None


def _may_vary(given: int, context: ErrorContext) -> bool:
    """Whether other calls may give forward so many arguments, as far as its text is known."""
    forward = _forward(context)
    if forward is None:
        return True
    return bool(forward.args.defaults) and len(_arguments(forward)) == given


def _arguments(forward: ast.FunctionDef) -> list[str]:
    return arguments_of(forward)[1:]


def _forward(context: ErrorContext) -> ast.FunctionDef | None:
    """The forward of the class, if it is in the text."""
    name = class_of(context.node, context.raised.message)
    for code in context.recording.codes:
        for one in statements_of(code):
            node = one.node
            if not isinstance(node, ast.FunctionDef) or node.name != "forward":
                continue
            outer = one.around[-1] if one.around else None
            is_whole = isinstance(outer, ast.ClassDef) and outer.name == name
            is_own = code.name.rpartition(": ")[2] in (f"{name}.forward", "forward")
            is_method = [each.arg for each in node.args.args[:1]] == ["self"]  # of a module
            if is_whole or (is_own and not is_method):
                return node
    return None


def _causes(line: Statement | None, what: Sentence, context: ErrorContext) -> Iterator[Cause]:
    if line is not None:
        yield Cause("other", what, _line(line))
    made = None if context.node is None else context.history.made_at(context.node)
    if made is not None:
        yield Cause("save", say("{}.apply made the node", _function(context)), made)


def _unknown(returned: Statement | None, context: ErrorContext) -> tuple[Sentence, ...]:
    which = say(
        "which line of {}.backward returns them; write one return in it, in a file or cell",
        _function(context),
    )
    return () if returned is not None or not context.is_recorded else (which,)


def _function(context: ErrorContext) -> Term | str:
    """The custom Function, as a link to its node."""
    name = class_of(context.node, context.raised.message)
    return name if context.node is None else Term(context.node.id, name)


def class_of(node: Node | None, message: str) -> str:
    """The custom Function of a node, else the one that the message names."""
    if node is not None:
        return node.name.removesuffix("Backward")
    words = message.split()
    return words[1].removesuffix("Backward") if len(words) > 1 else "the Function"


# --- the text of backward --------------------------------------------------------------------


def _return_of(context: ErrorContext, count: int | None) -> Statement | None:
    """The ``return`` of the class's backward: the only one, or with so many gradients."""
    name = class_of(context.node, context.raised.message)
    found = returned_gradients.returns_of(context.recording.codes, name)
    if len(found) > 1 and count is not None:
        found = [one for one in found if len(returned_gradients.entries_of(one)) == count]
    return found[0] if len(found) == 1 else None


def _tensors_read(value: ast.expr | None, returned: Statement | None) -> list[str]:
    """Variables of a ``return``, without the ``ctx`` that backward is given first."""
    function = None if returned is None else returned.function
    arguments = [] if function is None else function.args.args
    read = [] if value is None else names_read(value)
    return [name for name in read if not arguments or name != arguments[0].arg]


def _value_of(returned: Statement | None) -> ast.expr | None:
    node = None if returned is None else returned.node
    return node.value if isinstance(node, ast.Return) else None


def _line(statement: Statement) -> CodeLine:
    return CodeLine(statement.line, statement.text, statement.code.name)


# --- one gradient of several -----------------------------------------------------------------


def _input(node: Node | None, place: int, context: ErrorContext) -> tuple[str | None, Sentence]:
    """The tensor that a gradient is for: its name, and in a sentence."""
    entries = () if node is None else node.next_functions
    entry = entries[place] if place < len(entries) else None
    info = None if entry is None else context.named_output(*entry)
    behind = None if entry is None else context.history.node(entry[0], context.step)
    key = info.id if info is not None else behind.variable if behind is not None else None
    return context.name(key), context.term(key, f"input {place} of forward")


def _argument(node: Node | None, place: int, context: ErrorContext) -> int | None:
    """Which argument of forward an entry of ``next_functions`` is; tensors alone have one."""
    entries = () if node is None else node.next_functions
    if place >= len(entries) or entries[place] is None:
        return None
    rank = sum(entry is not None for entry in entries[:place])
    needed = [n for n, is_needed in enumerate(context.raised.needed) if is_needed]
    return needed[rank] if rank < len(needed) else None


def _computed(
    returned: Statement | None, argument: int | None
) -> tuple[Statement | None, ast.expr | None]:
    """The line that computes a gradient which is returned, and the expression."""
    entries = [] if returned is None else returned_gradients.entries_of(returned)
    if len(entries) == 1:
        argument = 0
    if returned is None or argument is None or argument >= len(entries):
        return None, None
    entry = entries[argument]
    if not isinstance(entry, ast.Name):
        return returned, entry
    bound = [
        one
        for one in statements_of(returned.code)
        if one.line < returned.line
        and one.around[: len(returned.around)] == returned.around
        and entry.id in names_bound(one)
    ]
    node = bound[-1].node if bound else None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return bound[-1], node.value
    return (bound[-1], None) if bound else (returned, entry)


def fixes(found: WrongNumber) -> Iterator[Fix]:
    """A tuple in place of a list, which counts as one; ``None`` for arguments that need no
    gradient; a missing gradient is not made up."""
    if found.returned is not None and found.counts is not None:
        yield from returned_gradients.of_list(found.returned, found.counts[0])
        yield from returned_gradients.of_number(
            found.returned, *found.counts, found.needed, found.may_vary
        )


def in_shape(found: OtherShape) -> Iterator[Fix]:
    """The same values in the shape of the input."""
    if found.computed is not None and found.value is not None and found.shapes is not None:
        yield from returned_gradients.of_shape(
            found.computed, found.value, *found.shapes, found.input
        )
