"""What ``gradviz.show`` returns for a recording: a widget that steps through it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Final

import traitlets

from gradviz.model.arguments import flag
from gradviz.model.collector import no_collection
from gradviz.model.errors import OptionError
from gradviz.model.in_pieces import completed
from gradviz.model.recording import Recording
from gradviz.model.without_values import recording_without_values
from gradviz.view.animation.animation import Animations
from gradviz.view.animation.decisive_steps import candidates, decisive_steps
from gradviz.view.animation.played_scenes import CARDS
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.folded_recording import RecordedFolds, asked, room_in_notebook
from gradviz.view.documents.graph import compress, packed
from gradviz.view.documents.recording import Told, check_step, document_in_pieces, step_shown_first
from gradviz.view.explanations.fields import explained
from gradviz.view.export.animated.drawing import FrameDrawing, check_shape, frame_drawing
from gradviz.view.export.animated.frames import Frames, frames_of
from gradviz.view.export.animated.graph import subjects
from gradviz.view.export.animated.image import apng, gif
from gradviz.view.export.animated.svg import animated_svg
from gradviz.view.export.filmstrip import MOST, Filmstrip, StripFrame
from gradviz.view.export.page import first_line, page_of
from gradviz.view.export.writing import ending_of, write_as, write_file
from gradviz.view.formatting import plural
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.outlines.recording import recording_title
from gradviz.view.text import clean
from gradviz.view.widgets.after_cell import AfterCell, running_loop
from gradviz.view.widgets.base import GraphWidget

ANIMATED: Final[dict[str, Callable[[FrameDrawing, Frames], bytes]]] = {
    ".svg": lambda drawing, frames: animated_svg(drawing, frames).encode(),
    ".gif": gif,
    ".apng": apng,
}
"""What plays by itself, by ending."""


class Player(GraphWidget):
    """Steps through a recording, forwards and back, with code, graph and tensors side by side.

    In a notebook it is a widget that needs no running kernel; saved, printed or without
    a kernel it is the picture of one step and the outline of all of them. ``step`` is the step
    that is shown.

    Args:
        recording: What to show.
        options: How to draw it.
        step: The step shown first, as ``recording[step]`` finds it: a number, ``"line:5"``,
            ``"backward"``, ``"error"``, a node; if not given the one at which an error was
            raised, else the last before the first backward, without a backward the last.
        stops: Steps that matter, marked on the timeline; each as ``step``.
        height: Height in CSS pixels, 0 for automatic.

    Raises:
        OptionError: If a step does not exist.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * a
        ...     out.backward()
        >>> player = Player(recording)
        >>> player.step = -1
        >>> player.step == len(recording) == 5
        True
        >>> player.step = "backward"
        >>> player.step
        2
    """

    step = traitlets.Union([traitlets.Int(), traitlets.Unicode()], default_value=0).tag(sync=True)
    """The number of the step that is shown: ``7``, of a sub-step ``"7.3"``; can be set to all
    that ``recording[…]`` takes."""
    detail = traitlets.Bool(False).tag(sync=True)
    """Whether all sub-steps are shown: what happens inside nodes and calls."""
    speed = traitlets.Float(1.0, min=0.1, max=20.0).tag(sync=True)
    """Steps in a second while it plays."""

    _holds: ClassVar[tuple[str, ...]] = ("_recording", "_opening", "_opening_document", "_told")
    _rest: AfterCell | None = None
    """What follows after the cell."""

    def __init__(
        self,
        recording: Recording,
        options: DrawOptions = DEFAULT,
        step: int | str | None = None,
        stops: Iterable[int | str] | None = None,
        height: int = 0,
    ) -> None:
        self._recording = recording
        self._options = options
        self._chosen = None if step is None else check_step(recording, step, "step")
        self._first = step_shown_first(recording, step, options)
        self._stops = [check_step(recording, stop, "stops") for stop in _listed(stops)]
        with no_collection():
            self._wanted = candidates(recording, self._chosen, options.parts)
            steps = sorted({*self._wanted, self._first})
            self._opening = Animations(recording, options, steps)
        super().__init__(
            step=recording.numbers.number(self._first),
            engine_arrows=options.engine_arrows,
            density=options.density,
            height=height,
        )

    @traitlets.default("wire")
    def _whole_wire(self) -> dict[str, Any]:
        with no_collection():
            return completed(self._document_in_pieces(room_in_notebook(self._recording)))

    def _document_in_pieces(self, room: int) -> Generator[None, None, dict[str, Any]]:
        """The document of all steps.

        Args:
            room: How many cards there may be in the insides of folds that are closed at first.
        """
        recording, opening = self._recording, self._opening
        steps = yield from Animations.in_pieces(recording, self._options, opening, room)
        work = document_in_pieces(recording, self._first, self._stops, steps, self._told)
        return (yield from work)

    @property
    def _said(self) -> dict[str, Any]:
        return self.wire if self.is_closed else self._opening_document

    @cached_property
    def _opening_document(self) -> dict[str, Any]:
        """The document of the steps that are seen without a kernel, and first."""
        recording, opening = self._recording, self._opening
        with no_collection():
            work = document_in_pieces(recording, self._first, self._stops, opening, self._told)
            return completed(work)

    @cached_property
    def _told(self) -> Told:
        """What is said of the recording."""
        return Told(self._recording)

    def _prepare(self) -> None:
        """Where a front end is there the cell has the opening steps; the rest follows after it."""
        loop = running_loop()
        if GraphWidget.is_answered and loop is not None and not self.trait_has_value("wire"):
            self.wire = self._opening_document
            self._rest = AfterCell(self._follow(), loop)

    def _follow(self) -> Generator[None, None, None]:
        """Send all steps, piece by piece."""
        document = yield from self._document_in_pieces(room_in_notebook(self._recording))
        self.wire = yield from packed(document)
        self._rest = None

    def close(self) -> None:
        """Remove it from the page and free its memory; what has not followed does not follow."""
        if self._rest is not None:
            self._rest.cancel()
        super().close()

    def complete(self) -> None:
        """Make what has not followed yet, also where that was interrupted."""
        if self._rest is not None:
            self._rest.complete()
        if "of" in self.wire:
            self._rest, self.wire = None, self._whole_wire()

    @property
    def recording(self) -> Recording:
        """The recording that is shown."""
        return self._recording

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
        """Write to a file; the ending says what: .html .svg .png .pdf .json .gif .apng.

        The HTML is the whole player in one file that works without a network and without a
        kernel, the JSON the recording. GIF, APNG and an animated SVG play all steps, with code,
        graph and caption, again and again. The others are the picture of the step shown now. PDF
        needs the program ``dot`` of Graphviz, GIF the package Pillow.

        Args:
            path: Where to.
            animated: Whether an SVG plays all steps, which GIF and APNG always do.
            stops: Which steps are played; if not given all but sub-steps, at most 60.
            seconds: How long each is seen, 1.6 if not given; where something goes wrong, and at
                the end, it is longer.
            shape: ``"wide"``, as it is if not given: code beside the graph, for a page; or
                ``"square"``: code above it, for a post.
            values: ``False`` for a file without any number of your tensors, which says so: for a
                report of a bug. The text of your code stays as it is.

        Raises:
            OptionError: If the ending is none of these, if it has one picture and an animation is
                asked for, or if there would be more than 60 steps.
            GraphvizNotFoundError: For PDF, if there is no ``dot``.
            GradvizError: For GIF, if Pillow is not installed.

        Examples:
            >>> import tempfile, torch, gradviz
            >>> from pathlib import Path
            >>> a = torch.tensor(2.0, requires_grad=True)
            >>> with gradviz.record() as recording:
            ...     (a * a).backward()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = Path(folder, "steps.svg")
            ...     Player(recording).save(path, animated=True, seconds=2)
            ...     path.read_text().count("@keyframes") > 0
            True
        """
        self.check_open()
        if not flag("values", values):
            with closing(self._without_values()) as bare:
                bare.save(path, animated=animated, stops=stops, seconds=seconds, shape=shape)
            return
        ending = ending_of(path)
        if ending in ANIMATED and (flag("animated", animated) or ending != ".svg"):
            write_file(path, self.animation_file(ending, stops, seconds, shape))
            return
        if animated or any(one is not None for one in (stops, seconds, shape)):
            raise OptionError(
                f"{os.fspath(path)!r} has one picture or the whole player: animated, stops, "
                "seconds and shape are for animations: save('steps.svg', animated=True), or "
                ".gif, .apng"
            )
        writers: dict[str, Callable[[], str | bytes]] = {
            ".html": self._page,
            ".svg": self._svg,
            ".png": self._png,
            ".pdf": self._pdf,
            ".json": self._json,
        }
        others = {other: bytes for other in ANIMATED if other not in writers}
        write_as(path, "a recording", {**writers, **others})

    def _without_values(self) -> Player:
        """The same player without numbers of tensors."""
        number = self._recording.numbers.number
        marked = [number(place) for place in self._stops]
        known = recording_without_values(self._recording)
        bare = Player(known, self._options, self.step, marked, self.height)
        for name in ("detail", "speed", "engine_arrows", "density", "selected"):
            setattr(bare, name, getattr(self, name))
        return bare

    def animation_file(
        self,
        ending: str,
        stops: Iterable[int | str] | None = None,
        seconds: float | None = None,
        shape: str | None = None,
    ) -> bytes:
        """The steps as a file that plays them, as :meth:`save` writes it.

        Args:
            ending: ``".svg"``, ``".gif"`` or ``".apng"``.
            stops: Which steps.
            seconds: How long each is seen.
            shape: ``"wide"`` or ``"square"``.
        """
        form = check_shape(shape)
        chosen = [check_step(self._recording, stop, "stops") for stop in _listed(stops)]
        frames = frames_of(self._recording, chosen, seconds)
        pictures = self._pictures(frames.steps)
        drawing = frame_drawing(self._recording, pictures, frames, self.engine_arrows, form)
        return ANIMATED[ending](drawing, frames)

    def filmstrip(
        self, stops: Iterable[int | str] | None = None, columns: int | None = None
    ) -> Filmstrip:
        """Steps side by side, small, each with number and caption: for paper and slides.

        Args:
            stops: Which steps, as ``recording[stop]`` finds them; if not given those that
                ``show`` was given, else all lines and all nodes of backward.
            columns: Pictures per row; if not given as many as are readable.

        Raises:
            OptionError: If a step does not exist, or there would be more than 60 pictures.
        """
        chosen = [check_step(self._recording, stop, "stops") for stop in _listed(stops)]
        chosen = chosen or sorted(set(self._stops)) or _telling(self._recording)
        if len(chosen) > MOST:
            raise OptionError(
                f"a filmstrip of {len(chosen)} pictures would be too long to read; "
                f"choose up to {MOST}: filmstrip(stops=[1, 4, -1])"
            )
        pictures = self._pictures(chosen)
        wide = max(1, min(len(chosen), 4, int(1200 / max(260.0, pictures.size[0] * 0.6))))
        if columns is not None and (type(columns) is not int or not 1 <= columns <= 12):
            raise OptionError(f"columns={columns!r} must be a number from 1 to 12: columns=3")
        number = self._recording.numbers.number
        frames = [
            StripFrame(at, number(at), self._told.captions[at].alone(has_code=False))
            for at in chosen
        ]
        return Filmstrip(
            pictures,
            frames,
            columns or wide,
            recording_title(self._recording),
            self.engine_arrows,
        )

    def _without_kernel(self, svg: str) -> str:
        """Up to three steps as one picture, with their explanations below it."""
        return super()._without_kernel(svg) + self._cards(self._decisive)

    @property
    def shown_density(self) -> Density:
        """The density that is seen: the chosen one, else the one it opens with."""
        chosen: Any = self.density
        shown: Density = self._opening.opening if chosen == "auto" else chosen
        return shown

    def _pictures(self, steps: Iterable[int]) -> StepPictures:
        """These steps in the density that is shown."""
        options = replace(self._options, density=self.shown_density)
        with no_collection():
            few = Animations(self._recording, options, sorted(set(steps)))
        return few[few.opening]

    @property
    def _few(self) -> StepPictures:
        """The steps that are seen without a kernel, in the density that is shown."""
        if self.shown_density == self._opening.opening:
            return self._opening[self._opening.opening]
        return self._pictures((*self._wanted, self._first))

    @property
    def _still(self) -> str:
        if self.is_closed:
            return ""
        return self._strip(self._few, self._decisive, "run the cell").image()

    @property
    def _decisive(self) -> list[int]:
        """The steps that are shown where nothing runs."""
        return decisive_steps(self._few, self._wanted)

    def _cards(self, steps: Iterable[int]) -> str:
        """The explanations of these steps as HTML."""
        why = explained(self._recording)
        return "".join(html_of(one) for step in steps for one in why.get(step, ()))

    def _strip(self, pictures: StepPictures, steps: Iterable[int], how: str) -> Filmstrip:
        """These steps as one picture.

        Args:
            pictures: The pictures.
            steps: Which steps.
            how: What to do to step through all of them.
        """
        many = len(self._recording)
        notes = [] if len(self._recording.graph) else ["no autograd graph at any step"]
        notes += filter(None, [self._opening.scenes.extent.drawn_words.removesuffix(".")])
        notes += [f"{plural(many, 'step')}: {how} to step through them"] if many else []
        return Filmstrip(
            pictures,
            [self._frame(pictures, step) for step in steps],
            columns=None,
            title=self._said["summary"],
            engine_arrows=self.engine_arrows,
            note="; ".join(notes),
        )

    def _frame(self, pictures: StepPictures, at: int) -> StripFrame:
        """A step with the words of the player."""
        recording = self._recording
        step = recording.all_steps[at]
        source = step.code.line(step.line) if step.code and step.line is not None else ""
        code = f"line {step.line}: {clean(source)}" if source else ""
        (about,) = subjects(recording, pictures, [at])
        told = self._told.captions[at]
        words = told.alone(has_code=bool(code))
        return StripFrame(at, step.number, words, code, len(recording), tuple(about))

    def _answer_to(self, what: Any) -> bytes | None:
        """The insides of folds, ``{"inside": ids}``, or the animation that the menu of the browser
        asks for.

        The browser does not make it: code, graph and captions would be laid out by two programs.
        """
        if what in ("animation", "gif"):
            return self.animation_file(".svg" if what == "animation" else ".gif")
        if what == "rest" and self._rest is not None and self._rest.has_ended:
            self.complete()
        ids = what.get("inside") if isinstance(what, dict) else None
        folding = self._opening.folding
        if not isinstance(ids, list) or not ids or folding is None:
            return None
        self.complete()
        recording, opening = self._recording, self._opening
        with no_collection():
            shown = asked(folding.tree, ids)
            work = Animations.in_pieces(recording, self._options, opening, shown)
            return RecordedFolds(completed(work)).answer(ids)

    @property
    def _whole(self) -> dict[str, Any]:
        """The document of a page without a kernel: it has more of what is in boxes."""
        self.complete()
        if self._opening.folding is None or not self.wire["fold"]["limit"]:
            return self.wire
        with no_collection():
            return completed(self._document_in_pieces(CARDS))

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int | str:
        place = check_step(self._recording, proposal["value"], "step")
        return self._recording.numbers.number(place)

    @property
    def _shown(self) -> int:
        """The place of the step that is shown."""
        return self._recording[self.step].index

    def _ids(self) -> list[str]:
        history = self._recording.history
        return [*history.node_ids, *history.tensor_ids]

    def _svg(self, variables: bool = True) -> bytes:
        at, arrows = self._shown, self.engine_arrows
        pictures = self._pictures([at])
        if pictures.extent(at) is None:  # says that there is nothing
            return draw(self._recording.graph_at(at), self._options, variables=variables).encode()
        return pictures.svg(at, engine_arrows=arrows, variables=variables).encode()

    def _png(self) -> bytes:
        from gradviz.view.export.files import svg_to_png

        return svg_to_png(self._svg(variables=False).decode())

    def _pdf(self) -> bytes:
        from gradviz.view.export.files import to_pdf

        return to_pdf(self._recording.graph_at(self._shown), self._as_shown(self._options))

    def _json(self) -> bytes:
        return (self._recording.to_json() + "\n").encode("utf-8", "backslashreplace")

    def _page(self) -> str:
        wire = {**self._whole, "open": self._shown, "json": self._json().decode().strip()}
        traits = {
            "wire": compress(wire),
            "step": self.step,
            "detail": self.detail,
            "speed": self.speed,
            "engine_arrows": self.engine_arrows,
            "density": self.density,
            "selected": self.selected,
        }
        wanted = candidates(self._recording, self._shown, self._options.parts)
        pictures = self._pictures(wanted)
        steps = decisive_steps(pictures, wanted)
        strip = self._strip(pictures, steps, "open this page with scripts")
        still = strip.image() + self._cards(steps)
        return page_of(wire, traits, still, title=first_line(self._recording))


def _listed(stops: Iterable[int | str] | None) -> list[int | str]:
    """Stops as a list.

    Raises:
        OptionError: If they are no list of steps.
    """
    if stops is None:
        return []
    if isinstance(stops, (str, bytes)) or not isinstance(stops, Iterable):
        raise OptionError(f"stops={stops!r} must list steps: stops=[1, 'backward', -1]")
    return list(stops)


def _telling(recording: Recording) -> list[int]:
    """The steps of lines, nodes and errors, without sub-steps."""
    return [step.index for step in recording if step.kind in ("line", "node", "error")]
