"""Questions and switches for the lessons, from plain ipywidgets.

The answer to a question is not written down: torch computes it when the cell runs.
Every output has a fixed text, so that a reader without widgets sees the question or the
picture, and ``pytest --nbval`` can compare it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from html import escape
from typing import Any

import ipywidgets as widgets

import gradviz

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
BESIDE = {"width": "auto", "margin": "2px 20px 2px 2px"}
SHORT = 12
"""Options of at most so many characters stand side by side."""


class Question(widgets.VBox):
    """A question with one or several right options, each option with its own explanation."""

    def __init__(
        self,
        question: str,
        options: Mapping[str, str],
        right: Collection[str],
        several: bool,
    ) -> None:
        if unknown := set(right) - set(options):
            raise ValueError(f"torch says {sorted(unknown)}, and no option does")
        self.question = question
        self.explanations = dict(options)
        self.right = frozenset(right)
        self.several = several
        self.feedback = widgets.HTML()
        # Buttons and check boxes: JupyterLab takes the arrow keys that radio buttons need.
        kind = widgets.Checkbox if several else widgets.Button
        self.answers = {
            option: kind(description=option, tooltip=question, layout=BESIDE) for option in options
        }
        is_short = max(map(len, options)) <= SHORT
        row = widgets.Box(
            list(self.answers.values()),
            layout={
                "flex_flow": "row wrap" if is_short else "column",
                "align_items": "flex-start",
            },
        )
        children = [widgets.HTML(f"<b>{_html(question)}</b>"), row, self.feedback]
        if several:
            check = widgets.Button(description="Check", tooltip=f"Check the answer to: {question}")
            check.on_click(lambda _: self._check_boxes())
            children.insert(2, check)
        super().__init__(
            children,
            layout={"border_left": "3px solid var(--jp-brand-color1)", "padding": "0 0 0 12px"},
        )
        for option, answer in self.answers.items():
            if several:
                answer.indent = False
            else:
                answer.on_click(lambda _, option=option: self.answer({option}))

    def _check_boxes(self) -> None:
        self.answer({option for option, box in self.answers.items() if box.value})

    def answer(self, chosen: Collection[str]) -> None:
        """Compare what is chosen with what torch says, and explain each difference."""
        differ = [o for o in self.explanations if (o in chosen) != (o in self.right)]
        told = [o for o in differ if self.several or o in chosen]
        if not differ:
            why = [] if self.several else [self.explanations[option] for option in chosen]
            self.feedback.value = _status("✓ Right.", *why)
        else:
            notes = [f"{option}: {self.explanations[option]}" for option in told]
            self.feedback.value = _status("✗ Not what torch says.", *notes)
        if not self.several:
            for option, button in self.answers.items():
                mark = "times" if differ else "check"
                button.icon = mark if option in chosen else ""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        mark = "[ ]" if self.several else "( )"
        lines = [self.question, *(f"  {mark} {option}" for option in self.explanations)]
        return {**super()._repr_mimebundle_(**kwargs), "text/plain": "\n".join(lines)}


def choose(question: str, options: Mapping[str, str], right: object) -> Question:
    """Ask for one of ``options``, which maps each to its explanation.

    Args:
        question: What is asked.
        options: Each option with a sentence on why it is right or wrong.
        right: The right option, computed by torch: it is compared as text.

    Raises:
        ValueError: If ``right`` is none of the options.
    """
    return Question(question, options, [str(right)], several=False)


def tick(question: str, options: Mapping[str, str], right: Collection[str]) -> Question:
    """Ask for all ``options`` that hold; ``right`` are those, computed by torch.

    Raises:
        ValueError: If one of ``right`` is none of the options.
    """
    return Question(question, options, right, several=True)


class WhatIf(widgets.VBox):
    """Check boxes above a graph: each change runs the program again in real torch."""

    def __init__(self, program: Callable[..., gradviz.Graph], switches: Mapping[str, bool]) -> None:
        self._program = program
        self.picture = gradviz.show(program(**switches))
        self.message = widgets.HTML()
        self.switches = {
            name: widgets.Checkbox(value=on, description=_words(name), indent=False, layout=BESIDE)
            for name, on in switches.items()
        }
        for box in self.switches.values():
            box.observe(lambda _: self.rerun(), "value")
        row = widgets.HBox(list(self.switches.values()), layout={"flex_flow": "row wrap"})
        super().__init__([row, self.message, self.picture])

    def rerun(self) -> None:
        """Run the program with the switches as they stand and show its graph."""
        try:
            graph = self._program(**{name: box.value for name, box in self.switches.items()})
        except gradviz.GradvizError as error:
            self.message.value = _status("No graph.", str(error))
            self.picture.layout.display = "none"
        else:
            self.message.value = ""
            self.picture.display_graph(graph)
            self.picture.layout.display = None

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        own = super()._repr_mimebundle_(**kwargs)
        picture = self.picture._repr_mimebundle_(**kwargs)
        data = dict(picture[0] if isinstance(picture, tuple) else picture)
        states = "  ".join(
            f"[{'x' if box.value else ' '}] {_words(n)}" for n, box in self.switches.items()
        )
        data["text/plain"] = f"{states}\n{data['text/plain']}"
        return {**data, WIDGET_VIEW: own[WIDGET_VIEW]}


def what_if(program: Callable[..., gradviz.Graph], **switches: bool) -> WhatIf:
    """Show the graph that ``program(**switches)`` returns, with a check box for each switch."""
    return WhatIf(program, switches)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _html(text: str) -> str:
    """Text as HTML, with `code` between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _status(verdict: str, *notes: str) -> str:
    lines = "".join(f"<br>{_html(note)}" for note in notes)
    return f'<div role="status"><b>{escape(verdict)}</b>{lines}</div>'
