from __future__ import annotations

import pytest
import torch

import gradviz
from gradviz.analysis.diff.report import comparison_of
from gradviz.model import Graph
from gradviz.model.diff import Comparison
from gradviz.model.report import Report
from tests.each import each


def product() -> tuple[torch.Tensor, torch.Tensor]:
    a = torch.tensor(2.0, requires_grad=True)
    return a, (a * 3).exp()


def freed() -> Comparison:
    a, out = product()
    before = gradviz.snapshot(out, names={"a": a})
    out.backward()
    return comparison_of(before, gradviz.snapshot(out, names={"a": a}))


def test_a_comparison_is_findings_and_true_if_anything_differs() -> None:
    found = freed()
    assert isinstance(found, Report)
    assert found
    assert len(found) == len(found.tables[0].rows) == 5
    assert not comparison_of(found.graph, found.graph)


def test_it_prints_the_same_every_time() -> None:
    assert str(freed()) == str(freed())
    assert str(freed()) == (
        "2 of 3 nodes and 1 of 2 tensors differ in out\n"
        "ExpBackward0 and MulBackward0: state holds → freed\n"
        "ExpBackward0: saved result held v0 out → freed\n"
        "MulBackward0: saved other held v0 → freed\n"
        "a: .grad None → 1210.0\n"
        "\n"
        "differences\n"
        "name             of            fact          before       after\n"
        "n0 ExpBackward0  node          state         holds        freed\n"
        "n0 ExpBackward0  saved tensor  saved result  held v0 out  freed\n"
        "n1 MulBackward0  node          state         holds        freed\n"
        "n1 MulBackward0  saved tensor  saved other   held v0      freed\n"
        "a                tensor        .grad         None         1210.0"
    )


def test_the_answer_counts_what_differs_among_all() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    one = gradviz.snapshot((x * 2).exp())
    more = gradviz.snapshot((x * 2).exp() * 2)
    found = comparison_of(one, more)
    assert found.title == "2 of 4 nodes differ between ExpBackward0 and MulBackward0"
    other = comparison_of(one, gradviz.snapshot((x * 3).exp()))
    assert other.title.startswith("1 of 3 nodes")
    assert other.title.endswith(" in ExpBackward0")
    with gradviz.record() as first:
        y = x * 2
    with gradviz.record() as second:
        y = x * 2
        z = y * 3
    assert "line" in comparison_of(first, second).title
    assert z.requires_grad


def test_names_that_differ_are_a_note() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    found = comparison_of(*(gradviz.snapshot(x * 2, names={name: x}) for name in ("a", "b")))
    assert found.notes == found.sentences == ("compared although the names differ: a with b",)
    assert found.title == "Nothing differs in MulBackward0: 2 nodes and 2 tensors are the same"


def test_a_fact_that_differs_in_many_ways_is_told_once() -> None:
    tensors = [torch.tensor(float(i), requires_grad=True) for i in range(8)]
    names = {f"w{i}": tensor for i, tensor in enumerate(tensors)}

    def graph() -> Graph:
        return gradviz.snapshot(torch.stack(tensors).sum(), names=names)

    before = graph()
    for i, one in enumerate(tensors):
        one.grad = torch.tensor(float(i))
    found = comparison_of(before, graph())
    assert found.sentences == ("w0, w1, w2, w3, w4 and 3 more: .grad differs",)
    assert len(found) == 8


def test_rows_lead_to_what_they_are_about_in_the_picture() -> None:
    _a, out = product()
    before = gradviz.snapshot(out)
    found = comparison_of(before, gradviz.snapshot(out.detach().requires_grad_() * 2))
    table = found.tables[0]
    gone = [key for key, row in zip(table.ids, table.rows, strict=True) if row[4] == "no"]
    nodes = [key for key in gone if key.startswith("n")]
    assert [f"{key} {found.graph[key].name}" for key in nodes[:2]] == [
        row[0] for row in table.rows if row[1] == "node" and row[4] == "no"
    ][:2]
    assert {("gone", key) for key in nodes} <= {(mark.kind, mark.id) for mark in found.marks}


def test_what_is_given_may_be_of_any_kind() -> None:
    a, out = product()
    with gradviz.record() as recording:
        other = a * 3
    graph = gradviz.snapshot(out)
    for same in (out, [out], {"out": out}, graph, gradviz.show(graph), gradviz.compare(out, out)):
        assert not gradviz.compare(graph, same).findings
    assert not gradviz.compare(recording, gradviz.show(recording)).findings
    assert gradviz.compare(graph, other).findings
    assert gradviz.compare(graph, recording).findings


def test_names_are_found_or_given() -> None:
    _a, out = product()
    assert (
        gradviz.compare(out, [out]).findings.title
        == "Nothing differs in out: 3 nodes and 2 tensors are the same"
    )
    report = gradviz.compare(out, out, names={"loss": out})
    assert report.findings.title == "Nothing differs in loss: 3 nodes and 2 tensors are the same"


def test_nothing_is_changed() -> None:
    a, out = product()
    before = gradviz.snapshot(out)
    gradviz.compare(out, out)
    assert gradviz.snapshot(out) == before
    out.backward()
    assert a.grad is not None


@each(
    ("wrong", "words"),
    [
        ("loss", "before is a str; compare() takes a tensor"),
        (None, "before is None; compare() takes a tensor"),
        ([], "before is a list; compare() takes a tensor"),
        (3.0, "before is a float; compare() takes a tensor"),
    ],
)
def test_what_cannot_be_compared_is_said(wrong: object, words: str) -> None:
    _a, out = product()
    with pytest.raises(gradviz.NotATensorError) as error:
        gradviz.compare(wrong, out)
    assert words in str(error.value)


def test_names_without_live_tensors_are_an_error() -> None:
    _a, out = product()
    graph = gradviz.snapshot(out)
    with pytest.raises(gradviz.OptionError, match="names= applies to live tensors"):
        gradviz.compare(graph, graph, names={"out": out})


def test_a_tensor_without_a_graph_is_an_error() -> None:
    with pytest.raises(gradviz.GradvizError, match="require"):
        gradviz.compare(torch.ones(2), torch.ones(2))


@each(
    ("before", "after", "words"),
    [
        (True, False, "after does not require a gradient"),
        (False, True, "before does not require a gradient"),
    ],
)
def test_which_of_the_two_has_no_graph_is_said(before: bool, after: bool, words: str) -> None:
    with pytest.raises(gradviz.NoGraphError) as error:
        gradviz.compare(*(torch.ones(2, requires_grad=one) * 2 for one in (before, after)))
    assert str(error.value).startswith(words)


def test_changes_of_different_nodes_with_one_name_are_told_apart() -> None:
    def of(one: float, other: float) -> Graph:
        x = torch.tensor(2.0, requires_grad=True)
        return gradviz.snapshot((x**one).exp() + (x**other).sin())

    assert comparison_of(of(2.0, 3.0), of(5.0, 7.0)).sentences[:2] == (
        "PowBackward0: exponent 2.0 → 5.0",
        "PowBackward0: exponent 3.0 → 7.0",
    )


def test_two_things_with_one_name_that_changed_alike_are_counted() -> None:
    def of(factor: float) -> Graph:
        x = torch.tensor(2.0, requires_grad=True)
        return gradviz.snapshot((x**factor).exp() + (x**factor).sin())

    told = comparison_of(of(2.0), of(5.0)).sentences
    assert told[0] == "PowBackward0 (2 times): exponent 2.0 → 5.0"


def test_other_values_of_saved_tensors_come_last_and_each_memory_once() -> None:
    def of(factor: float) -> Graph:
        x = torch.tensor(0.0, requires_grad=True)
        y = (x * factor + factor).exp()
        return gradviz.snapshot(y.exp() * y)

    told = comparison_of(of(1.0), of(2.0)).sentences
    assert told[-2:] == (
        "MulBackward0: values of saved self 15.15 → 1618.0",
        "MulBackward0: values of saved other 1.0 → 2.0",
    )
    assert not any("values of saved result" in sentence for sentence in told)
    assert not comparison_of(of(1.0), of(1.0)).differences
