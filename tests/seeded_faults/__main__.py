"""``python -m tests.seeded_faults`` measures what the tests notice.

Each fault of the table is written into a copy of the tree, one at a time, and the tests run that
ought to notice it, up to the first that fails; where none does, also those that are exhaustive.
The tests of whole rooms run later, with all faults at once that were missed. In the end each test
that noticed a fault runs in the copy without any: only if it passes has it noticed.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.seeded_faults.copied_tree import copy_of, fault_in
from tests.seeded_faults.fault import ROOMS, SeededFault
from tests.seeded_faults.running import Outcome, run_tests
from tests.seeded_faults.table import FAULTS

ROOT: Final = Path(__file__).resolve().parents[2]
EXHAUSTIVE: Final = "exhaustive"
"""The mark of tests that do not run each time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the tests say of a fault.

    Args:
        fault: The fault.
        noticed_by: Id of the test that fails, if one does.
        trouble: Why nothing can be said, else empty.
        is_exhaustive: Whether that test does not run each time.
        is_misplaced: Whether the old text is not in the file once.
    """

    fault: SeededFault
    noticed_by: str | None
    trouble: str = ""
    is_exhaustive: bool = False
    is_misplaced: bool = False

    @property
    def words(self) -> str:
        """What it says, in a line."""
        if self.noticed_by is not None:
            how = f"noticed by the {EXHAUSTIVE} test" if self.is_exhaustive else "noticed by"
            return f"{how} {self.noticed_by}"
        which = f" by {EXHAUSTIVE} tests either" if self.is_exhaustive else ""
        return f"NOT NOTICED{which}{': ' if self.trouble else ''}{self.trouble}"


def main() -> int:
    """Print a line for each fault, and a row for each room; 1 if a fault was not noticed."""
    given = _arguments()
    table: Sequence[SeededFault] = (
        runpy.run_path(str(given.table))["FAULTS"] if given.table else FAULTS
    )
    chosen = [one for one in table if given.only in f"{one.room} {one.file} {one.shows}"]
    with copy_of(given.tree.resolve()) as copy:
        answers = {one: _first_asked(copy, one, given.limit) for one in chosen}
        missed = [
            fault
            for fault, answer in answers.items()
            if answer.noticed_by is None and not answer.is_misplaced
        ]
        answers |= {one.fault: one for one in _asked_rooms(copy, missed, given.limit)}
        confirmed = _confirmed(copy, list(answers.values()), given.limit)
    _say("\n" + "\n".join(_summary(confirmed)))
    return int(any(answer.noticed_by is None for answer in confirmed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.seeded_faults", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout to measure")
    parser.add_argument("--only", default="", metavar="PART", help="part of room, file or sentence")
    parser.add_argument("--table", type=Path, metavar="FILE", help="Python file with other FAULTS")
    parser.add_argument("--limit", type=float, default=900, help="most seconds for a run of tests")
    return parser.parse_args()


def _first_asked(copy: Path, fault: SeededFault, limit: float) -> Answer:
    """Run the tests of a fault; those that are exhaustive only if none of the others fails."""
    answer = _asked(copy, fault, fault.where, limit)
    if answer.noticed_by is not None or answer.is_misplaced:
        return answer
    return _asked(copy, fault, fault.where, limit, is_exhaustive=True)


def _asked(
    copy: Path,
    fault: SeededFault,
    where: Sequence[str],
    limit: float,
    *,
    is_exhaustive: bool = False,
) -> Answer:
    """Run tests of a copy that has the fault, as far as the copy has these tests."""
    start = time.monotonic()
    there = [path for path in where if (copy / _file_of(path)).exists()]
    gone = [path for path in where if path not in there]
    marks = EXHAUSTIVE if is_exhaustive else None
    try:
        with fault_in(copy, fault):
            outcome = run_tests(copy, there, limit, marks=marks) if there else Outcome()
    except ValueError as error:
        answer = Answer(fault, None, str(error), is_misplaced=True)
    else:
        noticed_by = next(iter(outcome.failed), None)
        answer = Answer(fault, noticed_by, outcome.trouble, is_exhaustive)
    missing = f", without {', '.join(gone)}, which this tree does not have" if gone else ""
    if not is_exhaustive:
        _say(f"{fault.room}: {fault.shows}")
    _say(f"    {answer.words} ({time.monotonic() - start:.0f} s{missing})")
    return answer


def _asked_rooms(copy: Path, missed: Sequence[SeededFault], limit: float) -> Iterator[Answer]:
    """Run the tests of whole rooms with all missed faults at once; then those that fail with each
    of these faults alone."""
    for tests in dict.fromkeys(ROOMS[fault.room] for fault in missed):
        faults = [fault for fault in missed if ROOMS[fault.room] == tests]
        there = [path for path in tests if (copy / path).exists()]
        _say(f"\n{', '.join(there)}, with the {len(faults)} that were not noticed")
        with ExitStack() as written:
            for fault in faults:
                written.enter_context(fault_in(copy, fault))
            outcome = run_tests(copy, there, limit * 4, to_first=False)
        _say(f"    {len(outcome.failed)} fail {outcome.trouble}".rstrip())
        for fault in faults if outcome.failed else ():
            yield _asked(copy, fault, outcome.failed, limit)


def _confirmed(copy: Path, answers: Sequence[Answer], limit: float) -> list[Answer]:
    """The answers, without the tests that fail without a fault too."""
    tests = list(dict.fromkeys(one.noticed_by for one in answers if one.noticed_by is not None))
    outcome = run_tests(copy, tests, limit * 4, to_first=False, marks="") if tests else Outcome()
    _say(f"\n{len(tests)} tests that noticed, without a fault: {len(outcome.failed)} fail")
    if outcome.trouble:
        _say(f"  that run says nothing: {outcome.trouble}")
    for test in outcome.failed:
        _say(f"  {test}")
    return [
        Answer(one.fault, None, f"{one.noticed_by} fails without it too")
        if one.noticed_by in outcome.failed
        else one
        for one in answers
    ]


def _file_of(test: str) -> str:
    """The file of a test with an id, or a file or folder itself."""
    return test.partition("::")[0].partition(" > ")[0]


def _summary(answers: Sequence[Answer]) -> Iterable[str]:
    rooms = dict.fromkeys(answer.fault.room for answer in answers)
    yield f"{'':24} faults  noticed  exhaustive  not noticed"
    for room in (*rooms, ""):
        own = [one for one in answers if room in ("", one.fault.room)]
        noticed = [one for one in own if one.noticed_by is not None]
        rare = sum(one.is_exhaustive for one in noticed)
        counts = f"{len(own):6}  {len(noticed) - rare:7}  {rare:10}  {len(own) - len(noticed):11}"
        yield f"{room or 'in all':24} {counts}"
    for one in answers:
        if one.noticed_by is None:
            yield f"{one.words}: {one.fault.room}: {one.fault.shows}"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
