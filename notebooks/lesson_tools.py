"""Questions and switches for the lessons, from plain ipywidgets.

The answer to a question is not stored: it is computed by torch when "Check" is pressed.
Every output has a fixed text, so that a reader without widgets sees the question or the
picture, and ``pytest --nbval`` can compare it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from html import escape
from typing import Any

import ipywidgets as widgets

import gradviz

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Question(widgets.VBox):
    """A question with one or several right options, each option with its own explanation."""

    def __init__(
        self,
        question: str,
        options: Mapping[str, str],
        right: Callable[[], Collection[str]],
        several: bool,
    ) -> None:
        self.question = question
        self.explanations = dict(options)
        self.right = right
        self.several = several
        self.feedback = widgets.HTML()
        self._boxes = [
            widgets.Checkbox(description=option, indent=False, layout={"width": "auto"})
            for option in options
        ]
        self._radio = widgets.RadioButtons(
            options=list(options), value=None, tooltip=question, layout={"width": "auto"}
        )
        check = widgets.Button(description="Check", tooltip=f"Check the answer to: {question}")
        check.on_click(lambda _: self.check())
        answers = self._boxes if several else [self._radio]
        super().__init__([widgets.HTML(_bold(question)), *answers, check, self.feedback])

    @property
    def chosen(self) -> set[str]:
        """The options that are chosen now."""
        if self.several:
            return {box.description for box in self._boxes if box.value}
        return {self._radio.value} - {None}

    @chosen.setter
    def chosen(self, options: Collection[str]) -> None:
        for box in self._boxes:
            box.value = box.description in options
        self._radio.value = next(iter(options), None)

    def check(self) -> None:
        """Compare what is chosen with what torch says, and explain each difference."""
        chosen, right = self.chosen, set(self.right())
        wrong = [option for option in self.explanations if (option in chosen) != (option in right)]
        if not chosen and not self.several:
            self.feedback.value = _status("Choose an answer first.")
        elif not wrong:
            why = [] if self.several else [self.explanations[option] for option in chosen]
            self.feedback.value = _status("✓ Right.", *why)
        else:
            told = wrong if self.several else [option for option in wrong if option in chosen]
            notes = [f"{option}: {self.explanations[option]}" for option in told]
            self.feedback.value = _status("✗ Not what torch says.", *notes)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        mark = "[ ]" if self.several else "( )"
        lines = [self.question, *(f"  {mark} {option}" for option in self.explanations)]
        return {**super()._repr_mimebundle_(**kwargs), "text/plain": "\n".join(lines)}


def choose(question: str, options: Mapping[str, str], right: Callable[[], object]) -> Question:
    """Ask for one of ``options``; ``right()`` gives the right one, as torch sees it."""
    return Question(question, options, lambda: [str(right())], several=False)


def tick(
    question: str, options: Mapping[str, str], right: Callable[[], Collection[str]]
) -> Question:
    """Ask for all ``options`` that hold; ``right()`` gives them, as torch sees it."""
    return Question(question, options, right, several=True)


class WhatIf(widgets.VBox):
    """Check boxes above a graph: each change runs the program again in real torch."""

    def __init__(self, program: Callable[..., gradviz.Graph], switches: Mapping[str, bool]) -> None:
        self._program = program
        self.picture = gradviz.show(program(**switches))
        self.message = widgets.HTML()
        self.switches = {
            name: widgets.Checkbox(
                value=on, description=name, indent=False, layout={"width": "auto"}
            )
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
        states = "  ".join(f"[{'x' if box.value else ' '}] {n}" for n, box in self.switches.items())
        data["text/plain"] = f"{states}\n{data['text/plain']}"
        return {**data, WIDGET_VIEW: own[WIDGET_VIEW]}


def what_if(program: Callable[..., gradviz.Graph], **switches: bool) -> WhatIf:
    """Show the graph that ``program(**switches)`` returns, with a check box for each switch."""
    return WhatIf(program, switches)


def _bold(text: str) -> str:
    return f"<b>{escape(text)}</b>"


def _status(verdict: str, *notes: str) -> str:
    lines = "".join(f"<br>{escape(note)}" for note in notes)
    return f'<div role="status"><b>{escape(verdict)}</b>{lines}</div>'
