"""Sizes: how large a card is, and where its blocks and ports are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from gradviz.view.graph.card_parts import STATUSES, Block, Card, Port, times
from gradviz.view.graph.layout import UNIT, Direction, LayoutBox, Point
from gradviz.view.style import SIZES
from gradviz.view.text import width_of

PAD: Final = 10.0
PILL: Final = 15.0
"""Height of the pill that names a port."""
INSIDE: Final = 6.0
"""How far a pill reaches into its card."""
CORNER: Final = 15.0
"""Width and height of a glyph on the corner of a card."""
TAB: Final = 13.0
"""From one tab to the next."""
BAR: Final = 7.0
"""Room for the bar of a leaf, which has a glyph on its right end, too."""
BESIDE: Final = 8.0
"""Gap between a title and what stands beside it."""
REFERENCE: Final = 22.0
"""Height of a reference."""
CROWD: Final = 640.0
"""Width that ports alone can give to a card."""
FEW: Final = 4
APART: Final = 76.0
"""Pixels from one port to the next where there are at most ``FEW``: links to them do not cross what
is beside."""
WIDE: Final = 168.0
"""Width, at least, of a card with others beside it: they are in a column."""
UP: Final = 5.0
"""Pixels above what is inside of a card where the ground of it begins: arrows end there."""
STACK: Final = 5.0
"""How far a card that stands for several reaches to the right and down, beyond itself."""


@dataclass(frozen=True, slots=True)
class CardFrame:
    """A measured card: its box with pills, and the card inside that box."""

    card: Card
    box: LayoutBox
    left: float
    top: float
    width: float
    height: float
    band: float
    """Height of the coloured band behind the title."""
    tops: tuple[float, ...]
    """Upper edge of each block, from the upper edge of the card."""
    inside: tuple[float, float] = (0.0, 0.0)
    """From where to where other cards are in it, from the upper edge of the box."""


def measure(card: Card, direction: Direction, spine: int = -1, gap: float = 0.0) -> CardFrame:
    """Measure a card: nothing that is drawn on it can be larger than what is given here.

    Args:
        card: The card.
        direction: How data flows.
        spine: Its number on the longest path, -1 beside it.
        gap: Pixels from the middle of one input port to the next that are needed at least.
    """
    down = direction == "TB"
    inputs = tuple(port for port in card.inputs if not port.is_beside)
    above, below = _pills(inputs), _pills(card.outputs)
    tops, height, band = _stack(card, INSIDE - 2 if above and down else 0.0)
    height += INSIDE if below and down else 0.0
    width = max(_wide(block, card) for block in card.blocks) + 2 * PAD
    width += (BAR + CORNER) * card.has_bar
    if down:
        width = max(width, *(_spread(ports, 10.0) for ports in (inputs, card.outputs)))
        width = max(width, min(CROWD, gap * len(inputs)))
        if len(inputs) < len(card.inputs):
            width = UNIT * (2 * ceil((max(WIDE, width) / UNIT - 1) / 2) + 1)
        top, bottom = (PILL - INSIDE if above else 0.0), (PILL - INSIDE if below else 0.0)
        left = right = 0.0
    else:
        height = max(height, *(_tall(ports) for ports in (inputs, card.outputs)))
        left, right = (max(0.0, size - INSIDE) for size in (above, below))
        width += (INSIDE if above else 0.0) + (INSIDE if below else 0.0)
        top = bottom = 0.0
    if card.is_stack:
        right, bottom = right + STACK, bottom + STACK
    box = LayoutBox(
        card.id,
        round(left + width + right, 1),
        round(top + height + bottom, 1),
        max(1, len(inputs)),
        max(1, len(card.outputs)),
        spine,
    )
    return CardFrame(
        card, box, round(left, 1), round(top, 1), round(width, 1), round(height, 1), band, tops
    )


def port_place(frame: CardFrame, port: int, is_input: bool, direction: Direction) -> Point:
    """Where a link meets the box, from the box's upper left corner."""
    if is_input and port < len(frame.card.inputs) and frame.card.inputs[port].is_beside:
        return frame.box.width, frame.top + frame.height / 2
    share = frame.box.port(port, is_input)
    if direction == "TB":
        return share * frame.box.width, 0.0 if is_input else frame.box.height
    return 0.0 if is_input else frame.box.width, share * frame.box.height


def count_gap(counts: Iterable[int], direction: Direction) -> float:
    """Pixels between ranks that such numbers need; 0 without any."""
    many = [width_of(times(number), SIZES["text"]) for number in counts if number > 1]
    if not many:
        return 0.0
    return 36.0 if direction == "TB" else max(many) + 36.0


def _pills(ports: tuple[Port, ...]) -> float:
    return max((port.width for port in ports), default=0.0)


def _spread(ports: tuple[Port, ...], gap: float) -> float:
    each = _pills(ports) + gap if _pills(ports) else 0.0
    if 1 < len(ports) <= FEW:
        each = max(each, APART)
    return len(ports) * each if each else min(CROWD, len(ports) * 9.0)


def _tall(ports: tuple[Port, ...]) -> float:
    return len(ports) * (PILL + 3) if _pills(ports) else min(CROWD, len(ports) * 8.0)


def tabs_width(card: Card) -> float:
    """Width of the tabs of a card, with the gap before them."""
    more = width_of(more_tabs(card), SIZES["text"]) + 4 if card.more_tabs else 0.0
    return TAB * len(card.tabs) + 8 + more if card.tabs else 0.0


def more_tabs(card: Card) -> str:
    """What stands for the tabs that are too many."""
    return f"+{card.more_tabs}" if card.more_tabs else ""


def at_right(card: Card) -> float:
    """Width of what is at the right of its title, behind all blocks."""
    tabs = tabs_width(card) if card.tab_row == 0 else 0.0
    return tabs + _chips_width(card)


def _chips_width(card: Card) -> float:
    return sum(chip_width(word) + 10 for word, _ in card.chips if not is_at_corner(word, card))


def _wide(block: Block, card: Card) -> float:
    tabs = tabs_width(card) if block is card.blocks[card.tab_row] else 0.0
    return tabs + _said(block, card)


def _said(block: Block, card: Card) -> float:
    if block.kind != "title":
        return 0.0 if block.beside else block.width
    beside = sum(one.width + BESIDE for one in card.blocks if one.beside)
    return block.width + beside + _chips_width(card)


def is_at_corner(word: str, card: Card) -> bool:
    """Whether a chip is a glyph alone, on the corner of its card: it takes no room."""
    return card.is_brief and word in STATUSES


def chip_width(word: str) -> float:
    """Width of a chip; those that say where backward is have a glyph before the word."""
    return width_of(word, SIZES["text"]) + (24 if word in STATUSES else 12)


def _stack(card: Card, start: float) -> tuple[tuple[float, ...], float, float]:
    if card.refers:
        return ((REFERENCE - card.blocks[0].height) / 2,), REFERENCE, 0.0
    tops, y, band = [], start, 0.0
    # Many boxes of folds are to be on one screen.
    above, below = (2, 4) if "gv-fold" in card.css else (5, 7)
    for block in card.blocks:
        if block.beside:
            small = card.blocks[0].lines[0].size <= SIZES["text"]
            tops.append(band - block.height - (0.5 if block.framed else 3 if small else 4.5))
        elif block.kind == "title":
            y += 3
            tops.append(y)
            y += block.height + 3
            band = y
        else:
            # Without a band the lines of a tensor are close to its title.
            close = y == band and not block.framed and not card.has_band
            y += -3 if close else above if block.framed or y == band else 1
            tops.append(y)
            y += block.height
    return tuple(tops), y + (below if y > band else 0), band


def together(frames: Sequence[CardFrame], room: Point = (0.0, 0.0)) -> list[CardFrame]:
    """Frames of cards that share a place at different steps, all with the largest box: what a card
    says at other steps has its room.

    Args:
        frames: The frames.
        room: Width, at least, and additional height for what is inside of the card.
    """
    left, top = max(f.left for f in frames), max(f.top for f in frames)
    right = max(f.box.width - f.left - f.width for f in frames)
    bottom = max(f.box.height - f.top - f.height for f in frames)
    width = max(room[0], *(f.width for f in frames))
    height = round(max(f.height for f in frames) + room[1], 1)
    box = replace(
        frames[0].box,
        width=round(left + width + right, 1),
        height=round(top + height + bottom, 1),
        inputs=max(f.box.inputs for f in frames),
        outputs=max(f.box.outputs for f in frames),
    )
    end = top + height - INSIDE * any(port.label for f in frames for port in f.card.outputs)
    inside = (round(end - room[1], 1), round(end, 1)) if room[1] else (0.0, 0.0)
    return [
        replace(f, box=box, left=left, top=top, width=width, height=height, inside=inside)
        for f in frames
    ]
