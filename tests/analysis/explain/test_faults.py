from __future__ import annotations

import string
import typing
from typing import Any

import pytest

import gradviz
from gradviz.analysis.explain.fault import Fault
from gradviz.analysis.explain.faults import LOUD, OTHER, SILENT
from gradviz.model.explanation import SILENT as SILENT_KINDS
from gradviz.model.explanation import ErrorKind, Explanation
from gradviz.model.sentence import Sentence
from tests.analysis.explain import scenarios, silent_scenarios
from tests.analysis.explain.running import run
from tests.analysis.explain.silent_running import run_recorded

ROWS: list[Fault[Any]] = [*LOUD, *SILENT]


def sentences(explanation: Explanation) -> list[Sentence]:
    causes = [cause.what for cause in explanation.causes]
    cures = [one.does for cure in explanation.cures for one in (cure, *cure.also)]
    told = (explanation.what, explanation.why, *explanation.unknown, *explanation.already)
    return [*told, *causes, *cures]


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    kinds = set(typing.get_args(ErrorKind)) - {""}
    assert {fault.kind for fault in (*ROWS, OTHER)} == kinds
    assert {fault.kind for fault in ROWS if fault.is_silent} == SILENT_KINDS


def test_every_row_is_shown_by_a_program() -> None:
    shown = {one.kind for one in scenarios.ALL} | {one.kind for one in silent_scenarios.SCENARIOS}
    assert {fault.kind for fault in ROWS} - shown == {"other"}


@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.kind)
def test_a_row_has_all_its_columns(fault: Fault[Any]) -> None:
    forms = [fault.what] if isinstance(fault.what, str) else list(fault.what.values())
    assert all(form and not form.endswith(".") for form in forms)
    if fault.kind != "other":
        assert fault.why
        assert fault.highlights
        assert fault.fixes


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=str)
def test_what_a_sentence_names_is_what_its_text_says(scenario: scenarios.Scenario) -> None:
    explanation = run(scenario.text, gradviz.expect_error)["found"]
    assert explanation.recording is not None
    history, step = explanation.recording.history, explanation.step
    for sentence in sentences(explanation):
        assert isinstance(sentence, Sentence)
        for term in sentence.terms:
            if term.id.startswith("line:"):
                _, place, line = term.id.split(":")
                assert term.text == f"line {line}"
                assert explanation.recording.codes[int(place)].has(int(line))
            elif term.id[0] == "t":
                names = {row.name for row in history.tensor_rows(term.id, step)}
                assert term.text in names | {term.id}
            else:
                node = history.node(term.id, step)
                assert node is not None
                assert term.text in (node.name, node.name.removesuffix("Backward"))


def test_a_word_that_is_also_a_variable_names_nothing() -> None:
    program = """
values = torch.ones(3, requires_grad=True)
y = values.exp()
y.add_(1)
y.sum().backward()
"""
    found = run(program, gradviz.expect_error)["found"]
    assert "from changed values it would be wrong" in found.why
    assert found.why.terms == ()
    assert {term.text for term in found.what.terms} == {"ExpBackward0", "y"}


@pytest.mark.parametrize("scenario", silent_scenarios.SCENARIOS, ids=str)
def test_silent_faults_name_what_they_speak_of(scenario: silent_scenarios.Scenario) -> None:
    recording = run_recorded(scenario.text, scenario.before)
    for explanation in recording.explanations:
        names = {term.text for text in sentences(explanation) for term in text.terms}
        assert names
        assert set(explanation.variables[:1]) <= names


def test_templates_name_their_words_by_identifiers() -> None:
    for fault in ROWS:
        for template in (fault.what, fault.why):
            for form in [template] if isinstance(template, str) else template.values():
                fields = [field for _, field, _, _ in string.Formatter().parse(form) if field]
                assert all(field.isidentifier() for field in fields)
