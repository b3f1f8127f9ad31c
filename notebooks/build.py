"""Execute the lesson sources and write the notebooks: ``python notebooks/build.py [--check]``.

``source/*.py`` (jupytext percent format) is where lessons are edited. The title of a cell is its
id, and ``claims=[...]`` names the statements of the source documents that the cell shows. The
notebooks are the same bytes on every run; ``--check`` builds in memory and compares. The tag
``hide-input`` folds the code of a cell in JupyterLab: a question shows its program itself.

Which cell begins a slide is in its metadata, for ``gradviz slides``, nbconvert and RISE.

A lesson with questions by ``gradviz.predict`` has two editions (``editions.py``): the student's,
and in ``answers/`` the one with the answers. ``source/howto/*.py`` are pages that are no lessons;
they are written into ``howto/``, with their questions as a teacher writes them. ``ledger.py`` is
such a page beside the lessons: it runs every false statement. The source of a test has two
editions as a lesson has. ``confusions=[...]`` of a cell names confusions of
``docs/instructor_guide.md``: in a lesson those that the cell cures, in a test the one that it asks
for. It stays in the source.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gradviz.publish.slide_types import with_slide_types
from notebooks import editions

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources() -> list[Path]:
    """The percent sources, in reading order."""
    return sorted(SOURCE.glob("[0-9][0-9]-*.py"))


def tests() -> list[Path]:
    """The percent sources of tests: questions that are no lesson, in both editions."""
    return [SOURCE / "inventory.py"]


def pages() -> list[Path]:
    """The percent sources of pages that are no lessons."""
    return [*sorted((SOURCE / "howto").glob("*.py")), SOURCE / "ledger.py"]


def read(source: Path) -> nbformat.NotebookNode:
    """The notebook of a percent source, not yet run, each cell with its title as id.

    Raises:
        ValueError: If a cell has no title or two cells have the same one.
    """
    notebook: nbformat.NotebookNode = jupytext.read(source)
    seen: set[str] = set()
    for cell in notebook.cells:
        title = cell.metadata.get("title", "")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", title) or title in seen:
            raise ValueError(f"{source.name}: {title!r} is no new cell id such as 'flags-predict'")
        seen.add(title)
        cell["id"] = title
        cell.metadata = _metadata(cell.metadata)
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return notebook


def _metadata(written: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {
        key: written[key] for key in ("claims", "refutes", "tags") if key in written
    }
    is_folded = "hide-input" in kept.get("tags", ())
    return {**kept, "jupyter": {"source_hidden": True}} if is_folded else kept


def build(source: Path) -> str:
    """Run a source in a fresh kernel and return the text of its notebook, the student's edition."""
    notebook = read(source)
    if source.parent == SOURCE and editions.has_questions(notebook):
        notebook = editions.split(notebook, source.stem)[0]
    return executed(notebook)


def made(source: Path) -> Iterator[tuple[Path, str]]:
    """Every file that a source is made into, one after the other: data, editions.

    The data has to be in its place before the editions run.
    """
    notebook = read(source)
    if source.parent != SOURCE:
        yield HERE / source.parent.name / f"{source.stem}.ipynb", executed(notebook)
    elif not editions.has_questions(notebook):
        yield HERE / f"{source.stem}.ipynb", executed(notebook)
    else:
        student, answers, questions = editions.split(notebook, source.stem)
        yield editions.data_file(source.stem), editions.data_text(questions)
        yield HERE / f"{source.stem}.ipynb", executed(student)
        yield HERE / "answers" / f"{source.stem}.ipynb", executed(answers)


def executed(notebook: nbformat.NotebookNode) -> str:
    """Run a notebook in a fresh kernel and return its text."""
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(HERE)}},
    )
    client.execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", ()):
            # A widget view names a model of the kernel that ran; picture and text stay.
            output.get("data", {}).pop(WIDGET_VIEW, None)
            if output.output_type == "error":
                output["traceback"] = [ANSI_COLOUR.sub("", line) for line in output["traceback"]]
    text: str = nbformat.writes(with_slide_types(notebook))
    return text + "\n"


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs in which printing that arrived in several messages is one output."""
    joined: list[Any] = []
    for output in outputs:
        is_more = output.output_type == "stream" and any(
            before.output_type == "stream" and before.name == output.name for before in joined[-1:]
        )
        if is_more:
            joined[-1]["text"] += output.text
        else:
            joined.append(output)
    return joined


def main(arguments: list[str] | None = None) -> int:
    """Build all lessons, or those named; returns 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(prog="notebooks/build.py", description=__doc__.split("\n")[0])
    parser.add_argument("lesson", nargs="*", help="start of a file name, such as 01; default: all")
    parser.add_argument("--check", action="store_true", help="build in memory and compare")
    options = parser.parse_args(arguments)
    wanted = tuple(options.lesson) or ("",)
    differ = 0
    for source in (s for s in (*sources(), *tests(), *pages()) if s.name.startswith(wanted)):
        for target, text in made(source):
            name = target.relative_to(HERE.parent)
            if not options.check:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8", newline="\n")
                print(f"wrote {name}: {len(text):,} characters")
                continue
            stored = target.read_text(encoding="utf-8") if target.exists() else ""
            print(f"{name}: {'same' if stored == text else 'DIFFERS'}")
            if stored != text:
                differ = 1
                pair = (stored.splitlines(), text.splitlines())
                lines = list(difflib.unified_diff(*pair, "stored", "built", lineterm="", n=0))
                for line in lines[:20]:
                    print("   ", line[:160])
    return differ


if __name__ == "__main__":
    sys.exit(main())
