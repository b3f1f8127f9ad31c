"""What a card is made of: blocks of lines with their sizes, ports, and the parts one can hide; and
what is on a link."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from gradviz.model.errors import OptionError
from gradviz.model.records import ValueSummary
from gradviz.view.style import SIZES
from gradviz.view.text import width_of

PARTS: Final = (
    "saved",
    "values",
    "grad",
    "formula",
    "shapes",
    "hooks",
    "constants",
    "tags",
    "source",
    "versions",
)
"""What ``show`` and ``hide`` can name."""

Density: TypeAlias = Literal["compact", "normal", "full"]
"""How much cards say: what it is, what a learner needs, everything."""
DENSITIES: Final[tuple[Density, ...]] = ("compact", "normal", "full")
_LEFT_OUT: Final[dict[Density, frozenset[str]]] = {
    "compact": frozenset(("saved", "values", "formula", "shapes", "hooks", "source", "versions")),
    "normal": frozenset(("versions",)),
    "full": frozenset(),
}
"""Parts that a density shows only where they were asked for by name, or tell of a fault."""

MORE: Final = "more"
"""Id of the stub for nodes that are not drawn."""

Icon: TypeAlias = Literal["", "pin", "bar", "cut", "ref", "folded", "open"]
Status: TypeAlias = Literal["", "done", "now", "next", "raised", "new"]
"""Where backward is, at one step of a recording; or that the step has made it."""
STATUSES: Final = ("done", "now", "next", "raised", "new")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text on a card."""

    text: str
    css: str = ""
    size: float = SIZES["text"]
    icon: Icon = ""
    lead: str = ""
    """A name before the text, heavier."""
    change: tuple[str, str] | None = None
    """After the text, what was there in the graph before and what is there now; the first is
    empty where there is no room for it."""
    indent: int = 0
    """Characters of room before it."""

    @property
    def beginning(self) -> str:
        """Lead and text as they are in the line."""
        return f"{self.lead} {self.text}" if self.lead and self.text else self.lead or self.text

    @property
    def whole(self) -> str:
        """The line as it is read."""
        changed = " → ".join(filter(None, self.change or ()))
        return " ".join(filter(None, (self.beginning, changed)))

    @property
    def width(self) -> float:
        """Width with the icon before it."""
        before = width_of(" " * self.indent, self.size) + (13 if self.icon else 0)
        return before + width_of(self.whole, self.size)

    @property
    def height(self) -> float:
        """Height of the line."""
        return 20 if self.size > SIZES["text"] else 16


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: plain text, a pocket or a tag with a frame of its own."""

    kind: Literal["title", "text", "pocket", "tag", "cut"]
    lines: tuple[Line, ...]
    css: str = ""
    data_id: str = ""
    title: str = ""
    beside: bool = False
    """Whether it stands to the right of the title, not below."""
    is_at_end: bool = False
    """Whether it stands at the right rim, and not close to the title."""
    is_light: bool = False
    """Whether its frame is close around its text."""
    room: float = 0.0
    """Width that its lines have at least."""

    @property
    def framed(self) -> bool:
        """Whether it has a frame."""
        return self.kind in ("pocket", "tag", "cut")

    @property
    def width(self) -> float:
        """Width with the frame's padding."""
        frame = (10 if self.is_light else 18) if self.framed else 0
        return max(self.room, *(line.width for line in self.lines)) + frame

    @property
    def height(self) -> float:
        """Height with the frame's padding and the gap above."""
        return sum(line.height for line in self.lines) + (7 if self.framed else 0)


@dataclass(frozen=True, slots=True)
class Port:
    """A place on the rim of a card where edges arrive or leave."""

    label: str = ""
    css: str = "gv-port"
    slot: int = -1
    """Place in ``next_functions``, or number of the output."""
    count: int = 1
    """How many entries of ``next_functions`` arrive here; ``slot`` is the first of them."""
    node: str = ""
    """The node that has it."""
    is_beside: bool = False
    """Whether it is on the right, where a card beside this one is joined to it; such ports come
    after all others."""

    @property
    def width(self) -> float:
        """Width of its pill, 0 without a label."""
        return width_of(self.label, SIZES["text"]) + 12 if self.label else 0


@dataclass(frozen=True, slots=True)
class Tab:
    """A square on a card for a saved tensor."""

    data_id: str
    css: str
    title: str


@dataclass(frozen=True, slots=True)
class Card:
    """Everything that is drawn for one node or tensor, not yet placed."""

    id: str
    css: str
    blocks: tuple[Block, ...]
    title: str
    aria: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    chip: str = ""
    tabs: tuple[Tab, ...] = ()
    """Its saved tensors, where they have no block."""
    more_tabs: int = 0
    """How many more there are."""
    status: Status = ""
    tensor: str = ""
    refers: str = ""
    """Id of the card that it is a small reference to."""
    others: tuple[str, ...] = ()
    """Ids of the nodes that are in its box, or whose leaves it is of, too."""
    tensors: tuple[str, ...] = ()
    """Ids of the other leaves that it is of."""
    is_stack: bool = False
    """Whether it stands for several equal parts and looks like several cards."""
    is_brief: bool = False
    """Whether it says in signs what the full card says in words."""

    @property
    def has_band(self) -> bool:
        """Whether its title stands on a band; brief cards of nodes and tensors are plain."""
        is_plain = self.is_brief and "gv-fold" not in self.css.split()
        return not is_plain and "gv-tensor" not in self.css

    @property
    def chips(self) -> tuple[tuple[str, str], ...]:
        """The words of the chips that are drawn, with their classes: where saved tensors have tabs
        or blocks, these say what became of them."""
        has_saved = self.tabs or any(block.kind == "pocket" for block in self.blocks)
        is_said = self.is_brief and self.chip in ("freed", "packed") and has_saved
        chips = ("" if is_said else self.chip, ""), (self.status, f" gv-{self.status}-chip")
        return tuple((word, css) for word, css in chips if word)

    @property
    def tab_row(self) -> int:
        """The block that its tabs are beside: what is beneath its title, else the title."""
        beneath = (k for k, one in enumerate(self.blocks) if one.kind == "text" and not one.beside)
        return next(beneath, 0)

    @property
    def has_bar(self) -> bool:
        """Whether it is a brief card of a leaf, or a reference to one: with a bar on the left."""
        is_leaf = self.is_brief and "gv-leaf" in self.css
        return is_leaf or (self.refers != "" and self.tensor != "")

    @property
    def is_of_tensor(self) -> bool:
        """Whether it is the card of a leaf, or of a tensor outside the graph."""
        return bool(self.tensor) or "gv-tensor" in self.css


@dataclass(frozen=True, slots=True)
class EdgeGradient:
    """A gradient on an edge."""

    gradient: ValueSummary | None
    arrived: bool
    """Whether the node that receives it has run."""


@dataclass(frozen=True, slots=True)
class LinkLook:
    """One variant of a link."""

    flow: Literal["", "gv-flow", "gv-flowed"] = ""
    """Whether a gradient is on it, and whether the node that receives it has run."""
    written: EdgeGradient | None = None
    """The gradient that is written on it."""
    is_new: bool = False
    """Whether the step has made it."""

    @property
    def css(self) -> str:
        """Its classes."""
        return " ".join(filter(None, ("gv-made" if self.is_new else "", self.flow)))


@dataclass(frozen=True, slots=True)
class CardContent:
    """What cards show: ``part in content`` says it of each part.

    Examples:
        >>> compact = CardContent("compact")
        >>> "saved" in compact, compact.allows("saved"), "grad" in compact
        (False, True, True)
        >>> "saved" in CardContent("compact", asked=frozenset(["saved"]))
        True
    """

    density: Density = "full"
    parts: frozenset[str] = frozenset(PARTS)
    """Parts that are not hidden."""
    asked: frozenset[str] = frozenset()
    """Parts that were asked for by name: every density has them."""
    hidden: frozenset[str] = frozenset()
    """Parts that were hidden by name: nothing refers to them either."""

    def __contains__(self, part: str) -> bool:
        left_out = part in _LEFT_OUT[self.density] and part not in self.asked
        return part in self.parts and not left_out

    def has_version(self, versions: object) -> bool:
        """Whether cards say this version, or these.

        Args:
            versions: A version counter, or the saved and the current one; they matter once
                something was written.
        """
        if "versions" in self:
            return True
        both = versions if isinstance(versions, tuple) else (versions,)
        return self.density != "compact" and self.allows("versions") and any(both)

    @property
    def is_brief(self) -> bool:
        """Whether cards say in signs what the full one says in words."""
        return self.density != "full"

    def allows(self, part: str) -> bool:
        """Whether a part is not hidden, so that a fault in it is shown in every density."""
        return part in self.parts


def thinned(
    ports: Sequence[Port], linked: Collection[int], content: CardContent
) -> dict[int, Port]:
    """The input ports that a density has, by their places among all of them.

    Args:
        ports: All input ports of a card.
        linked: Places where a link arrives.
        content: What cards show: compact ones leave out entries that are None, and names.
    """
    kept = dict(enumerate(ports))
    if content.density == "compact":
        kept = {
            place: replace(port, label="")
            for place, port in kept.items()
            if port.css != "gv-stub" or place in linked
        }
    return kept


def times(count: int) -> str:
    """How many entries of ``next_functions`` one link is, nothing for a single one.

    Examples:
        >>> times(1), times(100_001)
        ('', '×100,001')
    """
    return f"×{count:,}" if count > 1 else ""


def choose(show: Collection[str] | None, hide: Collection[str]) -> frozenset[str]:
    """The parts of a picture that are wanted.

    Raises:
        OptionError: If a part does not exist; the message lists those that do.

    Examples:
        >>> sorted(choose(["saved", "grad"], ["grad"]))
        ['saved']
    """
    for option, parts in (("show", show or ()), ("hide", hide)):
        names = (parts,) if isinstance(parts, str) else tuple(parts)
        for name in names:
            if name not in PARTS:
                raise OptionError(
                    f"{option}={name!r} is not a part of a picture; "
                    f"the parts are: {', '.join(PARTS)}"
                )
    wanted = PARTS if show is None else ((show,) if isinstance(show, str) else show)
    unwanted = (hide,) if isinstance(hide, str) else hide
    return frozenset(wanted) - frozenset(unwanted)
