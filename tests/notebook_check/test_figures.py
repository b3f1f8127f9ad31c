"""``gradviz check --figures``: pages whose figures are right, wrong, missing, or never made."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest

from gradviz.cli import main
from gradviz.notebook_check.documentation import page_of
from gradviz.notebook_check.figures import PageResult, check_figures
from gradviz.notebook_check.figures_command import check_documentation
from gradviz.notebook_check.results import CheckError

ROOT = Path(__file__).parents[2]
DRAW = """from pathlib import Path
def draw(path, text):
    Path(path).write_text(text)
"""
MARKDOWN = f"""# Page

```python
{DRAW}```

- a list
  ```py
  draw("figures/a.svg", "<svg>1</svg>")
  ```

```python no-run
raise SystemExit
```

    not a block

<!--
```python
raise ValueError
```
-->

![a](figures/a.svg) and ![elsewhere](https://example.org/x.svg) ![logo](logo.png)

```python
draw("b.mmd", "flowchart TB\\n  a  \\n")
```

<!-- gradviz: b.mmd -->

```mermaid
flowchart TB
  a
```

```pycon
>>> draw("c.txt",
...      "c")
>>> 1 + 1
2
```
"""
REST = f"""Page
====

.. code-block:: python
   :linenos:

{"".join(f"   {line}{chr(10)}" for line in DRAW.splitlines())}
.. code-block:: python
   :class: no-run

   raise SystemExit

.. code:: python

   draw("figures/a.svg", "<svg>1</svg>")
   draw("b.mmd", "flowchart TB\\n  a\\n\\n  b\\n")

.. figure:: figures/a.svg

.. gradviz: b.mmd

.. mermaid::

   flowchart TB
     a

     b

Text.
"""


def page(folder: Path, text: str, name: str = "page.md", svg: str | None = "<svg>1</svg>") -> Path:
    """A page in a folder, with its stored figure."""
    (folder / "figures").mkdir(exist_ok=True)
    if svg is not None:
        (folder / "figures" / "a.svg").write_text(svg)
    (folder / name).write_bytes(text.encode())
    return folder / name


def verdicts(result: PageResult) -> dict[str, str]:
    return {figure.path: figure.verdict for figure in result.figures}


def printed(path: Path, update: bool = False, report: Path | None = None) -> tuple[int, str]:
    out = io.StringIO()
    return check_documentation([path], 60, update, report, out), out.getvalue()


@pytest.mark.parametrize(("name", "text"), [("page.md", MARKDOWN), ("page.rst", REST)])
def test_figures_that_are_what_the_code_draws_are_the_same(
    tmp_path: Path, name: str, text: str
) -> None:
    path = page(tmp_path, text, name)
    before = sorted(tmp_path.rglob("*"))
    result = check_figures(path, 60)
    assert result.problem == ""
    assert verdicts(result) == {"b.mmd": "same", "figures/a.svg": "same"}
    assert sorted(tmp_path.rglob("*")) == before
    assert path.read_text() == text


@pytest.mark.parametrize(("name", "text"), [("page.md", MARKDOWN), ("page.rst", REST)])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_update_writes_what_differs_and_nothing_else(
    tmp_path: Path, name: str, text: str, end: str
) -> None:
    text = text.replace("\n", end)
    wrong = text.replace(f"{end}  a{end}", f"{end}  old{end}").replace("     a", "     old")
    assert wrong != text
    path = page(tmp_path, wrong, name, None)
    status, said = printed(path)
    assert status == 1
    assert "b.mmd (line" in said
    assert "-  old" in said
    assert "figures/a.svg: the code draws it, and it is not stored; gradviz check" in said
    assert path.read_bytes() == wrong.encode()
    assert not (tmp_path / "figures/a.svg").exists()
    assert printed(path, update=True)[0] == 0
    assert path.read_bytes() == text.encode()
    assert (tmp_path / "figures/a.svg").read_text() == "<svg>1</svg>"


def test_a_picture_that_differs_is_in_the_report_beside_the_fresh_one(tmp_path: Path) -> None:
    path = page(tmp_path, MARKDOWN, svg="<svg>0</svg>")
    status, said = printed(path, report=tmp_path / "report.html")
    assert status == 1
    assert "figures/a.svg: differs from what the code draws; --report" in said
    assert "DIFFERS  " in said
    assert "2 figures: 1 same, 1 different" in said
    html = (tmp_path / "report.html").read_text()
    assert html.count("<figure>") == 2
    assert html.count("data:image/svg+xml;base64,") == 2
    assert "<figcaption>stored" in html


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("<!-- gradviz: b.mmd -->", "<!-- gradviz: other.mmd -->"), "other.mmd (line"),
        (("![a](figures/a.svg)", "![a](figures/old.png)"), "figures/old.png (line"),
        (("![a](figures/a.svg)", "![a](drawn.svg)"), "drawn.svg (line"),
    ],
)
def test_a_figure_that_no_code_makes_is_found(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    (tmp_path / "drawn.svg").write_text('<svg><g class="gv-node"/></svg>')
    path = page(tmp_path, MARKDOWN.replace(*change))
    status, text = printed(path)
    assert status == 1
    assert said in text
    assert "the page shows it, and no code of the page makes it" in text


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def f():\n    return 1 / 0\nf()", "raised ZeroDivisionError: division by zero"),
        ("x = (", "raised SyntaxError"),
        ("raise SystemExit(0)", "raised SystemExit: 0"),
        ("import os; os._exit(0)", "its process ended with status 0"),
    ],
)
def test_a_block_that_does_not_run_to_its_end_is_named(
    tmp_path: Path, code: str, said: str
) -> None:
    path = page(tmp_path, f"text\n\n```python\nx = 1\n```\n\n```python\n{code}\n```\n")
    status, text = printed(path)
    assert status == 1
    assert "its code did not run to the end, so nothing is compared" in text
    assert said in text
    if "1 / 0" in code:
        assert "the block in line 8" in text
        assert "line 10: f()" in text
        assert "line 9: return 1 / 0" in text


def test_code_that_does_not_end_is_ended(tmp_path: Path) -> None:
    path = page(tmp_path, "```python\nimport threading; threading.Event().wait()\n```\n")
    assert "has not ended after 0.5 seconds: --timeout" in check_figures(path, 0.5).problem


def test_files_that_are_no_pages_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CheckError, match="neither Markdown nor reStructuredText"):
        page_of(tmp_path / "x.ipynb")
    with pytest.raises(CheckError, match="does not exist"):
        page_of(tmp_path / "x.md")
    assert main(["check", "--figures", str(tmp_path / "x.md")]) == 2
    assert main(["check", "--update", "x.md"]) == 2
    assert main(["check", "--figures", "--lax", "x.md"]) == 2
    said = capsys.readouterr().err
    assert "--update writes figures of a documentation: add --figures" in said
    assert "--lax and --kernel are for notebooks" in said


def test_the_page_about_figures_is_checked_by_the_command_it_describes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "docs" / "figures", tmp_path / "figures")
    shutil.copy(ROOT / "docs" / "figures_in_documentation.md", tmp_path)
    path = tmp_path / "figures_in_documentation.md"
    assert main(["check", "--figures", str(path)]) == 0
    assert "2 figures: 2 same" in capsys.readouterr().out
