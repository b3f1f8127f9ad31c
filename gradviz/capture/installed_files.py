"""Which files belong to Python, torch, gradviz or an installed package; the others are the user's.

NOTE [The user's own code]
A debugger's "just my code" opens what the user wrote. A file is not the user's if it is Python's
own, torch's or gradviz's, or if an installed package lists it: in the ``RECORD`` that installers
write, under the folder it was imported from. A package that is installed in place (``pip install
-e``) lists no file of its sources, so they are the user's; so is a file that somebody has put
into ``site-packages`` by hand. Text without a file is the user's where it was typed: a notebook's
cell, a doctest.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from typing import Final

import torch

_TYPED: Final = ("<ipython-input", "<python-input", "<doctest ")
"""How the names of text begin that was typed and has no file."""
_SITE: Final = ("site-packages", "dist-packages")
_IN_SITE: Final = re.compile("|".join(re.escape(os.sep + name + os.sep) for name in _SITE))


def folder_of(file: str) -> str:
    """The folder of a file, ending with a separator."""
    return os.path.join(os.path.dirname(os.path.abspath(file)), "")


_OWN: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_PYTHONS: Final = tuple(
    {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")}
    | {folder_of(os.__file__)}
)
_ALWAYS: Final = (_OWN, folder_of(torch.__file__))


@cache
def is_users(file: str) -> bool:
    """Whether code with this file name was written by the user.

    Args:
        file: As in ``co_filename``.

    Returns:
        ``False`` also for text of which nothing is kept, as that of ``exec``: it has no lines
        that could be shown.

    Examples:
        >>> import os
        >>> is_users(os.__file__), is_users("<string>")
        (False, False)
    """
    if file.startswith("<"):
        return file.startswith(_TYPED) and bool(linecache.getlines(file))
    path = os.path.abspath(file)
    if path.startswith(_ALWAYS):
        return False
    is_pythons = path.startswith(_PYTHONS) and not any(
        f"{os.sep}{s}{os.sep}" in path for s in _SITE
    )
    if is_pythons or not (os.path.exists(path) or file in linecache.cache):
        return False
    return not any(_is_listed(folder, top) for folder, top in _imported_from(path))


def _imported_from(path: str) -> Iterator[tuple[str, str]]:
    """Folders from which a file can have been imported, each with the first part of its path."""
    folders = {os.path.join(os.path.abspath(entry or os.curdir), "") for entry in sys.path}
    folders |= {path[: found.end()] for found in _IN_SITE.finditer(path)}
    for folder in folders:
        if path.startswith(folder):
            yield folder, path[len(folder) :].partition(os.sep)[0]


@cache
def _is_listed(folder: str, top: str) -> bool:
    """Whether a package that is installed in a folder has a file or folder of this name."""
    return any(_lists(one, top) for one in metadata.distributions(path=[os.path.dirname(folder)]))


def _lists(package: metadata.Distribution, top: str) -> bool:
    record = _text(package, "RECORD")
    if record is not None:
        return f"\n{top}/" in f"\n{record}" or f"\n{top}," in f"\n{record}"
    # Sources that are used in place have such a folder too, but beside them. Among the packages
    # of a Linux distribution some say nothing of their files: the rest of the folder is theirs.
    if _IN_SITE.search(os.path.join(str(package.locate_file("")), "")) is None:
        return False
    names = _text(package, "top_level.txt")
    return names is None or top.removesuffix(".py") in names.split()


def _text(package: metadata.Distribution, name: str) -> str | None:
    try:
        return package.read_text(name)
    except (OSError, UnicodeDecodeError):
        return None
