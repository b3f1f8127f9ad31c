from __future__ import annotations

import importlib
import io
import itertools
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch

from benchmarks import browser, contenders, peers, scale
from benchmarks.__main__ import main
from benchmarks.contenders import bare, snapshot
from benchmarks.graphs import BUILDERS, SCALES, mlp
from benchmarks.plot import curves_svg
from benchmarks.processes import Crash, beside, in_process
from benchmarks.report import Table
from benchmarks.timing import Times
from tests.each import each

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def here(module: str, function: str, *arguments: Any) -> Any:
    """As :func:`in_process`, in this process: the graphs of a quick run crash nobody."""
    work = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    return json.loads(json.dumps(work(*json.loads(json.dumps(arguments)))))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Any]]]:
    """A quick run as the command prints it: imports by the command, the rest without new processes,
    each of which loads torch."""
    folder = tmp_path_factory.mktemp("bench")
    ended = run("--quick", "--only", "importing", "--json", str(folder / "importing.json"))
    assert ended.returncode == 0, ended.stderr
    names = ("capture", "memory", "recording", "drawing", "showing")
    before = sys.getrecursionlimit(), torch.get_num_threads()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as printed,
        warnings.catch_warnings(),  # those of torchviz
    ):
        warnings.simplefilter("ignore", DeprecationWarning)
        for name in names:
            patch.setattr(f"benchmarks.{name}.in_process", here)
        only = [argument for name in names for argument in ("--only", name)]
        main(["--quick", *only, "--json", str(folder / "rest.json")])
    found = [json.loads((folder / f"{name}.json").read_text()) for name in ("importing", "rest")]
    yield ended.stdout + printed.getvalue(), found[0] | found[1]
    sys.setrecursionlimit(before[0])
    torch.set_num_threads(before[1])


@pytest.mark.exhaustive
def test_a_quick_run_prints_a_table_per_section(quick: tuple[str, dict[str, Any]]) -> None:
    printed, _ = quick
    for title in (
        "Time of a look",
        "Showing a recording",
        "Memory: bytes per node",
        "Import: seconds",
        "Time of a recorded run",
        "Picture: milliseconds",
    ):
        assert title in printed


@pytest.mark.exhaustive
def test_the_json_has_each_contender_as_ratios(quick: tuple[str, dict[str, Any]]) -> None:
    _, numbers = quick
    assert numbers["machine"]["garbage collector"] == "run before, off while timing"
    for result in numbers["capture"]:
        assert "failed" not in result
        for look in ("fresh", "warm"):
            assert result[look]["bare"]["to bare"] == {"best": 1, "median": 1}
            assert set(result[look]) >= {"bare", "snapshot"}
            if contenders.HAS_TORCHVIZ:
                assert result[look]["make_dot saved"]["to snapshot"]["best"] > 0


@pytest.mark.exhaustive
def test_imports_are_measured_as_ratios_to_torch(quick: tuple[str, dict[str, Any]]) -> None:
    _, numbers = quick
    found = numbers["importing"]
    assert found["torch"]["to torch"] == {"best": 1, "median": 1}
    assert 0 < found["gradviz"]["best"] < found["torch"]["best"]
    assert found["gradviz.api"]["best"] > 0


@pytest.mark.exhaustive
def test_memory_and_picture_are_measured(quick: tuple[str, dict[str, Any]]) -> None:
    _, numbers = quick
    (chain,) = numbers["memory"]
    assert 0 < chain["snapshot"] <= chain["snapshot, peak"]
    assert numbers["drawing"]["25"]["boxes"] == 25


@pytest.mark.browser
@pytest.mark.skipif(browser.chromium() is None, reason="no Chromium")
def test_the_browser_says_when_the_picture_is_there(tmp_path: Path) -> None:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = tmp_path / "numbers.json"
    ended = run("--quick", "--only", "browser", "--json", str(path))
    assert ended.returncode == 0, ended.stderr
    found = json.loads(path.read_text())["browser"]["25"]
    assert 0 < found["in the document"]["best"] <= found["painted"]["best"]


@pytest.mark.parametrize("builder", BUILDERS)
def test_every_contender_sees_the_same_graph(builder: str) -> None:
    output = BUILDERS[builder](1 if builder == "transformer" else 12)
    names, edges = bare(output)
    graph = snapshot(output)
    ours = [(int(e.source[1:]), int(e.target[1:]), e.output_nr) for e in graph.edges]
    assert [name.rpartition("::")[2] for name in names] == [node.name for node in graph.nodes]
    assert edges == ours


@each("size", [25, 100, 400])
def test_the_mlp_has_as_many_boxes_as_asked_for(size: int) -> None:
    assert len(snapshot(mlp(size))) == size


def test_a_crash_is_an_answer() -> None:
    outcome = in_process("processes", "abort")
    assert isinstance(outcome, Crash)
    assert "SIGABRT" in outcome.text


def test_an_error_is_an_answer() -> None:
    outcome = in_process("processes", "no_such_function")
    assert isinstance(outcome, Crash)
    assert "no_such_function" in outcome.text


def test_what_does_not_end_is_ended_with_all_that_it_started() -> None:
    outcome = in_process("processes", "hang", longest=3.0)
    assert outcome == Crash("no answer within 3 s")
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 987" not in shown.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_what_takes_too_much_memory_fails_alone() -> None:
    outcome = in_process("processes", "fill")
    assert isinstance(outcome, Crash)
    assert "MemoryError" in outcome.text


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_done_side_by_side_keeps_its_order(workers: int) -> None:
    assert beside(lambda number: number + 1, range(9), workers) == list(range(1, 10))


def test_after_a_failure_larger_models_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def fail(_module: str, _function: str, _name: str, size: int, *_: Any, **__: Any) -> Crash:
        tried.append(size)
        return Crash("no answer")

    monkeypatch.setattr(peers, "in_process", fail)
    found = peers._looks(("chain", (10, 20, 30), "bare"))
    assert tried == [10]
    assert [one["failed"] for one in found] == [
        "no answer",
        *["not tried: failed on a smaller one"] * 2,
    ]


def test_ratios_are_of_neighbours() -> None:
    times = Times()
    for floor, ours in ((1.0, 3.0), (10.0, 20.0), (2.0, 8.0)):
        times.add("bare", floor)
        times.add("ours", ours)
    assert times.ratio("ours", "bare") == {"best": 3.0, "median": 3.0}


def test_a_table_lines_up_its_columns() -> None:
    lines = str(Table("Title", ["graph", "x"], [["chain", "1.0"]], ("said",))).splitlines()
    assert lines == ["Title", "-----", "graph    x", "chain  1.0", "* said"]


@pytest.mark.exhaustive
def test_everything_that_is_done_with_a_graph_is_measured_at_several_sizes() -> None:
    output, model = SCALES["chain"](20)
    work = scale._all_of(output, model)
    assert set(work) == set(scale.WORK) - {"audit"}  # there is no module
    assert all(one["seconds"] > 0 for one in work.values())
    results = [{"graph": "chain", "size": n, "nodes": n, "work": work} for n in (21, 210)]
    times, memory = map(str, scale.tables(results))
    assert "microseconds a node" in times
    assert "bytes a node" in memory
    picture = ET.fromstring(scale.growth(results))
    curves = [one for one in picture.iter() if one.tag.endswith("circle")]
    assert len(curves) == 2 * len(work)


def test_what_other_tools_do_with_a_model_is_a_row_each(tmp_path: Path) -> None:
    model = {"graph": "MLP", "size": 2}
    looks = [{**model, "peer": one, **peers.look("MLP", 2, one)} for one in ("bare", "gradviz")]
    looks[0]["read"], looks[1]["read"], looks[1]["drawn"] = 0.001, 0.01, 0.2
    looks.append({**model, "peer": "torchlens", "failed": "no answer"})
    (table,) = peers.tables(looks)
    assert [row[1] for row in table.rows] == ["bare", "gradviz", "torchlens"]
    assert table.rows[1][2:6] == [
        "0.010",
        "10x",
        "0.20",
        "210x",
    ]  # read alone beside read and drawn
    assert re.fullmatch(r"\d+ x \d+", table.rows[1][-2])
    assert table.rows[2][-1] == "no answer"
    page = tmp_path / "page.md"
    page.write_text(f"before\n{peers.BEGIN}old\n{peers.END}after\n")
    peers.write_page(page, looks, "`make bench` with torch.", tmp_path / "growth.svg")
    first, *lines, last = page.read_text().splitlines()
    assert (first, last) == ("before", "after")
    assert lines[1] == "`make bench` with torch. Each look may take 60 s and, on Linux, 8 GiB."
    assert lines[-4] == "| MLP 2 | torchlens | - | - | - | - | no answer |"
    assert lines[-2] == "![Seconds from a thousand nodes to a million](growth.svg)"
    assert "old" not in lines


def test_torchviz_absent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import capture

    monkeypatch.setattr(contenders, "HAS_TORCHVIZ", False)
    monkeypatch.setattr(capture, "in_process", lambda *_: Crash("not run"))
    result = capture._case("y * w", 100, 1)
    assert set(result["torchviz"].values()) == {"not installed"}
    assert "not installed" in str(capture.tables([result])[0])


def test_names_beside_curves_are_in_the_order_in_which_the_curves_end() -> None:
    ends = {"low": 2.0, "highest": 90.0, "high": 80.0, "middle": 20.0}
    drawn = curves_svg("t", "x", "y", {n: [(1.0, 1.0), (10.0, y)] for n, y in ends.items()})
    places = {name: float(y) for y, name in re.findall(r' y="([\d.]+)"[^>]*>(\w+)</text>', drawn)}
    ordered = sorted(ends, key=lambda name: places[name])
    assert ordered == ["highest", "high", "middle", "low"]
    heights = sorted(places[name] for name in ends)
    assert all(low - high >= 14 for high, low in itertools.pairwise(heights))
