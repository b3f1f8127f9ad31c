from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from gradviz.view.widgets.base import GraphWidget

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
    assert "SumBackward0" in printed
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


def draw_picture() -> str:
    names, _ = run_blocks(count=1)
    exec("picture = gradviz.show(loss)", names)
    assert isinstance(names["picture"], GraphWidget)
    return str(names["picture"].wire["svg"])


def test_the_picture_is_what_gradviz_draws_for_the_first_block() -> None:
    assert PICTURE.read_text() == draw_picture(), "out of date: make readme"


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
