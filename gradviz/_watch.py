"""Says so when ``import gradviz`` is about to give another package than ours.

If the other project called gradviz comes first on the path, or was installed later and has
overwritten our files, no code of ours runs. So a wheel carries this file as the top-level module
``_gradviz_kit_watch``, and beside it ``_watch.pth``, whose line runs when Python starts. That is
why nothing is imported here before it is needed.
"""

from __future__ import annotations

import sys

_MARK = b"gradviz._distribution"
"""What tells our ``gradviz/__init__.py`` from any other: it imports this module."""


class Watch:
    """An entry of ``sys.meta_path`` that finds nothing and looks once."""

    def __init__(self) -> None:
        self.done = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Warn if ``import gradviz`` is not going to find ours; leave the import as it is."""
        if name != "gradviz" or self.done:
            return
        self.done = True
        problem = _problem()
        if problem:
            import warnings

            warnings.warn(problem, UserWarning, stacklevel=2)


def watch() -> None:
    """Look at the first ``import gradviz`` of this process."""
    if not any(type(finder).__name__ == Watch.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, Watch())


def _problem() -> str | None:
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("gradviz")
    if spec is None:
        return None
    if spec.origin is None:
        return (
            "gradviz-kit is damaged: its gradviz/__init__.py is gone, as after uninstalling the "
            "other project called gradviz. Type: pip install --force-reinstall gradviz-kit"
        )
    with open(spec.origin, "rb") as file:
        if _MARK in file.read():
            return None
    return (
        f"import gradviz does not give you gradviz-kit, but {spec.origin}. Another project is "
        "called gradviz; if that is it and you want gradviz-kit, "
        "type: pip uninstall gradviz gradviz-kit, then: pip install gradviz-kit"
    )
