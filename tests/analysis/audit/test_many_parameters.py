from __future__ import annotations

import math

import pytest
import torch

import gradviz
from gradviz.model.audit import Audit, ModuleAudit, ParameterAudit
from gradviz.model.report import Block, Table
from tests.analysis.memory.test_blocks import blocks
from tests.deep import Transformer


@pytest.fixture(scope="module")
def model() -> Transformer:
    made = Transformer(100, frozen=3, detached=7)
    made.loss().backward()
    return made


@pytest.fixture(scope="module")
def audit(model: Transformer) -> Audit:
    loss = model.loss()
    found: Audit = gradviz.audit(
        loss, model, torch.optim.SGD(model.parameters()), values=True
    ).findings
    return found


def shown(table: Table) -> list[tuple[object, ...]]:
    return [table.cells(line)[:5] for line in table.lines()]


def test_what_matters_of_a_hundred_layers_fits_a_screen(audit: Audit) -> None:
    assert shown(audit.tables[0]) == [
        ("total", "1,185 of 1,205", "unknown ×8, frozen ×12", "1,205 parameters", 60_248),
        ("h", "1,182 of 1,200", "unknown ×6, frozen ×12", "1,200 parameters", 60_000),
        ("h.7", "6 of 12", "unknown", "12 parameters", 600),
        ("h.3", "no", "frozen", "12 parameters", 600),
        ("h.0 … 2, 4 … 6, 8 … 99 ×98", "yes", "", "1,176 parameters", 58_800),
        ("expert", "no", "unknown", "2 parameters", 72),
        ("expert.weight", "no", "unknown", "(8, 8)", 64),
        ("expert.bias", "no", "unknown", "(8,)", 8),
        ("wte.weight", "yes", "", "(20, 8)", 160),
        ("ln_f", "yes", "", "2 parameters", 16),
        ("ln_f.weight", "yes", "", "(8,)", 8),
        ("ln_f.bias", "yes", "", "(8,)", 8),
    ]  # fmt: skip


def test_sentences_speak_of_modules_and_are_few(audit: Audit) -> None:
    assert audit.title == "20 of 1,205 parameters get no gradient from loss"
    assert audit.sentences == (
        "The graph still has its saved tensors. 1,185 of 1,205 parameters have a .grad already: "
        "another backward accumulates into it.",
        "h.3 (12 parameters) get no gradient: requires_grad is False.",
        "h.7.attn, h.7.ln_1 and expert (8 parameters) get no gradient: not in the graph of the "
        "loss.",
        "SGD.step() updates 1,185 of 1,205 parameters.",
        "Not known: whether it was used, whether it required grad then, and where it was cut off. "
        "Run the forward in gradviz.record() and pass recording=.",
    )


def test_totals_are_those_of_the_rows_and_of_torch(model: Transformer, audit: Audit) -> None:
    (table, *_) = audit.tables
    names = [column.name for column in table.columns]
    found = dict(model.named_parameters())
    for block in blocks(table.members):
        cells = dict(zip(names, block.cells, strict=True))
        parameters = [found[str(table.rows[row][0])] for row in block.rows]
        grads = [one.grad for one in parameters if one.grad is not None]
        assert cells["elements"] == sum(one.numel() for one in parameters)
        if not grads:
            assert (cells["norm"], cells["zeros"]) == (None, None)
            continue
        norm = torch.cat([grad.flatten() for grad in grads]).double().norm().item()
        assert math.isclose(cells["norm"], norm, rel_tol=1e-5)  # type: ignore[arg-type]
        assert cells["zeros"] == sum(int((grad == 0).sum()) for grad in grads)
        assert (cells["nan"], cells["inf"]) == (0, 0)


def test_every_parameter_is_a_row_and_iterating_gives_them_in_the_order_of_the_model(
    model: Transformer, audit: Audit
) -> None:
    names = [name for name, _ in model.named_parameters()]
    (table, *_) = audit.tables
    assert [row.name for row in audit] == names
    assert [row["parameter"] for row in table] == names
    (total,) = table.members
    assert isinstance(total, Block)
    assert sorted(total.rows) == list(range(len(names)))


def test_a_module_has_the_findings_of_its_parameters(audit: Audit) -> None:
    frozen, cut, fine = audit["h.3"], audit["h.7"], audit["h.8"]
    assert isinstance(frozen, ModuleAudit)
    assert isinstance(cut, ModuleAudit)
    assert isinstance(fine, ModuleAudit)
    assert (frozen.gets_gradient, cut.gets_gradient, fine.gets_gradient) == (False, False, True)
    assert [row.name for row in cut.without_gradient] == [
        f"h.7.{name}" for name in (
            "ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias",
            "attn.c_proj.weight", "attn.c_proj.bias",
        )
    ]  # fmt: skip
    assert (frozen.elements, frozen.norm) == (600, None)
    assert fine.norm == pytest.approx(math.hypot(*(row.grad.norm for row in fine.parameters)))  # type: ignore[union-attr, arg-type]
    assert isinstance(audit["h.7.ln_1.bias"], ParameterAudit)
    with pytest.raises(gradviz.UnknownNodeError, match=r"no parameter 'h\.100'"):
        audit["h.100"]


def test_nan_comes_before_zeros_and_what_is_fine() -> None:
    model = Transformer(20)
    model.loss().backward()
    for number, value in ((4, 0.0), (9, math.nan)):
        for one in model.h[number].parameters():
            assert one.grad is not None
            one.grad.fill_(value)
    loss = model.loss()
    (table, *_) = gradviz.audit(loss, model, values=True).tables
    names = [str(table.cells(line)[0]) for line in table.lines()]
    assert names.index("expert") < names.index("h")
    assert names[names.index("h") :][1:4] == ["h.9", "h.4", "h.0 … 3, 5 … 8, 10 … 19 ×18"]
    (total,) = table.members
    assert isinstance(total, Block)
    assert (
        str(dict(zip((c.name for c in table.columns), total.cells, strict=True))["norm"]) == "nan"
    )


def test_a_frozen_parameter_that_the_optimizer_still_moves_is_said_of_all_together() -> None:
    model = Transformer(20)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        model.loss().backward()
        optimizer.step()
    model.h[3].requires_grad_(False)
    loss = model.loss()
    said = gradviz.audit(loss, model, optimizer, values=True).findings.sentences
    assert "h.3 (12 parameters) are frozen, but SGD.step() still updates them." in said


def test_of_many_findings_the_first_are_said_and_the_others_counted() -> None:
    model = Transformer(20, frozen=2, detached=5)
    model.loss().backward()
    for number, value in ((4, 0.0), (9, math.nan)):
        for one in model.h[number].parameters():
            one.grad.fill_(value)  # type: ignore[union-attr]
    loss = model.loss()
    optimizer = torch.optim.SGD([*model.h[0].parameters(), torch.nn.Parameter(torch.ones(3))])
    found = gradviz.audit(loss, model, optimizer, values=True).findings
    assert found.sentences == (
        "h.2 (12 parameters) get no gradient: requires_grad is False.",
        "h.5.attn, h.5.ln_1 and expert (8 parameters) get no gradient: not in the graph of the "
        "loss.",
        "h.9 (12 parameters): nan or inf in .grad.",
        "h.4 (12 parameters): .grad is all zeros.",
        "h.1 … h.19, ln_f, expert and wte.weight (233 parameters) are in no group of the "
        "optimizer.",
        "4 more findings: all_sentences of the findings has them.",
    )
    assert len(found.all_sentences) == 9
    assert set(found.sentences[:5]) < set(found.all_sentences)


def test_a_model_with_few_parameters_has_no_blocks() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(6)))
    (table,) = gradviz.audit(model(torch.ones(1, 2)).sum(), model).tables
    assert (len(table), table.members) == (12, ())
    assert "elements" not in [column.name for column in table.columns]


def test_the_text_shows_blocks_and_says_where_all_rows_are(audit: Audit) -> None:
    lines = str(audit).splitlines()
    assert len(lines) <= 30
    assert any(line.startswith("    ▸ h.7") and "6 of 12" in line for line in lines)
    assert "▸ 1,200 rows are in closed blocks: .rows of the table has all." in lines


def test_a_module_is_found_by_its_path_from_the_variable_too_and_prints_what_it_has() -> None:
    first, second, unused = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
    model = torch.nn.Sequential(first, torch.nn.Sequential(second, unused))
    loss = second(first(torch.ones(1, 3))).sum()
    report = gradviz.audit(loss, model).findings
    assert report["model.1"] == report["1"]
    assert report["model.0.weight"] == report["0.weight"]
    assert str(report["1"]) == (
        "1: 4 parameters, 20 elements, without gradient: 1.1.weight, 1.1.bias"
    )
    for name in ("0.1", "model.7", "1.0.1", "model.other.1"):
        with pytest.raises(gradviz.UnknownNodeError, match="no parameter"):
            report[name]
