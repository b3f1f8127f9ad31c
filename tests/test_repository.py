from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("gradviz/", "widgets/src/", "notebooks/", "binder/", "benchmarks/")
LOCK_FILES = re.compile(
    r"(^|/)(uv|poetry|Pipfile|pdm|bun|package-lock|pnpm-lock|yarn)\.?(lock|json|yaml)$"
)
MACHINE_PATHS = re.compile(r"(?<![\w./-])/(work|farm|root|home|Users)/[\w.]")
REGISTRIES = re.compile(
    r"(?:pypi\.org/simple|registry\.npmjs\.org|--(?:extra-)?index-url|find-links)"
)

TIMED_WAITS = re.compile(
    r"(?<!asyncio\.)\bsleep\(|asyncio\.sleep\((?!0\))|\bwait_for_timeout\(", re.IGNORECASE
)
MAY_WAIT = {
    "tests/capture/recorder/test_tracing.py": "a call that a signal is to interrupt",
    "tests/capture/test_threads.py": "threads of which another must get its turn",
    "tests/truth/recorded.py": "torch's engine lets go of a node, and tells nobody when",
    "tests/truth/test_recording_interrupted.py": "a signal that is to come at some moment",
}
"""Tests that wait for a time, and why no condition is there to wait for."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("the list of files comes from git, and this is not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    itself = Path(__file__).relative_to(ROOT).as_posix()
    return {
        name: (ROOT / name).read_text(errors="replace")
        for name in paths
        if name != itself and not name.endswith((".png", ".npz"))
    }


def matches(texts: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in texts.items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_lock_file_is_committed(texts: dict[str, str]) -> None:
    assert [name for name in texts if LOCK_FILES.search(name)] == []


def test_no_path_of_a_machine_is_committed(texts: dict[str, str]) -> None:
    assert matches(texts, MACHINE_PATHS) == []


def test_no_address_of_a_registry_is_committed(texts: dict[str, str]) -> None:
    assert matches(texts, REGISTRIES) == []


def test_what_users_get_does_not_depend_on_files_beside_the_checkout(texts: dict[str, str]) -> None:
    product = {name: text for name, text in texts.items() if name.startswith(PRODUCT)}
    assert matches(product, re.compile(r"\.\./shared\b")) == []


def test_no_large_file_is_committed(texts: dict[str, str]) -> None:
    assert [name for name in texts if (ROOT / name).stat().st_size > 1_000_000] == []


def test_constraints_name_the_tested_torch() -> None:
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()


def test_constraints_meet_what_the_project_asks_for() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    tomllib = pytest.importorskip("tomllib", reason="tomllib came with Python 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *(item for extra in extras for item in extra)]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [requirements.Requirement(line) for line in lines if not line.startswith("#")]
    tested = {pin.name: str(pin.specifier).removeprefix("==") for pin in pins}
    wrong = [
        f"{item} but tested with {tested[need.name.lower()]}"
        for item in asked
        for need in [requirements.Requirement(item)]
        if need.name.lower() in tested and not need.specifier.contains(tested[need.name.lower()])
    ]
    assert wrong == []


def test_readme_is_at_most_100_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


def test_tests_wait_for_conditions_and_not_for_a_time(texts: dict[str, str]) -> None:
    tests = {
        name: text
        for name, text in texts.items()
        if name.startswith("tests/") and name.endswith(".py") and name not in MAY_WAIT
    }
    assert matches(tests, TIMED_WAITS) == []
