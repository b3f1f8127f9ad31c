"""What runs inside the kernel of a notebook that is checked, after a cell has raised an error.

The text of this file is sent there, so that it runs in any Python, with gradviz or without. It
imports gradviz only where torch has been imported: an error of plain Python needs no torch.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import traceback


def last_error() -> str:
    """The last error that nothing has caught, as JSON: ``title``, ``lines``, ``explanation``.

    ``lines`` are those of the user's own code; ``explanation`` is empty if gradviz knows none.
    """
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if not isinstance(error, BaseException):
        return "{}"
    title = f"{type(error).__name__}: {error}"
    found = {"title": title, "lines": _lines(error), "explanation": _explanation(error)}
    return json.dumps(found)


def _lines(error: BaseException) -> list[str]:
    """The traceback without what Python, torch and packages do inside."""
    lines = []
    for one in traceback.extract_tb(error.__traceback__):
        if _is_users(one.filename):
            inside = "" if one.name == "<module>" else f", in {one.name}"
            lines += [f"{_place(one.filename)}, line {one.lineno}{inside}", f"    {one.line}"]
    if isinstance(error, SyntaxError):
        lines += [f"{_place(error.filename or '')}, line {error.lineno}"]
        lines += [f"    {(error.text or '').strip()}"]
    return lines


def _is_users(file: str) -> bool:
    if file.startswith("<"):
        return file.startswith("<ipython-input")
    path = os.path.abspath(file)
    own = list(getattr(sys.modules.get("gradviz"), "__path__", ()))
    folders = [sysconfig.get_path("stdlib"), os.path.dirname(os.__file__), *own]
    is_installed = "site-packages" in path or "dist-packages" in path
    return not is_installed and not path.startswith(tuple(one + os.sep for one in folders))


def _place(file: str) -> str:
    """``cell`` for code of the notebook, else the name of the file."""
    return "cell" if "ipykernel" in file or file.startswith("<") else os.path.basename(file)


def _explanation(error: BaseException) -> str:
    if "torch" not in sys.modules or not isinstance(error, Exception):
        return ""
    try:
        from gradviz.explaining import explain, is_autograds

        return str(explain(error)) if is_autograds(error) else ""
    except Exception:
        return ""  # no gradviz here; the error itself has to be shown whatever happens
