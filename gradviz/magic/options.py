"""The options of ``%%gradviz``."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import iskeyword
from typing import Any, Final, NoReturn

from IPython.core.error import UsageError

from gradviz.view.graph.card_parts import DENSITIES, PARTS

NAME: Final = "gradviz"
MARK: Final = f"%%{NAME}"
LEAST_BUDGET: Final = 100
"""The smallest budget, as of :func:`gradviz.record`."""


@dataclass(frozen=True, slots=True)
class MagicOptions:
    """The options of one ``%%gradviz`` line."""

    into: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    only_cell: bool = False
    values: bool = True
    anomaly: bool = False
    traceback: bool = False
    """Whether a traceback has the frames of packages too."""
    look: dict[str, Any] = field(default_factory=dict)
    """Options of the player that were given."""
    name: str | None = None
    help: bool = False
    budget: int | None = None
    """How many steps, events and rows are kept; ``None``: as many as usual."""


def read_options(line: str) -> MagicOptions:
    """The options of a line.

    Raises:
        UsageError: If an option does not exist or has a wrong value.

    Examples:
        >>> read_options("--into model --step line:3").look
        {'step': 'line:3'}
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        parser().error(str(error))
    found = parser().parse_args(words)
    look = {key: getattr(found, key) for key in ("step", "stops", "hide", "density", "height")}
    return MagicOptions(
        tuple(found.into),
        tuple(found.only),
        found.only_cell,
        not found.no_values,
        found.anomaly,
        found.traceback,
        {key: value for key, value in look.items() if value is not None},
        found.name,
        found.help,
        found.budget,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        names = (action.option_strings[0] for action in self._actions)
        raise UsageError(
            f"{MARK}: {message}. The cell was not run. Options are {', '.join(names)}; "
            f"{MARK} --help describes them."
        )


@lru_cache(maxsize=1)
def parser() -> _Parser:
    """The parser of the line; it raises ``UsageError`` and never ends the process."""
    parser = _Parser(
        MARK,
        description="Record this cell while it runs, and show the player below its output.",
        epilog="The cell runs exactly as it does without this line.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--into",
        action="append",
        default=[],
        metavar="NAME",
        help="also follow calls into this function, class, module or package, which is not your "
        "own code: torchvision, model.encoder; can be given several times",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="follow calls into this and nothing else, for example model or train.step; can be "
        "given several times",
    )
    parser.add_argument(
        "--only-cell", action="store_true", help="follow no calls: each line is one step"
    )
    parser.add_argument(
        "--no-values", action="store_true", help="do not read the values of tensors"
    )
    parser.add_argument(
        "--anomaly", action="store_true", help="run the cell in torch's anomaly mode"
    )
    parser.add_argument(
        "--traceback",
        action="store_true",
        help="show all frames of an error, those of packages too",
    )
    parser.add_argument(
        "--budget",
        type=_budget,
        metavar="COUNT",
        help="how many steps, events and changed rows are kept; of a longer recording the first "
        "and the last ones are, and those between are counted",
    )
    parser.add_argument(
        "--step",
        type=_address,
        metavar="STEP",
        help="step to show first: its number, line:5, backward, error, or a node such as "
        "MulBackward0; line:5:2, backward:2 and MulBackward0:2 are the second ones",
    )
    parser.add_argument(
        "--stops",
        type=_addresses,
        metavar="STEP,STEP",
        help="steps to mark on the timeline, for example 3,backward",
    )
    parser.add_argument(
        "--hide",
        action="append",
        metavar="PART",
        choices=PARTS,
        help="part of the picture to leave out, for example values; can be given several times",
    )
    parser.add_argument(
        "--density",
        choices=("auto", *DENSITIES),
        help="how much cards say: compact, normal, full; auto: compact above six cards",
    )
    parser.add_argument("--height", type=_pixels, metavar="PX", help="height of the player")
    parser.add_argument(
        "--name", type=_name, metavar="VARIABLE", help="variable to assign the recording to"
    )
    parser.add_argument("--help", action="store_true", help="show this help; the cell is not run")
    return parser


def _address(text: str) -> int | str:
    """A step as ``recording[…]`` takes it; whether it exists is known when the cell has run."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a step is its number, line:5, backward, error or a node")
    try:
        return int(text)
    except ValueError:
        return text.strip()


def _addresses(text: str) -> list[int | str]:
    return [_address(word) for word in text.split(",")]


def _pixels(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of pixels: 400")
    return int(text)


def _budget(text: str) -> int:
    digits = text.replace("_", "")
    if not digits.isascii() or not digits.isdecimal() or int(digits) < LEAST_BUDGET:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a whole number from {LEAST_BUDGET} on: 100_000"
        )
    return int(digits)


def _name(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid variable name")
    return text
