from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.lessons.lesson_files import NOTEBOOKS, ROOT

BINDER = ROOT / "binder"


def test_environment_is_a_cpu_build_of_the_torch_that_is_tested() -> None:
    environment = yaml.safe_load((BINDER / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"][0] == "conda-forge"
    assert "python=3.11" in environment["dependencies"]
    (torch,) = (d for d in environment["dependencies"] if str(d).startswith("pytorch"))
    pinned = next(
        line.partition("==")[2]
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("torch==")
    )
    assert torch == f"pytorch-cpu={'.'.join(pinned.split('.')[:2])}.*"


def test_post_build_installs_gradviz_with_jupyterlab() -> None:
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert "pip install --no-cache-dir '.[lab]'" in text
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


STAND_IN = """\
#!/bin/bash
# Installs nothing, and has its settings in a folder of the test.
case "$1 $2" in
"-m pip") ;;
"-c import sys;"*) echo {prefix} ;;
*) exec {python} "$@" ;;
esac
"""


def test_it_opens_the_start_page_in_a_folder_with_lessons_only(tmp_path: Path) -> None:
    prefix, programs = tmp_path / "prefix", tmp_path / "bin"
    programs.mkdir()
    stand_in = programs / "python"
    stand_in.write_text(STAND_IN.format(prefix=prefix, python=sys.executable), encoding="utf-8")
    stand_in.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    subprocess.run([BINDER / "postBuild"], cwd=tmp_path, env=environment, check=True)
    settings = json.loads((prefix / "etc/jupyter/jupyter_server_config.json").read_text("utf-8"))
    folder = Path(settings["ServerApp"]["root_dir"])
    assert folder == tmp_path / "gradviz-lessons"
    shown = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert shown == {"howto", *(path.name for path in NOTEBOOKS.glob("*.ipynb"))}
    assert settings["ServerApp"]["default_url"] == "/lab/tree/00-start.ipynb"


def test_repo2docker_reads_these_files(tmp_path: Path) -> None:
    program = shutil.which("repo2docker") or Path(sys.executable).with_name("repo2docker")
    if not Path(program).exists():
        pytest.skip("repo2docker is not installed (pip install jupyter-repo2docker)")
    shutil.copytree(BINDER, tmp_path / "binder")
    command = [str(program), "--no-build", "--debug", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert 'env update -p ${NB_PYTHON_PREFIX} --file "binder/environment.yml"' in told
    assert "RUN ./binder/postBuild" in told
