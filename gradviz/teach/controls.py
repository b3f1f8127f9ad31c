"""One control per parameter of a function: its widgets, and the argument they make."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from math import isfinite, log10
from typing import Any, Final

import ipywidgets as widgets
import torch

from gradviz.model import OptionError
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
_SLIDER: Final = {"width": "11rem"}
_WIDE: Final = {"width": "min(24rem, 98%)"}
_BOX: Final = {"width": "auto", "margin": "2px 16px 2px 2px"}


class Control:
    """A control; subclasses make its widgets and the argument.

    Args:
        name: Name of the parameter.
        parts: The widgets it is made of.
    """

    def __init__(self, name: str, parts: Sequence[Any]) -> None:
        self.name = name
        self.parts = list(parts)
        self._first = [part.value for part in self.parts]

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
        """Set the first value again."""
        for part, value in zip(self.parts, self._first, strict=True):
            part.value = value

    @property
    def label_length(self) -> int:
        """Characters of the longest label before a field."""
        return max((len(part.description) for part in self._labelled()), default=0)

    def align(self, width: int) -> None:
        """Give labels before a field the same width, in characters."""
        for part in self._labelled():
            part.style.description_width = f"{width + 1}ch"
            if isinstance(part, (widgets.FloatText, widgets.IntText)):
                part.layout.width = f"calc({width + 1}ch + 7rem)"

    def _labelled(self) -> list[Any]:
        return [part for part in self.parts if not isinstance(part, widgets.Checkbox)]

    def watch(self, call: Callable[[Any], None]) -> None:
        """Call something whenever the value changes."""
        for part in self.parts:
            part.observe(call, "value")

    def widget(self) -> Any:
        """The widgets, arranged."""
        return in_a_row(self.parts)


class Switch(Control):
    """A bool."""

    def __init__(self, name: str, value: bool) -> None:
        super().__init__(name, [_switch(name, value, SWITCHES.get(name, ""))])

    @property
    def words(self) -> str:
        """The name with a box that is ticked or not."""
        return f"[{'x' if self.argument() else ' '}] {clean(self.name)}"


class Choice(Control):
    """One of several values."""

    def __init__(self, name: str, options: Sequence[Any], value: Any) -> None:
        labelled = [(clean(str(option)), option) for option in options]
        if len(dict(labelled)) < len(labelled) or not labelled:
            raise OptionError(
                f"explore(): {name}={list(options)!r:.80} must be several options that read "
                f'differently, such as {name}=("relu", "tanh")'
            )
        super().__init__(
            name,
            [widgets.Dropdown(options=labelled, value=value, description=name, layout=_WIDE)],
        )


class NumberControl(Control):
    """An int, or a float that stays a number."""

    def __init__(self, name: str, value: float) -> None:
        super().__init__(name, [_field(name, value)])

    def widget(self) -> Any:
        """The field with a slider."""
        return in_a_row([self.parts[0], slider_for(self.parts[0])])


class Text(Control):
    """A str."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(name, [widgets.Text(value, description=name, layout=_WIDE)])


class Leaf(Control):
    """A leaf tensor, made anew for every run, with a switch for ``requires_grad``.

    Args:
        name: Name of the parameter, which is the tensor's name in the picture.
        tensor: What it begins with; up to four numbers of it can be set.
    """

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self._tensor = tensor.detach().clone()
        self._is_float = tensor.is_floating_point()
        self._fields = self._make_fields(name)
        parts = [*self._fields]
        if self._is_float or tensor.is_complex():
            label = f"{name} requires_grad"
            parts.append(_switch(label, tensor.requires_grad, SWITCHES["requires_grad"]))
        super().__init__(name, parts)

    def _make_fields(self, name: str) -> list[Any]:
        tensor = self._tensor
        is_number = self._is_float or (
            tensor.dtype != torch.bool and not tensor.is_complex() and not tensor.is_quantized
        )
        if not is_number or not 0 < tensor.numel() <= MOST_FIELDS:
            return []
        values = tensor.flatten().tolist()
        if not all(map(isfinite, values)):
            return []
        values = [_shortest(value, tensor.dtype) for value in values]
        if tensor.dim() == 0:
            return [_field(name, values[0])]
        places = torch.ones_like(tensor, dtype=torch.bool).nonzero().tolist()
        return [
            _field(f"{name}[{', '.join(map(str, place))}]", value)
            for place, value in zip(places, values, strict=True)
        ]

    @property
    def requires_grad(self) -> bool:
        """Whether the switch is on."""
        return len(self.parts) > len(self._fields) and bool(self.parts[-1].value)

    def argument(self) -> torch.Tensor:
        """A leaf of its own for this run."""
        leaf = self._tensor.clone()
        if self._fields:
            leaf = torch.tensor(self._data(), dtype=leaf.dtype, device=leaf.device)
        return leaf.requires_grad_(self.requires_grad)

    def _data(self) -> Any:
        """The numbers as nested lists, as ``torch.tensor`` takes them."""
        numbers: list[Any] = [field.value for field in self._fields]
        for size in reversed(self._tensor.shape[1:]):
            numbers = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        return numbers if self._tensor.dim() else numbers[0]

    @property
    def words(self) -> str:
        """Name, value and whether it requires grad."""
        value = f"= {self._data()}" if self._fields else f"{self._shape}, fixed"
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
        options = [repr(self._data())]
        if self._tensor.dtype not in (torch.float32, torch.int64):
            options.append(f"dtype={self._tensor.dtype}")
        if self._tensor.device.type != "cpu":
            options.append(f"device={str(self._tensor.device)!r}")
        return f"{self.name} = torch.tensor({', '.join(filter(None, (*options, switch)))})"

    def widget(self) -> Any:
        """Fields and switch; one number has a slider too, many numbers only their shape."""
        switch = self.parts[len(self._fields) :]
        if not self._fields:
            label = widgets.Label(f"{self.name}: {self._shape}, fixed", layout=_BOX)
            return in_a_row([label, *switch])
        sliders = [slider_for(self.parts[0])] if self._tensor.dim() == 0 else []
        return in_a_row([*self._fields, *sliders, *switch])


class Fixed(Control):
    """What has no control: the function gets it as it is, modules as a copy for each run."""

    def __init__(self, name: str, value: Any) -> None:
        self._value = value
        super().__init__(name, [])

    def argument(self) -> Any:
        """The value; a copy if running the function could change it."""
        if isinstance(self._value, torch.nn.Module):
            return copy.deepcopy(self._value)
        return self._value

    @property
    def words(self) -> str:
        """Name and kind of the value."""
        return f"{clean(self.name)}: {type(self._value).__name__}, fixed"

    def code(self) -> str:
        """A remark, for what cannot be written down."""
        if self._value is None:
            return f"{self.name} = None"
        return f"# {self.name}: the {type(self._value).__name__} you gave"

    def widget(self) -> Any:
        """The name, and that it is fixed."""
        return widgets.Label(self.words, layout=_BOX)


def _switch(label: str, value: bool, tooltip: str) -> Any:
    return widgets.Checkbox(
        bool(value), description=label, tooltip=tooltip or label, indent=False, layout=_BOX
    )


def _field(name: str, value: float) -> Any:
    kind = widgets.IntText if isinstance(value, int) else widgets.FloatText
    return kind(value=value, step=_step(value), description=name)


def slider_for(field: Any) -> Any:
    """A slider for a field of one number.

    The field holds the value: it has the label, which the handle of a slider cannot have, and
    takes any number; a number outside the range extends the slider.
    """
    kind = widgets.IntSlider if isinstance(field.value, int) else widgets.FloatSlider
    span = _span(field.value)
    slider = kind(
        value=field.value,
        min=-span,
        max=span,
        step=_step(field.value),
        readout=False,
        continuous_update=False,
        tooltip=f"{field.description}, the same value as in the field",
        layout=_SLIDER,
    )

    def follow(_change: Any) -> None:
        if not slider.min <= field.value <= slider.max and isfinite(field.value):
            slider.max = _span(field.value)
            slider.min = -slider.max
        slider.value = field.value

    def lead(_change: Any) -> None:
        # Steps of a slider add up to 2.0999999999999996.
        value = slider.value
        field.value = value if isinstance(value, int) else float(f"{value:.10g}")

    field.observe(follow, "value")
    slider.observe(lead, "value")
    return slider


def in_a_row(parts: Sequence[Any]) -> Any:
    """Widgets side by side, wrapped."""
    return widgets.Box(parts, layout={"flex_flow": "row wrap", "align_items": "center"})


def _step(value: float) -> Any:
    return 1 if isinstance(value, int) else _span(value) / 50


def _span(value: float) -> Any:
    """A round number at least two and a half times as large, 5 for small whole numbers and 0."""
    wanted = 2.5 * abs(value) if value else 5.0
    if isinstance(value, int):
        wanted = max(wanted, 10.0)
    power: float = 10.0 ** int(log10(wanted) // 1)
    span = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted * 0.999)
    return int(span) if isinstance(value, int) else float(f"{span:.10g}")


def _shortest(value: Any, dtype: torch.dtype) -> Any:
    """The shortest number that is the same in this dtype: ``0.1`` for ``0.10000000149``."""
    if isinstance(value, float):
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if torch.tensor(short, dtype=dtype).item() == value:
                return short
    return value
