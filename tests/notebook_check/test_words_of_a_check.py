"""What a person reads: lines for a terminal, the report."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from gradviz import cli
from gradviz.notebook_check import command
from gradviz.notebook_check.as_html import report
from gradviz.notebook_check.as_text import LINES, notebook_lines
from gradviz.notebook_check.check import Settings
from gradviz.notebook_check.results import (
    CellName,
    CellResult,
    CheckError,
    Difference,
    NotebookResult,
    Raised,
)
from gradviz.view.documents.digest import MIME

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><text>{}</text></svg>'
PATH = Path("week 1") / "lecture.ipynb"


def name(count: int | None = 5, first: str = "gradviz.show(loss)") -> CellName:
    return CellName(count, "loss-show", first, 3)


def different(*differences: Difference) -> NotebookResult:
    cells = (
        CellResult(CellName(1, "setup", "import torch", 1), "equal", left_out=("image/png",)),
        CellResult(CellName(None, "later", "x = 1", 2), "not compared", "no reason"),
        CellResult(name(), "different", differences=differences),
    )
    return NotebookResult(PATH, cells)


def test_a_difference_is_said_with_number_id_first_line_and_diff() -> None:
    lines = list(notebook_lines(different(Difference("stdout", "a\nold\n", "a\nnew\n"))))
    assert lines == [
        f"DIFFERS  {PATH}  3 cells: 1 equal, 1 different, 1 not compared",
        "  [5] loss-show · gradviz.show(loss)",
        "    printed text: differs",
        "      --- stored",
        "      +++ fresh",
        "      @@ -1,2 +1,2 @@",
        "       a",
        "      -old",
        "      +new",
        "  not compared:",
        "    [ ] later · x = 1: no reason",
        "  in cells that are equal, were not compared: image/png",
        "  the numbers of cells jump from [1] to [5]: a cell between them was deleted, or one was "
        "run again",
    ]


def test_a_long_diff_says_how_much_more_there_is() -> None:
    old, new = ("\n".join(f"{word} {n}" for n in range(100)) for word in ("old", "new"))
    lines = list(notebook_lines(different(Difference("text/plain", old, new))))
    assert f"      … {203 - LINES} more lines, all of them with --report FILE" in lines
    assert sum(line.startswith("      -old") for line in lines) == LINES - 3


def test_control_characters_of_a_notebook_do_not_reach_the_terminal() -> None:
    hostile = "\x1b[2J\x07\u202e"
    cells = (
        CellResult(name(first=hostile), "error", raised=Raised(f"E: {hostile}", (hostile,))),
        CellResult(name(), "different", differences=(Difference("stdout", "a", hostile),)),
    )
    text = "\n".join(notebook_lines(NotebookResult(PATH, cells)))
    assert not set(hostile[:1] + hostile[-2:]) & set(text)


def test_colours_are_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    result = different(Difference("stdout", "old", "new"))
    monkeypatch.setattr(command, "check_notebook", lambda *_: result)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    texts = []
    for out in (Terminal(), io.StringIO()):
        command.check_notebooks([PATH], Settings(), out=out, progress=io.StringIO())
        texts.append(out.getvalue())
    assert "\x1b[31m-old\x1b[0m" in texts[0]
    assert re.sub(r"\x1b\[\d+m", "", texts[0]) == texts[1]
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    command.check_notebooks([PATH], Settings(), out=out, progress=io.StringIO())
    assert out.getvalue() == texts[1]


def test_the_report_has_both_pictures_all_lines_and_no_script() -> None:
    old = "\n".join(f"old {n}" for n in range(100))
    page = report(
        [
            different(
                Difference("image/svg+xml", SVG.format("stored"), SVG.format("fresh")),
                Difference("text/plain", old, "<script>alert(1)</script>"),
                Difference(MIME, "{}", "{1}", note="differs in: code"),
            )
        ]
    )
    assert page.count('src="data:image/svg+xml;base64,') == 2
    assert 'alt="stored picture of cell [5]"' in page
    assert all(f"-old {n}<" in page for n in range(100))
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "widget: differs in: code" in page
    assert "[ ] later · x = 1<td>no reason" in page


def test_the_command_writes_the_report_and_returns_the_worst_status(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = {
        "a.ipynb": NotebookResult(Path("a.ipynb"), (CellResult(name(), "equal"),)),
        "b.ipynb": different(Difference("image/svg+xml", SVG.format(1), SVG.format(2))),
    }
    asked: list[Settings] = []

    def check(path: Path, settings: Settings, _begins: Any) -> NotebookResult:
        asked.append(settings)
        return results[path.name]

    monkeypatch.setattr(command, "check_notebook", check)
    page = tmp_path / "new folder" / "check.html"
    options = ["--report", str(page), "--timeout", "600", "--lax", "--kernel", "k"]
    assert cli.main(["check", *options, "a.ipynb", "--", "b.ipynb"]) == 1
    assert asked == [Settings(lax=True, timeout=600, kernel="k")] * 2
    said = capsys.readouterr().out
    assert "same  a.ipynb  1 cell: 1 equal" in said
    assert "2 notebooks, 4 cells: 2 equal, 1 different, 1 not compared" in said
    assert "a.ipynb" in page.read_text("utf-8")
    assert cli.main(["check", "a.ipynb"]) == 0
    assert cli.main(["check", "b.ipynb"]) == 1
    assert "--report FILE.html" in capsys.readouterr().out


def test_after_ctrl_c_the_rest_is_not_checked_and_what_was_found_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = NotebookResult(
        PATH, (CellResult(name(), "equal"),), "interrupted after 1 cells", is_interrupted=True
    )
    monkeypatch.setattr(command, "check_notebook", lambda *_: stopped)
    assert cli.main(["check", "a.ipynb", "b.ipynb", "c.ipynb"]) == 2
    said = capsys.readouterr().out
    assert said.count("interrupted after 1 cells") == 1
    assert "1 notebook, 1 cell: 1 equal; 2 not checked" in said


def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for page, words in ((tmp_path / "r.txt", "name a file that ends so"),
                        (tmp_path / "file" / "r.html", "cannot be written")):  # fmt: skip
        with pytest.raises(CheckError, match=words):
            command.check_notebooks([PATH], Settings(), page)
    assert cli.main(["check", "--report", str(tmp_path / "r.txt"), "a.ipynb"]) == 2
