"""How a module is wrapped by DistributedDataParallel."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.analysis.explain.fixes.rewriting import Rewriting, together, with_keyword
from gradviz.model.explanation import Fix
from gradviz.model.recording import Recording
from gradviz.model.sentence import say

BY: Final = "DistributedDataParallel"
_NAMES: Final = (BY, "DDP")


def searching(recording: Recording) -> Iterator[Fix]:
    """``find_unused_parameters=True``."""
    does = "before each backward it looks which parameters the outputs depend on"
    yield from _with(recording, "find_unused_parameters", "True", does)


def without_broadcast(recording: Recording) -> Iterator[Fix]:
    """``broadcast_buffers=False``."""
    does = "each rank keeps its own buffers; forward does not write those of the other ranks"
    yield from _with(recording, "broadcast_buffers", "False", does)


def unwrapped(recording: Recording) -> Iterator[Fix]:
    """The module itself in place of the wrapped one."""
    call = _wrapped(recording)
    if call is not None and call[1].args and not isinstance(call[1].args[0], ast.Starred):
        statement, node = call
        code = statement.edited(((node, statement.segment(node.args[0])),))
        yield Fix(say("the module as it is: it has no gradient to share"), code, at=statement.at)


def not_reentrant(recording: Recording) -> Iterator[Fix]:
    """``use_reentrant=False`` in all calls of ``checkpoint``."""
    changes: list[Rewriting | Fix | None] = [
        with_keyword(one, call, "use_reentrant", "False")
        for code in recording.codes
        for one in statements_of(code)
        for call in calls_in(one, "checkpoint")
    ]
    fix = together(say("recomputes inside the same backward"), changes)
    if fix is not None:
        yield fix


def _with(recording: Recording, name: str, value: str, does: str) -> Iterator[Fix]:
    call = _wrapped(recording)
    changed = None if call is None else with_keyword(*call, name, value)
    if changed is not None:
        yield changed.fix(say(does))


def _wrapped(recording: Recording) -> tuple[Statement, ast.Call] | None:
    """The only call that wraps a module."""
    found = {
        (code.name, one.line, place): (one, call)
        for code in recording.codes
        for one in statements_of(code)
        for place, call in enumerate(calls_in(one, *_NAMES))
    }
    return next(iter(found.values())) if len(found) == 1 else None
