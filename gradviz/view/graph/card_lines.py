"""What cards say of a node or a tensor, in lines: shortened, and less of it where cards are
compact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from gradviz.model.facts import Fact, NodeFacts, TensorFacts, TensorKey, Values
from gradviz.model.records import Number, ValueSummary
from gradviz.view import formatting
from gradviz.view.graph.card_parts import CardContent, Line
from gradviz.view.text import cells, shorten

ROOM: Final = 38
"""Characters of a line before it is shortened."""
NUMBERS: Final = 3
"""Values up to which a compact card has them."""
SHORT: Final = 18
"""Characters of these."""
BOTH: Final = 16
"""Characters of these with those before them."""
NARROW: Final = 14
"""Characters of a gradient on a compact card."""
DULL: Final = ("sizes", "strides", "options", "scalar_type", "layout", "numel", "geometry")
"""How names of saved numbers end that stay off the card."""
DEFAULTS: Final[dict[str, object]] = {
    "accumulate": False,
    "alpha": 1,
    "approximate": "none",
    "beta": 1,
    "descending": False,
    "diagonal": 0,
    "dilation": 1,
    "groups": 1,
    "hermitian": False,
    "ignore_index": -100,
    "keepdim": False,
    "largest": True,
    "log_target": False,
    "offset": 0,
    "padding": 0,
    "reduction": 1,
    "scale": 1,
    "sorted": True,
    "start": 0,
    "step": 1,
}
"""Saved numbers that only the full card has: what torch takes where an argument is not given."""
FEW: Final = 6
"""Tags, hooks and lines of a formula that a card lists before it counts them."""

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (
    "shape",
    "dtype",
    "device",
    "output",
    "view",
    "inference",
    "version",
)
"""Facts in the first line of a tensor."""
PART_OF: Final[dict[TensorKey, str]] = {"shape": "shapes", "values": "values", "grad": "grad"}
"""The part of the picture that such a fact belongs to, if one can hide it."""


def muted(text: str) -> Line:
    """A line of what is said less loudly."""
    return Line(shorten(text, ROOM), "gv-muted")


def formula_lines(facts: NodeFacts) -> list[Line]:
    """How gradients are computed, whole; a count stands for those beyond the first lines."""
    lines: list[Line] = []
    parts = facts["gradient"].parts
    for number, part in enumerate(parts):
        rows = wrap(part.short, ROOM + 4)
        if lines and len(lines) + len(rows) > FEW:
            more = formatting.plural(len(parts) - number, "more gradient")
            return [*lines, Line(f"… {more}", "gv-muted")]
        lines += [Line(shorten(row, ROOM + 4, end=True), "gv-formula") for row in rows]
    return lines


def saved_numbers(facts: NodeFacts, content: CardContent) -> Iterator[Fact]:
    """Saved numbers; sizes and options from the forward are left to outline and details."""
    for part in facts["saved numbers"].parts:
        is_default = content.density != "full" and _is_default(part.label, part.value)
        if not part.label.endswith(DULL) and not is_default:
            yield part


def _is_default(name: str, value: object) -> bool:
    """Whether a call without this argument would do the same."""
    if isinstance(value, tuple):
        return bool(value) and all(_is_default(name, one) for one in value)
    return value is None or (name in DEFAULTS and value == DEFAULTS[name])


def tensor_lines(facts: TensorFacts, content: CardContent, lead: str = "") -> Iterator[Line]:
    """Shape, what is unusual, version and values: in one line if they fit.

    A version or values that changed have a line of their own, with what they were.
    """
    keys = [key for key in TENSOR_KEYS if _has_fact(facts, key, content)]
    changed = [line for key in ("version", "values") if (line := _changed(facts, key, content))]
    if "version" in keys and facts.changed("version"):
        keys.remove("version")
    words, values = " ".join(facts.short(*keys)), facts["values"]
    text = values.short if "values" in content and not facts.changed("values") else ""
    rows = []
    if text and isinstance(values.value, Values):
        rows = _matrix("=", values.value.values, values.value.shape, "gv-muted")
    room = ROOM - cells(lead)
    together = formatting.join((words, text), " ")
    if not rows and cells(together) <= room:
        words, text = together, ""
    if words or lead:
        yield Line(shorten(words, room), "gv-muted", lead=lead)
    if text and isinstance(values.value, Values):
        fitting = formatting.numbers(values.value.values, values.value.shape, ROOM - 2)
        yield from rows or [muted(f"= {fitting}")]
    yield from changed
    for others in facts.short("sharing") if content.density != "compact" else ():
        yield Line(shorten(others, ROOM), "gv-muted", icon="bar")


def brief_values(facts: TensorFacts, content: CardContent, before: bool = False) -> str:
    """The values of a tensor that has few of them, for a compact card; else ``""``.

    Args:
        facts: The tensor.
        content: What cards show.
        before: The values that it had before, if they were others.
    """
    fact = facts.changed("values") if before else facts["values"]
    values = None if fact is None else fact.value
    if not isinstance(values, Values) or not content.allows("values"):
        return ""
    return few_numbers(values.values, values.shape)


def few_numbers(values: Sequence[Number], sizes: Sequence[int]) -> str:
    """The numbers of a tensor that has few of them, whole; else ``""``."""
    if len(values) > NUMBERS:
        return ""
    words = formatting.numbers(values, sizes, SHORT)
    return words if cells(words) <= SHORT and "…" not in words else ""


def brief_words(facts: TensorFacts, content: CardContent) -> str:
    """The same, and the shape of all others."""
    shape = facts["shape"].words if content.allows("shapes") else ""
    return brief_values(facts, content) or ("" if shape == "()" else shape)


def brief_line(facts: TensorFacts, content: CardContent) -> Line | None:
    """Values or shape of a tensor on a compact card; values that are new with the old ones."""
    words, was = brief_words(facts, content), brief_values(facts, content, before=True)
    if was and words:
        fits = cells(f"{was} → {words}") <= BOTH
        return Line("", "gv-muted", change=(was if fits else "", words))
    return Line(words, "gv-muted") if words else None


def _matrix(lead: str, values: Sequence[Number], sizes: Sequence[int], css: str = "") -> list[Line]:
    """The rows of a small matrix, below each other after a word; none where it does not fit."""
    rows = formatting.matrix_rows(values, sizes)
    if not rows or cells(lead) + 2 + max(map(cells, rows)) > ROOM:
        return []
    first, *others = rows
    return [
        Line(f"{lead} {first}", css),
        *(Line(row, css, indent=cells(lead) + 2) for row in others),
    ]


def _has_fact(facts: TensorFacts, key: TensorKey, content: CardContent) -> bool:
    """Whether cards say a fact; compact ones say few."""
    if key == "version":
        return content.has_version(facts[key].value)
    if key in PART_OF:
        return PART_OF[key] in content
    return content.density != "compact"


def retains_grad_lines(facts: TensorFacts) -> list[Line]:
    """Whether it retains its gradient."""
    return [Line(text, icon="pin") for text in facts.short("retains_grad")]


def grad_lines(facts: TensorFacts, content: CardContent) -> Iterator[Line]:
    """``.grad``, with what it was before."""
    if "grad" in content:
        change = _changed(facts, "grad", content)
        yield from [change] if change else _grad_rows(facts["grad"], content)


def _changed(facts: TensorFacts, key: TensorKey, content: CardContent) -> Line | None:
    """The line of a fact that was another before: ``.grad None → 1.0``."""
    was, now = facts.changed(key), facts[key]
    if was is None or not now.words or not _has_fact(facts, key, content):
        return None
    label = {"version": "version", "values": "="}.get(key, now.label)
    if content.density == "compact":
        found = now.value
        words = (
            formatting.gradient_words(found, NARROW)
            if isinstance(found, ValueSummary)
            else now.words
        )
        return Line(label, change=("", shorten(words, NARROW)))
    room = ROOM - cells(label) - 1
    both = (was.words or "none", now.words)
    fits = cells(" → ".join(both)) <= room
    return Line(label, change=both if fits else ("", shorten(now.words, room)))


def _grad_rows(fact: Fact, content: CardContent) -> list[Line]:
    """``.grad`` in a line, a small matrix in several; compact in few words."""
    grad, label = fact.value, fact.label
    if not isinstance(grad, ValueSummary):
        return [Line(f"{label} {fact.words}")]
    bad = formatting.not_finite(grad)
    if content.density == "compact":
        return [Line(f"{label} {formatting.gradient_words(grad, NARROW)}{bad}")]
    if grad.values is None:
        return [Line(shorten(f"{label} {fact.words}", ROOM))]
    fitting = formatting.numbers(grad.values, grad.shape, ROOM - cells(label + bad) - 1)
    rows = _matrix(label, grad.values, grad.shape) if not bad else []
    return rows or [Line(f"{label} {fitting}{bad}")]


def is_pinned(hooks: tuple[Fact, ...], content: CardContent) -> bool:
    """Whether a pin stands for hooks that are not listed."""
    return bool(hooks) and content.density == "compact" and content.allows("hooks")


def hook_lines(hooks: tuple[Fact, ...], content: CardContent) -> list[Line]:
    """Hooks, the first of many."""
    if "hooks" not in content:
        return []
    lines = [Line(formatting.fitted(h.label, h.words, ROOM), icon="pin") for h in hooks[:FEW]]
    if len(hooks) > FEW:
        lines.append(Line(f"… {len(hooks) - FEW} more hooks", "gv-muted"))
    return lines
