from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradviz._distribution import VERSION
from gradviz.course import copies
from gradviz.course.copies import State, compare, installed_lessons
from gradviz.course.delivery import NEWS_CELL, RECORD, UP_TO_DATE, deliver, news

ONE = "01-one.ipynb"
TWO = "02-two.ipynb"
START = copies.START
Change = Callable[[dict[str, Any]], None]


def cell(source: str, name: str, printed: str | None = None) -> dict[str, Any]:
    outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
    common = {"id": name, "metadata": {}, "source": source.splitlines(keepends=True)}
    return {"cell_type": "code", "execution_count": 1, "outputs": outputs, **common}


def write(path: Path, *cells: dict[str, Any]) -> None:
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(document), encoding="utf-8")


def change(path: Path, how: Change) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    how(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def edit(path: Path, source: str = "x = 3  # mine") -> None:
    change(path, lambda document: document["cells"][0].update(source=source))


def source_of(path: Path) -> str:
    return "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])


def start_page(folder: Path) -> str:
    """What the start page shows without being run."""
    (output,) = json.loads((folder / START).read_text(encoding="utf-8"))["cells"][0]["outputs"]
    return "".join(output["text"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    """The installed lessons."""
    folder = tmp_path / "installed"
    folder.mkdir()
    write(folder / START, cell("print(news())", NEWS_CELL, f"{UP_TO_DATE}\n"))
    write(folder / ONE, cell("x = 1\nprint(x)", "one", "1\n"))
    write(folder / TWO, cell("y = 2", "two"))
    (folder / "build.py").touch()
    return folder


@pytest.fixture
def folder(lessons: Path, tmp_path: Path) -> Path:
    """A learner's folder, just delivered."""
    made = tmp_path / "learner"
    deliver(lessons, made)
    return made


def publish(lessons: Path, text: str = "x = 2") -> None:
    write(lessons / ONE, cell(text, "one", "new\n"))


def test_the_folder_of_a_learner_holds_lessons_and_nothing_else(folder: Path) -> None:
    assert names(folder) == [RECORD, START, ONE, TWO]


def test_delivering_again_writes_nothing(lessons: Path, folder: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    again = deliver(lessons, folder)
    assert (again.added, again.updated, again.removed, again.news) == ([], [], [], UP_TO_DATE)
    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


def test_the_same_lessons_are_delivered_as_the_same_bytes(
    lessons: Path, folder: Path, tmp_path: Path
) -> None:
    deliver(lessons, tmp_path / "other")
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()


def test_an_older_lesson_that_is_not_edited_is_replaced(lessons: Path, folder: Path) -> None:
    publish(lessons)
    done = deliver(lessons, folder)
    assert (done.updated, done.news) == ([ONE], UP_TO_DATE)
    assert source_of(folder / ONE) == "x = 2"


def run_only(document: dict[str, Any]) -> None:
    first = document["cells"][0]
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "0f3a"}}
    result = {"output_type": "display_data", "metadata": {}, "data": view}
    first.update(outputs=[result], execution_count=17, id="another")
    first["metadata"] = {"jupyter": {"outputs_hidden": False}, "trusted": True}
    first["source"] = "".join(first["source"])
    document["metadata"].update(widgets={"state": {}}, language_info={"version": "3.14"})
    document["cells"].append({**cell("", "below"), "execution_count": None})


def test_a_lesson_that_was_only_run_is_not_edited(lessons: Path, folder: Path) -> None:
    change(folder / ONE, run_only)
    publish(lessons)
    assert deliver(lessons, folder).updated == [ONE]


def to_markdown(document: dict[str, Any]) -> None:
    document["cells"][0]["cell_type"] = "markdown"


def add_cell(document: dict[str, Any]) -> None:
    document["cells"].append(cell("print(x)", "mine"))


def attach(document: dict[str, Any]) -> None:
    document["cells"][0]["attachments"] = {"picture.png": {"image/png": "aGk="}}


def remove_cell(document: dict[str, Any]) -> None:
    document["cells"].clear()


@pytest.mark.parametrize("how", [to_markdown, add_cell, attach, remove_cell])
def test_an_edited_lesson_is_never_overwritten(how: Change, lessons: Path, folder: Path) -> None:
    change(folder / ONE, how)
    mine = (folder / ONE).read_bytes()
    publish(lessons)
    for _ in range(2):
        assert deliver(lessons, folder).updated == []
    assert (folder / ONE).read_bytes() == mine


def test_the_new_lesson_is_put_beside_the_edited_one_and_said(lessons: Path, folder: Path) -> None:
    edit(folder / ONE)
    publish(lessons)
    done = deliver(lessons, folder)
    assert source_of(folder / "01 (new) one.ipynb") == "x = 2"
    assert done.news == "01-one.ipynb is edited and stays.\nThe new lesson is 01 (new) one.ipynb"
    assert start_page(folder) == f"{done.news}\n"
    assert deliver(lessons, folder).news == done.news


def test_what_was_put_beside_once_and_deleted_does_not_come_back(
    lessons: Path, folder: Path
) -> None:
    edit(folder / ONE)
    publish(lessons)
    deliver(lessons, folder)
    (folder / "01 (new) one.ipynb").unlink()
    done = deliver(lessons, folder)
    assert names(folder) == [RECORD, START, ONE, TWO]
    assert "rename yours" in done.news
    (folder / ONE).rename(folder / "mine.ipynb")
    assert deliver(lessons, folder).added == [ONE]


def test_a_still_newer_lesson_replaces_the_one_beside_if_that_is_not_edited(
    lessons: Path, folder: Path
) -> None:
    edit(folder / ONE)
    for text in ("x = 2", "x = 3"):
        publish(lessons, text)
        deliver(lessons, folder)
    assert names(folder) == [RECORD, START, "01 (new) one.ipynb", ONE, TWO]
    assert source_of(folder / "01 (new) one.ipynb") == "x = 3"
    edit(folder / "01 (new) one.ipynb", "also mine")
    publish(lessons, "x = 4")
    assert "The new lesson is 01 (new 2) one.ipynb" in deliver(lessons, folder).news
    assert source_of(folder / "01 (new) one.ipynb") == "also mine"
    assert source_of(folder / "01 (new 2) one.ipynb") == "x = 4"


def test_whoever_takes_over_the_new_lesson_and_edits_it_hears_no_more(
    lessons: Path, folder: Path
) -> None:
    edit(folder / ONE)
    publish(lessons)
    deliver(lessons, folder)
    (folder / "01 (new) one.ipynb").replace(folder / ONE)
    edit(folder / ONE, "mine again")
    assert deliver(lessons, folder).news == UP_TO_DATE
    assert start_page(folder) == f"{UP_TO_DATE}\n"
    assert source_of(folder / ONE) == "mine again"


def test_new_stored_outputs_replace_a_copy_but_are_not_offered_beside_an_edited_one(
    lessons: Path, folder: Path
) -> None:
    edit(folder / ONE)
    write(lessons / ONE, cell("x = 1\nprint(x)", "one", "1.0\n"))
    write(lessons / TWO, cell("y = 2", "two", "2\n"))
    done = deliver(lessons, folder)
    assert (done.updated, done.news) == ([TWO], UP_TO_DATE)


def test_the_start_page_says_it_also_where_it_is_edited_itself(lessons: Path, folder: Path) -> None:
    change(folder / START, lambda d: d["cells"].append(cell("loss = 7", "mine")))
    edit(folder / ONE)
    publish(lessons)
    deliver(lessons, folder)
    assert "01 (new) one.ipynb" in start_page(folder)
    cells = json.loads((folder / START).read_text(encoding="utf-8"))["cells"]
    assert [c["source"] for c in cells] == [["print(news())"], ["loss = 7"]]


def test_what_was_there_before_without_a_stamp_stays(lessons: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / ONE).write_text("my answers", encoding="utf-8")
    write(folder / TWO, cell("y = 2", "two"))
    done = deliver(lessons, folder)
    assert (folder / ONE).read_text(encoding="utf-8") == "my answers"
    assert done.news == "01-one.ipynb is edited and stays.\nThe new lesson is 01 (new) one.ipynb"


@pytest.mark.parametrize("kept", ['{"offered": 3}', "[]", "", "no json"])
def test_a_damaged_record_is_begun_anew(kept: str, lessons: Path, folder: Path) -> None:
    (folder / RECORD).write_text(kept, encoding="utf-8")
    edit(folder / ONE)
    publish(lessons)
    deliver(lessons, folder)
    assert list(json.loads((folder / RECORD).read_text(encoding="utf-8"))["offered"]) == [ONE]


def test_lessons_that_the_course_no_longer_has_go_if_they_are_not_edited(
    lessons: Path, folder: Path
) -> None:
    (folder / "copy of two.ipynb").write_bytes((folder / TWO).read_bytes())
    write(folder / "notes.ipynb", cell("mine", "mine"))
    edit(folder / ONE)
    for name in (ONE, TWO):
        (lessons / name).unlink()
    assert deliver(lessons, folder).removed == [TWO]
    assert names(folder) == [RECORD, START, ONE, "copy of two.ipynb", "notes.ipynb"]


def test_how_to_pages_lie_in_their_folder_and_are_delivered_as_lessons_are(
    lessons: Path, tmp_path: Path
) -> None:
    page, folder = f"{copies.PAGES}/two-ways.ipynb", tmp_path / "mine"
    (lessons / copies.PAGES).mkdir()
    write(lessons / page, cell("x = 1", "one"))
    assert deliver(lessons, folder).added == [START, ONE, TWO, page]
    edit(folder / page)
    write(lessons / page, cell("x = 2", "one"))
    done = deliver(lessons, folder)
    assert source_of(folder / page) == "x = 3  # mine"
    assert done.news == f"{page} is edited and stays.\nThe new lesson is howto/two-ways (new).ipynb"
    assert source_of(folder / "howto" / "two-ways (new).ipynb") == "x = 2"
    (folder / page).unlink()
    deliver(lessons, folder)
    (lessons / page).unlink()
    assert deliver(lessons, folder).removed == [page]


def test_lessons_of_a_newer_gradviz_stay_and_are_said(
    lessons: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = f'"{VERSION}"'.encode()
    newest = (folder / ONE).read_bytes().replace(installed, b'"99.10.0"')
    (folder / ONE).write_bytes(newest)
    monkeypatch.setattr(copies, "VERSION", "99.9.0")
    publish(lessons)
    done = deliver(lessons, folder)
    assert (folder / ONE).read_bytes() == newest
    assert "Of a newer gradviz than the installed" in done.news
    assert ONE in done.news


def test_news_without_delivery_name_what_is_older_and_what_is_not_there(
    lessons: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradviz.course.delivery.installed_lessons", lambda: lessons)
    monkeypatch.chdir(folder)
    assert news() == UP_TO_DATE
    publish(lessons)
    (folder / TWO).unlink()
    assert news().splitlines() == [
        "Not in this folder: 02-two.ipynb.",
        "Older than the installed lessons: 01-one.ipynb.",
        "Start with `gradviz lab` to get the installed ones.",
    ]
    monkeypatch.setattr("gradviz.course.delivery.installed_lessons", lambda: None)
    assert "contains no lessons" in news()


def test_the_lessons_of_this_checkout_have_the_cell_that_prints_the_news(tmp_path: Path) -> None:
    lessons = installed_lessons()
    assert lessons is not None
    deliver(lessons, tmp_path)
    assert {copy.state for copy in compare(lessons, tmp_path)} == {State.CURRENT}
    cells = json.loads((tmp_path / START).read_text(encoding="utf-8"))["cells"]
    (found,) = (c for c in cells if c["id"] == NEWS_CELL)
    assert "".join(found["outputs"][0]["text"]) == f"{UP_TO_DATE}\n"
