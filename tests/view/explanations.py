"""Explanations made by hand, so that the tests of how they are read need no analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from gradviz.model import Recording
from gradviz.model.explanation import Cause, CodeLine, Explanation, Fix
from gradviz.model.highlights import Highlight
from gradviz.model.sentence import Sentence, Term, say
from tests.view.recordings import product

MUL = Term("n0", "MulBackward0")
A, B = Term("t0", "a"), Term("t1", "b")
LAST = CodeLine(6, "out2.backward()", "cell")
LINE_6 = Term("line:0:6", "line 6", 21)

FREED = Explanation(
    kind="graph freed",
    raised="RuntimeError",
    what=say("{} needs {} and {}, and backward in {} has freed what it saved.", MUL, A, B, LINE_6),
    why=Sentence(
        "A backward frees what nodes saved as soon as it has used it, unless it is asked to keep "
        "the graph. A second backward through the same nodes finds nothing."
    ),
    variables=("out2", "out1"),
    node="n0",
    node_name="MulBackward0",
    saved="other",
    saved_version=0,
    causes=(
        Cause(
            "backward",
            say("backward 1 ran through {} and freed it", MUL),
            CodeLine(6, "out2.backward()", "cell", 21),
        ),
        Cause("save", say("{} saved {} and {}", MUL, A, B), CodeLine(4, "out1 = a * b", "cell", 4)),
    ),
    noticed=CodeLine(7, "out2.backward()", "cell", 25),
    already=(say("{}.grad was 1.0 and is 2.0", Term("t2", "c")),),
    fixes=(
        Fix(say("keeps what was saved"), "out2.backward(retain_graph=True)", "instead", LAST),
        Fix(
            say("goes through a fresh graph"),
            "out1 = a * b\nout2 = out1 + c",
            "before",
            CodeLine(7, "out2.backward()", "cell"),
            (Fix(Sentence(), "", "instead", LAST),),
        ),
    ),
    unknown=(Sentence("whether one backward was meant"),),
    marks=(
        Highlight("n0", "refused", "what it saved was freed in line 6"),
        Highlight("n0.saved.1", "written", "freed in line 6"),
        Highlight("t2", "culprit", "its gradient is counted twice"),
        Highlight("n3.0", "cut"),
    ),
    step=25,
)
"""Of the last step of ``product(again=True)``."""
SILENT = Explanation(
    kind="hidden write",
    what=say("{} was written through .data, and {} does not know", B, MUL),
    variables=("b",),
    node="n0",
    node_name="MulBackward0",
    causes=(Cause("write", say("mul_ wrote {}", B), CodeLine(5, "out2 = out1 + c", "cell", 5)),),
    noticed=CodeLine(6, "out2.backward()", "cell", 21),
    marks=(Highlight("t1", "written", "mul_ in line 5 wrote it"),),
    step=21,
)
"""Of the step after the first backward."""

LOOK = Explanation(
    kind="gradient added to a used one",
    what=say("backward added to the gradient of {}", B),
    why=Sentence("A step leaves .grad as it is."),
    variables=("b",),
    causes=(Cause("other", Sentence("adds to it"), CodeLine(6, "out2.backward()", "cell", 21)),),
    noticed=CodeLine(7, "out2.backward()", "cell", 25),
    fixes=(Fix(Sentence("clears it"), "b.grad = None", "after", LAST),),
    step=23,
    rank="worth a look",
)
"""What can be meant, at a step before that of the error."""


def explained(*explanations: Explanation) -> Recording:
    """``product(again=True)`` with these explanations."""
    recording = product(again=True)
    recording._made["explanations"] = tuple(
        replace(one, recording=recording) for one in explanations
    )
    return recording


def post_mortem(*explanations: Explanation) -> Recording:
    """The same as if only the moment after the error were known."""
    whole = explained(*explanations)
    recording = Recording(whole.records, whole.codes, whole.device, whole.label, "post-mortem")
    recording._made["explanations"] = tuple(
        replace(one, recording=recording) for one in explanations
    )
    return recording


def told_in(parts: Any) -> Iterator[tuple[str, Any]]:
    """What a card of the browser says from top to bottom, each with its label."""
    for part in parts:
        if part["is"] == "Paragraph":
            yield part["look"], [part["words"]]
        yield from ((field["name"], field["values"]) for field in part.get("fields", ()))
        yield from told_in(part.get("parts", ()))


def spoilt(value: Any, text: str) -> Any:
    """The same with every text of the user's in it replaced."""
    if isinstance(value, tuple):
        return tuple(spoilt(one, text) for one in value)
    if not is_dataclass(value):
        return text if isinstance(value, str) else value
    kept = ("kind", "rank", "how", "node", "id", "recording")
    changes = {
        one.name: spoilt(getattr(value, one.name), text)
        for one in fields(value)
        if one.name not in kept
    }
    return replace(value, **changes)  # type: ignore[type-var]
