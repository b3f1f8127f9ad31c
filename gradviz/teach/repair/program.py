"""Runs a program that is to be repaired, recorded line by line, with inputs of its own."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import io
import linecache
import textwrap
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from gradviz.capture.recorder import Recorder
from gradviz.model import Recording
from gradviz.model.events import BackwardStarted, Operation, OptimizerStepped, ZeroedGrad
from gradviz.model.explanation import Explanation
from gradviz.teach.function_run import random_state, set_random_state
from gradviz.teach.repair.values import Value, values_of_given, values_of_returned

FILE: Final = "<program>"
SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a program left, for a check to look at."""

    given: Mapping[str, Any]
    """What it was called with, as it is after the run: live tensors and modules."""
    returned: Any
    """What it returned; ``None`` if it raised."""
    error: BaseException | None
    """What it raised."""
    recording: Recording
    """Its recording."""
    printed: str
    """What it printed."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """What can be judged, by name."""
    is_recorded: bool = True

    @property
    def explanation(self) -> Explanation | None:
        """Why torch raised, or which gradient is wrong, as gradviz explains it."""
        return self.recording.explanation

    @property
    def has_backward(self) -> bool:
        """Whether the engine ran."""
        return bool(self.recording.backward_order)

    @property
    def acts(self) -> Counter[str]:
        """What its recording shows of how an outcome came about: the errors, those that were caught
        too, what is wrong without one, the ways in which values were cut off, and how often there
        was a backward, a step or a cleared gradient."""
        history = self.recording.history
        cuts = {event.reason for _, event in history.placed(Operation)} - {""}
        ran = history.in_order(BackwardStarted, OptimizerStepped, ZeroedGrad)
        return Counter(
            [
                *(one.kind for one in self.recording.explanations if one.is_fault),
                *cuts,
                *(event.kind for _, event in ran),
            ]
        )

    @property
    def failure(self) -> tuple[str, str]:
        """The class and the kind of what it raised: the same on every release of torch."""
        if self.error is None:
            return "", ""
        why = self.explanation
        kind = "" if why is None or why.is_silent or why.kind == "other" else why.kind
        return type(self.error).__name__, kind


def run(function: Callable[..., Any], given: Mapping[str, Any], *, record: bool = True) -> Run:
    """Run a program once, from the same random numbers and with inputs of its own.

    Args:
        function: The program.
        given: What it is called with; the run gets a copy.
        record: Whether it is recorded; without, its recording is empty.

    Examples:
        >>> def program(x):
        ...     (x * x).backward()
        >>> run(program, {"x": torch.tensor(3.0, requires_grad=True)}).given["x"].grad
        tensor(6.)
    """
    inputs, out = copied(given), io.StringIO()
    with warnings.catch_warnings(), _as_new(), redirect_stdout(out), redirect_stderr(out):
        warnings.simplefilter("ignore")
        if record:
            returned, error, recording = _recorded(function, inputs)
        else:
            returned, error = _called(function, inputs)
            recording = Recording.empty()
    values = {} if error is not None else values_of_returned(returned)
    values |= values_of_given(inputs)
    return Run(inputs, returned, error, recording, out.getvalue(), values, record)


@contextmanager
def _as_new() -> Iterator[None]:
    """Gradients are on, random numbers begin at the seed; both are as before afterwards."""
    outside = random_state()
    try:
        with torch.enable_grad():
            torch.manual_seed(SEED)
            yield
    finally:
        set_random_state(outside)


def _called(
    function: Callable[..., Any], inputs: Mapping[str, Any]
) -> tuple[Any, BaseException | None]:
    """What a program returned, and what it raised."""
    try:
        return function(**inputs), None
    except Exception as error:
        return None, error


def _recorded(
    function: Callable[..., Any], inputs: Mapping[str, Any]
) -> tuple[Any, BaseException | None, Recording]:
    file, text, program = _as_file(function)
    recorder, error = Recorder(label="the program"), None
    recorder.start(file=file, text=text)
    try:
        returned, error = _called(program, inputs)
    finally:
        recording = recorder.stop(error)
    return returned, error, recording


def copied(given: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in one go, so that an optimizer has the parameters of the module beside it."""
    tensors = [one for one in given.values() if type(one) is torch.Tensor and one.is_leaf]
    # As new, at version 0: a deep copy of a tensor has been written to.
    known: dict[int, Any] = {
        id(one): one.detach().clone().requires_grad_(one.requires_grad) for one in tensors
    }
    return copy.deepcopy(dict(given), known)


def source_of(function: Callable[..., Any]) -> str:
    """The text of a program from ``def`` on, ``""`` if it is not known."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
        (found,) = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""
    if not isinstance(found, ast.FunctionDef):
        return ""
    return "\n".join(text.split("\n")[found.lineno - 1 : found.end_lineno])


def _as_file(function: Callable[..., Any]) -> tuple[str, str, Callable[..., Any]]:
    """File, text and function of a program as if it stood in a file of its own.

    Only its lines are then recorded as steps, and their numbers do not depend on what is above it.
    """
    text = source_of(function)
    if not isinstance(function, types.FunctionType) or not text:
        code = getattr(function, "__code__", None)
        return "" if code is None else code.co_filename, "", function
    made = types.FunctionType(
        _compiled(text, function.__code__),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    return FILE, text, made


def _compiled(text: str, code: types.CodeType) -> types.CodeType:
    """The code object of a function from its text; it reads the same variables from outside."""
    tree = ast.parse(text)
    if code.co_freevars:
        around = ast.parse(f"def around({', '.join(code.co_freevars)}): pass")
        (outer,) = around.body
        assert isinstance(outer, ast.FunctionDef)
        outer.body, tree = list(tree.body), around
    flags = code.co_flags & _future_flags()
    made: types.CodeType = compile(
        ast.fix_missing_locations(tree), FILE, "exec", flags, dont_inherit=True
    )
    for name in (*(["around"] if code.co_freevars else []), code.co_name):
        # Beside it there may be code of its default values.
        inside = (one for one in made.co_consts if isinstance(one, types.CodeType))
        made = next(one for one in inside if one.co_name == name)
    return made


def _future_flags() -> int:
    """The flags of ``from __future__`` imports."""
    return sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
