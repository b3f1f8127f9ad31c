"""What all tests share: how doctests run, torch's threads, the flag that rewrites golden files."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Where pytest-xdist shares the tests, torch in each worker, and in what it starts, has its part of
# the cores. torch reads this when it is imported, which is later.
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def pytest_collection_finish() -> None:
    """Leave what is there before the first test to itself, as `keep_out_of_collections` says."""
    keep_out_of_collections()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The same for what the tests of a file leave."""
    if nextitem is not None and nextitem.path != item.path:
        keep_out_of_collections()


def keep_out_of_collections() -> None:
    """Free what is garbage, and let no later collection look at the rest.

    torch and fourteen thousand tests are a million objects. A collection that looks at all of them
    takes half a second, and many tests ask for one: they are about what they made themselves.
    """
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that rewrites golden files."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing; read the difference as text",
    )


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text with the golden file of that name below ``tests/golden``."""
    is_updating = bool(request.config.getoption("--update-golden"))

    def check(name: str, text: str) -> None:
        file = Path(__file__).parent / "tests" / "golden" / name
        if is_updating:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        assert file.read_text("utf-8") == text

    return check


@pytest.fixture(autouse=True)
def _doctests_are_user_code(
    request: pytest.FixtureRequest,
    doctest_namespace: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As a user would type them: as __main__, in a folder of their own.
    if isinstance(request.node, pytest.DoctestItem):
        doctest_namespace["__name__"] = "__main__"
        folder: Path = tmp_path_factory.mktemp("doctest")
        monkeypatch.chdir(folder)
