"""Findings are drawn when somebody looks at them, and not before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import comm
import ipywidgets
import pytest
import torch
from comm import DummyComm
from ipywidgets.embed import dependency_state, embed_data

import gradviz
from gradviz.view.graph import layout, placing
from gradviz.view.widgets.report import ReportWidget


class Layouts:
    """How often cards were placed."""

    count = 0


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> Layouts:
    found = Layouts()

    def lay_out(*args: Any, **options: Any) -> layout.Layout:
        found.count += 1
        return layout.lay_out(*args, **options)

    monkeypatch.setattr(placing, "lay_out", lay_out)
    return found


def loss() -> tuple[torch.Tensor, torch.nn.Module]:
    model = torch.nn.Linear(2, 1)
    return model(torch.ones(2)).sum(), model


REPORTS: dict[str, Callable[[], ReportWidget]] = {
    "audit": lambda: gradviz.audit(*loss()),
    "memory": lambda: gradviz.memory(*loss()),
    "compare": lambda: gradviz.compare(loss()[0], loss()[0] * 2),
}
LOOKS: dict[str, Callable[[ReportWidget, Path], object]] = {
    "displayed": lambda report, _: report._repr_mimebundle_(),
    "in another widget": lambda report, _: ipywidgets.VBox([report]),
    "its document": lambda report, _: report.wire["pictures"],
    "a file": lambda report, folder: report.save(folder / "report.html"),
    "its state": lambda report, _: report.get_state(),
    "embedded": lambda report, _: embed_data([report], state=dependency_state([report])),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_drawn_once_when_it_is_looked_at_and_not_when_it_is_read(
    name: str, layouts: Layouts, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    report = REPORTS[name]()
    assert str(report) == str(report.findings)
    assert list(report) == report.tables[0].dicts()
    assert report.graph is not None
    report.save(tmp_path / "report.json")
    report.save(tmp_path / "report.csv")
    report.close()
    assert str(report).endswith("(closed)")
    assert layouts.count == 0
    for first, look in LOOKS.items():
        with subtests.test(first):
            report = REPORTS[name]()
            before = layouts.count
            look(report, tmp_path)
            count = layouts.count
            assert count > before
            for again in LOOKS.values():
                again(report, tmp_path)
            assert layouts.count == count


def test_the_browser_gets_the_document_with_the_model_and_no_message_after_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    sent: list[str] = []

    class Comm(DummyComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            state = (data or {}).get("state", {})
            if "wire" in state or "ReportWidget" in state.get("_anywidget_id", ""):
                sent.append(f"{msg_type} {[*state].count('wire')}")

    monkeypatch.setattr(comm, "create_comm", Comm)
    for name, look in LOOKS.items():
        with subtests.test(name):
            sent.clear()
            report = REPORTS["audit"]()
            assert sent == []
            look(report, tmp_path)
            report._repr_mimebundle_()
            report._repr_mimebundle_()
            assert sent == ["comm_open 1"]
