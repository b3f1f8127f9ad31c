"""A function with its inputs as controls: each change runs it again and shows what changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from html import escape
from typing import Any, ClassVar, Final

import traitlets

from gradviz.model import Graph, OptionError
from gradviz.model.arguments import flag
from gradviz.model.without_values import graph_without_values
from gradviz.teach import messages
from gradviz.teach.function_run import Outcome, random_state, run
from gradviz.teach.numbers import UNKNOWN, gradient_of, results_of
from gradviz.teach.parameters import call, controls_for, name_of, signature_of
from gradviz.teach.run_diff import LEGENDS, RunDiff, run_diff
from gradviz.view.documents.graph import compress, graph_document
from gradviz.view.export.files import refuse_animation, save
from gradviz.view.export.page import page_of
from gradviz.view.export.writing import ending_of, write_file
from gradviz.view.formatting import join
from gradviz.view.graph.options import DrawOptions
from gradviz.view.parts.image import image_html
from gradviz.view.text import clean, shorten
from gradviz.view.widgets.base import GraphWidget

COMPACT: Final = DrawOptions(density="compact")
"""Numbers are seen beside each other, and the whole graph with them."""
ROOM: Final = 120
"""Characters of a function's name, and of the names of its inputs, in the title."""


def explore(function: Callable[..., Any], /, **inputs: Any) -> Explorer:
    """Controls for the inputs of a function, beside the graph of its result.

    Every change of a control runs the function again and shows the new graph; a slider does so
    while it is dragged. Changes since the run before are marked in the picture and listed above
    it, with what the function printed or raised. Each run starts with the same random numbers and
    with new tensors, whose ``.grad`` is ``None``. If the result is one number and the function did
    not call ``backward()`` itself, ``result.backward(retain_graph=True)`` follows each run. Beside
    each input is what its ``.grad`` then holds: the derivative of the result, as torch computed it.

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


class Explorer(GraphWidget):
    """What :func:`explore` returns.

    Args:
        function: The function.
        inputs: Values that its controls begin with.
    """

    _holds: ClassVar[tuple[str, ...]] = ("_graph", "_drawn")

    request = traitlets.Dict({"turn": 0, "values": []}).tag(sync=True)
    """What the browser asks for: ``"turn"`` counts its requests, ``"values"`` are rows of name,
    number of the part, and new value. It asks again only after an answer."""
    answered = traitlets.Int(0).tag(sync=True)
    """Turn of the last request that was answered."""

    def __init__(self, function: Callable[..., Any], inputs: dict[str, Any]) -> None:
        self._function = function
        self._signature = signature_of(function)
        self.controls = controls_for(self._signature, inputs)
        """The control of each parameter by its name; setting ``.parts[0].value`` runs again."""
        self._random = random_state()
        self.outcome = Outcome()
        """What the last run left: its graph, what was printed, or its error."""
        self.changes = RunDiff()
        """The changes since the run before; empty after the first run or an error."""
        self._graph = Graph.of([], [])
        self._drawn = graph_document(self._graph, COMPACT)
        self._named: list[tuple[str, str]] = []
        """Names and values of the results of the last run that worked."""
        self._shown: list[str] = []
        """Inputs of the run whose picture is shown, in words."""
        self._is_compared = False
        self._is_setting = False
        super().__init__()
        for control in self.controls.values():
            control.watch(self.run)
        self.run()

    @property
    def graph(self) -> Graph:
        """The graph that is shown: that of the last run that worked."""
        return self._graph

    @property
    def code(self) -> str:
        """Python code that makes this picture, with the current inputs."""
        return messages.code_for(self._function, self._signature, self.controls, self.outcome)

    def run(self) -> None:
        """Run the function with the current inputs, and show the result."""
        if self._is_setting:
            return
        self.check_open()
        arguments: dict[str, Any] = {}
        own: dict[str, Any] = {}

        def prepare() -> None:
            # A number that its dtype cannot hold is an error of this run, as torch raises it.
            for name, control in self.controls.items():
                arguments[name] = control.argument()
                if control.is_made_anew:
                    own[name] = arguments[name]

        def program() -> Any:
            return call(self._function, self._signature, arguments)

        self.outcome = run(self._function, prepare, program, arguments, own, self._random)
        self._show()

    def reset(self) -> None:
        """Set every input to its first value, and run once."""
        with self._setting():
            for control in self.controls.values():
                control.reset()
        self.run()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        animated: bool = False,
        stops: Iterable[int | str] | None = None,
        seconds: float | None = None,
        shape: str | None = None,
        values: bool = True,
    ) -> None:
        """Write what is shown to a file, as of a picture; with ``values=False`` without numbers.

        The HTML has the inputs too; they cannot be changed there, since the function runs in
        Python. The other files are the graph without marks. ``animated``, ``stops``,
        ``seconds`` and ``shape`` are options of a recording.

        Raises:
            OptionError: If the ending is none of those of a picture, if an animation is asked for,
                or a page without the numbers of its inputs.
        """
        self.check_open()
        refuse_animation(path, animated, stops, seconds, shape)
        if flag("values", values) and ending_of(path) == ".html":
            write_file(path, self._page())
        elif ending_of(path) != ".html":
            save(self._graph if values else graph_without_values(self._graph), path)
        else:
            raise OptionError(
                "values=False leaves out all numbers, but the page of explore() has those of its "
                "inputs: save it as .svg, .png, .dot, .mmd or .json"
            )

    def _page(self) -> str:
        traits = {"wire": compress(self.wire), "engine_arrows": self.engine_arrows}
        return page_of(self.wire, traits, still=self._html(images=False))

    def close(self) -> None:
        """Remove it from the page and free its memory, as of a picture."""
        super().close()
        self.controls, self.outcome, self.changes = {}, Outcome(), RunDiff()
        self._function = _closed

    @traitlets.observe("request")
    def _answer(self, change: dict[str, Any]) -> None:
        """Set the values that a browser sends, run once if any differs, and say so."""
        asked = change["new"]
        before = self._inputs()
        try:
            with self._setting():
                for name, number, value in asked.get("values", ()):
                    # A value that a part cannot have is not taken; the browser shows the kept one.
                    with suppress(OptionError):
                        self.controls[name].parts[number].receive(value)
            if self._inputs() != before:
                self.run()
        finally:
            self.answered = asked.get("turn", 0)

    def _inputs(self) -> list[Any]:
        return [part.data()["value"] for one in self.controls.values() for part in one.parts]

    @contextmanager
    def _setting(self) -> Iterator[None]:
        """Several values are set, and none of them runs the function."""
        self._is_setting = True
        try:
            yield
        finally:
            self._is_setting = False

    def _show(self) -> None:
        graph = self.outcome.graph
        self._is_compared = graph is not None and bool(self._shown)
        self.changes = RunDiff()
        if graph is not None:
            if self._is_compared:
                self.changes = run_diff(self._graph, graph)
            self._shown = [control.words for control in self.controls.values()] or ["no inputs"]
            self._drawn = graph_document(
                graph,
                COMPACT,
                marks=self.changes.marks,
                legends=LEGENDS,
                before=self.changes.before,
                values=self.outcome.values,
            )
            # The facts of the graph before are drawn, and no longer needed.
            self.changes = replace(self.changes, before={})
            self._graph, self._named = graph, results_of(self.outcome)
        self.wire = {**self._drawn, "text": self._text(), "exploration": self._exploration()}

    def _exploration(self) -> dict[str, Any]:
        """What the browser gets beside the picture, as ``exploration.ts`` describes it."""
        sentences = self.changes.sentences
        return {
            "title": self._title,
            "results": [{"name": name, "value": value} for name, value in self._results],
            "controls": [
                {**control.data(), "gradient": gradient_of(control, self.outcome)}
                for control in self.controls.values()
            ],
            "backward": self.outcome.backward_note,
            "has_failed": bool(self.outcome.error),
            "message": messages.message_lines(self.outcome, self._shown),
            "printed": messages.printed_text(self.outcome.printed),
            "changed": messages.changed_lines(sentences) if self._is_compared else [],
            "code": self.code,
            "has_picture": bool(self._shown),
        }

    @property
    def _title(self) -> str:
        name, inputs = clean(name_of(self._function)), ", ".join(map(clean, self.controls))
        return f"{shorten(name, ROOM)}({shorten(inputs, ROOM)})"

    @property
    def _results(self) -> list[tuple[str, str]]:
        """Names and values of the results; after an error the values are not known."""
        if self.outcome.error:
            return [(name, UNKNOWN) for name, _ in self._named]
        return self._named

    @property
    def _inputs_in_words(self) -> Iterator[str]:
        """Each input with its value and its gradient."""
        for control in self.controls.values():
            found = gradient_of(control, self.outcome)
            said = f"{found['label']} {found['value']}" if found and found["value"] else ""
            yield join((control.words, said))

    def _text(self) -> str:
        lines = [self._title, *(f"  {words}" for words in self._inputs_in_words)]
        lines += [f"{name} = {value}" for name, value in self._results]
        lines += [self.outcome.backward_note] if self.outcome.backward_note else []
        lines += messages.outcome_text(self.outcome, self._shown)
        lines += [str(self.graph)] if self._shown else []
        if self._is_compared:
            lines += messages.changed_text(self.changes.sentences)
        return "\n".join(lines)

    def _html(self, *, images: bool) -> str:
        """Everything as HTML without style or script."""
        inputs = ", ".join(self._inputs_in_words)
        results = ", ".join(f"{name} = {value}" for name, value in self._results)
        parts = [f"<div><b>{escape(self._title)}</b> {escape(inputs)}</div>"]
        parts += [f"<div><b>{escape(results)}</b></div>"] if results else []
        parts.append(messages.message_html(self.outcome, self._shown))
        parts.append(messages.printed_html(self.outcome.printed))
        if self._is_compared:
            parts.append(messages.changed_html(self.changes.sentences))
        if self._shown:
            svg = self._still
            parts.append(image_html(svg, self.wire["summary"]) if images else svg)
        return "\n".join(filter(None, parts))

    def _without_kernel(self, _svg: str) -> str:
        return self._html(images=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and for readers without a kernel the picture and everything as text."""
        data, metadata = super()._repr_mimebundle_(**kwargs)
        if not self._shown or self.outcome.error:  # alone it would not say that it is old
            data.pop("image/svg+xml", None)
        return data, metadata


def _closed() -> None:
    """The function of a widget that was closed."""
