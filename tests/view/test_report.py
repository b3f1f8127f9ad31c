from __future__ import annotations

import base64
import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gradviz.model import Graph, OptionError, UnknownNodeError
from gradviz.model.highlights import Highlight
from gradviz.model.report import Block, Column, Table
from gradviz.view.documents.digest import MIME as DIGEST
from gradviz.view.documents.report import report_document
from gradviz.view.documents.report_json import report_json
from gradviz.view.widgets.report import ReportWidget
from tests.view.documents import check_document
from tests.view.graphs import HOSTILE, chain
from tests.view.reports import BITS, FIGURE, MadeUp, hostile, many, tables_of

VIEW = "application/vnd.jupyter.widget-view+json"


def bundle_of(report: ReportWidget) -> dict[str, Any]:
    data, _metadata = report._repr_mimebundle_()
    assert isinstance(data, dict)
    return data


def test_wire_is_the_stored_one(check_golden: Callable[[str, str], None]) -> None:
    wire = report_document(MadeUp(), figures=(("Icicle", FIGURE),))
    check_document(check_golden, "report/made_up", wire)


def test_a_report_is_its_findings_and_the_rows_of_their_first_table() -> None:
    findings = MadeUp()
    report = ReportWidget(findings)
    assert report.findings is findings
    assert (report.graph, report.tables) == (findings.graph, findings.tables)
    assert [row["parameter"] for row in report] == ["a", "b", "c", "frozen"]
    assert len(report) == 4
    assert report["b"] == ("b", True, 2.0, 50_000, "")
    assert str(report) == repr(report) == str(findings)


def test_names_are_asked_of_findings_that_have_none() -> None:
    report = ReportWidget(NoNames())
    with pytest.raises(TypeError, match=r"NoNames has no names; list\(report\) has rows"):
        report["a"]
    assert (list(report), len(report), bool(report)) == ([], 0, True)


@dataclass(frozen=True)
class NoNames:
    title: str = "nothing to say"
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    graph: Graph | None = None
    marks: tuple[Highlight, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: object = field(default_factory=object, compare=False)


def test_a_row_leads_to_what_stands_for_its_thing_in_the_picture() -> None:
    ids = ("n1", "n1.0", "n1.saved.1", "t0", "t3", "n99")
    table = Table("", (Column("thing"),), tuple((key,) for key in ids), ids)
    wire = report_document(
        MadeUp(tables=(table,), marks=(Highlight("t0", "cut"), Highlight("n1.0", "new")))
    )
    rows = tables_of(wire)[0]["rows"]
    assert [row["id"] for row in rows] == ["n1", "n1", "n1", "n3", "t3", ""]
    assert [row["mark"] for row in rows] == ["+ new"] * 3 + ["// cut", "", ""]
    assert wire["marked"] == ["n3", "n1"]
    drawn = {item["id"] for item in wire["picture"]["items"]}
    assert {row["id"] for row in rows[:5]} <= drawn


def test_cells_have_words_and_something_to_sort_by() -> None:
    columns = (Column("n", "number"), Column("b", "bytes"), Column("f", "flag"), Column("t"))
    rows = (
        (0.1234567, 50_000, True, "x"),
        (None, None, None, None),
        (float("nan"), -50_000, False, "y\n"),
        (float("inf"), 0, True, ""),
    )
    wire = report_document(MadeUp(tables=(Table("", columns, rows),)))
    cells = [[tuple(cell.values()) for cell in row["cells"]] for row in tables_of(wire)[0]["rows"]]
    assert cells == [
        [("0.1235", 0.1234567), ("48.8 KiB", 50_000), ("yes", 1), ("x", "x")],
        [("", None)] * 4,
        [("nan", None), ("-48.8 KiB", -50_000), ("no", 0), ("y\\n", "y\\n")],
        [("inf", 1.7976931348623157e308), ("0 B", 0), ("yes", 1), ("", "")],
    ]
    json.dumps(wire, allow_nan=False)


def test_a_long_table_says_how_much_of_it_is_not_sent() -> None:
    (table,) = tables_of(report_document(many(2003)))
    assert (len(table["rows"]), table["more"]) == (2000, "… and 3 more rows")
    assert "<p>… and 1,603 more rows</p>" in bundle_of(ReportWidget(many(2003)))["text/html"]
    assert tables_of(report_document(many(2000)))[0]["more"] == ""


def test_only_what_the_picture_has_can_be_selected() -> None:
    report = ReportWidget(MadeUp())
    report.selected = "n1"
    with pytest.raises(UnknownNodeError):
        report.selected = "n99"
    with pytest.raises(UnknownNodeError, match="it has: none"):
        ReportWidget(many(3)).selected = "n0"


def test_the_bundle_can_be_read_without_a_kernel_and_without_trust() -> None:
    report = ReportWidget(MadeUp(), figures=(("Icicle", FIGURE),))
    bundle = bundle_of(report)
    assert set(bundle) == {VIEW, DIGEST, "text/html", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"] == str(report)
    html = bundle["text/html"]
    assert html.count("<tr>") == 1 + 4
    assert "requires_grad is False" in html
    assert not re.search(r"<(script|style|svg|link|iframe)", html)
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert [base64.b64decode(p).decode() for p in pictures] == [report._drawn, FIGURE.svg()]
    assert "∅ unreached" in report._drawn


def test_without_a_graph_the_first_figure_is_the_picture() -> None:
    report = ReportWidget(many(3), figures=(("Icicle", FIGURE), ("Curve", BITS)))
    assert bundle_of(report)["image/svg+xml"] == FIGURE.svg()
    assert report.wire["picture"] is None


def test_hostile_words_stay_words(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for word in HOSTILE:
        with subtests.test(word=word):
            report = ReportWidget(hostile(word))
            html = bundle_of(report)["text/html"]
            assert not re.search(r"<script|<b>|onload=alert\(1\)[^<]*>", html)
            assert not re.search("[\ud800-\udfff\x00\u202e]", html)
            for ending in ("html", "svg", "json", "csv"):
                report.save(tmp_path / f"report.{ending}")
            page = (tmp_path / "report.html").read_text("utf-8")
            assert page.count("</script>") == 3
            assert (
                len(list(csv.reader((tmp_path / "report.csv").read_text("utf-8").splitlines()))) > 0
            )
            json.loads((tmp_path / "report.json").read_text("utf-8"))


def test_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for ending in ("html", "svg", "png", "json", "csv"):
        files = [tmp_path / f"{i}.{ending}" for i in range(2)]
        for file in files:
            ReportWidget(MadeUp(), figures=(("Icicle", FIGURE),)).save(file)
        assert files[0].read_bytes() == files[1].read_bytes(), ending
    assert files[0].read_text("utf-8").splitlines() == [
        "parameter,reached,norm,kept,why",
        "a,True,3.0,24,",
        "b,True,2.0,50000,",
        "c,True,1.0,24,",
        "frozen,False,,,requires_grad is False",
    ]


def test_the_page_has_the_tables_without_scripts_too(tmp_path: Path) -> None:
    ReportWidget(MadeUp()).save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    still = page[page.index("<main") : page.index("</main>")]
    assert still.count("<tr>") == 5
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in still


def test_a_png_of_a_figure_has_its_colours(tmp_path: Path) -> None:
    ReportWidget(many(3), figures=(("Icicle", BITS),)).save(tmp_path / "figure.png")
    black = replace(BITS, rules=BITS.rules.replace("$held-fill", "$ink"))
    ReportWidget(many(3), figures=(("Icicle", black),)).save(tmp_path / "black.png")
    assert (tmp_path / "figure.png").read_bytes() != (tmp_path / "black.png").read_bytes()


def test_files_that_cannot_be_written_say_which_can(tmp_path: Path) -> None:
    with pytest.raises(
        OptionError, match=r"cannot save as '.*\.pdf': .*\.html, \.svg, \.png, \.json, \.csv"
    ):
        ReportWidget(MadeUp()).save(tmp_path / "x.pdf")
    for ending in ("svg", "png"):
        with pytest.raises(OptionError, match="no picture"):
            ReportWidget(many(3)).save(tmp_path / f"x.{ending}")
    with pytest.raises(OptionError, match="no table"):
        ReportWidget(NoNames()).save(tmp_path / "x.csv")


def test_json_has_the_common_facts_and_those_of_its_own() -> None:
    document = json.loads(report_json(MadeUp()))
    assert list(document)[:7] == [
        "format", "kind", "title", "sentences", "tables", "marks", "graph",
    ]  # fmt: skip
    assert document["seen"] == "nan"
    assert document["tables"][0]["rows"][3] == [
        "frozen",
        False,
        None,
        None,
        "requires_grad is False",
    ]
    graph = MadeUp().graph
    assert graph is not None
    assert Graph.from_json(json.dumps(document["graph"])) == graph
    assert "hidden" not in json.loads(report_json(NoNames()))


def test_a_large_graph_is_sent_without_its_json() -> None:
    small = report_document(MadeUp())
    assert small["json"] == report_json(MadeUp())
    assert "json" not in report_document(replace(MadeUp(), graph=chain(400)))
    assert "json" not in report_document(replace(MadeUp(), graph=chain(401)), room=10**9)


def folded() -> MadeUp:
    """Findings whose rows are in blocks, of which one is closed."""
    columns = (Column("node"), Column("bytes", "bytes"))
    rows = (("n1", 1), ("n2", 2), ("n3", 3))
    members = (Block(("all", 6), (Block(("two of them", 5), (2, 1)), 0), is_open=True),)
    return MadeUp(tables=(Table("kept", columns, rows, ("n1", "n2", "n3"), members),))


def test_rows_in_blocks_have_their_level_and_blocks_the_number_of_their_rows() -> None:
    (table,) = tables_of(report_document(folded()))
    assert [
        (row["cells"][0]["text"], row["id"], row["level"], row.get("inside"), row.get("open"))
        for row in table["rows"]
    ] == [
        ("all", "", 1, 3, True),
        ("two of them", "", 2, 2, False),
        ("n3", "n3", 3, None, None),
        ("n2", "n2", 3, None, None),
        ("n1", "n1", 2, None, None),
    ]
    assert table["more"] == ""
    assert "level" not in tables_of(report_document(MadeUp()))[0]["rows"][0]


def test_of_too_many_rows_in_blocks_the_outer_ones_are_sent() -> None:
    rows = tuple((str(i),) for i in range(6000))
    inner = tuple(Block((f"block {k}",), tuple(range(60 * k, 60 * k + 60))) for k in range(100))
    table = Table("", (Column("name"),), rows, members=(Block(("all",), inner, is_open=True),))
    (sent,) = tables_of(report_document(MadeUp(tables=(table,))))
    blocks = [row for row in sent["rows"] if "inside" in row]
    assert (len(sent["rows"]), len(blocks)) == (5000, 101)
    assert sent["more"] == "… and 1,101 more rows"


def test_without_a_script_the_open_blocks_are_there_and_the_closed_rows_are_counted() -> None:
    html = bundle_of(ReportWidget(folded()))["text/html"]
    assert html.count("<tr>") == 1 + 3
    assert "▾ all<" in html
    assert "\u2003▸ two of them<" in html
    assert "▸ 2 rows are in closed blocks" in html
    assert "n3" not in html.split("<table>")[1].split("</table>")[0]


def test_files_have_all_rows_of_blocks_and_json_the_blocks_too(tmp_path: Path) -> None:
    report = ReportWidget(folded())
    report.save(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text("utf-8") == "node,bytes\nn1,1\nn2,2\nn3,3\n"
    (table,) = json.loads(report_json(folded()))["tables"]
    assert table["rows"] == [["n1", 1], ["n2", 2], ["n3", 3]]
    assert table["members"] == [
        {
            "cells": ["all", 6],
            "members": [{"cells": ["two of them", 5], "members": [2, 1], "is_open": False}, 0],
            "is_open": True,
        }
    ]
    assert "members" not in json.loads(report_json(MadeUp()))["tables"][0]
    assert [row["node"] for row in report] == ["n1", "n2", "n3"]
