from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.each import each

ROOT = Path(__file__).parents[1]
FACT = re.compile(r"\bF\d\.\d{2}\b")
GUIDES = ("docs/architecture.md", "docs/torch_facts.md", "CONTRIBUTING.md")
NAMED = re.compile(
    r"(?:[\w*.-]+/)+|(?:[\w*.-]+/)*[\w*-][\w*.-]*\.(?:py|ts|md|json|txt|pth|ipynb)(?:::\w+)?"
)
"""A file, a folder or a test, as documentation names it."""
NOT_OURS = {"_dynamo/eval_frame.py", "_subclasses/fake_tensor.py"}
"""Files of torch that the table of facts names."""
CITING = ("gradviz", "tests", "widgets/src", "notebooks", "benchmarks")


class Row(NamedTuple):
    """A row of the table of facts."""

    id: str
    fact: str
    used_by: str
    shown_by: str

    @property
    def modules(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.used_by)

    @property
    def tests(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.shown_by)

    @property
    def is_background(self) -> bool:
        return self.used_by.startswith("*background*")


@cache
def rows() -> list[Row]:
    lines = (ROOT / "docs" / "torch_facts.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| F")]
    return [Row(*row) for row in cells]


@cache
def cited() -> dict[str, set[str]]:
    """The files that point to each fact."""
    found: dict[str, set[str]] = {}
    for folder in CITING:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".ts"):
                for fact in FACT.findall(path.read_text(encoding="utf-8")):
                    found.setdefault(fact, set()).add(path.relative_to(ROOT).as_posix())
    return found


@cache
def functions_of(file: str) -> set[str]:
    path = ROOT / file
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}


def test_every_fact_stands_once() -> None:
    ids = [row.id for row in rows()]
    assert len(ids) > 50
    assert all(FACT.fullmatch(one) for one in ids)
    assert ids == sorted(set(ids))


def test_every_fact_that_code_points_to_has_a_row_that_names_the_code() -> None:
    named = {row.id: {*row.modules} for row in rows()}
    assert cited()
    missing = {
        fact: files - named.get(fact, set())
        for fact, files in cited().items()
        if not files <= named.get(fact, set())
    }
    assert missing == {}


def test_every_fact_is_pointed_to_or_is_background() -> None:
    wrong = [row.id for row in rows() if (row.id in cited()) == row.is_background]
    assert wrong == []


def test_a_fact_names_code_and_tests_that_exist() -> None:
    wrong = []
    for row in rows():
        tests = [name.partition("::") for name in row.tests]
        wrong += [f"{row.id} names no code"] * (not row.modules)
        wrong += [f"{row.id} names no test"] * (not tests)
        wrong += [f"{row.id}: no {name}" for name in row.modules if not (ROOT / name).is_file()]
        wrong += [
            f"{row.id}: no {file}::{test}"
            for file, _, test in tests
            if test not in functions_of(file) or not test.startswith("test_")
        ]
    assert wrong == []


def test_every_test_of_a_fact_is_in_the_table() -> None:
    file = "tests/capture/autograd/test_torch_facts.py"
    tests = {f"{file}::{name}" for name in functions_of(file) if name.startswith("test_")}
    assert tests - {name for row in rows() for name in row.tests} == set()


def names_in(text: str) -> list[str]:
    """Files, folders and tests between backticks, in drawings and behind links."""
    quoted = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    drawn = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    linked = re.findall(r"\]\(([^)#]+)\)", text)
    words = chain.from_iterable(part.split() for part in (*quoted, *drawn))
    found = [word.rstrip(",;:") for word in words]
    return [word for word in (*found, *linked) if NAMED.fullmatch(word)]


def is_there(name: str, guide: str) -> bool:
    """Whether a file, a folder or a test exists, named from the root, a room or by itself."""
    place, _, test = name.partition("::")
    if test:
        return test in functions_of(place)
    if place.startswith("../") or (ROOT / guide).parent.joinpath(place).exists():
        return (ROOT / guide).parent.joinpath(place).exists()
    found = [ROOT.glob(place.rstrip("/"))]
    found += ((ROOT / part).rglob(place.rstrip("/")) for part in CITING)
    return any(next(files, None) for files in found)


@each("guide", GUIDES)
def test_files_and_tests_that_a_guide_names_exist(guide: str) -> None:
    names = set(names_in((ROOT / guide).read_text(encoding="utf-8"))) - NOT_OURS
    assert len(names) > 10
    assert sorted(name for name in names if not is_there(name, guide)) == []


@each(
    ("text", "name"),
    [
        ("see `gradviz/model/nothing.py`", "gradviz/model/nothing.py"),
        ("`nothing.py`", "nothing.py"),
        ("`model/nothing/`", "model/nothing/"),
        ("run `pytest tests/nothing.py`", "tests/nothing.py"),
        ("`tests/test_docs.py::test_nothing`", "tests/test_docs.py::test_nothing"),
        ("`tests/nothing_*.py`", "tests/nothing_*.py"),
        ("```text\n| nothing.py -> x\n```", "nothing.py"),
        ("[x](../nothing.md)", "../nothing.md"),
    ],
)
def test_a_name_of_nothing_is_seen(text: str, name: str) -> None:
    assert names_in(text) == [name]
    assert not is_there(name, "docs/architecture.md")


def architecture() -> str:
    return (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    """The text below a heading, up to the next one."""
    return re.split(r"^#+ ", architecture().split(f"{heading}\n", 1)[1], flags=re.MULTILINE)[0]


def test_every_folder_is_in_the_table_of_rooms() -> None:
    listed = re.findall(r"^\| `([^`]+/)` \|", section("## The rooms"), flags=re.MULTILINE)
    files = [path for path in (ROOT / "gradviz").rglob("*") if path.is_file()]
    folders = {path.parent for path in files if path.parent.name != "__pycache__"}
    assert len(listed) == len(set(listed))
    assert {*listed} == {
        f"{folder.relative_to(ROOT).as_posix()}/"
        for folder in folders
        if folder != ROOT / "gradviz"
    }


def test_every_question_has_a_file() -> None:
    rows = [line for line in section("## Where is …?").splitlines() if line.startswith("| W")]
    assert len(rows) >= 20
    assert all(len(names_in(row)) == 1 for row in rows if not row.startswith("| What is"))


def test_every_note_is_among_the_tricks() -> None:
    note = re.compile(r"NOTE (\[[^\]]+\])")
    listed = re.findall(r"^\| NOTE (\[[^\]]+\])", section("## Tricks"), flags=re.MULTILINE)
    written = {
        name
        for path in (ROOT / "gradviz").rglob("*.py")
        for name in note.findall(" ".join(path.read_text(encoding="utf-8").split()))
    }
    assert {*listed} == written


def test_facts_that_the_architecture_points_to_exist() -> None:
    pointed = set(FACT.findall(architecture()))
    assert pointed
    assert pointed <= {row.id for row in rows()}


JOURNEYS = """
import json, os, sys
import torch, gradviz
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.traversal import walk

ROOT = os.path.dirname(os.path.dirname(gradviz.__file__)) + os.sep


class Watch:
    def __init__(self):
        self.files = {}
        self.stack = []

    def place(self, frame):
        name = frame.f_code.co_filename
        is_ours = name.startswith(ROOT + "gradviz")
        return name[len(ROOT):].replace(os.sep, "/") if is_ours else None

    def entered(self, frame, event, argument):
        if event == "call" and (place := self.place(frame)):
            self.files.setdefault(place)

    def during(self, run):
        self.files = {}
        sys.setprofile(self.entered)
        try:
            run()
        finally:
            sys.setprofile(None)
        return list(self.files)

    def read(self, *args, **kwargs):
        frame, stack = sys._getframe(1), ["gradviz/capture/traversal.py"]
        while frame is not None:
            if (place := self.place(frame)) and place not in stack:
                stack.append(place)
            frame = frame.f_back
        if "gradviz/capture/recorder/observers/line_steps.py" in stack:
            self.stack = stack[::-1]
        return walk(*args, **kwargs)


def call(watch, a):
    with gradviz.record():
        files = watch.during(lambda: a * 3)
    return files


def line(watch, a):
    LiveGraph.read.__globals__["walk"] = watch.read
    with gradviz.record() as recording:
        b = a * 3
        b.backward()
    return recording


a = torch.tensor(2.0, requires_grad=True)
loss = (a * 3).exp()
show = gradviz.show  # modules are imported now, not during the journey
import gradviz.view.widgets.player, gradviz.analysis.explain, gradviz.analysis.fold.step_totals
watch = Watch()
found = {"show(loss)": watch.during(lambda: show(loss))}
found["call"] = call(watch, a)
recording = line(watch, a)
found["line"] = watch.stack
found["show(recording)"] = watch.during(lambda: gradviz.show(recording)._repr_mimebundle_())
print(json.dumps(found))
"""
HEADINGS = {
    "show(loss)": "## First journey: `show(loss)`",
    "call": "### While the code runs",
    "line": "### When the line ends",
    "show(recording)": "### `show(recording)`",
}


@cache
def journeys() -> dict[str, list[str]]:
    """The files of each journey in the order in which a program enters them first."""
    done = subprocess.run(
        [sys.executable, "-c", JOURNEYS], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@each("journey", HEADINGS)
def test_a_journey_runs_through_its_files_in_order(journey: str) -> None:
    told = re.findall(r"^\d+\. `([^`]+)`", section(HEADINGS[journey]), flags=re.MULTILINE)
    assert len(told) > 5
    entered = journeys()[journey]
    assert [place for place in entered if place in told] == told
