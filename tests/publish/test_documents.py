"""What is in the page and in the slides of a notebook."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gradviz.publish.documents import page_html, slides_html
from gradviz.view.documents.graph import expand
from tests.publish.notebooks import ran

WRITERS = {"page": page_html, "slides": slides_html}


@pytest.fixture(params=WRITERS)
def html(request: pytest.FixtureRequest) -> str:
    return WRITERS[request.param](*ran(), "A lecture")


def without_scripts(html: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)


def states(html: str) -> list[Any]:
    found = re.findall(r'<script[^>]*id="gradviz-state-\d+"[^>]*>(.*?)</script>', html, re.DOTALL)
    return [json.loads(one) for one in found]


def test_every_widget_has_its_place_and_its_state(html: str) -> None:
    kinds = [expand(one["wire"])["kind"] for one in states(html)]
    assert kinds == ["recording", "question"]
    assert re.findall(r'data-gradviz-state="([^"]*)"', without_scripts(html)) == [
        "gradviz-state-1",
        "gradviz-state-2",
    ]


def test_the_module_of_the_widgets_is_there_once(html: str) -> None:
    assert len(re.findall(r'id="gradviz-code-\d+"', html)) == 1


def test_nothing_is_fetched(html: str) -> None:
    loaded = re.findall(r'<(?:link|img|script|iframe)[^>]*(?:src|href)="([^"]*)"', html)
    assert [one for one in loaded if not one.startswith("data:")] == []
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    assert not re.search(r"@import|url\((?!['\"]?(?:data:|#))", styles)
    assert "default-src 'none'" in html


def test_the_same_notebook_gives_the_same_bytes(html: str) -> None:
    assert html in {write(*ran(), "A lecture") for write in WRITERS.values()}


def test_nothing_tells_the_answer_before_it_was_asked_for(html: str) -> None:
    for secret in ("It was not doubled.", "The square doubles it.", "twice the number"):
        assert secret in ran()[0].cells[6].source  # a teacher's own notebook has it in its source
    shown = re.sub(r"<details><summary>Code</summary>.*?</details>", "", html, flags=re.DOTALL)
    for secret in ("It was not doubled.", "The square doubles it.", "twice the number"):
        assert secret not in shown


def test_a_page_says_that_its_answers_are_encoded_not_secret() -> None:
    assert "encoded, not secret" in without_scripts(page_html(*ran(), "A lecture"))


def test_a_page_folds_what_the_notebook_folds() -> None:
    page = page_html(*ran(), "A lecture")
    assert page.count("<summary>Code</summary>") == 1


def test_each_slide_has_its_cells() -> None:
    deck = without_scripts(slides_html(*ran(), "A lecture"))
    found = [
        re.findall(r'id="cell-id=([^"]*)"', slide)
        for slide in deck.split('<div class="gradviz-slide')[1:]
    ]
    assert found == [["title"], ["watch"], ["steps", "caption"], ["slope"], ["numbers", "print"]]


def test_the_program_of_a_player_is_on_its_slide_once() -> None:
    assert "%%gradviz" not in without_scripts(slides_html(*ran(), "A lecture"))


def test_no_output_is_taken_for_a_slide() -> None:
    notebook, known = ran()
    notebook.cells[-1].outputs = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"text/html": "<section>x</section>"},
        }
    ]
    deck = without_scripts(slides_html(notebook, known, "A lecture"))
    assert "<div>x</div>" in deck


def test_a_widget_of_another_library_says_that_it_needs_a_kernel() -> None:
    notebook, known = ran()
    view = {"model_id": "slider", "version_major": 2, "version_minor": 0}
    data = {"application/vnd.jupyter.widget-view+json": view, "text/plain": "IntSlider(value=3)"}
    notebook.cells[-1].outputs = [{"output_type": "display_data", "metadata": {}, "data": data}]
    page = page_html(notebook, {**known, "slider": {"_model_name": "IntSliderModel"}}, "A lecture")
    assert "This control needs a kernel: run the notebook to use it." in page
    assert "IntSlider" not in without_scripts(page)
