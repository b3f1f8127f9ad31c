"""Appearance and name of each kind and state: one table for picture, legend and outline.

Every mark exists three times: as a shape or glyph, as a colour (Okabe and Ito), as a word.
Colours are CSS variables with light defaults, so that a widget on a dark page overrides
``--gv-…`` and nothing else; cards are opaque, so that a picture reads on white and on dark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Final

FONT: Final = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
PNG_FONT: Final = "Gradviz Mono"
"""The font in ``fonts/``, for programs that find no fonts of their own."""
SIZES: Final = {"title": 13.0, "text": 11.0}

_PALETTE: Final[dict[str, dict[str, str]]] = json.loads(
    Path(__file__).with_name("palette.json").read_text("utf-8")
)
"""The one table of colours; ``widgets/build.mjs`` makes the widget's style sheet from it."""
LIGHT: Final = {name: colours["light"] for name, colours in _PALETTE.items()}
"""Colour of each variable ``--gv-NAME`` on a light page, and in print."""
DARK: Final = {name: colours["dark"] for name, colours in _PALETTE.items()}
"""The same for a dark page."""
FORCED: Final = {name: colours["forced"] for name, colours in _PALETTE.items()}
"""The same where the system forces colours."""


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One kind of mark: its class, its word and its line in the legend."""

    css: str
    word: str
    legend: str
    drawn: str = ""
    """The class whose presence shows the mark, where it is another one."""


MARKS: Final = {
    mark.css: mark
    for mark in (
        LegendEntry("gv-root", "root", "root: backward can start here"),
        LegendEntry("gv-leaf", "leaf", "leaf: backward adds to its .grad (Σ AccumulateGrad)"),
        LegendEntry("gv-node", "node", "node of the graph, what torch calls grad_fn"),
        LegendEntry("gv-freed", "freed", "freed: backward freed its saved tensors"),
        LegendEntry("gv-packed", "packed", "packed: a pack hook replaced its saved tensor"),
        LegendEntry("gv-opaque", "opaque", "opaque: torch does not show what it saves"),
        LegendEntry("gv-held", "held", "saved tensor, kept for backward"),
        LegendEntry("gv-modified", "modified", "⚠ modified in place since it was saved"),
        LegendEntry("gv-tag", "tensor", "existing tensor, on the node that made it"),
        LegendEntry("gv-tensor", "outside", "tensor outside the graph"),
        LegendEntry("gv-ref", "reference", "reference to a leaf or tensor whose card is elsewhere"),
        LegendEntry("gv-stub", "no grad", "no grad needed: None in next_functions"),
        LegendEntry("gv-uses", "saved only", "saved tensor from outside the graph"),
        LegendEntry("gv-hook", "hook", "hook, or retain_grad", drawn="gv-pin"),
        LegendEntry("gv-shared", "shares storage", "tensors that share a storage", drawn="gv-bar"),
        LegendEntry("gv-edge", "edge", "edge: data flows along it, backward against it"),
        LegendEntry(
            "gv-waiting", "waiting", "leaf without an AccumulateGrad: in no graph at this step"
        ),
        LegendEntry("gv-cut", "cut", "cut: the graph ends at this call"),
        LegendEntry("gv-made", "new", "new: made in this step"),
        LegendEntry("gv-now", "now", "now: the node that backward runs"),
        LegendEntry("gv-next", "next", "next: the node that runs after it"),
        LegendEntry("gv-raised", "raised", "raised: this node raised the error"),
        LegendEntry("gv-done", "done", "done: ran in this backward"),
        LegendEntry("gv-flow", "gradient", "gradient that is passed along the edge"),
        LegendEntry("gv-flowed", "passed on", "gradient that has arrived", drawn="gv-flowed"),
        LegendEntry("gv-more", "more", "nodes that are not drawn"),
    )
}
"""Every mark by class, in the order of the legend."""

NODE_CSS: Final = {
    "holds": "gv-holds",
    "freed": "gv-freed",
    "saves nothing": "gv-saves-nothing",
    "packed": "gv-packed",
    "opaque": "gv-opaque",
}
POCKET_CSS: Final = {
    "held": "gv-held",
    "modified": "gv-modified",
    "freed": "gv-freed",
    "packed": "gv-packed",
}

_RULES: Final = """
text{font-family:$font;font-size:11px;fill:$ink}
.gv-title{font-size:13px;font-weight:600}
.gv-muted{fill:$muted}
.gv-card{fill:$card;stroke:$box;stroke-width:1.2}
.gv-band{fill:$head}
.gv-leaf>.gv-card{stroke:$leaf;stroke-width:1.8}
.gv-brief>.gv-card{stroke:$box;stroke-width:1.2}
.gv-leaf-bar{fill:$leaf}
.gv-leaf>.gv-band{fill:$leaf-fill}
.gv-freed>.gv-card{stroke:$freed;stroke-dasharray:5 3}
.gv-packed>.gv-card{stroke:$packed}
.gv-opaque>.gv-card{stroke-width:2.6;stroke:$freed}
.gv-tensor>.gv-card{stroke:$line;stroke-dasharray:1.5 3;stroke-linecap:round;stroke-width:1.6}
.gv-outside>.gv-card{stroke:$line;stroke-dasharray:1.5 3;stroke-linecap:round}
.gv-ref-sign{fill:none;stroke:$muted;stroke-width:1.4}
.gv-more>.gv-card{stroke-dasharray:2 3}
.gv-pocket>.gv-box{fill:$held-fill}
.gv-pocket>.gv-mark{fill:$held}
.gv-pocket.gv-modified>.gv-box{fill:$modified-fill;stroke:$modified;stroke-width:1}
.gv-modified>.gv-warn{fill:$modified;font-weight:600}
.gv-pocket.gv-freed>.gv-box{fill:none;stroke:$freed;stroke-dasharray:3 2}
.gv-pocket.gv-packed>.gv-box{fill:$packed-fill;stroke:$packed}
.gv-tab>rect{fill:$held;stroke:$held;stroke-width:1.5}
.gv-tab.gv-freed>rect{fill:none}
.gv-tab.gv-packed>rect{fill:none;stroke:$packed;stroke-dasharray:2 1.5}
.gv-tag>.gv-box{fill:none;stroke:$box;stroke-width:1}
.gv-tag>.gv-mark{fill:$muted}
.gv-name{font-weight:600;fill:$ink}
.gv-pin{fill:none;stroke:$muted;stroke-width:1.2}
.gv-bar{fill:$muted}
.gv-port>rect,.gv-stub>rect{fill:$card;stroke:$line}
.gv-port>text,.gv-stub>text{fill:$muted}
.gv-stub>rect{stroke-dasharray:1.5 2.5;stroke-linecap:round}
.gv-stub>path{stroke:$edge;stroke-width:1.4;fill:none}
.gv-root>rect{fill:$root;stroke:none}
.gv-root>text{font-weight:600;fill:$root-ink}
.gv-chip>rect{fill:none;stroke:$freed}
.gv-chip>text{fill:$muted}
.gv-edge>path{fill:none;stroke:$edge;stroke-width:1.5}
.gv-head{fill:$edge}
.gv-uses>path{fill:none;stroke:$edge;stroke-width:1.5;stroke-dasharray:1.5 4;stroke-linecap:round}
"""
_ARROW_RULES: Final = """\
.gv-head-engine{display:none}
.gv-engine .gv-head-engine{display:inline}
.gv-engine .gv-head-data{display:none}
"""
"""The class of the picture says which of the two arrow heads of a link is visible."""

_FOLD_RULES: Final = """
.gv-fold>.gv-card{stroke:$held;stroke-width:1.6}
.gv-fold>.gv-band{fill:$held-fill}
.gv-fold>.gv-warn{fill:$modified;font-weight:600}
.gv-fold-sign{fill:none;stroke:$held;stroke-width:1.3}
.gv-leaves>.gv-card{stroke:$leaf}
.gv-leaves>.gv-band{fill:$leaf-fill}
.gv-leaves>.gv-fold-sign{stroke:$leaf}
.gv-open>.gv-frame{fill:none;stroke:$held;stroke-width:1}
.gv-open>.gv-header{fill:$held-fill}
"""
"""Rules for folded graphs."""

_CHANGED_RULES: Final = """\
.gv-ground{fill:$now-fill}
.gv-was{fill:$muted;text-decoration:line-through}
.gv-is{fill:$ink;font-weight:600}
"""
"""Rules for values that were others before."""
_GRADIENT_RULES: Final = """\
.gv-gradient>rect{fill:$card;stroke:$line;stroke-width:1}
.gv-gradient>path{fill:$muted}
.gv-gradient>text{fill:$muted}
"""
_FLOW_RULES: Final = """\
.gv-flow>.gv-gradient>rect{fill:$now-fill;stroke:$now;stroke-width:1.4}
.gv-flow>.gv-gradient>path{fill:$now}
.gv-flow>.gv-gradient>text{font-weight:600;fill:$ink}
"""
"""Rules for gradients on edges, and for those that are on their way."""
_STEP_RULES: Final = (
    """
.gv-waiting>.gv-card{stroke-dasharray:6 4}
.gv-cut>.gv-box{fill:$cut-fill;stroke:$cut;stroke-dasharray:4 2}
.gv-cut-sign{fill:none;stroke:$cut;stroke-width:1.6}
.gv-frame{fill:none;stroke:$line;stroke-width:0.6}
.gv-paper{fill:$card}
.gv-done>.gv-card,.gv-done>.gv-band{opacity:.45}
.gv-done>.gv-title{fill:$muted}
.gv-now>.gv-card{fill:$now;stroke:$now;stroke-width:1.2;stroke-dasharray:none}
.gv-now>.gv-band{fill:none}
.gv-now>text,.gv-now>text>tspan{fill:$now-ink}
.gv-now>.gv-pin,.gv-now>.gv-fold-sign{stroke:$now-ink}
.gv-now>.gv-ground{fill:none}
.gv-now>.gv-tab>rect{fill:$now-ink;stroke:$now-ink}
.gv-now>.gv-tab.gv-freed>rect{fill:none}
.gv-now>.gv-tag>text,.gv-now>.gv-tag>text>tspan{fill:$now-ink}
.gv-now>.gv-tag>.gv-mark{fill:$now-ink}
.gv-done>.gv-tab>rect{opacity:.45}
.gv-now>.gv-chip>rect{stroke:$now-ink}
.gv-now>.gv-chip>text{fill:$now-ink}
.gv-now>.gv-pocket.gv-freed>.gv-box{fill:$card}
.gv-raised>.gv-card{stroke:$modified;stroke-width:2;stroke-dasharray:none}
.gv-raised>.gv-band{fill:$modified-fill}
.gv-raised>.gv-title{fill:$modified}
.gv-next>.gv-card{stroke:$now;stroke-width:1.8;stroke-dasharray:7 3}
"""
    + _CHANGED_RULES
    + """\
.gv-made>.gv-card{stroke:$now;stroke-width:1.6}
.gv-tag.gv-made>.gv-box{stroke:$now;stroke-width:1.8}
.gv-chip>path{fill:none;stroke:$muted;stroke-width:1.5;stroke-linejoin:round}
.gv-corner>rect{fill:$card}
.gv-new-chip>rect{stroke:$now}
.gv-new-chip>path{stroke:$now}
.gv-new-chip>text{fill:$now;font-weight:600}
.gv-now-chip>rect{fill:$now;stroke:$now-ink}
.gv-now-chip>path{fill:$now-ink;stroke:none}
.gv-now-chip>text{fill:$now-ink;font-weight:600}
.gv-next-chip>rect{stroke:$now}
.gv-next-chip>path{stroke:$now}
.gv-next-chip>text{fill:$now}
.gv-raised-chip>rect{stroke:$modified}
.gv-raised-chip>path{stroke:$modified}
.gv-raised-chip>text{fill:$modified;font-weight:600}
"""
    + _GRADIENT_RULES
    + """\
.gv-flow>path{stroke:$now;stroke-width:2.4}
"""
    + _FLOW_RULES
)
"""Rules for the steps of a recording."""
_RUN_RULES: Final = _CHANGED_RULES + _GRADIENT_RULES + _FLOW_RULES
"""Rules for a graph with the numbers of a run."""

_FOLDED_STEP_RULES: Final = """
.gv-unmade>.gv-card{stroke-dasharray:2 3}
.gv-unmade>.gv-band{fill:none}
.gv-unmade>text{fill:$muted}
"""
"""Rules for boxes of which nothing exists at a step."""


class _Rules(Template):
    """Rules in which ``$NAME`` is a colour of the table, and ``$font`` the font."""

    idpattern = "[a-z-]+"


class _StyleNames(dict[str, str]):
    """The colour or font of each name, in the order of first use."""

    def __init__(self, variables: bool) -> None:
        super().__init__()
        self._variables = variables

    def __missing__(self, name: str) -> str:
        if name == "font":
            return FONT if self._variables else f'"{PNG_FONT}",monospace'
        self[name] = f"var(--gv-{name},{LIGHT[name]})" if self._variables else LIGHT[name]
        return self[name]


def coloured(rules: str, *, variables: bool = True) -> tuple[str, tuple[str, ...]]:
    """Rules with their colours, and the names of these in the order of their first use.

    Args:
        rules: Rules with ``$NAME`` for a colour and ``$font`` for the font.
        variables: Colours as ``var(--gv-NAME, default)``; else plain ones, and the packaged
            font, for programs without variables.

    Examples:
        >>> coloured("text{fill:$ink}"), coloured("text{fill:$ink}", variables=False)[0]
        (('text{fill:var(--gv-ink,#1c2128)}', ('ink',)), 'text{fill:#1c2128}')
    """
    names = _StyleNames(variables)
    return _Rules(rules).substitute(names), tuple(names)


def for_media(names: Iterable[str]) -> str:
    """Rules that give variables their values in print, which is light, and in forced colours."""
    names = tuple(names)
    plain = "".join(f"--gv-{name}:{LIGHT[name]};" for name in names)
    forced = "".join(f"--gv-{name}:{FORCED[name]};" for name in names)
    return (
        f"@media print{{.gradviz-svg{{{plain}}}}}\n"
        f"@media (forced-colors:active){{.gradviz-svg{{{forced}}}}}"
    )


@lru_cache
def css(
    *,
    variables: bool = True,
    engine_arrows: bool = False,
    steps: bool = False,
    folds: bool = False,
    run: bool = False,
) -> str:
    """The style sheet inside the SVG.

    Args:
        variables: As in :func:`coloured`; with them also rules for print and forced colours.
        engine_arrows: Only used without variables: which of the two arrow heads is drawn.
        steps: Whether it is for the steps of a recording.
        folds: Whether it is for a folded graph.
        run: Whether it is for a graph with the numbers of a run; steps have some.
    """
    # What a step does to a box is seen on boxes of all kinds.
    of_steps = _FOLD_RULES.lstrip() if folds else ""
    of_steps += _STEP_RULES.lstrip() if steps else _RUN_RULES if run else ""
    of_steps += _FOLDED_STEP_RULES.lstrip() if steps and folds else ""
    if not variables:
        unseen = ".gv-head-data" if engine_arrows else ".gv-head-engine"
        return coloured(f"{_RULES}{of_steps}{unseen}{{display:none}}".strip(), variables=False)[0]
    rules, used = coloured(f"{_RULES}{_ARROW_RULES}{of_steps}".strip())
    return f"{rules}\n{for_media(name for name in LIGHT if name in used)}"
