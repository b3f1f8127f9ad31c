"""torch's own derivative table: the formula of a node and the names of its arguments.

torch generates its nodes from ``derivatives.yaml`` and ships that file inside the ``torchgen``
package of the same wheel. The table is read once, when the first node is looked up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Derivative:
    """What the table says about one node."""

    arguments: tuple[str | None, ...]
    """Name of the forward's argument behind each entry of ``next_functions``; ``None`` where
    the table does not have it."""
    formula: str
    """``argument: expression``, one line for each argument that needs a gradient here."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One row of the table: differentiable arguments in schema order, and the formulas."""

    arguments: tuple[tuple[str, bool], ...]
    """Name, and whether it is a list of tensors."""
    formulas: tuple[tuple[tuple[str, ...], str], ...]
    """Names of arguments, and the expression that gives their gradients."""


@lru_cache(maxsize=4096)
def lookup(node_name: str, entries: tuple[bool, ...]) -> Derivative | None:
    """Find a node in torch's derivative table.

    Args:
        node_name: torch's name for the node.
        entries: For each entry of ``next_functions``, whether it is not ``None``.

    Returns:
        ``None`` for what the table does not have: custom Functions, ``AccumulateGrad``, other
        nodes written by hand, and every node if there is no table.

    Examples:
        >>> found = lookup("SinBackward0", (True,))
        >>> found.arguments, found.formula
        (('self',), 'self: grad * self.cos().conj()')
        >>> lookup("CatBackward0", (True, True)).arguments
        ('tensors[0]', 'tensors[1]')
        >>> lookup("AccumulateGrad", ()) is None
        True
    """
    entry = _table().get(node_name.removesuffix("_copy"))
    if entry is None:
        return None
    if sum(is_list for _, is_list in entry.arguments) > 1:
        # Where one list ends and the next begins is not to be seen.
        needed = {name for name, _ in entry.arguments}
        unknown = (None,) * len(entries)
        return Derivative(unknown, _formula(entry, needed)) if all(entries) else None
    owners = _owners(entry, len(entries))
    if owners is None:
        return None
    needed = {name for (name, _), is_needed in zip(owners, entries) if is_needed}
    names = tuple(name if at is None else f"{name}[{at}]" for name, at in owners)
    return Derivative(names, _formula(entry, needed))


def _owners(entry: _Entry, count: int) -> list[tuple[str, int | None]] | None:
    """Argument and place in it for each of ``count`` entries; ``None`` if that is not certain."""
    has_list = any(is_list for _, is_list in entry.arguments)
    length = count - len(entry.arguments) + has_list
    if length < 0 or (length and not has_list):
        return None
    owners: list[tuple[str, int | None]] = []
    for name, is_list in entry.arguments:
        places = range(length) if is_list else (None,)
        owners.extend((name, at) for at in places)
    return owners


def _formula(entry: _Entry, needed: set[str]) -> str:
    lines = (
        (", ".join(name for name in names if name in needed), expression)
        for names, expression in entry.formulas
    )
    return "\n".join(f"{names}: {expression}" for names, expression in lines if names)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, _Entry]:
    """Name of a node class -> its row; empty if torch does not ship the table."""
    try:
        import yaml

        text = files("torchgen").joinpath("packaged/autograd/derivatives.yaml").read_text("utf-8")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return dict(_rows(yaml.load(text, Loader=loader)))
    except Exception:
        # Without the table pictures lack formulas; that must not stop anybody from looking.
        return {}


_NOT_FORMULAS = ("name", "output_differentiability")


def _rows(definitions: list[dict[str, Any]]) -> Iterator[tuple[str, _Entry]]:
    # NOTE [Names of generated nodes]
    # torchgen (packaged/autograd/load_derivatives.py) names a class by the operator without its
    # overload in camel case, "Backward", the dispatch key unless it is the default one, and a
    # number: how many rows with a gradient had the same name up to there. A view's `_copy`
    # operator has the class of the view with the suffix "_copy" and the same formulas.
    numbers: Counter[str] = Counter()
    for definition in definitions:
        schema = definition["name"]
        arguments = _arguments(schema)
        default = {"Default": {k: v for k, v in definition.items() if k not in _NOT_FORMULAS}}
        for key, formulas in definition.get("dispatch", default).items():
            entry = _entry(arguments, formulas)
            if entry.arguments:
                stem = _class_name(re.split(r"[.(]", schema, maxsplit=1)[0])
                stem += "" if key == "Default" else key
                yield f"{stem}{numbers[stem]}", entry
                numbers[stem] += 1


def _class_name(operator: str) -> str:
    camel = "".join(word.title() for word in operator.split("_"))
    return f"{camel}Backward".replace("ForwardBackward", "Backward")


_ARGUMENT = re.compile(r"(?P<type>\S+?(?:\([^)]*\))?\S*) (?P<name>\w+)(?:=.*)?")


def _arguments(schema: str) -> dict[str, bool]:
    """Name of each argument, and whether it is a list of tensors."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    found: dict[str, bool] = {}
    for text in re.split(r",\s*(?![^\[(]*[\])])", inside):
        match = _ARGUMENT.fullmatch(text.strip())
        if match:
            found[match["name"]] = match["type"].startswith("Tensor") and "[" in match["type"]
    return found


def _entry(arguments: Mapping[str, bool], formulas: Mapping[str, Any]) -> _Entry:
    """A row without its forward-mode formulas, which are keyed by results, not arguments."""
    rows: list[tuple[tuple[str, ...], str]] = []
    for key, expression in formulas.items():
        names = tuple(name.strip() for name in key.split(","))
        if names[0] in arguments and str(expression).strip().lower() != "non_differentiable":
            rows.append((names, " ".join(str(expression).split())))
    differentiable = {name for names, _ in rows for name in names}
    order = tuple((n, is_list) for n, is_list in arguments.items() if n in differentiable)
    return _Entry(order, tuple(rows))
