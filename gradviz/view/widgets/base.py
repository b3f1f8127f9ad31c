"""The widget a cell shows: traits only; what they mean on screen is decided in ``widgets/``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import anywidget
import ipywidgets
import traitlets

from gradviz.model.errors import GradvizError, OptionError, UnknownNodeError
from gradviz.view.documents.digest import MIME, digest
from gradviz.view.documents.graph import compress, expand
from gradviz.view.graph.card_parts import DENSITIES, Density
from gradviz.view.graph.options import DrawOptions
from gradviz.view.parts.image import frame_html, image_html

STATIC: Final = Path(__file__).parents[1] / "static"
PAGE_MOST: Final = 2_000_000
"""Bytes of a page that is put into another page."""


def widgets_in(widget: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    """The widgets that a widget consists of, each after its own: children, layouts and styles."""
    for name in filter(widget.trait_has_value, widget.keys):
        value = getattr(widget, name)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, ipywidgets.Widget):
                yield from widgets_in(one)
                yield one


class GraphWidget(anywidget.AnyWidget):
    """An interactive picture of a graph, as :func:`gradviz.show` returns it.

    Everything the browser needs is in ``wire``, so the picture works without a kernel. A class may
    give ``wire`` a default that is made when somebody looks: when it is read, or when the widget is
    displayed, put into another widget or saved with the notebook.

    Args:
        **traits: Initial values of the traits below.

    Examples:
        >>> widget = GraphWidget(wire={"format": 1, "items": [{"id": "n0"}], "text": "outline"})
        >>> widget.selected = "n0"
        >>> print(widget)
        outline
    """

    # As text: of a file anywidget keeps a reference to every widget that was ever made.
    _esm = (STATIC / "loader.js").read_text("utf-8")
    _front_end = traitlets.Unicode((STATIC / "widget.js").read_text("utf-8")).tag(sync=True)
    """What that loads, once in a page."""
    _css = (STATIC / "widget.css").read_text("utf-8")
    _holds: ClassVar[tuple[str, ...]] = ()
    """Attributes with what is shown, which a closed widget has no longer."""
    is_closed = False
    """Whether it was closed."""
    is_answered: ClassVar[bool] = False
    """Whether a front end has answered: widgets of this kernel are seen."""

    wire = traitlets.Dict().tag(
        sync=True,
        to_json=lambda wire, _widget: compress(wire),
        from_json=lambda sent, _widget: expand(sent),
    )
    """What ``view.documents`` wrote: picture, outline, legend and details as plain data.

    Compressed only where it is synchronised and saved."""
    selected = traitlets.Unicode("").tag(sync=True)
    """Id of the selected node or tensor, ``""`` when nothing is selected."""
    height = traitlets.Int(0, min=0).tag(sync=True)
    """Height of the picture in CSS pixels; 0 lets the browser choose."""
    engine_arrows = traitlets.Bool(False).tag(sync=True)
    """Whether arrows run as the engine does, along ``next_functions``; else as data flows."""
    density = traitlets.Enum(("auto", *DENSITIES), "auto").tag(sync=True)
    """How much cards say: ``"compact"``, ``"normal"``, ``"full"``; ``"auto"``: what the picture
    opens with."""
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)
    """``"auto"`` follows the notebook."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._answer)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except traitlets.TraitError as error:
            usual = self.traits()[name].default_value
            raise OptionError(
                f"{name}={value!r} does not fit: {error} Type .{name} = {usual!r}, for example"
            ) from None

    def _answer(self, _widget: object, asked: Any, _buffers: object) -> None:
        """Answer a question of the browser: ``{"ask": what, "number": which}``."""
        GraphWidget.is_answered = True
        if not isinstance(asked, dict) or "ask" not in asked:
            return
        answer = {"answer": asked.get("number"), "error": ""}
        try:
            found = self._answer_to(asked.get("ask"))
        except GradvizError as error:
            self.send({**answer, "error": str(error)})
        else:
            if found is not None:
                self.send(answer, [found])

    def _answer_to(self, what: Any) -> bytes | None:
        """What a question is answered with; ``None`` if it is not for this widget."""
        return None

    @traitlets.validate("selected")
    def _check_selected(self, proposal: dict[str, Any]) -> str:
        chosen: str = proposal["value"]
        if chosen and not self._has(chosen):
            known = self._ids()
            ids = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
            raise UnknownNodeError(
                f"this graph has no node or tensor {chosen!r} to select; it has: {ids or 'none'}. "
                'selected = "" selects nothing.'
            )
        return chosen

    @traitlets.observe("wire")
    def _forget_selection(self, _change: object) -> None:
        if self.selected and not self._has(self.selected):
            self.selected = ""

    def _as_shown(self, options: DrawOptions) -> DrawOptions:
        """How it is drawn, with the arrows and the density that are shown now."""
        return replace(options, engine_arrows=self.engine_arrows, density=self.shown_density)

    @property
    def shown_density(self) -> Density:
        """The density that is seen: the chosen one, else the one it opens with."""
        chosen: Any = self.density
        shown: Density = self.wire.get("density", "normal") if chosen == "auto" else chosen
        return shown

    @property
    def _still(self) -> str:
        """The picture for readers without a kernel."""
        return str(self.wire.get("pictures", {}).get(self.shown_density, ""))

    def _has(self, key: str) -> bool:
        """Whether something can be selected."""
        return key in self._ids()

    def _ids(self) -> list[str]:
        rows = self.wire.get("outline", {}).get("rows", ())
        return list(dict.fromkeys(entry["id"] for entry in (*self.wire.get("items", ()), *rows)))

    def open(self) -> None:
        """Nothing yet: it is made known to the browser when it is about to be shown, whole.

        What is sent after that can get lost: anywidget drops all later messages to a model whose
        script was not loaded within two seconds. And what nobody shows is kept by nobody.
        """

    @property
    def model_id(self) -> str:
        """Its id in the browser; who asks for it is about to show it."""
        self.check_open()
        if self.comm is None:
            self._prepare()
            super().open()
        own_id: str = super().model_id
        return own_id

    def _prepare(self) -> None:
        """What is done before it is made known to the browser."""

    @property
    def _said(self) -> dict[str, Any]:
        """What readers without a kernel are told, and what is compared."""
        return self.wire

    def close(self) -> None:
        """Remove it from the page and free its memory.

        ipywidgets keeps every widget that was shown until it is closed, also after its cell has
        run again: ``ipywidgets.Widget.close_all()`` closes all of a notebook. A closed widget holds
        neither its graph or recording nor the picture; show the graph again for a new one. Saved
        files and the stored outputs of cells stay. Closing twice does nothing.
        """
        inside = list(widgets_in(self))
        super().close()
        self.is_closed = True
        self.__dict__["_repr_mimebundle_"] = None  # as ipywidgets sets it of those that were shown
        for widget in inside:
            widget.close()
        for name in self._holds:
            self.__dict__.pop(name, None)
        self.wire = {"text": f"{type(self).__name__} (closed)"}

    def check_open(self) -> None:
        """Raise ``GradvizError`` if it was closed."""
        if self.is_closed:
            raise GradvizError(
                f"this {type(self).__name__} was closed, which freed what it showed. "
                "Call the function that made it again, such as gradviz.show(loss)"
            )

    def __getattr__(self, name: str) -> Any:
        if name in self._holds:
            self.check_open()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __str__(self) -> str:
        return str(self._said.get("text", "an empty GraphWidget"))

    def __repr__(self) -> str:
        return GraphWidget.__str__(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and for readers without a kernel the picture and the outline.

        ``text/html`` carries the picture as a data image, since it is the only form a notebook
        that is not trusted shows. The digest of the document is there for comparisons, which do
        not see the widget. Apart from the widget's model id the bundle is the same bytes for the
        same graph.
        """
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        data = {**(data or {}), "text/plain": repr(self)}
        if "format" in self._said:
            data[MIME] = digest(self._said)
        svg = self._still
        if html := "" if self.is_closed else self._without_kernel(svg):
            data["text/html"] = html
        if svg:
            data["image/svg+xml"] = svg
        return data, metadata

    def _without_kernel(self, svg: str) -> str:
        """HTML for readers without a kernel.

        Args:
            svg: The picture.
        """
        return image_html(svg, self._said.get("summary", "")) if svg else ""

    def _page(self) -> str:
        """The page that ``save`` writes; ``""`` if there is none."""
        return ""

    def as_mimebundle(self) -> Any:
        """What a notebook displays, by MIME type, and its metadata."""
        return self._repr_mimebundle_()

    def _repr_html_(self) -> str | None:
        return self.as_html()

    def as_html(self) -> str | None:
        """The page in a frame, for hosts that know no widgets, such as documentation; where it is
        larger than ``PAGE_MOST`` bytes what readers without a kernel get. Notebooks take the
        bundle."""
        if self.is_closed:
            return None
        if (page := self._page()) and len(page.encode("utf-8", "replace")) <= PAGE_MOST:
            return frame_html(page, self.wire.get("title", ""), self.height)
        data, _metadata = self._repr_mimebundle_()
        html: str | None = data.get("text/html")
        return html
