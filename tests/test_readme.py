from __future__ import annotations

import contextlib
import io
import re
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from gradviz.capture.recorder import Recorder
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.player import Player

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "README.svg"
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_blocks(count: int | None = None) -> tuple[dict[str, object], str]:
    """Run the python blocks as one program, as a reader would; give its names and its prints."""
    names: dict[str, object] = {"__name__": "readme"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks("python")[:count]:
            exec(compile(block, "README.md", "exec"), names)
    return names, printed.getvalue()


def test_python_blocks_run_and_print_what_the_readme_says(in_empty_folder: Path) -> None:
    _, printed = run_blocks()
    assert printed.splitlines()[:2] == ["MulBackward0 held", "False"]
    assert printed.splitlines()[2].startswith("recording of ")
    assert "Sends the gradient to " in printed
    assert (in_empty_folder / "backward.html").stat().st_size > 1000
    assert (in_empty_folder / "loss.html").stat().st_size > 1000


def test_the_text_before_the_picture_is_what_torch_prints() -> None:
    names, _ = run_blocks(count=1)
    (session,) = blocks("pycon")
    for command, told in re.findall(r"^>>> (.+)\n(.+)$", session, re.MULTILINE):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(command, names)
        assert re.sub(r"0x[0-9a-f]+", "0x7f…", printed.getvalue().strip()) == told


PROGRAM = """\
%%gradviz
loss = (a * b).square()
loss.backward()

h = b.exp()
h += 1
h.backward()
"""
"""What the picture shows: gradients arrive, then a saved tensor is changed in place."""


def recorded() -> Player:
    """The cell as ``%%gradviz`` records it."""
    recorder, raised = Recorder(label="cell"), None
    a, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0))
    begin = partial(recorder.start, file="README.py", text=PROGRAM)
    code = compile(PROGRAM.replace("%%gradviz", "begin()"), "README.py", "exec")
    try:
        exec(code, {"a": a, "b": b, "begin": begin})
    except RuntimeError as error:
        raised = error
    return Player(recorder.stop(raised), DrawOptions(density="compact"))


def draw_picture() -> str:
    with TemporaryDirectory() as folder:
        file = Path(folder, "picture.svg")
        recorded().save(file, animated=True, seconds=1.3)
        return file.read_text("utf-8")


def test_the_picture_is_what_gradviz_draws_for_the_program() -> None:
    assert PICTURE.read_text() == draw_picture(), "out of date: make readme"


def test_the_picture_plays_all_steps_and_is_small() -> None:
    picture, again = draw_picture(), draw_picture()
    assert picture == again
    assert len(picture.encode()) < 1_500_000
    last = re.findall(r"step \d+ of (\d+)", picture)[0]
    shown = re.findall(rf"step (\d+) of {last}", picture)
    assert [*map(int, shown)] == list(range(1, int(last) + 1))
    assert "@media print,(prefers-reduced-motion:reduce){.gv-timed{animation:none" in picture
    assert not re.search(r"<script|<foreignObject|href=|url\(", picture)


def test_the_picture_has_the_whole_graph_beside_the_code_at_every_step() -> None:
    assert 'class="gv-fade' not in draw_picture()


def test_the_picture_ends_with_the_culprit_and_its_fix() -> None:
    error = recorded().recording.explanation
    assert error is not None
    assert error.line == 6
    picture = draw_picture()
    for words in (
        "a: Adds the gradient to a.grad: None becomes 36.0.",
        "! culprit",
        error.fixes[0].code,
    ):
        assert f">{words}</text>" in picture


def test_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"^make ([a-z-]+)", "".join(blocks("sh")), re.MULTILINE)
    assert commands == ["lab", "test"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)


def test_files_the_readme_links_to_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", README)
    assert [link for pair in links for link in pair if link and not (ROOT / link).exists()] == []


def test_the_readme_says_whether_the_package_is_on_the_index() -> None:
    is_released = "(not released)" not in (ROOT / "CHANGELOG.md").read_text()
    assert ("is not on PyPI yet" in README) == (not is_released)
    assert ("pip install gradviz-kit" in README) == is_released


def test_readme_metadata_and_makefile_name_the_same_pythons() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r"Python :: 3\.(\d+)", project)
    oldest, newest = named[0], named[-1]
    assert f'requires-python = ">=3.{oldest},<3.{int(newest) + 1}"' in project
    assert README.count(f"Python 3.{oldest} to 3.{newest}") == 2
    makefile = (ROOT / "Makefile").read_text()
    assert f"No Python 3.{oldest} to 3.{newest} found" in makefile
    assert f"(3, {oldest}) <= sys.version_info[:2] <= (3, {newest})" in makefile
    assert all(f"python3.{minor} " in makefile for minor in named)


if __name__ == "__main__":
    PICTURE.write_text(draw_picture())
