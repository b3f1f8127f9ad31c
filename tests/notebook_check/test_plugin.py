"""``pytest --gradviz-notebooks``."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gradviz_pytest
from tests.notebook_check.notebooks import cell, printed, write

ROOT = Path(__file__).parents[2]
SEEN = """
import sys
def test_what_is_imported():
    assert "gradviz_pytest" in sys.modules
    assert not {"torch", "gradviz", "nbval", "nbclient", "nbformat", "IPython"} & {*sys.modules}
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "gradviz_pytest", "-p", "no:cacheprovider"]
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "120",
    }
    environment.pop("PYTEST_ADDOPTS", None)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [*command, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_plugin_is_an_entry_point_of_pytest_outside_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"gradviz": gradviz_pytest.__name__}


def test_without_the_flag_nothing_is_imported_and_no_notebook_collected(tmp_path: Path) -> None:
    (tmp_path / "test_seen.py").write_text(SEEN)
    write(tmp_path / "a.ipynb", cell("print(1)", printed("2\n")))
    done = run_pytest(tmp_path, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_each_of_the_flags_collects_notebooks(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.ipynb", cell("print(1)"))
    assert gradviz_pytest.pytest_collect_file(path, request.session) is None
    for flag in ("gradviz_notebooks", "gradviz_notebooks_lax"):
        with monkeypatch.context() as given:
            given.setattr(request.config.option, flag, True, raising=False)
            assert gradviz_pytest.pytest_collect_file(path, request.session) is not None


@pytest.mark.exhaustive
def test_each_cell_is_a_test_that_passes_fails_or_is_skipped_with_its_reason(
    tmp_path: Path,
) -> None:
    write(
        tmp_path / "week 1" / "a.ipynb",
        cell("print(1)", printed("1\n"), count=1, key="same"),
        cell("print(2)", printed("3\n"), count=7, key="other"),
        cell("1/0", count=8, tags=["nbval-skip"], key="left"),
    )
    write(tmp_path / "b.ipynb", cell("print(1)", printed("1\n")))
    (tmp_path / "broken.ipynb").write_text("{")
    report = tmp_path / "new" / "report.html"
    done = run_pytest(
        tmp_path,
        *("-v", "-rs", "--gradviz-notebooks", f"--gradviz-notebooks-report={report}"),
        "--continue-on-collection-errors",
    )
    assert done.returncode == 1
    said = done.stdout
    assert "week 1/a.ipynb::[1] same PASSED" in said
    assert "week 1/a.ipynb::[7] other FAILED" in said
    assert "[8] left · 1/0: tag nbval-skip: not run" in said
    assert "broken.ipynb is not a Jupyter notebook: it is no JSON" in said
    assert "1 failed, 2 passed, 1 skipped, 1 error" in said
    assert "-3" in said
    assert "pytest_items.py" not in said.split("short test summary")[0]
    assert "[7] other" in report.read_text("utf-8")


@pytest.mark.exhaustive
def test_lax_is_a_flag_of_its_own_and_a_missing_kernel_fails_every_cell(tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", cell("print(1)", printed("2\n")))
    assert "1 skipped" in run_pytest(tmp_path, "--gradviz-notebooks-lax").stdout
    done = run_pytest(tmp_path, "--gradviz-notebooks", "--gradviz-notebooks-kernel=no-such")
    assert done.returncode == 1
    assert "there is no kernel 'no-such'" in done.stdout
