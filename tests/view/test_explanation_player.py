from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gradviz.model import Graph, Node, OptionError, Recording
from gradviz.model.events import Raised
from gradviz.model.explanation import Explanation
from gradviz.model.highlights import Highlight
from gradviz.model.sentence import Sentence
from gradviz.view.captions.details import details
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.recording import recording_document
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.explanation import explanation_view
from gradviz.view.widgets.picture import Picture
from gradviz.view.widgets.player import Player
from tests.view.documents import look_of
from tests.view.explanations import FREED, LOOK, SILENT, explained, post_mortem, spoilt, told_in
from tests.view.graphs import HOSTILE, tensor
from tests.view.recordings import Script, animation_of, product, texts_of

BOTH = explained(SILENT, FREED)
WIRE = recording_document(BOTH)
LAST = 25


def classes(svg: str, key: str) -> set[str]:
    found = (e for e in ET.fromstring(svg).iter() if e.get("data-id") == key)
    return set((next(found).get("class") or "").split())


def test_the_wire_is_that_of_the_recording_but_for_what_is_explained() -> None:
    plain: dict[str, Any] = recording_document(product(again=True))
    assert {key for key in plain if plain[key] != WIRE[key]} <= {
        "text", "pictures", "pieces", "views", "legend",
    }  # fmt: skip
    for index, (before, after) in enumerate(zip(plain["views"], WIRE["views"], strict=True)):
        if index not in (5, 6, 21, 22, LAST):
            assert before == after


def test_what_is_worth_a_look_is_a_card_and_changes_nothing_else() -> None:
    recording = explained(LOOK)
    step = LOOK.step or 0
    plain, wire = recording_document(product(again=True)), recording_document(recording)
    assert {key for key in plain if plain[key] != wire[key]} <= {"text", "views"}
    [card] = wire["views"][step].pop("cards")
    assert (card["tone"], card["title"]) == ("note", "worth a look")
    ticks = wire["views"][step].pop("ticks")
    assert [tick for tick in ticks if tick not in plain["views"][step].pop("ticks", [])] == ["look"]
    assert wire["views"] == plain["views"]
    assert [line for line in str(recording).split("\n") if " ! " in line] == []
    assert "· worth a look: backward added to the gradient of b" in str(recording)
    assert recording.all_steps[step].explanation is None


def test_marks_are_drawn_at_their_step_and_at_no_other() -> None:
    animation = animation_of(BOTH)
    plain = animation_of(product(again=True))
    assert "gv-culprit" in classes(animation.svg(LAST), "n4")  # t2 is the leaf on this card
    assert "gv-written" in classes(animation.svg(LAST), "n0.saved.1")
    assert "gv-written" in classes(animation.svg(21), "n2")
    for step in set(range(len(BOTH))) - {21, LAST}:
        assert list(animation.drawn(step)) == list(plain.drawn(step))


def test_the_node_that_raised_needs_no_second_sign() -> None:
    found = classes(animation_of(BOTH).svg(LAST), "n0")
    assert "gv-raised" in found
    assert "gv-refused" not in found


def test_elements_and_turns_agree_with_the_picture() -> None:
    for step in (20, 21, 22, LAST):
        for density in WIRE["pictures"]:
            now: dict[str, int] = {}
            for view in WIRE["views"][: step + 1]:
                now |= view["at"][density]
            drawn = [look_of(WIRE, density, key, number) for key, number in now.items()]
            svg = animation_of(BOTH, DrawOptions(density=density)).svg(step)
            assert all(text in svg for text in drawn)


def test_a_filmstrip_has_marks_and_reason() -> None:
    strip = Player(BOTH).filmstrip(["line:6"])
    svg = strip._repr_svg_()
    assert ".gv-written>.gv-card" in svg
    assert "≠ written" in svg
    assert "no error, but wrong" in str(strip)


def test_what_looks_the_same_at_two_steps_in_a_row_is_drawn_once() -> None:
    again = replace(SILENT, step=22)
    animation = animation_of(explained(SILENT, again, replace(again, step=24)))
    marked = [text for text in texts_of(animation)["gv-n2"] if "gv-written" in text]
    assert len(marked) == 1
    number = texts_of(animation)["gv-n2"].index(marked[0])
    shown = [step for step in range(LAST + 1) if animation.at(step)["gv-n2"] == number]
    assert shown == [21, 22, 24]
    assert [step for step in shown if "gv-n2" in animation.changes[step]] == [21, 24]
    assert all("gv-n2" in animation.changes[step] for step in (23, LAST))


def test_the_style_has_rules_for_the_marks_that_are_there() -> None:
    for variables in (True, False):
        sheet = animation_of(BOTH).css(variables)
        assert ".gv-written" in sheet
        assert ".gv-written" not in animation_of(product(again=True)).css(variables)
        assert ("var(--gv-" in sheet) is variables


def test_a_caption_that_knows_no_reason_takes_that_of_the_explanation() -> None:
    recording = explained(FREED)
    last = recording.records[-1]
    [raised] = last.events
    assert isinstance(raised, Raised)
    raised = replace(raised, node=None)
    outside = Recording([*recording.records[:-1], replace(last, events=(raised,))], recording.codes)
    outside._made["explanations"] = recording.explanations
    reason = FREED.what.removesuffix(".")
    assert details(outside, LAST) == f"line 7 raised RuntimeError: {reason}"
    other = Recording(list(outside.records), recording.codes)
    other._made["explanations"] = (
        replace(FREED, kind="other", what=Sentence("RuntimeError was raised")),
    )
    assert details(other, LAST) == "line 7 raised RuntimeError"


def test_an_explanation_is_shown_by_the_player_at_its_step() -> None:
    silent, error = BOTH.explanations
    assert explanation_view(error).step == BOTH[-1].number == 15
    player = explanation_view(silent, DrawOptions(direction="LR"), 300)
    assert isinstance(player, Player)
    assert (player.step, player.height) == (12, 300)
    assert Player(BOTH).step == 15
    assert Player(explained(SILENT)).step == 15


def test_what_was_not_recorded_is_shown_as_a_picture_with_the_marks() -> None:
    recording = post_mortem(FREED)
    picture = explanation_view(replace(FREED, recording=recording), height=200)
    assert isinstance(picture, Picture)
    assert picture.graph == recording.graph_at(LAST)
    assert "gv-refused" in classes(picture._still, "n0")
    assert picture.wire["legend"][0]["class"] == "gv-culprit"
    assert str(picture).startswith(str(FREED) + "\n\nautograd graph of out2")
    assert picture._repr_mimebundle_()[0]["text/html"].endswith(html_of(FREED))


def test_a_saved_picture_has_the_marks_too(tmp_path: Path) -> None:
    recording = post_mortem(FREED)
    picture = explanation_view(replace(FREED, recording=recording))
    for ending in ("svg", "html", "png", "json"):
        picture.save(tmp_path / f"a.{ending}")
    assert (tmp_path / "a.svg").read_text("utf-8") == picture._still
    page = (tmp_path / "a.html").read_text("utf-8")
    assert picture._still + html_of(FREED) in page
    graph = recording.graph_at(LAST)
    Picture(graph).save(tmp_path / "plain.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "plain.png").read_bytes()
    assert Graph.from_json((tmp_path / "a.json").read_text("utf-8")) == graph


@pytest.mark.parametrize("nothing", [Explanation(), FREED], ids=["no error", "no recording"])
def test_without_a_graph_there_is_nothing_to_show(nothing: Explanation) -> None:
    with pytest.raises(OptionError, match=r"nothing to show|no graph to show"):
        explanation_view(nothing)


def test_a_page_that_was_not_run_shows_the_card_below_the_picture() -> None:
    html = Player(BOTH)._repr_mimebundle_()[0]["text/html"]
    assert html.startswith("<img ")
    assert html.count("<section") == 2
    assert html.endswith(html_of(SILENT) + html_of(FREED))
    assert "<section" not in Player(product(), step=0)._repr_mimebundle_()[0]["text/html"]


def test_hostile_text_reaches_the_browser_as_clean_data(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            recording = explained(spoilt(FREED, text))
            wire = recording_document(recording)
            calm = recording_document(explained(spoilt(FREED, "x")))
            [card], [same] = (w["views"][LAST]["cards"] for w in (wire, calm))
            assert json.dumps(card, ensure_ascii=False).encode()
            names, others = ([name for name, _ in told_in(one["parts"])] for one in (card, same))
            assert names == others
            for density in wire["pictures"]:
                drawn = [ET.fromstring(w["pictures"][density]["svg"]) for w in (wire, calm)]
                assert len({tuple(e.tag for e in svg.iter()) for svg in drawn}) == 1


def test_a_page_without_scripts_has_card_and_outline(tmp_path: Path) -> None:
    Player(BOTH).save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"</svg>\n{html_of(SILENT)}{html_of(FREED)}" in page
    assert "! kind: graph freed" in page


def test_the_inspector_tells_the_mark_of_a_leaf_that_is_in_no_graph_and_only_at_its_step() -> None:
    script = Script("y = w * 2\ndel y\nw\n")
    script.step("start", None, tensor(0, "w"))
    node = Node("n0", "AccumulateGrad", (), variable="t0")
    script.step("line", 1, node, tensor(0, "w", node="n0"))
    script.step("line", 2, tensor(0, "w"), gone=("n0",))
    script.step("line", 3)
    script.step("end")
    recording = script.end()
    mark = Highlight("t0", "written", "in line 3")
    told = Explanation("hidden write", step=3, marks=(mark,), recording=recording)
    recording._made["explanations"] = (told,)
    assert "gv-written" in classes(animation_of(recording).svg(3), "n0")
    words = [view["items"].get("n0", {}).get("aria", "") for view in (
        recording_document(recording)["views"])]  # fmt: skip
    assert [aria.endswith("in no graph now, written: in line 3") for aria in words] == [
        False, False, False, True, False,
    ]  # fmt: skip
    assert words[4] == words[2]
