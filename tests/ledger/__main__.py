"""``python -m tests.ledger`` prints how often gradviz names what is wrong with a program.

Each program is recorded twice: as ``%%gradviz`` records it, and as ``%%gradviz --only-cell`` does,
which follows no calls. Loud faults raise an error of torch's; silent ones do not.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.ledger.judging import MODES
from tests.ledger.tables import report


def main() -> None:
    """Print the tables, those of each way of recording from a process of its own."""
    given = _arguments()
    with ProcessPoolExecutor(len(MODES), get_context("spawn")) as processes:
        asked = [processes.submit(report, m, given.each, given.why, given.only) for m in MODES]
        for answer in asked:
            print(answer.result())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("--each", action="store_true", help="a row per program")
    parser.add_argument("--why", action="store_true", help="what was said where something lacks")
    parser.add_argument("--only", default="", metavar="PART", help="part of family or name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
