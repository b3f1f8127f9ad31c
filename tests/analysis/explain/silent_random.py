"""Small random programs with and without a write in place, and what is true of each.

What a gradient should be is computed without autograd: by differences of the program run on
plain numbers. There each write is a part of what is computed, as it is in forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

import torch
from hypothesis import strategies as st

from tests.analysis.explain.silent_running import FIRST, namespace

Truth = Literal["right", "wrong", "right for these values only", "raised"]
Values: TypeAlias = "tuple[tuple[float, ...], ...]"

LEAVES: Final = ("a", "b")
_UNARY: Final = (
    "{x}.sin()",
    "{x}.tanh()",
    "{x}.sigmoid()",
    "({x} * 0.3).exp()",
    "{x}.pow(2)",
    "{x} * 1.5",
    "{x} + 0.25",
    "{x}.clone()",
    "{x}.softmax(0)",
)
_BENT: Final = ("{x}.relu()", "{x}.abs()", "F.leaky_relu({x}, 0.1)")
_VIEWS: Final = ("{x}[:2]", "{x}[1:]", "{x}.view(-1)")
_BINARY: Final = ("{x} * {y}", "{x} + {y}", "{x} - {y}", "{x} / ({y} * {y} + 1)")
_WRITES: Final = {
    "recorded": (
        ("{x}.mul_(1.5)",),
        ("{x}.add_(0.7)",),
        ("{x} *= 1.5",),
        ("{x}[0] = 2.5",),
        ("{x}.sin_()",),
        ("{x}.fill_(0.3)",),
        ("v = {x}[1:]", "v.mul_(1.5)"),
    ),
    "no_grad": (
        ("with torch.no_grad():", "    {x}.mul_(1.5)"),
        ("with torch.no_grad():", "    {x} += 0.7"),
        ("with torch.no_grad():", "    {x}[0] = 2.5"),
        ("with torch.no_grad():", "    {x}[1] += 0.7"),
        ("d = {x}.detach()", "d.mul_(1.5)"),
        ("d = {x}.detach()", "d[0] = 2.5"),
    ),
    "hidden": (
        ("{x}.data.mul_(1.5)",),
        ("{x}.data.add_(0.7)",),
        ("{x}.data *= 1.5",),
        ("{x}.data[0] = 2.5",),
        ("{x}.data = {x}.data * 1.5",),
        ("d = {x}.data", "d.sin_()"),
        ("n = {x}.detach().numpy()", "n *= 1.5"),
        ("n = {x}.detach().numpy()", "n += 0.7"),
        ("n = {x}.detach().numpy()", "n[1] = 2.5"),
    ),
}
_ON_LEAVES: Final = {
    way: tuple(lines for lines in writes if not lines[0].startswith("{x}.data ="))
    for way, writes in _WRITES.items()
}
"""Writes to memory of a leaf, whose views would be left with the old memory by others."""
_NUMBERS: Final = st.integers(200, 1800)


@dataclass(frozen=True)
class RandomProgram:
    """A program, and what was planted in it."""

    lines: tuple[str, ...]
    values: Values
    """Of the leaves."""
    planted: int | None
    """Place of the line that writes."""
    way: str
    """``"recorded"``, ``"no_grad"``, ``"hidden"`` or ``""``."""
    leaf: str | None
    """The leaf whose memory is written."""

    @property
    def text(self) -> str:
        """As it is recorded."""
        heads = [
            f"{name} = torch.tensor({list(values)}, dtype=torch.float64, requires_grad=True)"
            for name, values in zip(LEAVES, self.values)
        ]
        return "\n".join((*heads, *self.lines, "loss.backward()"))

    @property
    def line(self) -> int | None:
        """Number of the line that writes."""
        return None if self.planted is None else FIRST + len(LEAVES) + self.planted


@dataclass
class _Growing:
    """Variables of a program that is being made."""

    size: dict[str, int]
    memory: dict[str, str]
    """The variable whose memory each one has."""
    value: dict[str, str]
    """The variable whose values each one has, so that no difference is 0 whatever they are."""
    bent: set[str]
    """Variables that an operation like relu gave; a second one has nothing left to do."""


@st.composite
def programs(draw: st.DrawFn, most: int = 7) -> RandomProgram:
    """A straight line of operations on a few small tensors."""
    own = {name: name for name in LEAVES}
    known = _Growing(dict.fromkeys(LEAVES, 3), dict(own), dict(own), set())
    lines: list[str] = []
    count = draw(st.integers(2, most))
    way = draw(st.sampled_from(("", "recorded", "no_grad", "hidden", "hidden")))
    at = draw(st.integers(1, count + 1)) if way else -1
    planted, leaf = None, None
    for place in range(count + 2):
        if place == at:
            x = draw(st.sampled_from(sorted(known.size)))
            leaf = known.memory[x] if known.memory[x] in LEAVES else None
            write = draw(st.sampled_from(_WRITES[way] if leaf is None else _ON_LEAVES[way]))
            lines += [line.format(x=x) for line in write]
            planted = len(lines) - 1
        if place < count:
            lines.append(_operation(draw, f"x{place}", known))
        elif place == count:
            names = draw(st.lists(st.sampled_from(sorted(known.size)), min_size=1, max_size=3))
            used = dict.fromkeys((f"x{count - 1}", *names))
            weights = [
                f"torch.linspace(0.{7 - i}, 1.3, {known.size[x]})" for i, x in enumerate(used)
            ]
            terms = [f"({x} * {weight}).sum()" for x, weight in zip(used, weights)]
            lines.append(f"loss = {' + '.join(terms)}")
    signs = st.sampled_from((1, -1))
    values = tuple(
        # No two are equal, or one the other's double: then nothing is 0 by chance.
        tuple(draw(signs) * (draw(_NUMBERS) + 7.3 * i + 31.1 * k) / 1000 for i in range(3))
        for k in range(len(LEAVES))
    )
    return RandomProgram(tuple(lines), values, planted, way, leaf)


def _operation(draw: st.DrawFn, name: str, known: _Growing) -> str:
    """A line that makes a new variable."""
    x = draw(st.sampled_from(sorted(known.size)))
    kind = draw(st.sampled_from(("unary", "unary", "binary", "binary", "view")))
    size, memory, value = known.size[x], name, name
    others = [y for y in known.size if known.size[y] == size and known.value[y] != known.value[x]]
    if kind == "view":
        form = draw(st.sampled_from(_VIEWS if size > 2 else _VIEWS[-1:]))
        memory, value = known.memory[x], known.value[x]
        size = size if form == _VIEWS[-1] else size - 1
    elif kind == "binary" and others:
        form = draw(st.sampled_from(_BINARY)).replace("{y}", draw(st.sampled_from(sorted(others))))
    else:
        form = draw(st.sampled_from(_UNARY if x in known.bent else (*_UNARY, *_BENT)))
        value = known.value[x] if form == "{x}.clone()" else name
    if form in _BENT or (value != name and x in known.bent):
        known.bent.add(name)
    known.size[name], known.memory[name], known.value[name] = size, memory, value
    return f"{name} = {form.format(x=x)}"


# ------------------------------------------------------------------------------- truth


def truth_of(program: RandomProgram) -> Truth:
    """What plain torch does with a program, compared with what it should do."""
    truth = _truth(program.text, _shifted(program), program.values)
    if truth != "right" or not program.way:
        return truth
    others = (_truth(other.text, _shifted(other), other.values) for other in _others(program))
    return "right for these values only" if "wrong" in others else "right"


def truth_when_fixed(text: str, program: RandomProgram) -> Truth:
    """The same for a program that a fix has changed, which wrote no memory of a leaf."""
    lines = text.split("\n")[len(LEAVES) :]
    plain = "\n".join(line for line in lines if line != "loss.backward()")
    return _truth(text, plain, program.values)


def _others(program: RandomProgram) -> Iterator[RandomProgram]:
    """The same with other signs and numbers."""
    for signs in ((1, 1, 1, 1, 1, 1), (-1, -1, -1, -1, -1, -1), (1, -1, 1, -1, 1, -1)):
        numbers = [abs(x) + 0.37 * i for i, x in enumerate(chain(*program.values), 1)]
        signed = tuple(sign * x for sign, x in zip(signs, numbers))
        yield replace(program, values=(signed[:3], signed[3:]))


def _truth(text: str, plain: str, values: Values) -> Truth:
    """What torch does, compared with differences of a program of plain numbers."""
    space: dict[str, Any] = namespace()
    try:
        exec(text, space)
    except RuntimeError:
        return "raised"
    found = []
    for name in LEAVES:
        grad = space[name].grad
        found.append(torch.zeros(3, dtype=torch.float64) if grad is None else grad)
    right = torch.allclose(torch.stack(found), _slopes(plain, values), rtol=1e-5, atol=1e-7)
    return "right" if right else "wrong"


def _slopes(plain: str, values: Values, by: float = 1e-6) -> torch.Tensor:
    """Derivatives of the loss by central differences."""
    code = compile(plain, "<slopes>", "exec")
    rows = []
    for at in range(len(LEAVES) * 3):
        up, down = (_loss(code, values, at, sign * by) for sign in (1, -1))
        rows.append((up - down) / (2 * by))
    return torch.tensor(rows, dtype=torch.float64).view(len(LEAVES), 3)


def _loss(code: Any, values: Values, at: int, shift: float) -> float:
    space: dict[str, Any] = namespace()
    shifts = torch.zeros(len(LEAVES) * 3, dtype=torch.float64)
    shifts[at] = shift
    for name, numbers, one in zip(LEAVES, values, shifts.view(len(LEAVES), 3)):
        space[name] = torch.tensor(numbers, dtype=torch.float64) + one
        space[f"shift_{name}"] = one
    exec(code, space)
    return float(space["loss"])


def _shifted(program: RandomProgram) -> str:
    """The program as one of plain numbers.

    The derivative by a leaf is that by the value it has wherever it is read. What is written
    there does not depend on it, so it is shifted once more.
    """
    lines = list(program.lines)
    if program.planted is not None and program.leaf is not None:
        indent = "    " if lines[program.planted].startswith(" ") else ""
        name = program.leaf
        lines[program.planted : program.planted + 1] = [
            f"{indent}{name} -= shift_{name}",
            lines[program.planted],
            f"{indent}{name} += shift_{name}",
        ]
    return "\n".join(lines)
