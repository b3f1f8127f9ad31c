"""Runs programs of several files and cells, recorded and not."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn, optim

import gradviz
from gradviz.model import Recording
from tests.ledger.bug import Piece

Mode: TypeAlias = Literal["plain", "as it comes", "cell alone"]
"""Not recorded; recorded as ``%%gradviz`` does; as ``%%gradviz --only-cell`` does."""
_numbers: Final = itertools.count(1)


@dataclass
class Ran:
    """A program that has run."""

    space: dict[str, Any]
    """The variables of its cells."""
    error: Exception | None = None
    recording: Recording | None = None
    modules: list[ModuleType] = field(default_factory=list)

    @property
    def raised(self) -> str:
        """Class of the exception, ``""`` without one."""
        return "" if self.error is None else type(self.error).__name__


def namespace() -> dict[str, Any]:
    """What a first cell has imported."""
    return {
        "__name__": "__main__",
        "F": nn.functional,
        "nn": nn,
        "np": np,
        "optim": optim,
        "torch": torch,
        "accumulate": accumulate,
    }


def accumulate(loss: Callable[[], Any], tensors: Iterable[Tensor], by: float = 1e-6) -> None:
    """Add to each ``.grad`` the gradient of a loss, by finite differences: without a graph.

    Args:
        loss: Computes it from the values that the tensors have.
        tensors: Leaves.
        by: How far each element is moved, up and down.
    """
    with torch.no_grad():
        for tensor in tensors:
            grad = torch.zeros_like(tensor)
            for at in np.ndindex(*tensor.shape):
                was = tensor[at].item()
                values = []
                for moved in (was + by, was - by):
                    tensor[at] = moved
                    values.append(float(loss()))
                tensor[at] = was
                grad[at] = (values[0] - values[1]) / (2 * by)
            tensor.grad = grad if tensor.grad is None else tensor.grad + grad


def run(pieces: Sequence[Piece], mode: Mode = "plain", finish: Callable[[Ran], Any] = id) -> Ran:
    """Run a program.

    Args:
        pieces: Its files and cells.
        mode: How the last cell is recorded.
        finish: Called while its files exist.
    """
    with _settings(), _as_files(pieces) as (modules, cells), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = Ran(namespace(), modules=modules)
        for number, (cell, name) in enumerate(cells):
            is_last = number == len(cells) - 1
            try:
                _run_cell(cell, name, ran, mode if is_last else "plain", is_last)
            except Exception as error:
                ran.error = error
                break
        finish(ran)
    return ran


def _run_cell(cell: Piece, name: str, ran: Ran, mode: Mode, is_last: bool) -> None:
    text = cell.text + "\n"
    if is_last:  # the first line takes the place of %%gradviz
        text = "with __block__() as __found__:\n" + textwrap.indent(text, "    ")
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    only = () if mode == "cell alone" else None
    ran.space["__block__"] = nullcontext if mode == "plain" else lambda: gradviz.record(only=only)
    try:
        exec(compile(text, name, "exec"), ran.space)
    finally:
        ran.recording = ran.space.pop("__found__", None)
        del ran.space["__block__"]


@contextmanager
def _settings() -> Iterator[None]:
    """Numbers are exact enough to be compared with finite differences; small tensors need no
    threads, which on a busy machine wait for each other."""
    was, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        torch.set_default_dtype(was)
        torch.set_num_threads(threads)


@contextmanager
def _as_files(
    pieces: Sequence[Piece],
) -> Iterator[tuple[list[ModuleType], list[tuple[Piece, str]]]]:
    """The imported files of a program, and its cells with the names that a notebook gives."""
    modules: list[ModuleType] = []
    cells = [piece for piece in pieces if not piece.name]
    names = [f"/tmp/ipykernel_{next(_numbers)}/{place}.py" for place in range(1, len(cells) + 1)]
    with TemporaryDirectory() as folder:
        try:
            for piece in pieces:
                if piece.name:
                    modules.append(_imported(piece, Path(folder, piece.name)))
            yield modules, list(zip(cells, names, strict=True))
        finally:
            for module in modules:
                sys.modules.pop(module.__name__, None)
                linecache.cache.pop(module.__file__ or "", None)
            for name in names:
                linecache.cache.pop(name, None)


def _imported(piece: Piece, path: Path) -> ModuleType:
    path.write_text(piece.text + "\n", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    assert path.stem not in sys.modules, f"{piece.name} has the name of another module"
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def values_of(space: Mapping[str, Any], expression: str) -> list[Tensor]:
    """Copies of tensors that an expression gives; a gradient that is ``None`` counts as zero."""
    found = eval(expression, dict(space))
    return [
        torch.zeros(()) if one is None else torch.as_tensor(one).detach().clone() for one in found
    ]


def are_equal(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Whether values are equal, up to the error of finite differences."""
    return len(one) == len(other) and all(map(_is_close, one, other))


def _is_close(one: Tensor, other: Tensor) -> bool:
    shape = one.shape if one.ndim else other.shape
    if other.ndim and other.shape != shape:
        return False
    a, b = one.double().expand(shape), other.double().expand(shape)
    return torch.allclose(a, b, rtol=1e-4, atol=1e-7)
