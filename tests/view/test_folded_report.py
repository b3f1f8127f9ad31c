"""The picture of a report folds as every other: marks are seen, rows lead to nodes and boxes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradviz.analysis.fold.folding import folding_of
from gradviz.model.highlights import Highlight
from gradviz.model.report import Block, Column, Table
from gradviz.view.widgets.report import ReportWidget
from tests.view.folds import blocks
from tests.view.reports import MadeUp, tables_of

DEEP = "n46"
"""A node in the first block: closed at first, if nothing is marked in it."""


def report(marks: tuple[Highlight, ...] = (), layers: int = 12) -> ReportWidget:
    graph = blocks(layers)
    rows = tuple((node.id, float(i)) for i, node in enumerate(graph.nodes))
    table = Table(
        "nodes",
        (Column("node"), Column("norm", "number")),
        rows,
        ids=tuple(node.id for node in graph.nodes),
        members=(Block(("all", 0.0), tuple(range(len(rows)))), *two_blocks(graph)),
    )
    return ReportWidget(
        replace(MadeUp(), graph=graph, tables=(table,), marks=marks), fold=folding_of
    )


def two_blocks(graph: Any) -> tuple[Block, ...]:
    """Blocks of the rows of two modules."""
    found = []
    for path in ("model.h.3", "model.h.7.mlp"):
        modules = (node.module or "" for node in graph.nodes)
        places = (i for i, module in enumerate(modules) if f"{module}.".startswith(f"{path}."))
        found.append(Block((path, 0.0), tuple(places)))
    return tuple(found)


def path_of(shown: ReportWidget, fold_id: str) -> str:
    folds = {fold["id"]: fold["path"] for fold in shown.wire["fold"]["folds"]}
    return str(folds[fold_id])


def test_the_picture_of_a_report_is_folded_as_others_are() -> None:
    shown = report()
    assert len(shown.wire["fold"]["opened"]) < 12
    assert json.dumps(shown.wire) == json.dumps(report().wire)
    assert "fold" not in report(layers=2).wire


def test_a_block_of_rows_leads_to_the_box_of_its_module() -> None:
    shown = report()
    rows = tables_of(shown.wire)[0]["rows"]
    ids = {row["cells"][0]["text"]: row["id"] for row in rows if "inside" in row}
    assert ids.pop("all") == ""
    assert {path: path_of(shown, key) for path, key in ids.items()} == {p: p for p in ids}
    shown.selected = ids["model.h.7.mlp"]
    with pytest.raises(Exception, match="no node or tensor 'f999'"):
        shown.selected = "f999"


def test_what_is_around_a_mark_is_open_at_first() -> None:
    graph = blocks(12)
    node = next(node for node in graph.nodes if node.module == "model.h.7.mlp")
    shown = report((Highlight(node.id, "culprit", "it did it"),))
    folding = folding_of(graph)
    assert folding is not None
    around = {fold.id for fold in folding.tree.around(node.id)}
    assert around <= set(shown.wire["fold"]["opened"])
    item = next(item for item in shown.wire["picture"]["items"] if item["id"] == node.id)
    assert item["details"][0] == {"heading": "! culprit", "rows": [["why", "it did it"]]}
    assert "gv-culprit" in shown.wire["pictures"]["compact"]


def test_a_closed_box_has_the_marks_of_what_is_in_it() -> None:
    graph = blocks(40)
    marks = tuple(Highlight(node.id, "unreached") for node in graph.nodes if node.module)
    shown = report(marks, layers=40)
    insides = shown.wire["fold"]["insides"]["compact"]
    closed = [
        card for one in insides.values() for card in one["cards"] if card["id"].startswith("f")
    ]
    modules = [card for card in closed if "gv-unreached" in card["markup"]]
    assert modules
    assert all("∅ unreached" in card["markup"] for card in modules)
    assert any("160 inside" in card["markup"] for card in modules)


def test_files_and_answers_have_the_marks_too(tmp_path: Path) -> None:
    shown = report((Highlight(DEEP, "cut"),))
    for ending in ("svg", "png", "html"):
        shown.save(tmp_path / f"report.{ending}")
    assert "gv-cut-here" in (tmp_path / "report.svg").read_text("utf-8")
    answer = json.loads(shown._answer_to({"find": DEEP}) or b"")
    item = next(item for item in answer["items"] if item["id"] == DEEP)
    assert "cut" in item["find"]
    around = shown.wire["fold"]["opened"][-1:]
    inside = json.loads(shown._answer_to({"inside": around}) or b"")
    assert set(inside["insides"]["compact"]) >= set(around)


def test_a_closed_report_says_so() -> None:
    shown = report()
    assert shown.wire["fold"]
    shown.close()
    assert "closed" in repr(shown)
    assert shown._answer_to({"find": "n1"}) is None
