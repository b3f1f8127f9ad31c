"""The heat map of gradients, as elements and in a narrow space."""

from __future__ import annotations

import json
import re
from pathlib import Path

import gradviz
from gradviz.analysis.gradient_flow.tables import tables_of
from gradviz.model.gradient_flow import BackwardFlow, GradientFlow, ParameterFlow
from gradviz.view.figures.gradient_heat import WIDTH, gradient_heat
from tests.analysis.gradient_flow.programs import trained


def test_it_has_a_row_per_line_of_the_table_and_a_column_per_backward() -> None:
    recording, net, _ = trained()
    report = gradviz.gradient_flow(recording, net)
    figure = gradient_heat(report.findings)
    assert figure is not None
    svg = figure.svg()
    lines = list(report.tables[0].lines())
    assert len(re.findall(r"<title>", svg)) == 4 * len(lines)
    assert svg.count(">!<") + svg.count(">0<") > 4
    assert "step skipped" in svg
    assert "gate.weight, backward 1, line " in svg
    assert figure.size[0] == WIDTH <= 340  # a telephone is 400 wide


def test_many_backwards_and_many_parameters_fit_a_screen() -> None:
    count = 90
    rows = tuple(
        ParameterFlow(
            f"layers.{layer}.{name}",
            f"t{layer}",
            (4,),
            tuple(10.0 ** -(layer + turn / 30) for turn in range(count)),
            (True,) * count,
        )
        for layer in range(24)
        for name in ("weight", "bias", "scale")
    )
    backwards = tuple(BackwardFlow(turn + 1, None, 72, 1.0) for turn in range(count))
    tables = tables_of(rows, backwards, ())
    figure = gradient_heat(GradientFlow("", (), tables, rows, backwards))
    assert figure is not None
    assert figure.size[1] < 400
    svg = figure.svg()
    places = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', svg)]
    assert len(set(places)) > 20
    assert max(places) < WIDTH
    assert "backwards 1 to 3, the largest" in svg


def test_the_same_program_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for name in ("one", "other"):
        recording, net, _ = trained(turns=2, broken=None)
        report = gradviz.gradient_flow(recording, net)
        for ending in ("html", "svg", "json", "csv"):
            report.save(tmp_path / f"{name}.{ending}")
        found.append([(tmp_path / f"{name}.{e}").read_bytes() for e in ("svg", "json", "csv")])
        assert json.loads((tmp_path / f"{name}.json").read_text())["kind"] == "gradientflow"
        assert "head.weight" in str(report)
    assert found[0] == found[1]
