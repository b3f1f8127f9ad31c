"""What is left when code that was not recorded has raised: a recording of one moment.

Read from the exception's traceback: the line that raised, the variables of the frames, and the
graphs behind them as they stand now. What happened before is not known.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.direct_call import direct_call
from gradviz.capture.error_text import error_text
from gradviz.capture.installed_files import is_users
from gradviz.capture.raising import innermost, is_raised_again, statement_of
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
from gradviz.capture.stacks import traceback_entries
from gradviz.model import GraphBusyError, Recording
from gradviz.model.events import Note, Position, Raised
from gradviz.model.joining import CELL
from gradviz.model.recording import Code

LABEL: Final = "aftermath"
"""Label of a recording of kind ``"post-mortem"``."""
_MOST: Final = 200
"""Tensors that are read, those that the code speaks of first."""


def post_mortem_of(error: BaseException, said: str = "") -> Recording:
    """The moment after ``error`` was raised, as a recording with a start and an error.

    Read are the frames of its traceback, their variables, the graphs behind them, and values of
    small tensors; nothing is changed, and nothing is kept.

    Args:
        error: An exception that was raised and has its traceback.
        said: What the note ``"not recorded"`` says of code that is no cell: ``PROGRAM``,
            ``RECORDED``, or nothing.

    Returns:
        A recording of kind ``"post-mortem"`` with two steps: what existed when the error was
        raised, and the error, with a note ``"not recorded"``.
    """
    entries = list(traceback_entries(error.__traceback__))
    is_of_here = not is_raised_again(entries)  # a thread counts the nodes that it makes itself
    unread = _unread_text(error, entries)
    if unread is not None:  # none of the user's code has run: the entries are the parser's callers
        entries.clear()
    place = innermost(entries)
    entry = entries[place] if entries else None
    named = list(_named([one.tb_frame for one in entries[: place + 1]]))
    inner = [one.tb_frame for one in entries[place + 1 :]]
    home = statement_of(entries, place)
    callers = list(_texts(entries[:home]))
    in_cell = any(source_text.is_cell(one.tb_frame.f_code) for one in entries)
    piece = source_text.of_code(entries[home].tb_frame.f_code) if entries else None
    line = None if piece is None else piece.statement(entries[home].tb_lineno)
    del entries
    if unread is not None:
        (piece, line), in_cell = unread, True
    words = None if piece is None else piece.words
    registry = Registry(_chosen(named, words))
    live_graph = LiveGraph(
        registry,
        True,
        lambda node: Origin(number=autograd.sequence_nr(node) if is_of_here else None),
    )
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
        where = [CELL] if in_cell else [said] if said else []
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
