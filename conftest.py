"""What all tests share: how doctests run, torch's threads, the flag that rewrites golden files,
a part of the tests, and which tests have not run when a run is interrupted."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

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
    """Add the flag that rewrites golden files, and the choice of a part."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing; read the difference as text",
    )
    parser.addoption(
        "--part",
        type=_part,
        metavar="K/N",
        help="run the tests only whose crc32 of the id, modulo N, is K; a notebook is one test",
    )


def _part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave those of other parts out."""
    chosen: tuple[int, int] | None = config.getoption("--part")
    if chosen is not None:
        number, parts = chosen
        others = [item for item in items if crc32(_id(item).encode()) % parts != number]
        items[:] = [item for item in items if crc32(_id(item).encode()) % parts == number]
        config.hook.pytest_deselected(items=others)


def _id(item: pytest.Item) -> str:
    # Cells of a notebook need those before them.
    return item.nodeid.partition("::")[0] if item.path.suffix == ".ipynb" else item.nodeid


class NotRun:
    """Says at the end of a run that was interrupted which tests had not ended by then.

    Where xdist shares the tests, it is asked in pytest's own process, which runs none.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, None] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """All tests wait: those of the first worker, since every worker collects all."""
        self.waiting = self.waiting or dict.fromkeys(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """All tests wait, where there are no workers."""
        self.waiting.update((item.nodeid, None) for item in session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One less, once it has ended or failed."""
        if report.when == "teardown" or report.failed:
            self.waiting.pop(report.nodeid, None)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode
    ) -> None:
        """A line per file, and each test in `build/not_run.txt`."""
        if exitstatus != pytest.ExitCode.INTERRUPTED or not self.waiting:
            return
        files = Counter(test.partition("::")[0] for test in self.waiting)
        target = terminalreporter.config.rootpath / "build" / "not_run.txt"
        target.parent.mkdir(exist_ok=True)
        target.write_text("\n".join(self.waiting) + "\n", "utf-8")
        terminalreporter.section(f"not run: {len(self.waiting)} tests, listed in build/not_run.txt")
        for file, number in files.items():
            terminalreporter.line(f"NOT RUN {number:5} of {file}")


class Files(LoadFileScheduling):  # type: ignore[misc]
    """Shares tests by file, and goes on when a worker ends in the middle of one.

    xdist's own hands the ended worker's files out again whole: the test that ended the worker is
    run again, and a worker that gets a file of which nothing is left waits for ever.
    """

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget the worker; give what it had not begun to the others; return what it was at."""
        files: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        waiting = [(ended, test) for ended in files.values() for test in ended if not ended[test]]
        if not waiting:
            return None
        ended, begun = waiting[0]
        ended[begun] = True
        self.workqueue.update(
            (file, tests) for file, tests in files.items() if not all(tests.values())
        )
        for other in self.nodes:
            self._reschedule(other)
        return begun

    def _assign_work_unit(self, node: WorkerController) -> None:
        # One that has just ended cannot be told; when its end is told, others get the file.
        with suppress(OSError):
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # One that takes the place of another collects first; it is asked again when it has.
        if node not in self.registered_collections:
            return
        # A worker begins a test only when it has the next one, too, or knows that there is none.
        super()._reschedule(node)
        while (
            self.workqueue
            and not node.shutting_down
            and self._pending_of(self.assigned_work[node]) < 2
        ):
            super()._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Share by file, where that was asked for."""
    return Files(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Count what waits."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(NotRun(), "not-run")


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
