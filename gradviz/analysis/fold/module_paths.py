"""Paths of modules: ``model.layers.0``, ``models["a.b"].fc``."""

from __future__ import annotations

import re
from typing import Final

_PART: Final = re.compile(r"""(?:\[(?:"[^"]*"|'[^']*'|[^\]]*)\]|[^.\[])+""")
_NUMBER: Final = re.compile(r"\[?\d+\]?$")
_AGAIN: Final = re.compile(r"#\d+$")
"""What tells a module from one that had its name before it: ``net#2``."""


def parts_of(path: str) -> list[str]:
    """The names that a path consists of, the variable first.

    Examples:
        >>> parts_of("model.layers.0"), parts_of('models["a.b"].fc'), parts_of("")
        (['model', 'layers', '0'], ['models["a.b"]', 'fc'], [])
    """
    return _PART.findall(path)


def stem(path: str) -> str:
    """The last name of a path without its number; of a module in a list that of the list, too.

    Examples:
        >>> stem("model.layers.12"), stem("model.conv2"), stem("models[1]"), stem("model")
        ('layers.', 'conv', 'models', 'model')
        >>> stem("model.stages.0.1"), stem("model.layer2.0"), stem("")
        ('stages..', 'layer.', '')
    """
    found = ""
    for part in reversed(parts_of(path)):
        name = _NUMBER.sub("", part)
        found = f"{name}{found}"
        if name:
            break
        found = f".{found}"
    return found


def kin(path: str) -> tuple[str, str]:
    """What the paths of modules that are called one after the other have in common.

    That is the variable, and the :func:`stem`. Two variables are two models, whatever they are
    called; modules in a list are of one.

    Examples:
        >>> kin("model.layers.12"), kin("models[1]"), kin("net2"), kin("net#2"), kin("")
        (('model', 'layers.'), ('models', 'models'), ('net2', 'net2'), ('net', 'net'), ('', ''))
    """
    variable, *rest = parts_of(path) or [""]
    name = _AGAIN.sub("", variable).partition("[")[0]
    return (name, stem(path)) if rest else (name, name)


def is_numbered(path: str) -> bool:
    """Whether the last name of a path ends with a number.

    Examples:
        >>> is_numbered("model.layers.12"), is_numbered("models[1]"), is_numbered("model")
        (True, True, False)
    """
    return _NUMBER.search(path) is not None
