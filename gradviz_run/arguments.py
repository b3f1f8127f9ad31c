"""What is typed after ``gradviz run``."""

from __future__ import annotations

import os
import sys

from gradviz_run.programs import ModuleProgram, PackedProgram, Program, Script, is_packed
from gradviz_run.ranks import with_rank

USAGE = "usage: gradviz run [--record] [--html FILE] [--json FILE] SCRIPT [ARGS ...]"
HELP = f"""{USAGE}
       gradviz run [--record] [--html FILE] [--json FILE] -m MODULE [ARGS ...]

Run a script or a module as Python does. If an error of autograd ends it, the explanation follows
Python's own traceback; the exit status is that of the script.

  -m MODULE    run a module of a package, as python -m does
  --record     record from the start: the explanation knows the lines that ran before, and faults
               for which torch raises no error are shown too. torch is imported before the script
  --html FILE  save the player of the recording; records
  --json FILE  save the recording, for gradviz.Recording.from_json() and gradviz.compare(); records
  --help       show this help

What follows SCRIPT or MODULE belongs to it. It runs above a few frames of gradviz, which
inspect.stack() shows; sys.getrecursionlimit() is higher by what they take.

Of several ranks (RANK and WORLD_SIZE in the environment, as torchrun sets them) each writes files
of its own: player.rank1.html

examples:
  gradviz run train.py --lr 0.1
  gradviz run --html player.html -m package.train
  torchrun --nproc-per-node 2 --no-python gradviz run train.py
"""
_FLAGS = ("--record", "-m", "--help", "-h")
_FILES = ("--html", "--json")


class UsageError(Exception):
    """The command cannot run; the message gives the reason and what to type."""

    status = 2


class Asked:
    """What was asked for: the options, the program, and its own arguments."""

    def __init__(self, options: dict[str, str], words: list[str]) -> None:
        self._options = options
        self._words = words
        self.files = {name[2:]: with_rank(options[name]) for name in _FILES if name in options}
        """Where the recording is saved, by the kind of file."""

    @property
    def records(self) -> bool:
        """Whether the program is recorded."""
        return "--record" in self._options or bool(self.files)

    def program(self) -> Program | None:
        """The program; ``None`` if only help was asked for.

        Raises:
            UsageError: If there is none that can be run, or no file can be written where asked.
        """
        if "--help" in self._options or "-h" in self._options:
            sys.stdout.write(HELP)
            return None
        if not self._words:
            missing = "module after -m" if "-m" in self._options else "script"
            raise UsageError(f"there is no {missing}\n{USAGE}")
        for kind, file in self.files.items():
            _check_file(kind, file)
            self.files[kind] = os.path.abspath(file)  # the program may go to another folder
        if self.records:
            _load_recorder()
        if "-m" in self._options:
            return ModuleProgram(*self._words)
        return _checked(self._words)


def read(words: list[str]) -> Asked:
    """The words after ``gradviz run``; what follows the script or the module belongs to it.

    Raises:
        UsageError: If an option does not exist, or its value is missing.
    """
    options: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        name, has_value, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name in _FLAGS and not has_value:
            options[name] = ""
        elif name in _FILES:
            if not has_value and not rest:
                raise UsageError(f"{name} needs the name of a file: {name} player.{name[2:]}")
            options[name] = value if has_value else rest.pop(0)
        else:
            raise UsageError(
                f"there is no option {name}. Options of the script come after its name\n{USAGE}"
            )
    return Asked(options, rest)


def _load_recorder() -> None:
    """Import it with torch, before the folder of the script is looked into for modules."""
    try:
        import gradviz.programs  # noqa: F401
    except Exception as problem:
        raise UsageError(f"nothing can be recorded: {problem}") from None


def _check_file(kind: str, file: str) -> None:
    folder = os.path.dirname(file) or os.curdir
    if not file.endswith(f".{kind}"):
        raise UsageError(f"--{kind} {file}: the name of the file has to end with .{kind}")
    if not os.path.isdir(folder):
        raise UsageError(f"--{kind} {file}: there is no folder {folder}")
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise UsageError(f"--{kind} {file}: this file cannot be written")


def _checked(words: list[str]) -> Program:
    path = words[0]
    if path == "-":
        raise UsageError("a script is read from a file, not from the standard input")
    if path.endswith(".ipynb"):
        raise UsageError(f"{path} is a notebook: %load_ext gradviz and %gradviz explain work in it")
    if not os.path.exists(path):
        raise UsageError(f"there is no file {path}")
    if is_packed(path):
        return PackedProgram(*words)
    if os.path.isdir(path) or not os.access(path, os.R_OK):
        raise UsageError(f"{path} cannot be read")
    return Script(*words)
