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
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.run_values import RunObserver, run_backward
from gradviz.capture.tensors import Known, Tensors
from gradviz.capture.traversal import read_walked, snapshot_of
from gradviz.capture.values import summarise
from gradviz.model import GradvizError, Graph, NoGraphError, NotATensorError, ValueSummary
from gradviz.model.formatting import a_kind, plural
from gradviz.model.reachability import entries, reachable
from gradviz.model.run_values import RunValues

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
    results: tuple[tuple[str, ValueSummary], ...] = ()
    """Name and numbers of the tensors that the picture begins with; of what was returned, if there
    is no graph."""
    values: RunValues = field(default_factory=RunValues)
    """The numbers that went through the graph."""
    is_derivative: bool = False
    """Whether ``.grad`` of the inputs is the derivative of the result."""
    backward: str = ""
    """The arguments of ``backward()`` if it was called on the result after the function, which
    had called none: ``"retain_graph=True"``."""
    backward_note: str = ""
    """Who has called ``backward()``, or why nobody has."""


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
    prepare: Callable[[], object],
    program: Callable[[], Any],
    named: Mapping[str, Any],
    own: Mapping[str, Any],
    random: RandomState,
) -> Outcome:
    """Run once, and backward if the function did not.

    Args:
        function: The function; the line of an error is searched in it.
        prepare: Makes its arguments.
        program: Calls it with its arguments.
        named: The arguments; tensors and modules among them get these names.
        own: Those that were made for this run: only in their leaves backward may accumulate.
        random: The state of the random number generators at the start.
    """
    out, observer = io.StringIO(), RunObserver()
    with warnings.catch_warnings(record=True) as warned, _from_random_state(random):
        try:
            grad_mode = torch.set_grad_enabled(torch.is_grad_enabled())
            with grad_mode, redirect_stdout(out), redirect_stderr(out):
                prepare()
                with observer.on():
                    result = program()
        except Exception as error:
            printed = _printed(out, warned)
            return Outcome(printed=printed, error=_message(error), where=line_of(error, function))
        try:
            with redirect_stdout(out), redirect_stderr(out):
                outcome = read(result, returned_names(function), named, own, observer)
        except GradvizError as problem:
            return Outcome(printed=_printed(out, warned), error=_message(problem))
    return replace(outcome, printed=_printed(out, warned))


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

    @property
    def shown_name(self) -> str:
        """Its name, else how one writes it."""
        return self.name or f"result{self.place}"


def read(
    result: Any,
    returned: tuple[str, ...],
    named: Mapping[str, Any],
    own: Mapping[str, Any],
    observer: RunObserver,
) -> Outcome:
    """The graph of what a function returned, or why there is none.

    A returned tensor from which another returned one is computed is no root.

    Args:
        result: What it returned.
        returned: Names of the variables in its ``return``.
        named: Arguments by their names.
        own: Those that were made for this run.
        observer: Has observed the run, and observes the backward that follows it.

    Raises:
        NotATensorError: If it returned no tensor.
    """
    if isinstance(result, Graph):
        return Outcome(result)
    outputs = list(_flat("", result, returned))
    if not outputs:
        raise _no_tensor(result)
    names = _names(outputs, named)
    connected = [output for output in outputs if output.tensor.requires_grad]
    if not connected:
        known = [Known(tensor, name, True) for name, tensor in names.items()]
        graph = read_walked((), [], [], Tensors(known, {}), {})
        return Outcome(graph, _why_not(outputs[0].tensor), results=_results(outputs))
    graph = snapshot_of([output.tensor for output in connected], names, None)
    lower = _below(graph)
    tops = [one for one, root in zip(connected, graph.roots) if root[0] not in lower]
    backward = _backward(tops, own, observer)
    if len(tops) < len(connected) or backward.backward:
        graph = snapshot_of([output.tensor for output in tops], names, None)
    is_all = len(tops) == len(outputs)
    shown = ("",) if is_all else tuple(output.place for output in tops)
    is_dict = isinstance(result, dict) and all(map(naming.is_tensor, result.values()))
    return replace(
        backward,
        graph=graph,
        shown=shown,
        names="dict" if is_dict else "",
        results=_results(tops),
        values=observer.values([output.tensor for output in tops]),
        is_derivative=len(tops) == 1
        and observer.is_derivative_of(tops[0].tensor)
        and _is_untouched(graph),
    )


def _backward(tops: list[_Output], own: Mapping[str, Any], observer: RunObserver) -> Outcome:
    """Call backward where the function did not and where it is clear on what.

    Returns:
        What there is to say of it, without a graph.
    """
    if not observer.is_on:
        return Outcome()
    if observer.backwards:
        times = "" if observer.backwards == 1 else f" {observer.backwards} times"
        return Outcome(backward_note=f"The function calls backward(){times}.")
    name = tops[0].shown_name
    if len(tops) > 1:
        return Outcome(backward_note="No backward(): the function returns several results.")
    output = tops[0].tensor
    if output.numel() != 1:
        count = plural(output.numel(), "number")
        return Outcome(backward_note=f"No backward(): {name} has {count}, and it starts at one.")
    leaves = {key: one for key, one in _leaves(own).items() if one.is_leaf and one.requires_grad}
    if not leaves or not output.is_floating_point():
        return Outcome()
    typed = {key: None for key, one in own.items() if naming.is_tensor(one) and key in leaves}
    modules = {f"*{key}.parameters()": None for key in own if key not in typed and _has(key, own)}
    try:
        with observer.on():
            arguments = run_backward(output, leaves, typed | modules)
    except Exception as error:
        observer.is_cut = True  # some leaves may have got a part
        return Outcome(backward_note=f"{name}.backward() raises {_message(error)}")
    note = f"After each run gradviz calls {name}.backward({arguments})."
    return Outcome(backward=arguments, backward_note=note)


def _leaves(own: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors among arguments, and the parameters of modules."""
    found: dict[str, torch.Tensor] = {}
    for name, value in own.items():
        if isinstance(value, torch.nn.Module):
            found |= {f"{name}.{path}": one for path, one in value.named_parameters()}
        elif naming.is_tensor(value):
            found[name] = value
    return found


def _has(name: str, own: Mapping[str, Any]) -> bool:
    value = own[name]
    return isinstance(value, torch.nn.Module) and any(True for _ in value.parameters())


def _is_untouched(graph: Graph) -> bool:
    """Whether no hook changes gradients, and every node is torch's own."""
    return not any(info.hooks for info in graph.tensors) and not any(
        node.hooks or not re.search(r"(\d|AccumulateGrad)$", node.name) for node in graph.nodes
    )


def _results(outputs: list[_Output]) -> tuple[tuple[str, ValueSummary], ...]:
    with autograd.arithmetic():
        return tuple((one.shown_name, summarise(one.tensor)) for one in outputs)


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
