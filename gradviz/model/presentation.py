"""How objects of the model read: the one place where the model asks what other rooms know.

The model imports no other room. Where the package is put together (``gradviz/__init__.py``) one
:class:`Presentation` that knows them is put in use; without it objects print as their ``repr``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradviz.model.explanation import Explanation
    from gradviz.model.fold_runs import FoldRun
    from gradviz.model.folding import FoldedSteps
    from gradviz.model.progress import ProgressDisplay
    from gradviz.model.recording import Recording
    from gradviz.model.turns import Head, Turn


class Presentation:
    """What the model asks for, answered without any other room."""

    def text(self, thing: object) -> str:
        """An object of the model as ``print`` writes it."""
        return repr(thing)

    def caption(self, recording: Recording, index: int) -> str:
        """What happened at a step of a recording, in one short sentence."""
        return recording.records[index].kind

    def details(self, recording: Recording, index: int) -> str:
        """All that is known of a step of a recording."""
        return recording.records[index].kind

    def outline(self, recording: Recording) -> str:
        """A recording as text, with every fact."""
        return self.text(recording)

    def explanations(self, _recording: Recording) -> tuple[Explanation, ...]:
        """Errors that were raised, and gradients that are wrong in silence."""
        return ()

    def turns(self, _recording: Recording) -> tuple[Turn, ...]:
        """Turns of the loops that ran."""
        return ()

    def heads(self, _recording: Recording) -> tuple[Head, ...]:
        """What the heads of loops and ``with`` blocks that ran meant."""
        return ()

    def fold_runs(self, _recording: Recording) -> tuple[FoldRun, ...]:
        """Parts of backwards that run many nodes."""
        return ()

    def folded_steps(self, _recording: Recording) -> FoldedSteps | None:
        """The folded graph of all steps; ``None`` if it is shown as it is."""
        return None

    def progress_display(self, is_alone: bool) -> ProgressDisplay | None:
        """Where the progress of work that takes long is shown, ``None`` for nowhere.

        Args:
            is_alone: Whether nothing else writes to the terminal meanwhile.
        """
        return None

    def bundle(self, thing: object) -> Any:
        """An object as a notebook displays it, by MIME type."""
        return {"text/plain": self.text(thing)}

    def html(self, thing: object) -> str | None:
        """The same for hosts that know no widgets; ``None`` if it is text only."""
        return None


_in_use: Callable[[], Presentation] = cache(Presentation)


def use(make: Callable[[], Presentation]) -> None:
    """From now on objects of the model read as the presentation says that ``make`` gives.

    It is made when the first object is read, so that nothing is imported for it before.
    """
    global _in_use
    _in_use = cache(make)


def in_use() -> Presentation:
    """The presentation by which objects of the model read."""
    return _in_use()


class Printed:
    """Prints as the presentation in use says."""

    __slots__ = ()

    def __str__(self) -> str:
        return _in_use().text(self)


class Displayed(Printed):
    """Is displayed where it is the last line of a cell, as the presentation in use says."""

    __slots__ = ()

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return _in_use().bundle(self)

    def _repr_html_(self) -> str | None:
        return _in_use().html(self)
