"""Runs the cells of a notebook in a kernel of their own, as Jupyter does."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any, Final

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbclient.util import run_sync
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from gradviz.notebook_check.results import CheckError, Raised

THIS_PYTHON: Final = ""
"""The kernel that is meant if none is named: the Python that runs the check."""
_IN_KERNEL: Final = Path(__file__).with_name("in_kernel.py").read_text("utf-8")
_ASKED: Final = f"(lambda names: exec({_IN_KERNEL!r}, names) or names['last_error']())({{}})"
"""An expression, so that no name comes into the notebook's namespace."""
_ANSWER_TIME: Final = 60
"""Seconds within which the kernel has to answer."""
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")
_STDIN: Final = "StdinNotImplementedError"


class CellStoppedError(Exception):
    """A cell did not end; no cell after it can run."""


class _Manager(AsyncKernelManager):  # type: ignore[misc, unused-ignore]
    """Knows nbval's name for the Python that runs the check, besides the installed kernels."""

    def _kernel_spec_manager_default(self) -> Any:
        return NbvalKernelspecManager()


class RunningNotebook:
    """A notebook whose cells are run one after the other.

    Args:
        client: What runs them.
        timeout: Seconds that a cell may take.
    """

    def __init__(self, client: Any, timeout: float) -> None:
        self._client = client
        self._timeout = timeout

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """The traits of the widgets of now, by their ids."""
        states: dict[str, dict[str, Any]] = self._client.widget_state
        return states

    def run(self, cell: Any, place: int) -> Raised | None:
        """Run a cell, which then has the outputs of now; returns the error that left it.

        Args:
            cell: The cell.
            place: Its place among all cells.

        Raises:
            CellStoppedError: If it did not end, or the kernel did.
        """
        try:
            self._client.execute_cell(cell, place)
        except CellTimeoutError:
            raise CellStoppedError(
                f"it ran longer than {self._timeout:g} seconds; --timeout (of pytest: "
                "--gradviz-notebooks-timeout) gives it more"
            ) from None
        except DeadKernelError:
            raise CellStoppedError("the kernel ended while it ran") from None
        errors = [one for one in cell.outputs if one.output_type == "error"]
        return self._raised(errors[-1]) if errors else None

    def _raised(self, error: Any) -> Raised:
        if error.ename == _STDIN:
            title = "the cell asks for input (input(), a debugger), and nobody types in a check"
            return Raised(f"{title}. Give it the tag NBVAL_SKIP")
        title = f"{error.ename}: {error.evalue}"
        known = self._last_error()
        if known.get("title") != title:
            # Another language, a kernel without gradviz, or an error that IPython itself reports.
            return Raised(
                title, tuple(_ANSI.sub("", "\n".join(error.traceback)).splitlines()[-12:])
            )
        return Raised(title, tuple(known["lines"]), known["explanation"])

    def _last_error(self) -> dict[str, Any]:
        """What the kernel knows about the error of the last cell; empty if it cannot say."""
        asked = {"silent": True, "store_history": False, "user_expressions": {"error": _ASKED}}
        try:
            content = self._reply(self._client.kc.execute("", **asked))
            answer = content["user_expressions"]["error"]["data"]["text/plain"]
            found: dict[str, Any] = json.loads(ast.literal_eval(answer))
        except (KeyError, TypeError, ValueError, SyntaxError):
            return {}
        except Empty:
            run_sync(self._client.km.interrupt_kernel)()
            return {}
        return found

    def _reply(self, request: str) -> Any:
        """What the kernel answers to a request.

        Raises:
            Empty: If it does not.
        """
        ask = run_sync(self._client.kc.get_shell_msg)
        while (reply := ask(timeout=_ANSWER_TIME))["parent_header"].get("msg_id") != request:
            pass
        return reply["content"]


@contextmanager
def running(
    notebook: Any, folder: Path, timeout: float, kernel: str = THIS_PYTHON
) -> Iterator[RunningNotebook]:
    """A notebook in a fresh kernel, which ends with the block, whatever ends it.

    Args:
        notebook: What is run; its cells get the outputs of now.
        folder: The folder in which the kernel works.
        timeout: Seconds that a cell may take.
        kernel: The name of an installed kernel; if not given this Python.

    Raises:
        CheckError: If the kernel does not start.
    """
    client = NotebookClient(
        notebook,
        timeout=timeout,
        startup_timeout=60,
        kernel_name=kernel or CURRENT_ENV_KERNEL_NAME,
        kernel_manager_class=_Manager,
        allow_errors=True,
        record_timing=False,
        coalesce_streams=False,  # nbval's own function does, for stored and fresh outputs
        skip_cells_with_tag="",
        resources={"metadata": {"path": str(folder)}},
    )
    client.log.disabled = True  # what it says is in the results
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        with client.setup_kernel(**quiet):
            yield RunningNotebook(client, timeout)
    except NoSuchKernel:
        names = ", ".join(sorted(KernelSpecManager().find_kernel_specs())) or "none"
        raise CheckError(f"there is no kernel {kernel!r}; installed: {names}") from None
    except (RuntimeError, OSError) as error:
        if client.kc is not None:
            raise
        raise CheckError(
            f"the kernel did not start: {str(error).strip().splitlines()[-1]}"
        ) from error
    finally:
        # Ctrl-C while it starts: nbclient ends only what has started.
        manager: Any = client.km
        if manager is not None and run_sync(manager.is_alive)():
            run_sync(manager.shutdown_kernel)(now=True)
