"""Which files are the user's: not Python's, not torch's, not those of an installed package."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import json
import linecache
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, fx

import gradviz
from gradviz.capture import installed_files
from gradviz.capture.installed_files import is_users
from tests.each import each

SOURCE = "def f(x):\n    y = x * 2\n    return y\n"


@pytest.fixture(autouse=True)
def _nothing_is_known(tmp_path: Path) -> Iterator[None]:
    before = list(sys.path)
    caches = (is_users, installed_files._is_listed)
    for cache in caches:
        cache.cache_clear()
    yield
    sys.path[:] = before
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    for cache in caches:
        cache.cache_clear()


def package(folder: Path, name: str, *, has_list: bool = True, top: str | None = None) -> Path:
    """A package that is installed in a folder, as installers do; its file."""
    top = name if top is None else top
    info = folder / f"{name}-1.0.dist-info"
    file = written(folder / top / "inside.py")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    if has_list:
        (info / "RECORD").write_text(f"{top}/inside.py,,\n{name}-1.0.dist-info/METADATA,,\n")
    return file


def written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SOURCE)
    return file


def lines_of(recording: gradviz.Recording) -> list[str]:
    """Lines of followed functions."""
    found = []
    for step in recording.records:
        code = recording.codes[step.code]
        if step.kind == "line" and step.depth and step.line is not None:
            found.append(code.text.splitlines()[step.line - code.first_line].strip())
    return found


def followed(module: ModuleType) -> list[str]:
    x = torch.ones(2)
    with gradviz.record() as recording:
        module.f(x)
    return lines_of(recording)


# --- what is nobody's but Python's, torch's, gradviz's ---------------------------------------


@each(
    "module", [inspect, json, importlib, dataclasses, torch, torch.nn.functional, gradviz, pytest]
)
def test_python_torch_gradviz_and_installed_packages_are_not_the_users(module: ModuleType) -> None:
    assert module.__file__ is not None
    assert not is_users(module.__file__)


def test_every_file_of_gradviz_is_its_own_also_where_it_is_installed_in_place() -> None:
    files = list(Path(gradviz.__file__).parent.rglob("*.py"))
    assert len(files) > 100
    assert not any(is_users(str(file)) for file in files)
    assert is_users(__file__)


def test_modules_of_torch_are_one_line_each() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.TransformerEncoderLayer(2, 1, 4))
    optimizer = torch.optim.Adam(model.parameters())
    with gradviz.record() as recording:
        model(torch.ones(1, 3, 2)).sum().backward()
        optimizer.step()
    assert lines_of(recording) == []


# --- packages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["lib/site-packages", ".venv/lib/site-packages", "vendored"])
def test_an_installed_package_is_not_followed(folder: str, tmp_path: Path) -> None:
    """The last as by ``pip install --target``; the second lies inside the project."""
    site = tmp_path / folder
    file = package(site, "fake_installed")
    sys.path.insert(0, str(site))
    assert not is_users(str(file))
    assert followed(importlib.import_module("fake_installed.inside")) == []


def test_a_virtual_environment_that_is_not_in_use_is_not_the_users(tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    assert not is_users(str(package(tmp_path / "venv/lib/python3.11/site-packages", "fake")))
    assert is_users(str(written(tmp_path / "project" / "inside.py")))


def test_a_file_somebody_put_beside_installed_packages_is_the_users(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    package(site, "fake_installed")
    loose, own = written(site / "loose.py"), written(site / "own" / "inside.py")
    sys.path.insert(0, str(site))
    assert is_users(str(loose))
    assert is_users(str(own))
    assert followed(importlib.import_module("loose")) == ["y = x * 2", "return y"]


def test_a_module_in_one_file_is_found_in_the_list_of_its_package(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    package(site, "fake_installed")
    record = site / "fake_installed-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text() + "single.py,sha256=x,10\n")
    assert not is_users(str(written(site / "single.py")))
    assert is_users(str(written(site / "single_other.py")))


@pytest.mark.parametrize("way", ["pth", "finder", "egg-link"])
def test_a_package_that_is_installed_in_place_is_the_users(way: str, tmp_path: Path) -> None:
    site, sources = tmp_path / "site-packages", tmp_path / "project" / "src"
    file = written(sources / "fake_editable" / "inside.py")
    info = site / "fake_editable-1.0.dist-info"
    listed = {
        "pth": "__editable__.fake_editable-1.0.pth",
        "finder": "__editable___fake_editable_1_0_finder.py",
        "egg-link": "",
    }[way]
    site.mkdir()
    if way == "egg-link":
        (site / "fake-editable.egg-link").write_text(f"{sources}\n.")
        egg_info = sources / "fake_editable.egg-info"
        egg_info.mkdir()
        (egg_info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: fake-editable\n")
        (egg_info / "top_level.txt").write_text("fake_editable\n")
        (egg_info / "SOURCES.txt").write_text("fake_editable/inside.py\n")
    else:
        info.mkdir()
        written(site / listed)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake_editable\n")
        (info / "RECORD").write_text(f"{listed},,\nfake_editable-1.0.dist-info/RECORD,,\n")
        assert not is_users(str(site / listed))
    sys.path[:0] = [str(sources), str(site)]
    assert is_users(str(file))
    expected = ["y = x * 2", "return y"]
    assert followed(importlib.import_module("fake_editable.inside")) == expected


@pytest.mark.parametrize("top_level", ["fake_tops\n", None])
def test_packages_of_a_linux_distribution_have_no_list_of_files(
    top_level: str | None, tmp_path: Path
) -> None:
    site = tmp_path / "python3" / "dist-packages"
    file = package(site, "fake-distributed", has_list=False, top="fake_tops")
    other = written(site / "other.py")
    if top_level is not None:
        (site / "fake-distributed-1.0.dist-info" / "top_level.txt").write_text(top_level)
    assert not is_users(str(file))
    assert is_users(str(other)) is (top_level is not None)


def test_an_egg_is_an_installed_package(tmp_path: Path) -> None:
    egg = tmp_path / "site-packages" / "fake-1.0-py3.11.egg"
    file = written(egg / "fake" / "inside.py")
    (egg / "EGG-INFO").mkdir()
    (egg / "EGG-INFO" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: fake\n")
    (egg / "EGG-INFO" / "top_level.txt").write_text("fake\n")
    sys.path.insert(0, str(egg))
    assert not is_users(str(file))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", None])
def test_a_broken_package_breaks_no_recording(content: bytes | None, tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    info = site / "fake-1.0.dist-info"
    info.mkdir(parents=True)
    if content is not None:
        (info / "METADATA").write_bytes(content)
        (info / "RECORD").write_bytes(content)
    assert is_users(str(written(site / "mine.py"))) is (content == b"")


# --- text and files ---------------------------------------------------------------------------


def test_a_relative_name_is_that_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)
    assert is_users("mine.py")
    assert not is_users("nowhere.py")


def test_text_without_lines_is_not_followed() -> None:
    made = dataclasses.make_dataclass("made", ["x"])
    traced = fx.symbolic_trace(torch.nn.ReLU())
    names = {
        vars(made)["__init__"].__code__.co_filename,
        type(traced).forward.__code__.co_filename,
        "<string>",
        "<stdin>",
        "<frozen importlib._bootstrap>",
        "<__array_function__ internals>",
    }
    assert not any(is_users(name) for name in names)
    spaces: dict[str, object] = {}
    exec(compile(SOURCE, "<string>", "exec"), spaces)
    f: object = spaces["f"]
    x = torch.ones(2)
    with gradviz.record() as recording:
        f(x)  # type: ignore[operator]
        made(x)
        traced(x)
    assert lines_of(recording) == []


@pytest.mark.parametrize(
    "name", ["<ipython-input-3-abc>", "<python-input-7>", "/tmp/ipykernel_77/1234.py"]
)
def test_what_was_typed_is_the_users_while_its_text_is_kept(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_users(name)
    is_users.cache_clear()
    lines = SOURCE.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, name, (len(SOURCE), None, lines, name))
    assert is_users(name)
    space: dict[str, object] = {}
    exec(compile(SOURCE, name, "exec"), space)
    module = ModuleType("typed")
    vars(module).update(space)
    assert followed(module) == ["y = x * 2", "return y"]


def test_a_doctest_is_the_users() -> None:
    text = """
    >>> def f(x):
    ...     y = x * 2
    ...     return y
    >>> found.append(f.__code__.co_filename)
    >>> kept.append(is_users(found[0]))
    """
    found: list[str] = []
    kept: list[bool] = []
    spaces = {"found": found, "kept": kept, "is_users": is_users}
    test = doctest.DocTestParser().get_doctest(text, spaces, "typed", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0
    assert found[0].startswith("<doctest typed")
    assert kept == [True]


def test_a_module_in_a_zip_file_has_no_lines(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as file:
        file.writestr("zipped.py", SOURCE)
    sys.path.insert(0, str(tmp_path / "app.zip"))
    module = importlib.import_module("zipped")
    assert not is_users(module.f.__code__.co_filename)
    assert followed(module) == []


# --- all kinds of functions -------------------------------------------------------------------

KINDS = """
import contextlib, functools
import torch
from torch import nn
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    @property
    def doubled(self):
        return self.fc.weight * 2  # property

    @staticmethod
    def fixed(x):
        return x + 1  # static method

    @classmethod
    def of(cls, x):
        return x + 2  # class method

    def forward(self, x):
        return self.fc(x) + self.doubled.sum()  # forward

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3  # Function.forward

    @staticmethod
    def backward(ctx, grad):
        return grad * 3  # Function.backward

class Descent(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p -= p.grad  # step

def loud(function):
    @functools.wraps(function)
    def wrapped(*args):
        return function(*args) + 0  # decorator
    return wrapped

@loud
def decorated(x):
    return x * 4  # decorated

def outer(w):
    def closure(x):
        return x * w  # closure
    return closure

def generator(x):
    yield x * 5  # generator
    yield x * 6  # generator again

def power(x, n):
    return x ** n  # partial

def collate(rows):
    return torch.stack(rows)  # collate

def hook(module, args, output):
    return output * 7  # hook

@contextlib.contextmanager
def scaled(x):
    yield x * 8  # context manager

def many(xs):
    return [x * 9 for x in xs]  # comprehension

def recursive(x, depth):
    if depth:
        return recursive(x + depth, depth - 1)  # recursion
    return x * 10  # end of recursion

def run():
    net = Net()
    net.register_forward_hook(hook)
    x = torch.ones(1, 2)
    optimizer = Descent(net.parameters())
    loss = net(x).sum() + net.fixed(x).sum() + Net.of(x).sum()
    loss = Own.apply(loss) + decorated(x).sum() + outer(loss)(x).sum()
    loss = loss + sum(generator(x)).sum() + functools.partial(power, n=2)(x).sum()
    for batch in DataLoader(list(torch.ones(2, 2)), batch_size=2, collate_fn=collate):
        loss = loss + many([batch])[0].sum()
    with scaled(x) as y:
        loss = loss + y.sum() + recursive(x, 2).sum()
    loss.backward()
    optimizer.step()
"""


def test_every_kind_of_function_of_the_users_is_followed(tmp_path: Path) -> None:
    (tmp_path / "kinds.py").write_text(KINDS)
    sys.path.insert(0, str(tmp_path))
    kinds = importlib.import_module("kinds")
    with gradviz.record() as recording:
        kinds.run()
    expected = {line.partition("# ")[2] for line in KINDS.splitlines() if "  # " in line}
    found = {line.partition("  # ")[2] for line in lines_of(recording)}
    assert expected - found == {"Function.backward"}  # runs inside a backward
    with gradviz.record(only=()) as recording:
        kinds.run()
    assert lines_of(recording) == []


def test_a_module_that_is_imported_while_recorded_is_followed(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "import torch\nw = torch.ones(2)\nclass A:\n    v = w * 2\nf = lambda x: x * w\n"
    )
    sys.path.insert(0, str(tmp_path))
    with gradviz.record() as recording:
        late = importlib.import_module("late")
        y = late.f(torch.ones(2))
    assert {"w = torch.ones(2)", "v = w * 2"} <= set(lines_of(recording))
    del y


def from_elsewhere(x: Tensor) -> Tensor:
    y = x.exp()
    return y * 2


def test_a_callback_that_torch_calls_is_followed() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        torch.utils.checkpoint.checkpoint(from_elsewhere, x, use_reentrant=False)
    assert lines_of(recording) == ["y = x.exp()", "return y * 2"]
