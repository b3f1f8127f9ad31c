"""``python -m tests.ledger`` prints how often gradviz names what is wrong with a program.

Each program is recorded twice: as ``%%gradviz`` records it, and as ``%%gradviz --only-cell`` does,
which follows no calls. Loud faults raise an error of torch's; silent ones do not.

With ``--said FILE`` it writes instead all that gradviz says of each program of the tests, and
with ``--compare`` it prints the programs of which that is not what the golden file has a hash of.
With ``--fixes`` it prints the fixes that do not mend the program to which they are offered.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.ledger.judging import MODES
from tests.ledger.said import PARTS, changed, hash_of, names_of, not_mended_by, of_all
from tests.ledger.tables import report


def main() -> None:
    """Print the tables, or write what is said."""
    given = _arguments()
    if given.fixes:
        print("".join(of_all(names_of(given.parts), not_mended_by).values()), end="")
        return
    if given.said is None and not given.compare:
        _print_tables(given)
        return
    said = of_all(names_of(given.parts))
    if given.said is not None:
        text = "".join(f"=== {name}\n{text}" for name, text in said.items())
        given.said.write_text(text, "utf-8")
    if given.compare:
        for name in changed({name: hash_of(text) for name, text in said.items()}):
            print(name)


def _print_tables(given: argparse.Namespace) -> None:
    """The tables of each way of recording are from a process of its own."""
    with ProcessPoolExecutor(len(MODES), get_context("spawn")) as processes:
        asked = [processes.submit(report, m, given.each, given.why, given.only) for m in MODES]
        for answer in asked:
            print(answer.result())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("--each", action="store_true", help="a row per program")
    parser.add_argument("--why", action="store_true", help="what was said where something lacks")
    parser.add_argument("--only", default="", metavar="PART", help="part of family or name")
    parser.add_argument("--said", type=Path, metavar="FILE", help="write all that is said")
    parser.add_argument("--compare", action="store_true", help="with the hashes that are golden")
    parser.add_argument("--fixes", action="store_true", help="fixes after which a fault is told")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="of programs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
