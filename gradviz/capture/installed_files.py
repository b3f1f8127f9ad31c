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
        return file.startswith(_TYPED) and file in linecache.cache
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
    return any(_lists(one, top) for one in metadata.distributions(path=[folder]))


def _lists(package: metadata.Distribution, top: str) -> bool:
    record = package.read_text("RECORD")
    if record is not None:
        return f"\n{top}/" in f"\n{record}" or f"\n{top}," in f"\n{record}"
    # Debian's packages come without the list; sources that are used in place have such a folder
    # too, but beside them, not in a folder for installed packages.
    names = (package.read_text("top_level.txt") or "").split()
    is_site = os.path.basename(os.path.dirname(str(package.locate_file("x")))) in _SITE
    return is_site and top.removesuffix(".py") in (*names, package.name.replace("-", "_"))
