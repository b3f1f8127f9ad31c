"""``python -m tests.seeded_faults`` measures what the tests notice.

Each fault of the table is written into a copy of the tree, one at a time, and the tests run that
ought to notice it, up to the first that fails. The tests of whole rooms run later, with all faults
at once that these have missed. In the end each test that noticed a fault runs in the copy without
any: only if it passes has it noticed.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.seeded_faults.copied_tree import copy_of, fault_in
from tests.seeded_faults.fault import ROOMS, SeededFault
from tests.seeded_faults.running import Outcome, run_tests
from tests.seeded_faults.table import FAULTS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the tests say of a fault.

    Args:
        fault: The fault.
        noticed_by: Id of the test that fails, if one does.
        trouble: Why nothing can be said, else empty.
    """

    fault: SeededFault
    noticed_by: str | None
    trouble: str = ""
    is_misplaced: bool = False
    """Whether the old text is not in the file once."""


def main() -> int:
    """Print a line for each fault, and a row for each room; 1 if a fault was not noticed."""
    given = _arguments()
    table: Sequence[SeededFault] = (
        runpy.run_path(str(given.table))["FAULTS"] if given.table else FAULTS
    )
    chosen = [one for one in table if given.only in f"{one.room} {one.file} {one.shows}"]
    with copy_of(given.tree.resolve()) as copy:
        answers = [_asked(copy, fault, fault.where, given.limit) for fault in chosen]
        missed = [one.fault for one in answers if one.noticed_by is None and not one.is_misplaced]
        wider = {answer.fault: answer for answer in _asked_rooms(copy, missed, given.limit)}
        answers = [wider.get(answer.fault, answer) for answer in answers]
        answers = _confirmed(copy, answers, given.limit)
    _say("\n" + "\n".join(_summary(answers)))
    return int(any(answer.noticed_by is None for answer in answers))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.seeded_faults", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout to measure")
    parser.add_argument("--only", default="", metavar="PART", help="part of room, file or sentence")
    parser.add_argument("--table", type=Path, metavar="FILE", help="Python file with other FAULTS")
    parser.add_argument("--limit", type=float, default=900, help="most seconds for a run of tests")
    return parser.parse_args()


def _asked(copy: Path, fault: SeededFault, where: Sequence[str], limit: float) -> Answer:
    """Run tests of a copy that has the fault, as far as the copy has these tests."""
    _say(f"{fault.room}: {fault.shows}")
    start = time.monotonic()
    there = [path for path in where if (copy / _file_of(path)).exists()]
    gone = [path for path in where if path not in there]
    try:
        with fault_in(copy, fault):
            outcome = run_tests(copy, there, limit) if there else Outcome()
    except ValueError as error:
        answer = Answer(fault, None, str(error), is_misplaced=True)
    else:
        answer = Answer(fault, next(iter(outcome.failed), None), outcome.trouble)
    missing = f", without {', '.join(gone)}, which this tree does not have" if gone else ""
    _say(f"    {_words(answer)} ({time.monotonic() - start:.0f} s{missing})")
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
        _say(f"    {len(outcome.failed)} fail {outcome.trouble}")
        for fault in faults:
            if outcome.failed:
                yield _asked(copy, fault, outcome.failed, limit)
            else:
                yield Answer(fault, None, outcome.trouble)


def _confirmed(copy: Path, answers: Sequence[Answer], limit: float) -> list[Answer]:
    """The answers, without the tests that fail without a fault too."""
    tests = list(dict.fromkeys(one.noticed_by for one in answers if one.noticed_by is not None))
    outcome = run_tests(copy, tests, limit * 4, to_first=False) if tests else Outcome()
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


def _words(answer: Answer) -> str:
    if answer.noticed_by is not None:
        return f"noticed by {answer.noticed_by}"
    return f"NOT NOTICED{': ' if answer.trouble else ''}{answer.trouble}"


def _summary(answers: Iterable[Answer]) -> Iterable[str]:
    rooms: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        rooms[answer.fault.room].append(answer)
        rooms["in all"].append(answer)
    total = rooms.pop("in all", [])
    for room, ones in {**rooms, "in all": total}.items():
        noticed = sum(one.noticed_by is not None for one in ones)
        yield f"{room:24} {noticed:3d} of {len(ones):3d} noticed"
    for one in total:
        if one.noticed_by is None:
            yield f"{_words(one)}: {one.fault.room}: {one.fault.shows}"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
