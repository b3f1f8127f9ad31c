from __future__ import annotations

import string
import typing
from typing import Any, Final

import gradviz
from gradviz.analysis.explain.fault import Fault
from gradviz.analysis.explain.fault_table import LOUD, OTHER, SILENT
from gradviz.model.explanation import SILENT as SILENT_KINDS
from gradviz.model.explanation import ErrorKind
from tests.analysis.explain import replicated_programs
from tests.analysis.explain.gradient_scenarios import ALL
from tests.analysis.explain.running import run
from tests.analysis.explain.silent_scenarios import SCENARIOS
from tests.analysis.explain.stored import Stored, fields_of
from tests.ledger.programs import ALL as BUGS

ROWS: list[Fault[Any]] = [*LOUD, *SILENT]

WITHOUT_FIX: Final = (
    "gradient of another shape",
    "gradient of no tensor",
    "recomputation differs",
    "gradient of another dtype or device",
    "wrong number of gradients",
    "no inputs",
    "outside a dual level",
    "backward under torch.func",
    "no derivative",
    "gradient depends on a free choice",
    "loss of one class",
    "gradient withheld by a Function",
)
"""Kinds of which some rows have no fix: what is meant cannot be known."""
WITHOUT_A_PLACE: Final = (
    "hook cannot be registered",
    "no inputs",
    "outside a dual level",
    "backward under torch.func",
    "number has no graph",
    "random numbers under vmap",
    "parameter unused under DDP",
    "nothing to reduce under DDP",
)
"""Kinds without anything in the graph to mark."""


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    kinds = set(typing.get_args(ErrorKind)) - {""}
    assert {fault.kind for fault in (*ROWS, OTHER)} == kinds
    assert {fault.kind for fault in ROWS if fault.is_silent} == SILENT_KINDS


def test_every_row_is_shown_by_a_program() -> None:
    stored = (Stored("explanations.txt", map(str, ALL)), Stored("silent.txt", map(str, SCENARIOS)))
    shown = {fields_of(text)["kind"] for file in stored for text in file.texts.values()}
    shown |= {kind for bug in BUGS if bug.explained for kind in bug.kinds}
    shown |= {one.kind for one in replicated_programs.ALL}
    assert {fault.kind for fault in ROWS} - shown == {"other"}


def test_a_row_has_all_its_columns() -> None:
    for fault in ROWS:
        forms = [fault.what] if isinstance(fault.what, str) else list(fault.what.values())
        assert all(form and not form.endswith(".") for form in forms), fault.kind
        if fault.kind != "other":
            assert fault.why, fault.kind
            can_be_certain = fault.rank != "worth a look"
            has_marks = bool(fault.highlights)
            assert has_marks == can_be_certain or fault.kind in WITHOUT_A_PLACE, fault.kind
            assert fault.fixes or fault.kind in WITHOUT_FIX or not can_be_certain, fault.kind


def test_a_word_that_is_also_a_variable_names_nothing() -> None:
    program = """
values = torch.ones(3, requires_grad=True)
y = values.exp()
y.add_(1)
y.sum().backward()
"""
    found = run(program, gradviz.expect_error)["found"]
    assert "from modified values it would be wrong" in found.why
    assert found.why.terms == ()
    assert {term.text for term in found.what.terms} == {"ExpBackward0", "y"}


def test_templates_name_their_words_by_identifiers() -> None:
    for fault in ROWS:
        for template in (fault.what, fault.why):
            for form in [template] if isinstance(template, str) else template.values():
                fields = [field for _, field, _, _ in string.Formatter().parse(form) if field]
                assert all(field.isidentifier() for field in fields)
