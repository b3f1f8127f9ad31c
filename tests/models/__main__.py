"""``python -m tests.models`` prints how large the first picture of each model is.

``--write`` draws docs/gallery.md and its pictures again.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from tests.models.gallery import GALLERY
from tests.models.pictures import table, write


def main() -> None:
    """Print the table; a model whose packages are not here is named below it."""
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    parser.add_argument("--write", action="store_true", help="draw docs/gallery.md again")
    parser.add_argument("--only", default="", metavar="PART", help="part of the name of a model")
    given = parser.parse_args()
    asked = [model for model in GALLERY if given.only in model.name]
    here = [model for model in asked if all(map(find_spec, model.needs))]
    for line in table(here):
        print(line, flush=True)
    for model in asked:
        if model not in here:
            print(f"{model.name} is left out: it needs {', '.join(model.needs)}")
    if given.write:
        if len(here) < len(GALLERY):
            parser.error("--write needs all models, and the packages of the extra 'models'")
        write(here)


if __name__ == "__main__":
    main()
