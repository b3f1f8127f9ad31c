from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from gradviz.explaining import of_recording
from gradviz.model.explanation import Cause, CodeLine, Explanation, Fix
from gradviz.model.sentence import Sentence, say
from gradviz.view.contents.explanation import NO_FAULT
from gradviz.view.contents.parts_of import html_of
from gradviz.view.outlines.text_of import text_of
from gradviz.view.parts.part import WIDTH
from tests.view.explanations import FREED, LOOK, SILENT, explained, spoilt
from tests.view.graphs import HOSTILE

TEXT = """\
what: MulBackward0 needs a and b, and backward in line 6 has freed what it saved.
culprit: line 6: out2.backward()
fix 1: keeps what was saved
    in place of line 6: out2.backward(retain_graph=True)
fix 2: goes through a fresh graph
    before line 7:
        out1 = a * b
        out2 = out1 + c
    without line 6
why: A backward frees what nodes saved as soon as it has used it, unless it is asked to
    keep the graph. A second backward through the same nodes finds nothing.
cause: backward 1 ran through MulBackward0 and freed it
saved in: line 4: out1 = a * b
    MulBackward0 saved a and b
noticed: line 7: out2.backward()
variables: out2, out1
saved tensor: other of MulBackward0, saved @v0
already changed: c.grad was 1.0 and is 2.0
not known: whether one backward was meant
kind: graph freed
raised: RuntimeError"""


def test_all_fields_stand_behind_their_names() -> None:
    assert text_of(FREED) == TEXT


def test_the_recording_changes_no_word() -> None:
    recorded = explained(FREED).explanations[0]
    assert (text_of(recorded), html_of(recorded)) == (TEXT, html_of(FREED))


def test_a_silent_fault_raised_nothing_and_takes_effect() -> None:
    assert text_of(SILENT).split("\n") == [
        "what: b was written through .data, and MulBackward0 does not know",
        "culprit: line 5: out2 = out1 + c",
        "cause: mul_ wrote b",
        "takes effect: line 6: out2.backward()",
        "variables: b",
        "node: MulBackward0",
        "kind: hidden write",
        "raised: nothing",
    ]


def test_what_is_worth_a_look_names_no_culprit_and_no_fix() -> None:
    assert text_of(LOOK).split("\n") == [
        "worth a look: backward added to the gradient of b",
        "where: line 6: out2.backward()",
        "if not meant: clears it",
        "    after line 6: b.grad = None",
        "why: A step leaves .grad as it is.",
        "cause: adds to it",
        "seen at: line 7: out2.backward()",
        "variables: b",
        "kind: gradient added to a used one",
        "raised: nothing",
    ]


def test_it_comes_last_and_alone_it_is_not_taken_for_a_fault() -> None:
    told = text_of(of_recording(explained(LOOK, SILENT, FREED)))
    places = [told.index(one.kind) for one in (FREED, SILENT, LOOK)]
    assert places == sorted(places)
    alone = explained(LOOK)
    assert alone.explanation is None
    assert str(of_recording(alone)).startswith(f"{NO_FAULT}\n\nworth a look: ")


def test_a_second_write_is_told_before_or_after_the_culprit(subtests: pytest.Subtests) -> None:
    for culprit, other, label in [
        (Cause("write", Sentence(), CodeLine(5, step=5)), CodeLine(6, step=6), "written again"),
        (Cause("write", Sentence(), CodeLine(5, step=5)), CodeLine(5, step=5), "written again"),
        (Cause("write", Sentence(), CodeLine(5)), CodeLine(6), "written again"),
        (Cause("backward", Sentence(), CodeLine(5, step=5)), CodeLine(4, step=4), "written before"),
        (Cause("backward", Sentence(), CodeLine(5)), CodeLine(4), "written before"),
    ]:
        with subtests.test(culprit=culprit, other=other):
            told = replace(
                FREED, causes=(culprit, Cause("write", Sentence("mul_ wrote h"), other)), step=None
            )
            assert f"\n{label}: line {other.line}\n" in text_of(told)


def test_what_is_not_known_is_said_or_left_out() -> None:
    there = "a line that is not known"
    for cause, words in (
        (Cause("write", Sentence()), "culprit: not known"),
        (Cause("write", Sentence("add_ wrote h")), "culprit: add_ wrote h"),
        (Cause("write", Sentence(), CodeLine(None, "h.add_(1)")), f"culprit: {there}: h.add_(1)"),
        (Cause("write", Sentence(), CodeLine(3, "", "m.py: f")), "culprit: line 3 of m.py: f"),
    ):
        told = text_of(Explanation("saved tensor written", "RuntimeError", causes=(cause,)))
        assert told.split("\n")[0] == words


def test_nothing_explained_says_so() -> None:
    assert text_of(Explanation()) == "nothing to explain: no error was raised"
    assert html_of(Explanation()) == f"<p>{text_of(Explanation())}</p>"


def test_a_fix_says_where(subtests: pytest.Subtests) -> None:
    for fix, lines in [
        (Fix(say("does it"), "x = 1", "elsewhere"), ["fix: does it", "    x = 1"]),
        (
            Fix(say("does it"), "x = 1", "after", CodeLine(3, "", "model.py: forward")),
            ["fix: does it", "    after line 3 of model.py: forward: x = 1"],
        ),
        (Fix(say("call it once"), ""), ["fix: call it once"]),
        (
            Fix(say("drops it"), "", "instead", CodeLine(3)),
            ["fix: drops it", "    without line 3"],
        ),
        (
            Fix(say("tabs"), "if x:\n\ty()", "elsewhere"),
            ["fix: tabs", "    if x:", "        y()"],
        ),
    ]:
        with subtests.test(fix=fix, lines=lines):
            told = text_of(Explanation("not a scalar", "RuntimeError", fixes=(fix,)))
            assert told.split("\n")[: len(lines) + 1] == [*lines, "kind: not a scalar"]


SHORT, LONG = "does it", "word " * 30
LINES = [f"x = {n}" for n in range(9)]


def test_five_lines_come_first_and_all_of_the_first_fix_is_told(subtests: pytest.Subtests) -> None:
    for what, does, typed, before, after in [
        (SHORT, SHORT, 1, ["fix: does it", "    after line 3: x = 0"], []),
        (LONG, LONG, 1, ["fix: after line 3: x = 0"], ["about the fix: word "]),
        (SHORT, SHORT, 9, ["fix: does it (code below)"], ["code of the fix:", "    after line 3:"]),
        (SHORT, LONG, 9, ["fix: word "], ["code of the fix:", "    after line 3:"]),
        (LONG, LONG * 9, 9, ["fix: see below"], ["about the fix: word "]),
    ]:
        with subtests.test(what=what, does=does):
            fix = Fix(Sentence(does), "\n".join(LINES[:typed]), "after", CodeLine(3))
            told = text_of(replace(FREED, what=Sentence(what), fixes=(fix,)))
            rest = [told.find(f"\n{name}:") for name in ("about the fix", "code of the fix", "why")]
            place = min(at for at in rest if at > 0)
            first, more = told[:place], told[place + 1 :]
            assert len(first.split("\n")) <= 5
            shown = first[first.find("fix:") :].split("\n") if "fix:" in first else []
            assert all(line.startswith(start) for line, start in zip(shown, before, strict=False))
            assert bool(shown) == bool(before)
            for line, start in zip(more.split("\n"), after, strict=False):
                assert line.startswith(start)
            assert all(line in told for line in LINES[:typed])
            assert told.count("word") == (what + does).count("word")


def test_long_texts_are_wrapped_and_code_is_not() -> None:
    code = "h = " + " + ".join(f"part{i}" for i in range(40))
    long = replace(
        FREED,
        what=Sentence("word " * 60),
        already=(Sentence("grad " * 40),),
        fixes=(Fix(Sentence("w " * 90), code),),
    )
    lines = text_of(long).split("\n")
    assert [line for line in lines if len(line) > WIDTH] == [f"    {code}"]


def test_hostile_text_stays_in_its_line(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            calm, told = (text_of(spoilt(FREED, one)) for one in ("x", text))
            kinds = {unicodedata.category(sign) for sign in set(told) - set("\n\u2068\u2069")}
            assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
            names = [
                [line.split(":")[0] for line in one.split("\n") if line[0] != " "]
                for one in (calm, told)
            ]
            # Where the first fix is told depends on how long its words are.
            moved = {"fix 1", "about fix 1", "code of fix 1"}
            assert [n for n in names[1] if n not in moved] == [
                n for n in names[0] if n not in moved
            ]
            assert names[1].count("fix 1") == 1
            assert told.encode().decode() == told
