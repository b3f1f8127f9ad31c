"""One control per parameter of a function: what a person can set, and the argument it makes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from gradviz.model import OptionError
from gradviz.teach import parts
from gradviz.teach.parts import Part
from gradviz.view.text import clean

SWITCHES: Final = {
    "requires_grad": "Whether operations on it are recorded",
    "retain_grad": "Keep .grad of a tensor that is not a leaf",
    "hook": "Register a hook, a function that backward calls",
    "detach": "Cut the graph here with detach()",
    "detach_here": "Cut the graph here with detach()",
    "no_grad": "Compute under torch.no_grad()",
    "retain_graph": "Keep the saved tensors for a second backward",
}
"""Parameters with these names are switches, off unless something else is given."""
MOST_FIELDS: Final = 4
"""Numbers of a tensor that can be set; tensors with more are given to the function as they are."""


class Control:
    """A control; subclasses make its parts and the argument.

    Args:
        name: Name of the parameter.
        parts: What a person can set.
    """

    note = ""
    """What is said instead of a field, where there is none."""
    columns = 1
    """How many of its numbers are in a row."""
    is_made_anew = False
    """Whether the argument is an object of its own in every run."""

    def __init__(self, name: str, parts: Sequence[Part[Any]]) -> None:
        self.name = name
        self.parts = list(parts)

    def argument(self) -> Any:
        """The argument of the function; a mutable one is made anew for every run."""
        return self.parts[0].value

    @property
    def words(self) -> str:
        """Name and value for the outline."""
        return f"{clean(self.name)} = {clean(repr(self.argument()))}"

    def code(self) -> str:
        """A line of Python that makes the argument under the name of the parameter."""
        return f"{self.name} = {self.argument()!r}"

    def reset(self) -> None:
        """Set the first values again."""
        for part in self.parts:
            part.value = part.first

    def watch(self, call: Callable[[], None]) -> None:
        """Call something whenever a value changes."""
        for part in self.parts:
            part.watch(call)

    def data(self) -> dict[str, Any]:
        """What the browser gets; ``widgets/src/documents/exploration.ts`` describes the fields."""
        return {
            "name": clean(self.name),
            "note": self.note,
            "columns": self.columns,
            "parts": [part.data() for part in self.parts],
        }


class Switch(Control):
    """A bool."""

    def __init__(self, name: str, value: bool) -> None:
        super().__init__(name, [parts.Switch(name, value, SWITCHES.get(name, ""))])

    @property
    def words(self) -> str:
        """The name with a box that is ticked or not."""
        return f"[{'x' if self.argument() else ' '}] {clean(self.name)}"


class Choice(Control):
    """One of several values."""

    def __init__(self, name: str, options: Sequence[Any], value: Any) -> None:
        if len({clean(str(option)) for option in options}) < len(options) or not options:
            raise OptionError(
                f"explore(): {name}={list(options)!r:.80} must be several options that read "
                f'differently, such as {name}=("relu", "tanh")'
            )
        super().__init__(name, [parts.Choice(name, options, value)])


class Number(Control):
    """An int, or a float that stays a number."""

    def __init__(self, name: str, value: float) -> None:
        super().__init__(name, [parts.Number(name, value, has_slider=True)])


class Text(Control):
    """A str."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(name, [parts.Text(name, value)])


class Leaf(Control):
    """A leaf tensor, made anew for every run, with a switch for ``requires_grad``.

    Args:
        name: Name of the parameter, which is the tensor's name in the picture.
        tensor: What it begins with; up to four numbers of it can be set.
    """

    is_made_anew = True

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self._tensor = tensor.detach().clone()
        self._fields = self._make_fields(name)
        made: list[Part[Any]] = [*self._fields]
        if tensor.is_floating_point() or tensor.is_complex():
            switch = "requires_grad"
            made.append(
                parts.Switch(f"{name} {switch}", tensor.requires_grad, SWITCHES[switch], switch)
            )
        super().__init__(name, made)
        self.note = "" if self._fields else f"{self._shape}, fixed"
        self.columns = tensor.shape[-1] if self._fields and tensor.dim() else 1

    def _make_fields(self, name: str) -> list[parts.Number]:
        tensor = self._tensor
        is_number = tensor.is_floating_point() or (
            tensor.dtype != torch.bool and not tensor.is_complex() and not tensor.is_quantized
        )
        if not is_number or not 0 < tensor.numel() <= MOST_FIELDS:
            return []
        values = tensor.flatten().tolist()
        if not all(map(parts.can_be_set, values)):
            return []
        values = [_shortest(value, tensor.dtype) for value in values]
        if tensor.dim() == 0:
            return [parts.Number(name, values[0], has_slider=True)]
        places = torch.ones_like(tensor, dtype=torch.bool).nonzero().tolist()
        return [
            parts.Number(
                f"{name}[{', '.join(map(str, place))}]", value, has_slider=len(values) == 1
            )
            for place, value in zip(places, values, strict=True)
        ]

    @property
    def can_require_grad(self) -> bool:
        """Whether it has a switch: only tensors of floating point numbers do."""
        return len(self.parts) > len(self._fields)

    @property
    def requires_grad(self) -> bool:
        """Whether the switch is on."""
        return self.can_require_grad and bool(self.parts[-1].value)

    def argument(self) -> torch.Tensor:
        """A leaf of its own for this run."""
        leaf = self._tensor.clone()
        if self._fields:
            leaf = torch.tensor(self._numbers(), dtype=leaf.dtype, device=leaf.device)
        return leaf.requires_grad_(self.requires_grad)

    def _numbers(self) -> Any:
        """The numbers as nested lists, as ``torch.tensor`` takes them."""
        numbers: list[Any] = [field.value for field in self._fields]
        for size in reversed(self._tensor.shape[1:]):
            numbers = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        return numbers if self._tensor.dim() else numbers[0]

    @property
    def words(self) -> str:
        """Name, value and whether it requires grad."""
        value = f"= {self._numbers()}" if self._fields else self.note
        return f"{clean(self.name)} {value}{' · requires_grad' if self.requires_grad else ''}"

    @property
    def _shape(self) -> str:
        return f"{tuple(self._tensor.shape)} {str(self._tensor.dtype).removeprefix('torch.')}"

    def code(self) -> str:
        """``a = torch.tensor(2.0, requires_grad=True)``."""
        switch = "requires_grad=True" if self.requires_grad else ""
        if not self._fields:
            made = f"{self.name}.detach().clone().requires_grad_({self.requires_grad})"
            return f"{self.name} = {made}  # the tensor you gave, {self._shape}"
        options = [repr(self._numbers())]
        if self._tensor.dtype not in (torch.float32, torch.int64):
            options.append(f"dtype={self._tensor.dtype}")
        if self._tensor.device.type != "cpu":
            options.append(f"device={str(self._tensor.device)!r}")
        return f"{self.name} = torch.tensor({', '.join(filter(None, (*options, switch)))})"


class Fixed(Control):
    """What has no control: the function gets it as it is, modules as a copy for each run."""

    def __init__(self, name: str, value: Any) -> None:
        self._value = value
        super().__init__(name, [])
        self.note = f"{type(value).__name__}, fixed"
        self.is_made_anew = isinstance(value, torch.nn.Module)

    def argument(self) -> Any:
        """The value; a copy if running the function could change it."""
        if self.is_made_anew:
            return copy.deepcopy(self._value)
        return self._value

    @property
    def words(self) -> str:
        """Name and kind of the value."""
        return f"{clean(self.name)}: {self.note}"

    def code(self) -> str:
        """A remark, for what cannot be written down."""
        if self._value is None:
            return f"{self.name} = None"
        return f"# {self.name}: the {type(self._value).__name__} you gave"


def _shortest(value: Any, dtype: torch.dtype) -> Any:
    """The shortest number that is the same in this dtype: ``0.1`` for ``0.10000000149``."""
    if isinstance(value, float):
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if torch.tensor(short, dtype=dtype).item() == value:
                return short
    return value
