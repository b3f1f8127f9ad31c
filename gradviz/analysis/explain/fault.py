"""A fault as a row of a table: the message of torch, a detector, its sentences, its fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Final, Generic, TypeAlias, TypeVar

from gradviz.analysis.code.sites import Site
from gradviz.analysis.explain.fixes.applicable import is_applicable
from gradviz.model.explanation import (
    Cause,
    CauseKind,
    CodeLine,
    ErrorKind,
    Explanation,
    Fix,
    Rank,
)
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.model.history import History
from gradviz.model.records import Node, SavedTensor
from gradviz.model.sentence import Sentence, say

MOST_FIXES: Final = 2
Says: TypeAlias = "tuple[str, str]"
"""Class of an exception, and a pattern that its text has; torch changes its sentences between
releases, so the pattern is the part that stays."""
Template: TypeAlias = "str | Mapping[str, str]"
"""A sentence with the places of its words: ``"{tensor} is not a leaf"``; where it depends on the
case of the finding, one per case, of which ``""`` is that of all others."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One occurrence of a fault: all that its sentences, highlights and fixes need."""

    history: History
    step: int
    """Step at which torch raised the error, or at which the gradient became wrong."""
    noticed: CodeLine | None = None
    """Line of that step."""
    case: str = ""
    """Which variant of the sentences applies."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """The words that fill the templates, by name."""
    variables: tuple[str | None, ...] = ()
    """Names of the variables it is about, the most important first; ``None`` is left out."""
    node: Node | None = None
    """The node that saved the tensor, or that raised the error."""
    node_name: str | None = None
    """Its name where the node itself is not known."""
    slot: SavedTensor | None = None
    """Its saved tensor."""
    saved: str | None = None
    """Name of the slot, where nothing more of it is known."""
    versions: tuple[int | None, int | None] | None = None
    """Saved and current version of the saved tensor, if the slot does not have them."""
    causes: tuple[Cause, ...] = ()
    """The causes, the most important first."""
    targets: Mapping[str, Iterable[str | None]] = field(default_factory=dict)
    """Ids to mark in a picture, by the roles that the table names."""
    target_words: Mapping[str, str] = field(default_factory=dict)
    """Words for single targets, by id; ``{words}`` in a highlight."""
    unknown: tuple[Sentence, ...] = ()
    """What is not known, and how to find it out."""
    site: Site | None = None
    """The call that did it, as syntax."""
    by: str = ""
    """Name of the function that did it."""
    called: bool = False
    """Whether a call that the recording saw did it."""
    inside: str | None = None
    """Path of the module that ran it."""


F = TypeVar("F", bound=Finding)


@dataclass(frozen=True, kw_only=True)
class Fault(Generic[F]):
    """One row of the table of faults."""

    kind: ErrorKind
    says: tuple[Says, ...] = ()
    """Messages of the error; empty if torch raises none."""
    find: Callable[[Any], Iterable[F]]
    """The detector. Its argument is the error, an
    :class:`~gradviz.analysis.explain.error_context.ErrorContext`, or the
    :class:`~gradviz.model.history.History` if torch raises none. It names a culprit only if the
    recording shows it."""
    what: Template
    """What happened."""
    why: Template
    """Why that is an error, or a wrong gradient, in autograd's terms."""
    highlights: Mapping[str, tuple[HighlightKind, str]] = field(default_factory=dict)
    """How the targets of a finding are marked, and why, by role; none of what is worth a look."""
    rank: Rank | Mapping[str, Rank] = "fault"
    """Whether it is certain; where it depends on the case of the finding, one per case."""
    culprit: CauseKind | None = None
    """What the culprit did, of which it is known that it is another line than the one that
    raises; ``None`` if it is that line itself."""
    fixes: tuple[Callable[[F], Iterable[Fix | None]], ...] = ()
    """Changes to the code, the best first; the first two that can be typed are
    used."""

    @property
    def is_silent(self) -> bool:
        """Whether torch raises nothing."""
        return not self.says

    def explain(self, found: F) -> Explanation:
        """The explanation of a finding."""
        node, slot = found.node, found.slot
        versions = found.versions
        if versions is None:
            versions = (None, None) if slot is None else (slot.saved_version, slot.current_version)
        offered = dict.fromkeys(chain.from_iterable(fix(found) for fix in self.fixes))
        fixes = (fix for fix in offered if fix is not None and is_applicable(fix, found.history))
        rank = self.rank if isinstance(self.rank, str) else self.rank.get(found.case, self.rank[""])
        return Explanation(
            kind=self.kind,
            what=_filled(self.what, found),
            why=_filled(self.why, found),
            variables=tuple(dict.fromkeys(name for name in found.variables if name)),
            node=None if node is None else node.id,
            node_name=found.node_name if node is None else node.name,
            saved=found.saved if slot is None else slot.name,
            saved_version=versions[0],
            current_version=versions[1],
            causes=found.causes,
            noticed=found.noticed,
            fixes=tuple(islice(fixes, MOST_FIXES)),
            unknown=found.unknown,
            marks=tuple(self._marks(found)) if rank == "fault" else (),
            step=found.step,
            rank=rank,
            recording=found.history.recording,
        )

    def _marks(self, found: F) -> Iterator[Highlight]:
        """Marks for the targets that are in the graph at the step, each once."""
        graph = found.history.recording.graph_at(found.step)
        edges = {f"{edge.source}.{edge.slot}" for edge in graph.edges}
        known = edges.union(info.id for info in graph.tensors)
        marked = set()
        for role, (kind, words) in self.highlights.items():
            for key in found.targets.get(role, ()):
                node, _, rest = (key or "").partition(".")
                place = graph.place_of(node)
                is_slot = rest.startswith("saved.") and place is not None
                is_there = key in known or (place is not None and not rest)
                if is_slot and place is not None:
                    is_there = int(rest[6:]) < len(graph.nodes[place].saved)
                if key is not None and is_there and key not in marked:
                    marked.add(key)
                    own = found.target_words.get(key, "")
                    yield Highlight(key, kind, str(say(words, **{**found.words, "words": own})))


def _filled(template: Template, found: Finding) -> Sentence:
    if not isinstance(template, str):
        template = template.get(found.case, template[""])
    return say(template, **found.words)
