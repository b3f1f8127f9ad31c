from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any

import pytest
import torch

import gradviz
from gradviz.capture.recorder.earlier import EARLIER
from gradviz.explaining import is_autograds
from gradviz.model import NothingRaisedError, OptionError
from gradviz.model.audit import Audit
from gradviz.view.contents.explanation import ALL_WELL


@pytest.fixture(autouse=True)
def nothing_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    EARLIER.forget()
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr(sys, name, raising=False)
    yield
    EARLIER.forget()


def raised_by(code: Any) -> BaseException:
    with pytest.raises(Exception) as info:  # noqa: PT011  # of any kind
        code()
    return info.value


def write_and_run(operator: Any = torch.exp) -> None:
    w = torch.ones(2, requires_grad=True)
    h = operator(w)
    h.add_(1)
    h.sum().backward()


def grad_is_none() -> None:
    w = torch.ones(2, requires_grad=True)
    w.grad.zero_()  # type: ignore[union-attr]


def test_an_exception_that_is_passed_in_is_explained_from_its_traceback() -> None:
    found = gradviz.explain(raised_by(write_and_run))
    assert (found.kind, found.variables, found.node_name) == (
        "saved tensor written",
        ("h",),
        "ExpBackward0",
    )
    assert found.noticed.text == "h.sum().backward()"
    assert found.unknown == ("which line wrote it; gradviz.record() around the code shows it",)
    assert found.reports == ()


def test_inside_except_the_exception_that_is_handled_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "last_value", ZeroDivisionError(), raising=False)
    try:
        write_and_run()
    except RuntimeError:
        assert gradviz.explain().kind == "saved tensor written"


def test_the_last_exception_is_explained_if_none_is_handled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "last_value", raised_by(write_and_run), raising=False)
    assert gradviz.explain().kind == "saved tensor written"


def test_what_the_exception_was_raised_from_is_explained_too() -> None:
    def wrapped() -> None:
        try:
            write_and_run()
        except RuntimeError as error:
            raise ValueError("the step failed") from error

    def raised_while_handling() -> None:
        try:
            write_and_run()
        except RuntimeError:
            int("no number")

    for failing in (wrapped, raised_while_handling):
        assert gradviz.explain(raised_by(failing)).kind == "saved tensor written"


def test_another_error_of_the_same_class_is_not_explained_from_that_recording() -> None:
    def recorded() -> None:
        with gradviz.record():
            raise RuntimeError("one")

    raised_by(recorded)
    for _ in range(50):  # which may get the place in memory of the one before
        assert gradviz.explain(raised_by(write_and_run)).kind == "saved tensor written"


def test_an_exception_out_of_recorded_code_is_explained_where_it_arose() -> None:
    def recorded(chosen: Any) -> None:
        with gradviz.record():
            errors = [raised_by(partial(write_and_run, one)) for one in (torch.exp, torch.sigmoid)]
            raise chosen(errors)

    def of_a_thread(_: Any) -> None:
        with ThreadPoolExecutor() as pool:
            pool.submit(write_and_run, torch.tanh).result()

    both = ["ExpBackward0", "SigmoidBackward0"]
    group = partial(ExceptionGroup, "both")
    for chosen, names in (itemgetter(0), both), (group, both), (of_a_thread, ["TanhBackward0"]):
        found = gradviz.explain(raised_by(partial(recorded, chosen)))
        told: list[Any] = [one for one in found if one.kind == "saved tensor written"]
        assert [one.node_name for one in told] == names
        assert {one.noticed.text for one in told} == {"h.sum().backward()"}
        lines = [one.cause.at.text for one in told if one.cause and one.cause.at]
        assert lines == (["h.add_(1)"] * 2 if names is both else [])
        assert (found.recording == EARLIER.last) == (names is both)
    of_thread: Any = EARLIER.last and EARLIER.last.explanation
    assert str(of_thread.what).startswith("code that is not recorded raised it")
    assert of_thread.noticed.text == "h.sum().backward()"


def test_without_an_exception_the_last_recording_is_explained() -> None:
    with pytest.raises(NothingRaisedError, match="there is nothing to explain"):
        gradviz.explain()
    with gradviz.record() as recording:
        torch.ones(2, requires_grad=True).sum().backward()
    found = gradviz.explain()
    assert not found
    assert str(found).startswith("nothing to explain: no error was raised, and no gradient")
    assert found.kind == ""
    assert gradviz.explain(recording).recording is None


def test_without_an_error_the_answer_comes_first_and_the_rest_is_folded() -> None:
    model, unused = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    for parameters in (model.parameters(), torch.nn.ModuleList([model, unused]).parameters()):
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        with gradviz.record(into=model) as recording:
            loss = model(torch.ones(1, 2)).sum()
            loss.backward()
            optimizer.step()
        found = gradviz.explain(recording)
        lines = str(found).splitlines()
        assert not found
        assert "more in .reports[1]" in lines
        audit, memory = found.reports
        assert memory.title in lines
        assert not any(sentence in lines for sentence in memory.sentences)
        html = found._repr_mimebundle_()["text/html"]
        assert all(html.count(sentence) == 1 for sentence in memory.sentences[1:2])
        assert isinstance(audit, Audit)
        has_missing = any(row.gets_gradient is False for row in audit)
        assert lines[0] == (audit.title if has_missing else ALL_WELL)


def test_what_cannot_be_explained_is_refused() -> None:
    with pytest.raises(OptionError, match=r"explain\(\) takes an exception or a Recording"):
        gradviz.explain(3)  # type: ignore[arg-type]


def test_of_a_recording_all_is_listed_the_error_first() -> None:
    w = torch.ones(2, requires_grad=True)
    u = torch.ones(2, requires_grad=True)

    with suppress(RuntimeError), gradviz.record() as recording:
        h = w.exp()
        loss = (h * u.detach()).sum()
        h.data.mul_(2)
        loss.backward()
        with suppress(RuntimeError):
            u.mul_(2)
        loss.backward()
    found = gradviz.explain(recording)
    assert [one.kind for one in found] == ["graph freed", "hidden write", "leaf written"]
    assert [report.title for report in found.reports] == [
        "1 of 2 parameters gets no gradient from loss",
        "Backward keeps 16 B at step 2, the peak, in 2 saved tensors",
    ]
    assert any("u gets no gradient: detach()" in line for line in found.reports[0].sentences)
    text = str(found)
    order = [text.index(words) for words in ("graph freed", "hidden write", "1 of 2 parameters")]
    assert order == sorted(order)
    assert "16 B" not in text
    html = found._repr_mimebundle_()["text/html"]
    assert html.count("<section") == 3
    assert "1 of 2 parameters gets no gradient from loss" in html
    assert found[0] == found.first == recording.explanation
    assert gradviz.explain(found.first)[0] == found.first
    assert text == str(gradviz.explain(recording))


def test_the_most_important_explanation_can_be_shown() -> None:
    picture = gradviz.show(gradviz.explain(raised_by(write_and_run)))
    assert "ExpBackward0" in str(picture)
    with pytest.raises(OptionError, match="nothing to show"):
        gradviz.show(gradviz.explain(gradviz.Recording.empty()))


def test_explaining_changes_nothing() -> None:
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    y = h * 2
    h.add_(1)
    error = raised_by(y.sum().backward)
    node: Any = h.grad_fn
    before = w.grad, w._version, h._version, dict(node.metadata)
    gradviz.explain(error)
    assert (w.grad, w._version, h._version, dict(node.metadata)) == before
    assert h.grad_fn is node
    assert not hasattr(error, "__notes__")


def test_only_errors_of_autograd_are_taken_for_such(subtests: pytest.Subtests) -> None:
    for error, so in [
        (write_and_run, True),
        (lambda: torch.ones(2)[5], False),
        (lambda: torch.ones(2).view(7), False),
        (grad_is_none, True),
        (lambda: None.zero_(), False),  # type: ignore[attr-defined]
    ]:
        with subtests.test(error=error, so=so):
            assert is_autograds(raised_by(error)) is so
