from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WIDGETS = ROOT / "widgets"
STATIC = ROOT / "gradviz" / "view" / "static"


def unavailable(reason: str) -> None:
    if os.environ.get("GRADVIZ_REQUIRE_NODE") == "1":
        pytest.fail(f"{reason} (GRADVIZ_REQUIRE_NODE=1)")
    pytest.skip(reason)


@pytest.fixture(scope="module", autouse=True)
def node_packages() -> None:
    if shutil.which("node") is None:
        unavailable("no node program: install Node 20 or newer")
    if not (WIDGETS / "node_modules").is_dir():
        unavailable("no packages: run npm install in widgets/")


def run(*command: str) -> None:
    done = subprocess.run(
        command, cwd=WIDGETS, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-8000:]}{done.stderr[-2000:]}"


@pytest.fixture(scope="module")
def built_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    run("node", "build.mjs", "--outdir", str(folder))
    return folder


def test_nothing_else_is_committed_than_what_is_built(built_folder: Path) -> None:
    assert sorted(p.name for p in STATIC.iterdir()) == sorted(
        p.name for p in built_folder.iterdir()
    )


def test_the_committed_bundle_is_what_the_sources_build(
    built_folder: Path, subtests: pytest.Subtests
) -> None:
    for name in sorted(path.name for path in STATIC.iterdir()):
        with subtests.test(name=name):
            built = (built_folder / name).read_bytes()
            assert built == (STATIC / name).read_bytes(), "run npm run build in widgets/ and commit"


@pytest.mark.parametrize("name", ["deck.js", "deck.css"])
def test_a_deck_keeps_the_licence_of_reveal(name: str) -> None:
    licence = (WIDGETS / "node_modules" / "reveal.js" / "LICENSE").read_text("utf-8").strip()
    assert licence in (STATIC / name).read_text("utf-8")


def test_the_unit_tests_of_the_front_end_pass() -> None:
    run("npm", "test")


def test_the_types_of_the_front_end_hold() -> None:
    run("npm", "run", "types")


def test_the_front_end_is_linted_and_formatted() -> None:
    run("npm", "run", "lint")
