"""The command ``gradviz``, and ``gradviz run``: a script as Python runs it, its error explained.

A package of its own, because ``gradviz`` imports torch, and a script has to find Python as
``python SCRIPT`` would: no module of its own folder hidden by one that was imported before,
nothing read from the environment before the script has set it. So nothing is imported here that
Python has not imported at its start, and ``gradviz`` only when an error is raised, or for
``--record``, ``--html`` and ``--json``.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``gradviz`` with the command-line arguments of this process."""
    if sys.argv[1:2] == ["run"]:
        return run(sys.argv[2:])
    from gradviz_run.commands import read

    asked = read(sys.argv[1:])
    from gradviz.cli import carry_out

    return carry_out(*asked)


def run(words: list[str]) -> int:
    """Run a script or module as Python does, and explain the error of autograd that ends it.

    Args:
        words: The words after ``gradviz run``.

    Returns:
        Exit status, if the script has not ended with one of its own.
    """
    from gradviz_run.arguments import UsageError, read
    from gradviz_run.watched import watch

    try:
        asked = read(words)
        program = asked.program()
    except UsageError as error:
        sys.stderr.write(f"gradviz run: {error}\n")
        return error.status
    if program is None:
        return 0
    watch(program, asked)
    return 0
