"""``make test-accelerator``: tests and lessons with tensors on ``"cuda"``.

On a machine with a GPU, and a torch for it, they run there; elsewhere the stand-in is compiled.
Where there is no compiler nothing runs, which fails if GRADVIZ_REQUIRE_ACCELERATOR is set.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.accelerator.build import build
from tests.accelerator.limits import LIMITS, reason_why_not

ROOT: Final = Path(__file__).parents[2]
PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-rfEs", "--dist", "loadfile")
PLUGIN: Final = ("-p", "tests.accelerator.plugin")
LESSONS: Final = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120")
SANITIZED: Final = ("--nbval-sanitize-with", "gradviz/sanitize.cfg")
NAMED: Final = ("tests/accelerator", "tests/analysis/explain", "tests/analysis/memory")
"""Tests that name the device, or are parametrised by it."""
UNNAMED: Final = (
    "tests/truth/test_looking_changes_nothing.py",
    "tests/truth/test_programs.py",
    "tests/truth/test_recording_interrupted.py",
    "tests/truth/test_recording_neutral.py",
    "tests/truth/test_recording_order.py",
    "tests/truth/test_recording_random.py",
    "tests/truth/test_recording_special.py",
    "tests/truth/test_recording_steps.py",
)
"""Tests whose programs name no device: all their tensors are put on it."""


def main(arguments: list[str]) -> int:
    """Run everything, or the part that is asked for; returns 1 if something failed."""
    from tests.accelerator import device

    print(f"Device: {device.NAME}")
    for reason in () if device.IS_REAL else LIMITS.values():
        print(f"  left out: {reason}")
    kernels = f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'accelerator' / 'kernel'}"
    lessons = sorted(
        str(path)
        for folder in (".", "answers", "howto")
        for path in (ROOT / "notebooks" / folder).glob("*.ipynb")
        if reason_why_not(path.relative_to(ROOT).as_posix()) is None
    )
    on_cuda = "cuda or accelerator"
    codes = [
        run([*PLUGIN, "-k", on_cuda, *NAMED, *arguments]),
        run([*PLUGIN, "--on-device", *UNNAMED, *arguments]),
        run([*LESSONS, *SANITIZED, *lessons, *arguments], PYTHONPATH=kernels),
    ]
    # A part may have no test of a kind.
    is_part = any(argument.startswith("--part") for argument in arguments)
    good = {pytest.ExitCode.OK, *([pytest.ExitCode.NO_TESTS_COLLECTED] if is_part else [])}
    return int(not good.issuperset(codes))


def run(arguments: list[str], **environment: str) -> int:
    """Run pytest in a process of its own, and return its code."""
    whole = {**os.environ, **environment}
    return subprocess.run([*PYTEST, *arguments], cwd=ROOT, env=whole).returncode


if __name__ == "__main__":
    try:
        build()
    except FileNotFoundError as error:
        print(f"Nothing was tested on an accelerator: {error}")
        sys.exit(int(bool(os.environ.get("GRADVIZ_REQUIRE_ACCELERATOR"))))
    sys.exit(main(sys.argv[1:]))
