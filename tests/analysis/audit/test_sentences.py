"""What an audit prints, and what it says to those who call it wrongly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model import (
    GradvizError,
    GraphBusyError,
    NamesError,
    NoGraphError,
    NotATensorError,
    OptionError,
    UnknownNodeError,
)
from gradviz.model.report import Block
from tests.each import each


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head, self.spare = nn.Linear(2, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        self.spare.bias.requires_grad_(False)
        with torch.no_grad():
            self.fc.weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]]))
            self.fc.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.fc(x)).detach()
        y: Tensor = self.head(h)
        return y


ALONE = """\
4 of 6 parameters get no gradient from loss
fc.weight, fc.bias and spare.weight get no gradient: not in the graph of the loss.
spare.bias gets no gradient: requires_grad is False.
SGD.step() updates 2 of 6 parameters.
Not known: whether it was used, whether it required grad then, and where it was cut off. \
Run the forward in gradviz.record() and pass recording=.

parameters
parameter                   gradient  reason   shape         reached  updated  from
fc.weight                   no        unknown  (3, 2)        no       no       .grad is None
fc.bias                     no        unknown  (3,)          no       no       .grad is None
spare.weight                no        unknown  (1, 3)        no       no       .grad is None
spare.bias                  no        frozen   (1,)          no       no       .grad is None
▸ 2 where nothing is wrong  yes                2 parameters  yes      yes      backward()
▸ 2 rows are in closed blocks: .rows of the table has all.

groups of SGD: 1 row in .tables[1]
1 note in .findings.notes"""

RECORDED = """\
4 of 6 parameters get no gradient from loss
fc.weight and fc.bias get no gradient: detach() in line N (test_sentences.py: forward) cut it \
off, so h has no graph.
Line N: h = torch.relu(self.fc(x)).detach()
spare.weight gets no gradient: no call in the recording uses it.
spare.bias gets no gradient: requires_grad is False.

parameters
parameter  gradient  reason  shape  reached  norm  zeros  nan  inf  stale
fc.weight  no        detached, line N  (3, 2)  no
fc.bias  no  detached, line N  (3,)  no
spare.weight  no  not used  (1, 3)  no
spare.bias  no  frozen  (1,)  no
▸ 2 where nothing is wrong  yes  2 parameters  yes  9.798  1  0  0  no
▸ 2 rows are in closed blocks: .rows of the table has all.

where the path is cut: 1 row in .tables[1]
1 note in .findings.notes"""
CUT = """\
where the path is cut
reason    by        line  code                                     parameters  for example
detached  detach()     N  h = torch.relu(self.fc(x)).detach()  2  fc.weight and fc.bias"""


def without_the_number(text: str) -> str:
    """Text without the number of the line that cuts, so that this file can grow."""
    lines = Path(__file__).read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if line.endswith(".detach()"))
    return re.sub(rf"\b{number}\b", "N", text)


def test_an_audit_reads_as_text() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.0)
    loss = model(torch.ones(4, 2)).sum()
    report = gradviz.audit(loss, model, optimizer)
    assert str(report) == ALONE
    assert str(report.findings) == ALONE


def test_an_audit_with_a_recording_reads_as_text() -> None:
    model = Net()
    with gradviz.record(into=model) as recording:
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
    report = gradviz.audit(loss, model, recording=recording)
    for shown, expected in (report, RECORDED), (report.tables[1], CUT):
        text = without_the_number(str(shown))
        cells = [" ".join(line.split()) for line in text.splitlines()]
        assert cells == [" ".join(line.split()) for line in expected.splitlines()]


def test_the_answer_is_the_first_line() -> None:
    model = nn.Linear(1, 1)
    x = torch.ones(1, 1)
    model(x).sum().backward()
    loss = model(x).sum() * float("inf")
    loss.backward()
    assert str(gradviz.audit(loss, model)).startswith(
        "The graph of loss reaches all 2 parameters; all have a .grad\n"
    )
    again = model(x).sum()
    report = gradviz.audit(again, model)
    assert report.findings.title == "All 2 parameters get a gradient from again, 2 with nan or inf"
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    out = h.add_(1).sum()
    audit = gradviz.audit(out, {"w": w}).findings
    assert audit.title == (
        "Backward raises at ExpBackward0 (n2): its saved result was modified in place"
    )
    assert all(note in audit.sentences for note in audit.notes)
    assert audit.title[1:] in audit.notes[0]


def test_rows_with_which_nothing_is_wrong_are_folded_and_all_can_be_read() -> None:
    model = Net()
    report = gradviz.audit(model(torch.ones(1, 2)).sum(), model)
    (*wrong, block) = report.tables[0].members
    assert isinstance(block, Block)
    assert [report.tables[0].rows[row][0] for row in wrong if isinstance(row, int)] == [
        *("fc.weight", "fc.bias", "spare.weight", "spare.bias"),
    ]
    assert block.cells[:2] == ("2 where nothing is wrong", "yes")
    assert (block.rows, block.is_open) == ((2, 3), False)
    assert [row["parameter"] for row in report] == [n for n, _ in model.named_parameters()]
    fine = nn.Linear(1, 1)
    assert gradviz.audit(fine(torch.ones(1, 1)).sum(), fine).tables[0].members == ()


def test_rows_are_found_by_path_and_listed_in_the_order_of_the_model() -> None:
    model = Net()
    report = gradviz.audit(model(torch.ones(1, 2)).sum(), model)
    assert [row.name for row in report.findings] == [n for n, _ in model.named_parameters()]
    assert [row["parameter"] for row in report] == [n for n, _ in model.named_parameters()]
    assert report["fc.weight"].shape == (3, 2)
    assert report["model.fc.weight"] is report["fc.weight"]
    with pytest.raises(UnknownNodeError, match=r"no parameter 'head.fc.weight'.*'fc.weight'\]"):
        report["head.fc.weight"]
    with pytest.raises(UnknownNodeError, match=r"it has: fc.weight, fc.bias, head.weight"):
        report["nothing"]


def test_a_report_is_saved_in_every_form(tmp_path: Path) -> None:
    model = Net()
    loss = model(torch.ones(4, 2)).sum()
    loss.backward()
    report = gradviz.audit(loss, model, torch.optim.Adam(model.parameters()))
    for ending in ("json", "csv", "svg", "html"):
        report.save(tmp_path / f"audit.{ending}")
    document = json.loads((tmp_path / "audit.json").read_text())
    assert document["kind"] == "audit"
    assert [row["name"] for row in document["parameters"]][:2] == ["fc.weight", "fc.bias"]
    assert (tmp_path / "audit.svg").read_text().count("unreached") >= 4


@each(
    ("build", "names"),
    [
        (lambda a, b: {"a": a, "inner": [b]}, [("a",), ("inner[0]",)]),
        (lambda a, b: [a, b], [("a", "[0]"), ("b", "[1]")]),
        (lambda a, b: (a, [b]), [("a", "[0]"), ("b", "[1][0]")]),
        (lambda a, b: a, [("a",)]),
        (lambda a, b: nn.ParameterList([a, b]), [("0",), ("1",)]),
        (lambda a, b: [nn.ParameterList([a]), b], [("a", "[0].0"), ("b", "[1]")]),
        (lambda a, b: {"net": nn.ParameterDict({"w": a})}, [("net.w",)]),
    ],
)
def test_parameters_may_be_given_in_many_ways(
    build: Callable[[Any, Any], Any], names: list[tuple[str, ...]]
) -> None:
    a, b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    audit = gradviz.audit((a + b).sum(), build(a, b)).findings
    assert [row.names for row in audit] == names


def test_a_model_without_parameters_has_an_audit_without_rows() -> None:
    x = torch.ones(2, requires_grad=True)
    report = gradviz.audit(nn.ReLU()(x).sum(), nn.ReLU())
    assert report.findings.title.endswith(": the model has no parameters")
    assert list(report) == []


def test_names_that_are_given_come_first() -> None:
    model = nn.Linear(1, 1)
    out = model(torch.ones(1, 1))
    report = gradviz.audit(out, model, names={"energy": out, "slope": model.weight})
    assert report.findings.title == "All 2 parameters get a gradient from energy"
    assert report.graph is not None
    assert report.graph.tensor("slope").shape == (1, 1)
    assert report["slope"] is report["weight"]
    assert [row["parameter"] for row in report] == ["slope = weight", "bias"]


MODEL, LOSS = Net(), Net()(torch.ones(1, 2)).sum()


@each(
    ("arguments", "kind", "words"),
    [
        ((None, MODEL), NotATensorError, r"^loss is None; the function .* returned nothing"),
        ((0.5, MODEL), NotATensorError, r"^loss is the number 0.5; .item\(\) .* leave torch"),
        ((MODEL, LOSS), NotATensorError, r"^loss is the module Net; .* comes first"),
        (([LOSS, "x"], MODEL), NotATensorError, r"^loss\[1\] is a str; only tensors"),
        (([], MODEL), NotATensorError, r"^loss is a list"),
        ((LOSS, None), NotATensorError, r"^model is a NoneType, which has no parameters"),
        ((LOSS, MODEL.parameters()), NotATensorError, r"^model is a generator, .* only once"),
        ((LOSS, {"a": 1}), NotATensorError, r"^model\['a'\] is an int"),
        (
            (LOSS, torch.optim.SGD(MODEL.parameters())),
            NotATensorError,
            r"^model is an optimizer, which comes third",
        ),
        ((LOSS, MODEL, "Adam"), OptionError, r"^optimizer= is a str, not an optimizer"),
        (
            (LOSS, MODEL, [torch.optim.SGD(MODEL.parameters())]),
            OptionError,
            r"^optimizer= is a list, .*: pass the one whose step\(\) follows this loss",
        ),
    ],
)
def test_what_cannot_be_audited_is_said(
    arguments: tuple[Any, ...], kind: type[GradvizError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        gradviz.audit(*arguments)


def test_other_arguments_are_checked_too() -> None:
    with pytest.raises(OptionError, match=r"^recording= is a RecordingBlock, not a Recording"):
        gradviz.audit(LOSS, MODEL, recording=gradviz.record())  # type: ignore[arg-type]
    with pytest.raises(NamesError, match="names="):
        gradviz.audit(LOSS, MODEL, names={"w": 1})  # type: ignore[dict-item]
    dead = torch.ones(2, requires_grad=True) * 1
    dead.untyped_storage().resize_(0)
    with pytest.raises(NoGraphError, match="freed"):
        gradviz.audit(dead, MODEL)
    assert issubclass(GraphBusyError, GradvizError)


def test_what_looks_like_markup_stays_text() -> None:
    named = {"<b>": torch.ones(1, requires_grad=True), "a\nb": torch.ones(1)}
    report = gradviz.audit(named["<b>"] * 1, named)
    assert "\nb" not in str(report).replace("a\\nb", "")
    data, _ = report._repr_mimebundle_()
    assert "<b>" not in data["text/html"].split("</style>")[-1].replace("<b>x", "")
