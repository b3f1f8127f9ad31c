"""Which backward freed what a node had saved, as the explanations tell it."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.sites import Site, site_of
from gradviz.model import freed
from gradviz.model.facts import Node
from gradviz.model.freed import Earlier
from gradviz.model.sentence import Sentence, say


def freed_by(node: Node, evidence: Evidence) -> Earlier | None:
    """The backward that freed what a node had saved, before the one that raised."""
    until = evidence.step if evidence.backward is None else evidence.backward[0] - 1
    return freed.freed_by(node.id, evidence.history, until)


def call_of(earlier: Earlier, evidence: Evidence) -> Site | None:
    """The call of an earlier backward, if that is known."""
    if earlier.at is None:
        return None
    return site_of(evidence.history, earlier.since, earlier.started)


def unknown_of(earlier: Earlier | None, evidence: Evidence) -> Iterator[Sentence]:
    """What is not known if the backward that freed it is not."""
    if earlier is not None:
        return
    if not evidence.is_recorded:
        yield say("which backward freed it; gradviz.record() around the code would tell")
    else:
        yield say("which backward freed it: it ran before the recording, or was not followed")


def targets_of(node: Node) -> dict[str, list[str | None]]:
    """The node, and what it has lost."""
    lost = [place for place, slot in enumerate(node.saved) if slot.state == "freed"]
    return {"node": [node.id], "slot": [f"{node.id}.saved.{place}" for place in lost]}


def by_words(earlier: Earlier | None, evidence: Evidence) -> str:
    """Which backward freed it."""
    if earlier is None:
        return ""
    return say("backward {} in {} freed it", earlier.number, evidence.at(earlier.at))
