"""``make coverage``: what of gradviz the tests reach, measured in two ways.

coverage.py measures every process that the tests start, but nothing that runs inside a trace
function, where Python traces nothing: so the recorder's tracers hide what they call. SlipCover
writes probes into the bytecode, which are seen there too, in the processes of pytest only. What one
of them has seen is reached. A room has a row; `build/coverage/holes.txt` lists functions that
nothing enters, then lines and branches that nothing takes. Arguments go on to pytest.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.size import ROOT

FOLDER: Final = ROOT / "build" / "coverage"
PACKAGES: Final = ("gradviz", "gradviz_run", "gradviz_pytest")
PYTEST: Final = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
SETTINGS: Final = f"""
[run]
branch = true
core = ctrace
parallel = true
patch = subprocess
source = {", ".join(PACKAGES)}
data_file = {FOLDER / "data"}
"""
Branch: TypeAlias = tuple[int, int]
"""A line, and the line that runs next; 0 where the function ends."""


@dataclass
class Seen:
    """What was seen of a file."""

    lines: set[int] = field(default_factory=set)
    branches: set[Branch] = field(default_factory=set)
    all_lines: set[int] = field(default_factory=set)
    all_branches: set[Branch] = field(default_factory=set)


Files: TypeAlias = dict[str, Seen]


def main() -> None:
    """Measure, print the table, write the holes."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    traced, probed = with_a_tracer(sys.argv[1:]), with_probes(sys.argv[1:])
    print(table(traced, probed))
    holes = FOLDER / "holes.txt"
    holes.write_text("\n".join(holes_of(joined(traced, probed))) + "\n", "utf-8")
    print(f"What nothing reaches is listed in {holes.relative_to(ROOT)}")


def with_a_tracer(arguments: list[str]) -> Files:
    """Run all tests under coverage.py, in as many processes as there are cores."""
    settings = FOLDER / "settings"
    settings.write_text(SETTINGS, "utf-8")
    coverage = [sys.executable, "-m", "coverage"]
    given = [f"--rcfile={settings}"]
    tests = ["pytest", *PYTEST, "-n", "logical", "--dist", "loadfile", *arguments]
    subprocess.run([*coverage, "run", *given, "-m", *tests], cwd=ROOT)
    report = FOLDER / "traced.json"
    subprocess.run([*coverage, "combine", "-q", *given], cwd=ROOT, check=True)
    subprocess.run([*coverage, "json", "-q", *given, "-o", str(report)], cwd=ROOT, check=True)
    return read(report)


def with_probes(arguments: list[str]) -> Files:
    """Run all tests under SlipCover, a process per core, each with its part."""
    cores = os.cpu_count() or 1
    reports = [FOLDER / f"probed-{number}.json" for number in range(cores)]
    running = []
    for number, report in enumerate(reports):
        # SlipCover would take a -m of pytest's for its own: the arguments are in the script.
        words = [*PYTEST, "-p", "no:slipcover", f"--part={number}/{cores}", *arguments]
        script = FOLDER / f"probed-{number}.py"
        script.write_text(f"import sys, pytest\nsys.exit(pytest.main({words!r}))\n", "utf-8")
        slipcover = (sys.executable, "-m", "slipcover", "--branch", "--json")
        options = ("--source", ",".join(PACKAGES), "--out", str(report), str(script))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        running.append(subprocess.Popen([*slipcover, *options], cwd=ROOT, env=environment))
    for process in running:
        process.wait()
    return joined(*map(read, reports))


def read(report: Path) -> Files:
    """What a report says; both tools write the same form, but for where a function ends."""
    files = json.loads(report.read_text("utf-8"))["files"]
    return {name: _seen(told) for name, told in files.items()}


def _seen(told: dict[str, Any]) -> Seen:
    lines, branches = set(told["executed_lines"]), set(_branches(told["executed_branches"]))
    return Seen(
        lines,
        branches,
        lines | set(told["missing_lines"]),
        branches | set(_branches(told["missing_branches"])),
    )


def _branches(pairs: list[list[int]]) -> Iterator[Branch]:
    for start, end in pairs:
        yield start, max(end, 0)


def joined(*measured: Files) -> Files:
    """What any of them has seen."""
    files: Files = defaultdict(Seen)
    for each in measured:
        for name, seen in each.items():
            whole = files[name]
            whole.lines |= seen.lines
            whole.branches |= seen.branches
            # SlipCover knows a branch at each line of an expression: coverage.py's are counted.
            whole.all_lines = whole.all_lines or seen.all_lines
            whole.all_branches = whole.all_branches or seen.all_branches
    return files


def table(traced: Files, probed: Files) -> str:
    """A row per room: how many lines and branches there are, and how much of them is reached."""
    heads = f"{'room':16}{'lines':>8}{'tracer':>9}{'probes':>9}{'either':>9}{'branches':>10}{'':>9}"
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in traced:
        package, *folders = Path(name).parts[:-1]
        rooms[folders[0] if folders else package].append(name)
    either = joined(traced, probed)
    rows = [
        f"{room:16}"
        f"{sum(len(either[name].all_lines) for name in names):8}"
        f"{_share(names, traced, 'lines'):>9}"
        f"{_share(names, probed, 'lines'):>9}"
        f"{_share(names, either, 'lines'):>9}"
        f"{sum(len(either[name].all_branches) for name in names):10}"
        f"{_share(names, either, 'branches'):>9}"
        for room, names in [*sorted(rooms.items()), ("all", list(traced))]
    ]
    return "\n".join([heads, *rows])


def _share(names: list[str], files: Files, what: str) -> str:
    there = [files.get(name, Seen()) for name in names]
    total = sum(len(getattr(seen, f"all_{what}")) for seen in there)
    reached = sum(len(getattr(seen, what) & getattr(seen, f"all_{what}")) for seen in there)
    return f"{100 * reached / max(total, 1):.1f} %"


def holes_of(files: Files) -> Iterator[str]:
    """Functions that nothing enters, and what else nothing reaches, file by file."""
    for name, seen in sorted(files.items()):
        missing = seen.all_lines - seen.lines
        for function in _functions(name):
            body = {line for part in function.body for line in _lines_of(part)} & seen.all_lines
            if body and body <= missing:
                yield f"{name}:{function.lineno}: nothing enters {function.name}"
                missing -= body
        if missing:
            yield f"{name}: lines {', '.join(map(str, sorted(missing)))}"
        branches = [
            f"{start} to {end or 'the end'}"
            for start, end in sorted(seen.all_branches - seen.branches)
            if start in seen.lines and end not in missing
        ]
        if branches:
            yield f"{name}: branches {', '.join(branches)}"


def _functions(name: str) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node


def _lines_of(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


if __name__ == "__main__":
    main()
