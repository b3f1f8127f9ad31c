"""Everything that gradviz says of each program of the tests, as text.

``tests/golden/said.txt`` has a hash of it for each program: a change shows of which programs it
speaks in another way.
"""

from __future__ import annotations

import dataclasses
import os
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from hashlib import sha256
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import torch

import gradviz
from gradviz.model import Recording
from gradviz.model.explanation import Explanation, Fix
from tests.analysis.explain import running, silent_innocents, silent_running
from tests.analysis.explain import silent_scenarios as silent
from tests.analysis.explain.gradient_scenarios import ALL as SCENARIOS  # and of scenarios.py
from tests.ledger.bug import Piece
from tests.ledger.judging import pieces_with
from tests.ledger.programs import ALL as BUGS
from tests.ledger.running import run as run_pieces

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "said.txt"
"""Lines of a hash and the name of a program, sorted by names."""
PARTS: Final = ("ledger", "scenario", "silent", "innocent", "fixed")
"""Where programs are from, as their names begin; ``"fixed"`` are fixed versions of the ledger's."""
Look: TypeAlias = Callable[[Recording | None], Any]


class Program(NamedTuple):
    """A program of the tests."""

    look_at: Callable[[Look], Any]
    """Runs it while it is recorded, and looks at the recording while its files exist."""
    with_fix: Callable[[Fix], Program]
    """The program with a fix applied."""


def _of_pieces(pieces: Sequence[Piece]) -> Program:
    def look_at(look: Look) -> Any:
        seen: list[Any] = []
        run_pieces(pieces, "as it comes", lambda ran: seen.append(look(ran.recording)))
        return seen[0]

    return Program(look_at, lambda fix: _of_pieces(pieces_with(fix, pieces)))


def _of_scenario(text: str) -> Program:
    def look_at(look: Look) -> Any:
        try:
            found = running.run(running.unmarked(text), lambda: gradviz.record())["found"]
        except Exception as error:
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            (program,) = (frame for frame in frames if frame.f_code.co_name == "program")
            found = program.f_locals["found"]
        return look(found)

    return Program(look_at, lambda fix: _of_scenario(running.fixed(text, fix)))


def _of_silent(text: str, before: str) -> Program:
    def look_at(look: Look) -> Any:
        return look(silent_running.run_recorded(running.unmarked(text), before))

    def with_fix(fix: Fix) -> Program:
        return _of_silent(running.fixed(text, fix, silent_running.FIRST), before)

    return Program(look_at, with_fix)


def _programs() -> Iterator[tuple[str, Program]]:
    for bug in BUGS:
        yield f"ledger|{bug.name}", _of_pieces(bug.pieces)
    for scenario in SCENARIOS:
        yield f"scenario|{scenario.name}", _of_scenario(scenario.text)
    for one in silent.SCENARIOS:
        yield f"silent|{one.name}", _of_silent(one.text, one.before)
    for innocent in silent_innocents.INNOCENTS:
        yield f"innocent|{innocent.name}", _of_silent(innocent.text, innocent.before)
    for bug in BUGS:
        for number, way in enumerate(bug.fixes):
            yield f"fixed|{bug.name}|{number}", _of_pieces(bug.fixed(way))


_NAMED: Final = tuple(_programs())
PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(dict(_NAMED))
"""By their names."""
assert len(PROGRAMS) == len(_NAMED), "two programs have one name"


def names_of(parts: Collection[str] = PARTS) -> list[str]:
    """The programs of some parts."""
    return [name for name in PROGRAMS if name.partition("|")[0] in parts]


def said_of(name: str) -> str:
    """All fields of all explanations of a program, and the text of all together."""
    return str(_seen(PROGRAMS[name], _text_of))


def _seen(program: Program, look: Look) -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    np.random.seed(0)
    try:
        with redirect_stdout(StringIO()):  # some programs print
            return program.look_at(look)
    finally:
        torch.set_num_threads(threads)


def not_mended_by(name: str) -> str:
    """Fixes with which a program still has the fault for which they are offered, or has a new one:
    a line for each."""
    program, lines = PROGRAMS[name], list[str]()
    before = _seen(program, _told)
    for one in before:
        for fix in one.fixes:
            if fix.how == "elsewhere":
                continue
            told = running.still_wrong(one, before, _seen(program.with_fix(fix), _told))
            if told:
                lines.append(f"{name}: {one.kind}: {fix.how} {fix.line}: {fix.code!r}: {told}\n")
    return "".join(lines)


def _told(recording: Recording | None) -> tuple[Explanation, ...]:
    return () if recording is None else recording.explanations


def _text_of(recording: Recording | None) -> str:
    if recording is None:
        return "no recording\n"
    fields = [
        f"{field.name}: {getattr(explanation, field.name)!r}\n"
        for explanation in recording.explanations
        for field in dataclasses.fields(explanation)
        if field.name != "recording"
    ]
    return "".join([*fields, f"{gradviz.explain(recording)}\n"])


def of_all(names: Collection[str], asked: Callable[[str], str] = said_of) -> dict[str, str]:
    """What is said of programs, found by as many processes as there are cores."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        return dict(zip(names, processes.map(asked, names, chunksize=16), strict=True))


def hash_of(text: str) -> str:
    """A short hash of what is said."""
    return sha256(text.encode()).hexdigest()[:16]


def golden() -> dict[str, str]:
    """The hash of each program in the golden file."""
    lines = GOLDEN.read_text("utf-8").splitlines() if GOLDEN.exists() else []
    return {name: code for code, _, name in (line.partition(" ") for line in lines)}


def write_golden(hashes: Mapping[str, str]) -> None:
    """Write the golden file."""
    lines = [f"{code} {name}\n" for name, code in sorted(hashes.items())]
    GOLDEN.write_text("".join(lines), "utf-8")


def changed(hashes: Mapping[str, str]) -> list[str]:
    """Programs of which something else is said than the golden file has."""
    known = golden()
    return [name for name, code in hashes.items() if known.get(name) != code]
