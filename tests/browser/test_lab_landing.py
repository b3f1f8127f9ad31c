"""``gradviz lab`` as a learner meets it: the printed link is followed in a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import Shoot
from tests.browser.machine import ROOT
from tests.browser.waiting import drawn, until_it_answers

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")

from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

LINK = re.compile(r"^\s+(http://(?:127\.0\.0\.1|localhost):\d+/\S+)$")
NOTIFICATIONS = ".Toastify__toast, .jp-toast, [role=dialog], .jp-Dialog"
USERS_OWN = {"ServerApp": {"root_dir": "/", "preferred_dir": "/"}, "LabApp": {"default_url": "/x"}}


@dataclass(frozen=True, slots=True)
class Started:
    """A running ``gradviz lab``: the last link that it printed, and what it said before."""

    link: str
    said: list[str]


@contextmanager
def gradviz_lab(home: Path, *arguments: str) -> Iterator[Started]:
    """Run the command in a home whose settings would lead elsewhere."""
    (home / ".jupyter").mkdir(parents=True, exist_ok=True)
    for name in ("jupyter_server_config.json", "jupyter_lab_config.json"):
        (home / ".jupyter" / name).write_text(json.dumps(USERS_OWN), "utf-8")
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("JUPYTER")}
    environment |= {"HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    allowed = ["--allow-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    command = [sys.executable, "-m", "gradviz", "lab", "--no-browser", "--", *allowed, *arguments]
    with subprocess.Popen(
        command,
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        try:
            for line in process.stdout:
                said.append(line)
                if found := LINK.match(line):
                    link = found[1]
                    until_it_answers(partial(listens, link), process)
                    yield Started(link, said)
                    break
            else:
                pytest.fail("no link was printed:\n" + "".join(said))
        finally:
            process.send_signal(signal.SIGTERM)
            process.stdout.read()


def listens(link: str) -> bool:
    """Whether somebody does: the server prints its link a moment before."""
    address = urlsplit(link)
    try:
        socket.create_connection((address.hostname, address.port), timeout=5).close()
    except OSError:
        return False
    return True


def user_settings(home: Path) -> dict[str, str]:
    """The user's own settings and workspaces; Jupyter leaves a mark when it has run there once."""
    files = (path for path in (home / ".jupyter").rglob("*") if path.is_file())
    paths = [path for path in files if path.name != "migrated"]
    return {str(path.relative_to(home)): path.read_text("utf-8") for path in paths}


def see_the_start_page(page: Page, link: str) -> None:
    page.goto(link, timeout=60_000)
    expect(page.get_by_role("heading", name="gradviz: lessons on autograd")).to_be_visible()
    expect(page.locator(".jp-DirListing-itemText").first).to_be_visible()
    # What JupyterLab asks is asked when it has settled: once its kernel is there.
    expect(page.locator(".jp-NotebookPanel-toolbar")).to_be_visible()
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
    page.wait_for_load_state("networkidle")
    drawn(page)
    expect(page.locator(NOTIFICATIONS)).to_have_count(0)
    expect(page.locator(".jp-Launcher")).to_have_count(0)
    tabs = page.locator("#jp-main-dock-panel .lm-TabBar-tabLabel").all_inner_texts()
    assert tabs == ["00-start.ipynb"]


def test_the_printed_link_leads_to_the_start_page_and_nothing_is_asked(
    page: Page, shoot: Shoot, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    with gradviz_lab(tmp_path) as started:
        before = user_settings(tmp_path)
        see_the_start_page(page, started.link)
        shown = page.locator(".jp-DirListing-itemText").all_inner_texts()
        lessons = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
        assert shown == ["howto", *lessons]
        expect(page.get_by_text("These lessons are up to date.")).to_be_visible()
        shoot("lab-landing")
        # Tabs that were open yesterday, and the link of a server that runs beside, on another port.
        page.get_by_text("01-which-tensors-remember.ipynb").first.dblclick()
        expect(page.get_by_role("heading", name="1. Which tensors remember?")).to_be_visible()
        port = re.search(r":(\d+)/", started.link)
        assert port is not None
        with gradviz_lab(tmp_path, f"--port={port[1]}") as beside:
            assert beside.link.split("/")[2] != started.link.split("/")[2]
            see_the_start_page(page, beside.link)
        assert user_settings(tmp_path) == before


def test_an_edited_lesson_and_the_new_one_are_named_on_the_start_page(
    page: Page, shoot: Shoot, tmp_path: Path
) -> None:
    folder = tmp_path / "gradviz-lessons"
    deliver_older(folder)
    page.set_viewport_size({"width": 1366, "height": 768})
    with gradviz_lab(tmp_path, "--ip=127.0.0.1") as started:
        assert any("Replaced by newer ones" in line for line in started.said)
        see_the_start_page(page, started.link)
        told = "04-twice-through-the-same-graph.ipynb is edited and stays."
        expect(page.get_by_text(told)).to_be_visible()
        new = page.locator(".jp-DirListing-itemText", has_text="(new)")
        expect(new).to_have_text("04 (new) twice-through-the-same-graph.ipynb")
        shoot("lab-landing-newer")


def deliver_older(folder: Path) -> None:
    """Copies of an older edition; the fourth lesson is edited."""
    from gradviz.course.copies import installed_lessons
    from gradviz.course.delivery import deliver

    lessons = installed_lessons()
    assert lessons is not None
    older = folder.parent / "older"
    older.mkdir()
    for path in lessons.glob("*.ipynb"):
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        del document["cells"][-1]
        (older / path.name).write_text(json.dumps(document), "utf-8")
    deliver(older, folder)
    mine = folder / "04-twice-through-the-same-graph.ipynb"
    document = json.loads(mine.read_text("utf-8"))
    document["cells"][0]["source"] = "# My notes"
    mine.write_text(json.dumps(document), "utf-8")
