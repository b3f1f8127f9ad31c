"""What is left when code that was not recorded has raised: a recording of one moment.

Read from the exception's traceback: the line that raised, the variables of the frames, and the
graphs behind them as they stand now. What happened before is not known.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.direct_call import direct_call
from gradviz.capture.error_text import error_text
from gradviz.capture.installed_files import is_users
from gradviz.capture.recorder import source_text
from gradviz.capture.recorder.earlier import EARLIER
from gradviz.capture.recorder.expressions import Expressions
from gradviz.capture.recorder.kept_steps import BUDGET
from gradviz.capture.recorder.live_graph import LiveGraph, Origin
from gradviz.capture.recorder.namespaces import variable_of
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.capture.recorder.recording_builder import build_recording
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.source_text import Source
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.torch_call import TorchCall, tensors_in
from gradviz.capture.replicas import reduced_by
from gradviz.model import GraphBusyError, Recording
from gradviz.model.events import Note, Position, Raised
from gradviz.model.joining import CELL, PROGRAM
from gradviz.model.recording import Code

LABEL: Final = "aftermath"
"""Label of a recording of kind ``"post-mortem"``."""
_MOST: Final = 200
"""Tensors that are read, those that the code speaks of first."""
_ENGINE: Final = "_engine_run_backward"
"""Function of torch's that runs the engine."""
_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Names of code that has a frame and is no statement; those but the last up to Python 3.11."""


def post_mortem_of(error: BaseException, is_program: bool = False) -> Recording:
    """The moment after ``error`` was raised, as a recording with a start and an error.

    Read are the frames of its traceback, their variables, the graphs behind them, and values of
    small tensors; nothing is changed, and nothing is kept.

    Args:
        error: An exception that was raised and has its traceback.
        is_program: Whether it has ended a program that ``gradviz run`` has started.

    Returns:
        A recording of kind ``"post-mortem"`` with two steps: what existed when the error was
        raised, and the error, with a note ``"not recorded"``.
    """
    entries = list(_entries(error.__traceback__))
    unread = _unread_text(error, entries)
    if unread is not None:  # none of the user's code has run: the entries are the parser's callers
        entries.clear()
    place = _place(entries)
    entry = entries[place] if entries else None
    named = list(_named([one.tb_frame for one in entries[: place + 1]]))
    inner = [one.tb_frame for one in entries[place + 1 :]]
    home = _statement_of(entries, place)
    callers = list(_texts(entries[:home]))
    in_cell = any(source_text.is_cell(one.tb_frame.f_code) for one in entries)
    piece = source_text.of_code(entries[home].tb_frame.f_code) if entries else None
    line = None if piece is None else piece.statement(entries[home].tb_lineno)
    del entries
    if unread is not None:
        (piece, line), in_cell = unread, True
    words = None if piece is None else piece.words
    registry = Registry(_chosen(named, words))
    live_graph = LiveGraph(registry, True, _origin)
    writer = StepWriter(live_graph, BUDGET)
    operations = Operations(registry)
    try:
        with autograd.unseen():
            given = [tensor for frame in inner for tensor in tensors_in(_arguments(frame))]
            _read(live_graph, [tensor for _, tensor in _chosen(named, words)] + given)
            writer.step("start", 0, None, 0)
            if inner:
                call = TorchCall(inner[0].f_code.co_name, tuple(_arguments(inner[0])), {})
                call.position = _position(entry, piece, line)
                writer.add(operations.refused(call, error))
            elif (direct := _direct(entry, piece, line, named)) is not None:
                writer.add(operations.refused(direct, error))
        kind, reduced = type(error).__name__, reduced_by(error)
        writer.add(Raised(kind, error_text(error), reduced=reduced))
        where = [CELL] if in_cell else [PROGRAM] if is_program else []
        writer.add(Note("not recorded", "not recorded", tuple(where)))
        writer.step("error", 0, line, 0)
        storages = registry.storage_keys()
    finally:
        live_graph.unmark()
        registry.forget()
        operations.forget()
    codes = [] if piece is None else list(dict.fromkeys([piece.code, *callers]))
    made = writer.made(operations.tensor_keys)
    recording = build_recording(made, live_graph, codes, LABEL, "post-mortem")
    return EARLIER.join(recording, live_graph, storages)


def _origin(node: Any) -> Origin:
    """Of a node nothing is known but its number, by which earlier recordings know it."""
    return Origin(number=autograd.sequence_nr(node))


def _read(live_graph: LiveGraph, tensors: list[torch.Tensor]) -> None:
    """Read tensors and their graphs; each alone if they cannot be read together."""
    unique = list({id(tensor): tensor for tensor in tensors}.values())
    try:
        live_graph.read_existing(unique)
    except GraphBusyError:  # another thread runs backward on one of the graphs
        for tensor in unique:
            try:
                live_graph.read_existing([tensor])
            except GraphBusyError:
                continue


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _texts(entries: list[TracebackType]) -> Iterator[Code]:
    """The user's code that called the function which raised."""
    for entry in reversed(entries):
        if is_users(entry.tb_frame.f_code.co_filename):
            yield source_text.of_code(entry.tb_frame.f_code).code


def _unread_text(
    error: BaseException, entries: list[TracebackType]
) -> tuple[Source, int | None] | None:
    """The cell that Python could not read, and the line; ``None`` if the user's code raised."""
    if not isinstance(error, SyntaxError) or type(error.filename) is not str:
        return None
    has_run = any(is_users(one.tb_frame.f_code.co_filename) for one in entries)
    if has_run or not source_text.is_cell_file(error.filename):
        return None
    text = "".join(linecache.getlines(error.filename))
    return source_text.of_cell(text, CELL), error.lineno


def _position(
    entry: TracebackType | None, piece: Source | None, line: int | None
) -> Position | None:
    """The expression that an entry of the traceback was running, if its line has it."""
    if entry is None or piece is None or line is None:
        return None
    position = Expressions().at(entry.tb_frame.f_code, entry.tb_lasti)
    is_there = position is not None and piece.is_in_statement(line, position)
    return position if is_there else None


def _direct(
    entry: TracebackType | None,
    piece: Source | None,
    line: int | None,
    named: list[naming.Named],
) -> TorchCall | None:
    """The call of torch in the line that raised, which has no frame of its own."""
    position = _position(entry, piece, line)
    if entry is None or piece is None or position is None:
        return None
    tensors: dict[str, Any] = {}
    for name, tensor in named:
        tensors.setdefault(name, tensor)
    function = entry.tb_frame.f_code
    call = direct_call(piece.code, position, function, entry.tb_lasti, tensors)
    if call is not None:
        call.position = position
    return call


def _place(entries: list[TracebackType]) -> int:
    """Place of the innermost frame that runs the user's code, outside any backward.

    What hooks and custom Functions do inside a backward is part of the line that called it.
    """
    names = [entry.tb_frame.f_code.co_name for entry in entries]
    end = names.index(_ENGINE) if _ENGINE in names else len(entries)
    for place in range(end - 1, -1, -1):
        if is_users(entries[place].tb_frame.f_code.co_filename):
            return place
    return 0


def _statement_of(entries: list[TracebackType], place: int) -> int:
    """Place of the frame that runs the statement: a comprehension is part of that of its own."""
    codes = [entry.tb_frame.f_code for entry in entries[: place + 1]]
    while place and codes[place].co_name in _COMPREHENSIONS:
        before = next(
            (at for at in range(place - 1, -1, -1) if _has(codes[at], codes[place])), None
        )
        if before is None:
            break
        place = before
    return place


def _has(code: CodeType, inner: CodeType) -> bool:
    return any(one is inner for one in code.co_consts)


def _named(frames: list[FrameType]) -> Iterator[naming.Named]:
    """Tensors by name, those of the innermost frame first."""
    for frame in reversed(frames):
        yield from naming.named_tensors(naming.namespace(frame))


def _chosen(named: list[naming.Named], words: frozenset[str] | None) -> list[naming.Named]:
    """The tensors that the code speaks of, each by its first name."""
    found: dict[int, naming.Named] = {}
    for name, tensor in named:
        if words is None or variable_of(name) in words:
            found.setdefault(id(tensor), (name, tensor))
    return list(found.values())[:_MOST]


def _arguments(frame: FrameType) -> list[Any]:
    """Arguments that the function of a frame was called with, as far as they still exist."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = dict(naming.local_variables(frame))
    return [values[name] for name in names if name in values]
