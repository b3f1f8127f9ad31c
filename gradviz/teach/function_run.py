"""Run a function once and keep its graph, printed text and error."""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import re
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import torch

from gradviz.capture import naming
from gradviz.capture.tensors import Known, Tensors
from gradviz.capture.traversal import read_walked, snapshot_of
from gradviz.model import GradvizError, Graph, NoGraphError, NotATensorError
from gradviz.model.formatting import a_kind
from gradviz.model.reachability import entries, reachable

RandomState = tuple[torch.Tensor, list[torch.Tensor]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a function left."""

    graph: Graph | None = None
    """``None`` if there was an error."""
    note: str = ""
    """Why there is no graph, only tensors."""
    printed: str = ""
    error: str = ""
    """Type and message."""
    where: str = ""
    """Line of the function at which it was raised."""
    shown: tuple[str, ...] = ("",)
    """Which parts of the result the picture begins with: ``("['loss']",)``, all of it ``("",)``."""
    names: str = ""
    """Whether the result names tensors: ``"dict"``."""


def random_state() -> RandomState:
    """The state of torch's random number generators."""
    started = torch.cuda.is_available() and torch.cuda.is_initialized()
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if started else []


def set_random_state(state: RandomState) -> None:
    """Restore the state of torch's random number generators."""
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])


@contextmanager
def _from_random_state(state: RandomState) -> Iterator[None]:
    """Every run draws the same random numbers, and the notebook's own are not used up."""
    outside = random_state()
    set_random_state(state)
    try:
        yield
    finally:
        set_random_state(outside)


def run(
    function: Callable[..., Any],
    program: Callable[[], Any],
    named: Mapping[str, Any],
    random: RandomState,
) -> Outcome:
    """Run once.

    Args:
        function: The function; the line of an error is searched in it.
        program: Calls it with its arguments.
        named: The arguments; tensors and modules among them get these names.
        random: The state of the random number generators at the start.
    """
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, _from_random_state(random):
        try:
            grad_mode = torch.set_grad_enabled(torch.is_grad_enabled())
            with grad_mode, redirect_stdout(out), redirect_stderr(out):
                result = program()
        except Exception as error:
            printed = _printed(out, warned)
            return Outcome(printed=printed, error=_message(error), where=line_of(error, function))
        printed = _printed(out, warned)
    try:
        return read(result, returned_names(function), named, printed)
    except GradvizError as problem:
        return Outcome(printed=printed, error=_message(problem))


def _printed(out: io.StringIO, warned: list[warnings.WarningMessage]) -> str:
    lines = [f"{one.category.__name__}: {one.message}\n" for one in warned]
    return _without_addresses("".join((out.getvalue(), *lines)))


def _message(error: BaseException) -> str:
    return _without_addresses(f"{type(error).__name__}: {error}".rstrip(": "))


def _without_addresses(text: str) -> str:
    return re.sub(r"\b0x[0-9a-f]{6,}", "0x…", text)


def line_of(error: BaseException, function: Callable[..., Any]) -> str:
    """The line of the function, or of another in its file, from which an error came."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    frames = [
        (frame.f_code.co_name, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == code.co_filename
    ]
    if not frames:
        return ""
    name, number = frames[-1]
    text = linecache.getline(code.co_filename, number).strip()
    return f"line {number} of {name}" + (f": {text}" if text else "")


def returned_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the variables that the function returns, if its text says so, always the same."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ()
    found: set[tuple[str, ...]] = set()
    waiting: list[ast.AST] = list(ast.iter_child_nodes(tree.body[0]))
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.Return):
            values = item.value.elts if isinstance(item.value, ast.Tuple) else [item.value]
            found.add(tuple(v.id if isinstance(v, ast.Name) else "" for v in values))
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(item))
    return found.pop() if len(found) == 1 else ()


@dataclass(frozen=True, slots=True)
class _Output:
    """A tensor among those that the function returned."""

    place: str
    """Its place in the result, as Python: ``"['loss']"``; empty for the result itself."""
    name: str
    tensor: torch.Tensor


def read(
    result: Any, returned: tuple[str, ...], named: Mapping[str, Any], printed: str = ""
) -> Outcome:
    """The graph of what a function returned, or why there is none.

    A returned tensor from which another returned one is computed is no root.

    Args:
        result: What it returned.
        returned: Names of the variables in its ``return``.
        named: Arguments by their names.
        printed: What it printed.

    Raises:
        NotATensorError: If it returned no tensor.
    """
    if isinstance(result, Graph):
        return Outcome(result, printed=printed)
    outputs = list(_flat("", result, returned))
    if not outputs:
        raise _no_tensor(result)
    names = _names(outputs, named)
    connected = [output for output in outputs if output.tensor.requires_grad]
    if not connected:
        known = [Known(tensor, name, True) for name, tensor in names.items()]
        graph = read_walked((), [], [], Tensors(known, {}), {})
        return Outcome(graph, _why_not(outputs[0].tensor), printed)
    graph = snapshot_of([output.tensor for output in connected], names, None)
    lower = _below(graph)
    tops = [one for one, root in zip(connected, graph.roots) if root[0] not in lower]
    if len(tops) < len(connected):
        graph = snapshot_of([output.tensor for output in tops], names, None)
    is_all = len(tops) == len(outputs)
    shown = ("",) if is_all else tuple(output.place for output in tops)
    is_dict = isinstance(result, dict) and all(map(naming.is_tensor, result.values()))
    return Outcome(graph, "", printed, shown=shown, names="dict" if is_dict else "")


def _names(outputs: list[_Output], named: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Names of tensors: those of arguments come first."""
    names: dict[str, torch.Tensor] = {}
    for name, value in named.items():
        if isinstance(value, torch.nn.Module):
            names.update(naming.module_tensors(name, value))
        elif naming.is_tensor(value):
            names[name] = value
    for output in outputs:
        if output.name:
            names.setdefault(output.name, output.tensor)
    return names


def _flat(place: str, value: Any, names: tuple[str, ...], name: str = "") -> Iterator[_Output]:
    if naming.is_tensor(value):
        yield _Output(place, name or (names[0] if len(names) == 1 else ""), value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(
                f"{place}[{key!r}]", item, (), f"{name}[{key!r}]" if name else str(key)
            )
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            own = names[i] if len(names) == len(value) else name and f"{name}[{i}]"
            yield from _flat(f"{place}[{i}]", item, (), own)
    else:
        raise _no_tensor(value)


def _no_tensor(value: object) -> NotATensorError:
    what = "None" if value is None else f"{a_kind(value)}"
    return NotATensorError(
        f"the function returned {what}, and a picture needs a tensor: return the tensor whose "
        'graph you want to see, or a dict of tensors with their names: return {"loss": loss}'
    )


def _below(graph: Graph) -> set[str]:
    """Nodes that can be reached from a root."""
    starts = [key for root, _ in graph.roots for key in entries(graph[root])]
    return set(reachable(starts, lambda key: entries(graph[key])))


def _why_not(tensor: torch.Tensor) -> str:
    try:
        snapshot_of([tensor], None, None)
    except NoGraphError as error:
        return str(error).removeprefix("outputs[0] ")
    return ""
