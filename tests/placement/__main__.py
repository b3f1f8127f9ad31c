"""``python -m tests.placement`` prints how many nodes of each model are placed, and how many right.

Each model runs once while a recording sees which module makes which node. A snapshot of the same
graph does not see it: what is inferred from parameters and structure is compared.
"""

from __future__ import annotations

import argparse
import sys

from tests.placement.models import gallery_models, other_models
from tests.placement.oracle import judged
from tests.placement.tables import AIMS, percentages, table


def main() -> int:
    """Print the tables; the exit status says whether the gallery reaches the aims."""
    given = _arguments()
    is_reached = True
    for title, models in (("gallery", gallery_models()), ("other models", other_models())):
        rows = {name: judged(make) for name, make in models.items() if given.only in name}
        if not rows:
            continue
        print("\n".join(table(title, rows, given.why)))
        found = percentages(rows)
        if title == "gallery" and not given.only:
            is_reached = all(found[name] >= aim for name, aim in AIMS.items())
        is_reached = is_reached and not any(one.is_wrong for row in rows.values() for one in row)
    return int(not is_reached)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.placement", description=__doc__)
    parser.add_argument("--only", default="", metavar="PART", help="part of the name of a model")
    parser.add_argument("--why", action="store_true", help="nodes that are wrong or not placed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
