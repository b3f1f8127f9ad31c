"""A function with its inputs as controls: each change runs it again and shows what changed."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final

import ipywidgets as widgets

from gradviz.model import Graph
from gradviz.teach import messages
from gradviz.teach.controls import Control, Switch, in_a_row
from gradviz.teach.function_run import Outcome, random_state, run
from gradviz.teach.parameters import call, controls_for, name_of, signature_of
from gradviz.teach.run_diff import LEGENDS, RunDiff, run_diff
from gradviz.view.documents.graph import graph_document
from gradviz.view.text import clean, shorten
from gradviz.view.widgets.base import widgets_in
from gradviz.view.widgets.picture import Picture

ROOM: Final = 120
"""Characters of a function's name, and of the names of its inputs, in the title."""
_VIEW: Final = "application/vnd.jupyter.widget-view+json"


def explore(function: Callable[..., Any], /, **inputs: Any) -> Explorer:
    """Controls for the inputs of a function, above the graph of its result.

    Every change of a control runs the function again and shows the new graph. Changes since the
    run before are marked in the picture and listed below it, with what the function printed or
    raised. Each run starts with the same random numbers and with new tensors, whose ``.grad`` is
    ``None``.

    The value of an input decides its control:

    ======================================  ================================================
    float, or a tensor with one number      slider; the function gets a leaf tensor
    tensor with two to four numbers         a field for each; the function gets a leaf tensor
    tensor with more numbers                fixed; the function gets a copy of it, a leaf
    int; float annotated with ``: float``   slider; the function gets the number
    bool                                    check box
    list or tuple, or ``Literal[...]``      one of the options
    str                                     text field
    anything else                           fixed; the function gets it, a module as a copy
    ======================================  ================================================

    Tensors have the names of their parameters. Each tensor that can require grad has a switch for
    ``requires_grad``, which is on at first for a float. Parameters called
    ``retain_grad``, ``hook``, ``detach``, ``detach_here``, ``no_grad`` and ``retain_graph`` are
    switches, off at first, whose value the function gets as an argument.

    Args:
        function: Returns the tensor whose graph is shown, or several, or a dict of them with their
            names; it may call ``backward()`` itself.
        inputs: Values to begin with; parameters with a default need none.

    Returns:
        A widget with ``.graph``, ``.changes``, ``.controls``, ``.code`` and ``.reset()``.

    Raises:
        OptionError: If it is not a function, a parameter has no value, or a value no parameter.

    Examples:
        >>> import gradviz
        >>> def program(a, b, retain_grad=False):
        ...     y = a * b
        ...     if retain_grad:
        ...         y.retain_grad()
        ...     y.backward()
        ...     return {"y": y}
        >>> widget = gradviz.explore(program, a=2.0, b=3.0)
        >>> widget.controls["retain_grad"].parts[0].value = True
        >>> widget.changes.sentences
        ['y: retains_grad False → True; .grad None → 1.0']
    """
    return Explorer(function, inputs)


class MarkedPicture(Picture):
    """A picture with marks on what is new or changed."""

    def display_changed(self, graph: Graph, changes: RunDiff) -> None:
        """Show another graph in the same place, with ``changes`` marked."""
        self.check_open()
        self.wire = graph_document(graph, self._options, marks=changes.marks, legends=LEGENDS)
        self._graph = graph


class Explorer(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """What :func:`explore` returns.

    Args:
        function: The function.
        inputs: Values that its controls begin with.
    """

    def __init__(self, function: Callable[..., Any], inputs: dict[str, Any]) -> None:
        self._function = function
        self._signature = signature_of(function)
        self.controls = controls_for(self._signature, inputs)
        """The control of each parameter by its name; ``.parts`` are its widgets."""
        self._random = random_state()
        self.outcome = Outcome()
        """What the last run left: its graph, what was printed, or its error."""
        self.changes = RunDiff()
        """The changes since the run before; empty after the first run or an error."""
        self._shown: list[str] = []
        """Inputs of the run whose picture is shown, in words."""
        self._is_compared = False
        self._is_resetting = False
        self.picture = MarkedPicture(Graph.of([], []))
        """The picture of the last run that worked."""
        self._message, self._printed, self._told = (widgets.HTML() for _ in range(3))
        self._source = widgets.Textarea(
            description="Python", layout={"width": "min(46rem, 98%)", "display": "none"}
        )
        super().__init__(self._parts(), layout={"max_width": "100%"})
        for control in self.controls.values():
            control.watch(lambda _change: self.run())
        self.run()

    def _parts(self) -> list[Any]:
        reset = widgets.Button(
            description="Reset", icon="undo", tooltip="Set every input to its first value"
        )
        reset.on_click(lambda _button: self.reset())
        code = widgets.ToggleButton(
            description="Show the code", icon="code", tooltip="Python code that makes this picture"
        )
        code.observe(self._show_code, "value")
        return [
            widgets.HTML(f"<b>{escape(self._title)}</b>"),
            *(control.widget() for control in self.controls.values() if not _is_switch(control)),
            in_a_row([c.widget() for c in self.controls.values() if _is_switch(c)]),
            in_a_row([reset, code]),
            self._source,
            self._message,
            self._printed,
            self.picture,
            self._told,
        ]

    @property
    def _title(self) -> str:
        name, inputs = clean(name_of(self._function)), ", ".join(map(clean, self.controls))
        return f"{shorten(name, ROOM)}({shorten(inputs, ROOM)})"

    @property
    def graph(self) -> Graph:
        """The graph that is shown: that of the last run that worked."""
        return self.picture.graph

    @property
    def code(self) -> str:
        """Python code that makes this picture, with the current inputs."""
        return messages.code_for(self._function, self._signature, self.controls, self.outcome)

    def run(self) -> None:
        """Run the function with the current inputs, and show the result."""
        if self._is_resetting:
            return
        self.picture.check_open()
        arguments = {name: control.argument() for name, control in self.controls.items()}
        self.outcome = run(
            self._function,
            lambda: call(self._function, self._signature, arguments),
            arguments,
            self._random,
        )
        self.changes = RunDiff()
        graph = self.outcome.graph
        self._is_compared = graph is not None and bool(self._shown)
        if graph is not None:
            self._show_graph(graph)
        self._show_words()

    def reset(self) -> None:
        """Set every input to its first value, and run once."""
        self._is_resetting = True
        try:
            for control in self.controls.values():
                control.reset()
        finally:
            self._is_resetting = False
        self.run()

    def close(self) -> None:
        """Remove it and its controls from the page and free their memory, as of a picture."""
        for widget in list(widgets_in(self)):
            widget.close()
        super().close()
        self.controls, self.outcome, self.changes = {}, Outcome(), RunDiff()
        self._function = _closed

    def _show_graph(self, graph: Graph) -> None:
        if self._is_compared:
            self.changes = run_diff(self.graph, graph)
        self._shown = [control.words for control in self.controls.values()] or ["no inputs"]
        self.picture.display_changed(graph, self.changes)

    def _show_words(self) -> None:
        self._message.value = messages.message_html(self.outcome, self._shown)
        self._printed.value = messages.printed_html(self.outcome.printed)
        self._told.value = ""
        if self._is_compared:
            self._told.value = messages.changed_html(self.changes.sentences)
        self._source.value = self.code
        self._source.rows = self.code.count("\n") + 1
        self.picture.layout.display = None if self._shown else "none"
        self.picture.layout.border = "2px dashed #b84300" if self.outcome.error else None

    def _show_code(self, change: Any) -> None:
        self._source.layout.display = None if change["new"] else "none"

    def __str__(self) -> str:
        if self.comm is None:
            return f"{type(self).__name__} (closed)"
        lines = [self._title, *(f"  {control.words}" for control in self.controls.values())]
        lines += messages.outcome_text(self.outcome, self._shown)
        lines += [str(self.graph)] if self._shown else []
        if self._is_compared:
            lines += messages.changed_text(self.changes.sentences)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The widget, and for readers without a kernel the picture and everything as text."""
        own = super()._repr_mimebundle_(**kwargs)
        picture = self.picture._repr_mimebundle_(**kwargs)
        still = picture[0] if isinstance(picture, tuple) else picture
        inputs = ", ".join(control.words for control in self.controls.values())
        parts = [f"<div><b>{escape(self._title)}</b> {escape(inputs)}</div>"]
        parts += [self._message.value, self._printed.value]
        parts += [still["text/html"]] if self._shown else []
        html = "\n".join(filter(None, (*parts, self._told.value)))
        data = {_VIEW: own[_VIEW], "text/plain": str(self), "text/html": html}
        if self._shown and not self.outcome.error:  # alone it would not say that it is old
            data["image/svg+xml"] = still["image/svg+xml"]
        return data


def _closed() -> None:
    """The function of a widget that was closed."""


def _is_switch(control: Control) -> bool:
    return isinstance(control, Switch)
