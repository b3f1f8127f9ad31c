"""How a graph is drawn: one object, checked where it is made and passed on as it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from gradviz.model.errors import OptionError
from gradviz.view.graph.card_parts import PARTS, choose
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.layout_program import LayoutProgram


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """How a graph, or a recording of one, is drawn.

    Raises:
        OptionError: If the direction, a part or the engine does not exist.
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

    def __post_init__(self) -> None:
        if self.direction not in ("TB", "LR"):
            raise OptionError(
                f"direction={self.direction!r} must be 'TB' (top to bottom) or 'LR' (left to right)"
            )
        if self.engine not in ("auto", "wasm", "dot"):
            raise OptionError(f"engine={self.engine!r} must be 'auto', 'wasm' or 'dot'")
        choose(self.parts, ())

    @classmethod
    def of(
        cls,
        direction: Any = "TB",
        engine_arrows: Any = False,
        show: Collection[str] | None = None,
        hide: Collection[str] | None = (),
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
            if not isinstance(parts, (str, list, tuple, set, frozenset)) and parts is not None:
                raise OptionError(
                    f"{option}={parts!r} must list parts of the picture: {option}=['saved']"
                )
        return cls(direction, bool(engine_arrows), choose(show, hide or ()))


DEFAULT: Final = DrawOptions()
"""Everything, from top to bottom, as data flows."""
