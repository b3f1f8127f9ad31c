"""Programs, each made ready and started as Python does it.

A new module takes the place of ``__main__`` and keeps it: what Python does at its end, threads
that are still running, pickles, and processes that multiprocessing starts all look there.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
_MODULE = "__main__"

_kept: list[object] = []
"""The module that was `__main__`: Python 3.11 may crash at its end if it goes before."""


class Program:
    """Code that becomes ``__main__``.

    Args:
        name: The script or module, as typed.
        arguments: What it finds in ``sys.argv`` after that.
    """

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        self.arguments = arguments
        self.main = type(sys)(_MODULE)

    @property
    def file(self) -> str:
        """The file of its code, as in ``co_filename``; empty if it is not known yet."""
        return ""

    def prepare(self) -> None:
        """Make of this process what Python makes of it before any code of the program runs."""
        raise NotImplementedError

    def start(self) -> None:
        """Run it; returns when its code has ended."""
        raise NotImplementedError

    def _begin(self, argument: str, folder: str, loader: object) -> None:
        names = vars(self.main)
        names["__builtins__"] = builtins
        names["__loader__"] = loader
        if "__annotations__" in _of_this_python():
            names["__annotations__"] = {}
        sys.argv[:] = [argument, *self.arguments]
        # With -P and -I Python puts no folder in front.
        if not sys.flags.safe_path:
            sys.path[0] = folder
        _kept.append(sys.modules[_MODULE])
        sys.modules[_MODULE] = self.main


class Script(Program):
    """A file of Python."""

    @property
    def file(self) -> str:
        """Its path, as Python makes it absolute."""
        return os.path.join(os.getcwd(), self.name)

    def prepare(self) -> None:
        """``sys.path`` begins with its folder, links resolved."""
        file = self.file
        kind = SourcelessFileLoader if file.endswith(".pyc") else SourceFileLoader
        loader = kind(_MODULE, file)
        folder = os.path.dirname(os.path.realpath(file))
        vars(self.main)["__file__"] = file
        if "__cached__" in _of_this_python():
            vars(self.main)["__cached__"] = None
        self._begin(self.name, folder, loader)
        self._code = _code_of(loader, file)

    def start(self) -> None:
        """Run the code of the file."""
        names = vars(self.main)
        try:
            exec(self._code, names)
        finally:
            for name in ("__file__", "__cached__"):
                names.pop(name, None)


class ModuleProgram(Program):
    """A module, found as an import finds it: ``-m``."""

    @property
    def file(self) -> str:
        """Where an import finds it; its packages are imported for that."""
        from importlib.util import find_spec

        try:
            spec = find_spec(self.name)
            if spec is not None and spec.submodule_search_locations is not None:
                spec = find_spec(f"{self.name}.{_MODULE}")
        except Exception:  # it is raised again, and said, where the module is started
            return ""
        return "" if spec is None or not spec.has_location else spec.origin or ""

    def prepare(self) -> None:
        """``sys.path`` begins with the working folder."""
        self._begin("-m", os.getcwd(), BuiltinImporter)

    def start(self) -> None:
        """Find the module, and run it."""
        _as_main()(self.name, True)


class PackedProgram(Program):
    """A folder or an archive with a ``__main__.py``."""

    @property
    def file(self) -> str:
        """That of its ``__main__``."""
        return os.path.join(os.getcwd(), self.name, f"{_MODULE}.py")

    def prepare(self) -> None:
        """``sys.path`` begins with the folder or archive."""
        self._begin(self.name, os.path.join(os.getcwd(), self.name), BuiltinImporter)

    def start(self) -> None:
        """Find ``__main__`` in it, and run that."""
        _as_main()(_MODULE, False)


def _of_this_python() -> dict[str, object]:
    """What this release of Python has put into ``__main__``."""
    return vars(sys.modules[_MODULE])


def is_packed(path: str) -> bool:
    """Whether Python looks for a ``__main__`` inside of a path."""
    for hook in sys.path_hooks:
        try:
            hook(os.path.join(os.getcwd(), path))
        except ImportError:
            continue
        return True
    return False


def _as_main() -> Callable[[str, bool], object]:
    """What Python itself calls for ``-m``: it runs the module in the module ``__main__``."""
    import runpy

    found: Callable[[str, bool], object] = runpy._run_module_as_main  # type: ignore[attr-defined]
    return found


def _code_of(loader: SourceFileLoader | SourcelessFileLoader, file: str) -> CodeType:
    if isinstance(loader, SourceFileLoader):
        # Without the cache of bytecode, which Python does not use for a script.
        return compile(loader.get_data(file), file, "exec", dont_inherit=True)
    code = loader.get_code(_MODULE)
    assert code is not None
    return code
