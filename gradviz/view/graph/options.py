"""How a graph is drawn: one object, checked where it is made and passed on as it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from gradviz.model.arguments import LISTS, checked, flag
from gradviz.model.errors import OptionError
from gradviz.view.graph.card_parts import DENSITIES, PARTS, CardContent, Density, choose
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.layout_program import LayoutProgram

DensityOption: TypeAlias = Density | Literal["auto"]
FEW_CARDS: Final = 6
"""Cards up to which a picture opens with what a learner needs; with more it opens compact."""


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """How a graph, or a recording of one, is drawn.

    Raises:
        OptionError: If the direction, a part, the engine or the density does not exist.
    """

    direction: Direction = "TB"
    """``"TB"``: data flows from top to bottom. ``"LR"``: to the right."""
    engine_arrows: bool = False
    """Arrows as the engine runs, along ``next_functions``; else as data flows."""
    parts: frozenset[str] = frozenset(PARTS)
    """What is drawn, of ``gradviz.view.graph.card_parts.PARTS``."""
    engine: LayoutProgram = "auto"
    """Which Graphviz places the boxes: ``"wasm"``, ``"dot"`` (the program), or the first there
    is."""
    density: DensityOption = "auto"
    """How much cards say: ``"compact"``, ``"normal"``, ``"full"``; ``"auto"``: compact above six
    cards, else normal."""
    asked: frozenset[str] = frozenset()
    """Parts that ``show`` named, which every density has."""
    hidden: frozenset[str] = frozenset()
    """Parts that ``hide`` named, to which nothing refers either."""
    focus: str = ""
    """Id of the node around which a graph is drawn that is too large to be drawn whole; ``""``:
    its first nodes."""

    def __post_init__(self) -> None:
        if self.direction not in ("TB", "LR"):
            raise OptionError(
                f"direction={self.direction!r} must be 'TB' (top to bottom) or 'LR' (left to right)"
            )
        if self.engine not in ("auto", "wasm", "dot"):
            raise OptionError(f"engine={self.engine!r} must be 'auto', 'wasm' or 'dot'")
        if self.density not in ("auto", *DENSITIES):
            raise OptionError(
                f"density={self.density!r} must be 'auto', 'compact', 'normal' or 'full'"
            )
        checked("focus", self.focus, str, "the id of a node: focus='n400'")
        choose(self.parts, self.asked | self.hidden)

    def density_of(self, cards: int) -> Density:
        """The density in which a picture with so many cards opens.

        Examples:
            >>> DrawOptions().density_of(6), DrawOptions().density_of(7)
            ('normal', 'compact')
            >>> DrawOptions(density="full").density_of(7)
            'full'
        """
        if self.density != "auto":
            return self.density
        return "compact" if cards > FEW_CARDS else "normal"

    def content(self, density: Density) -> CardContent:
        """What cards show in a density."""
        return CardContent(density, self.parts, self.asked, self.hidden)

    @classmethod
    def of(
        cls,
        direction: Any = "TB",
        engine_arrows: Any = False,
        show: Collection[str] | None = None,
        hide: Collection[str] | None = (),
        density: Any = "auto",
        focus: Any = "",
    ) -> DrawOptions:
        """Options as :func:`gradviz.show` takes them.

        Raises:
            OptionError: If an option has a value it cannot take; the message lists the
                allowed ones.

        Examples:
            >>> sorted(DrawOptions.of(show=["saved", "grad"], hide="grad").parts)
            ['saved']
        """
        for option, parts in (("show", show), ("hide", hide)):
            given = () if parts is None else parts
            checked(option, given, LISTS, f"a list of parts: {option}=['saved']")
        parts = choose(show, hide or ())
        return cls(
            direction,
            flag("engine_arrows", engine_arrows),
            parts,
            density=density,
            asked=frozenset() if show is None else parts,
            hidden=choose(hide, ()) if hide else frozenset(),
            focus="" if focus is None else focus,
        )


def offered(opening: Density) -> tuple[Density, ...]:
    """The densities that a picture has: the one in which it opens, and the full one.

    Examples:
        >>> offered("compact"), offered("full")
        (('compact', 'full'), ('normal', 'full'))
    """
    return "normal" if opening == "full" else opening, "full"


DEFAULT: Final = DrawOptions()
"""All parts, from top to bottom, as data flows."""
