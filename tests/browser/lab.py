"""A JupyterLab of its own: nothing of the user's settings is read or written."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.machine import ROOT
from tests.browser.waiting import until_it_answers

_TOKEN = "gradviz-tests"
_QUIET = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


@dataclass(frozen=True, slots=True)
class Lab:
    """A running server and the folder it serves."""

    url: str
    folder: Path


@contextmanager
def running_lab(home: Path, folder: Path) -> Iterator[Lab]:
    """Start JupyterLab on a free port of this machine; stop it afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name, values in _QUIET.items():
        file = home / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), "utf-8")
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1", "PYTHONPATH": str(ROOT)}
    environment.update({name: str(home / place) for name, place in places.items()})
    command = [
        *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={_TOKEN}", f"--ServerApp.root_dir={folder}"),
        *("--ServerApp.terminals_enabled=False", "--expose-app-in-browser"),
    ]
    url = f"http://127.0.0.1:{port}"
    with serving(command, environment, home / "server.log", f"{url}/api/status?token={_TOKEN}"):
        yield Lab(url, folder)


@contextmanager
def serving(command: list[str], environment: dict[str, str], log: Path, url: str) -> Iterator[None]:
    """Start a server, wait until it answers; stop it afterwards."""
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            until_it_answers(lambda: answers(url), server, log)
            yield
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(15)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2):
            return True
    except OSError:
        return False


class Notebook:
    """One open notebook with a running kernel."""

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        page.goto(f"{lab.url}/lab/tree/{name}?token={_TOKEN}&reset", timeout=60_000)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        # "Idle" is shown before the kernel is connected, and then run-all does nothing.
        page.wait_for_function(
            "() => { const kernel ="
            " window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;"
            " return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'; }",
            timeout=60_000,
        )

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Run a command of JupyterLab; it may go on after this returns."""
        self.page.evaluate(
            "([name, args]) => { window.jupyterapp.commands.execute(name, args ?? {}); }",
            [name, arguments],
        )

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")

    def python(self, expression: str) -> str:
        """The repr of an expression, computed in the kernel beside the notebook."""
        return str(
            self.page.evaluate(
                "async (code) => {"
                " const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;"
                " const future = kernel.requestExecute({ code: '', silent: true,"
                "   user_expressions: { value: code } });"
                " const { content } = await future.done;"
                " const { value } = content.user_expressions ?? {};"
                " return value?.data?.['text/plain'] ?? JSON.stringify(value ?? content); }",
                expression,
            )
        )

    def wait_for(self, expression: str, wanted: str) -> None:
        """Ask until the kernel agrees: one state message per model is in flight at a time."""
        end = time.monotonic() + 60
        while (answer := self.python(expression)) != wanted:
            assert time.monotonic() < end, f"{expression} is {answer}, not {wanted}"

    def widget(self, number: int = 0) -> Locator:
        """The widget of a cell's output, ready."""
        found = self.page.locator(".gradviz-root[data-ready=true]").nth(number)
        found.wait_for(timeout=60_000)
        return found

    def close(self) -> None:
        """End the kernel."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown().then(() => 0)"
        )
