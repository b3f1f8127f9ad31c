"""What every form of a question has: its options, the key that fits it, and how it judges.

Answers, keys and options are plain data, as JSON has it: the browser judges by the same rules
(``widgets/src/question/forms``), and ``tests/golden/question/judged.json`` binds both sides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from gradviz.model.errors import OptionError
from gradviz.model.recording import Recording


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of an answer."""

    is_right: bool
    wrong: tuple[str, ...] = ()
    """The parts of the answer that are wrong, as ``sentences`` of the form names them."""


@dataclass(frozen=True, slots=True)
class Form(ABC):
    """One way to answer a question."""

    kind: ClassVar[str]
    """Its keyword in ``gradviz.predict``, and its name in documents."""
    reads: ClassVar[Literal["values", "items"]] = "values"
    """What the function's value is read as before it becomes the key: ``"values"``: texts and
    numbers, of tensors their elements; ``"items"``: nodes, tensors and names, as ids of the
    picture."""

    sentences: Mapping[str, str] = field(default_factory=dict)
    """What is said of a wrong part of an answer, by its name."""

    @classmethod
    @abstractmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Form:
        """The form of what a teacher has typed.

        Args:
            given: The value of its keyword.
            wrong: Sentences by the part of an answer that is wrong.

        Raises:
            OptionError: If no question can be made of it.
        """

    def seen(self, _recording: Recording, _step: int) -> Form:
        """The form once the function has run; one that shows a picture takes its graph from here.

        Args:
            _recording: The run.
            _step: The place of the step that shows the answer.
        """
        return self

    def asked(self, _key: Any) -> Form:
        """The form as it is shown before an answer, once the key is known.

        Args:
            _key: What must not be given away.
        """
        return self

    @abstractmethod
    def key_of(self, value: Any) -> Any:
        """The key, from the plain value that the function returned.

        Raises:
            OptionError: If no answer could be equal to it.
        """

    def key_of_error(self, name: str) -> Any:
        """The key of a function that raised; ``None`` if that is no answer.

        Args:
            name: The type of the error.
        """
        return None

    @abstractmethod
    def is_answered(self, answer: Any) -> bool:
        """Whether an answer is complete, so that it can be judged."""

    @abstractmethod
    def judge(self, key: Any, answer: Any) -> Verdict:
        """Compare a complete answer with the key."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """What is shown before an answer; it must not depend on the key."""

    def drawing(self) -> Mapping[str, Any]:
        """The picture in which it is answered, as the browser gets it; nothing without one."""
        return {}

    @abstractmethod
    def lines(self) -> list[str]:
        """The same as text, line by line."""

    @abstractmethod
    def key_text(self, key: Any) -> str:
        """A key as text: the same on every device, so that a digest can be made of it."""

    @abstractmethod
    def key_lines(self, key: Any) -> list[str]:
        """A key as a reader gets it, line by line."""

    def secrets(self, key: Any) -> tuple[str, ...]:
        """Texts that give the key away where they are on their own."""
        return tuple(self.key_lines(key))


def sentences_of(given: Any, option: str) -> dict[str, str]:
    """Options with their sentences.

    Args:
        given: A mapping from each option to the sentence that is shown when it was chosen.
        option: The keyword, for the error.

    Raises:
        OptionError: If it is none.
    """
    is_map = isinstance(given, Mapping) and len(given) > 1
    if not is_map or not all(isinstance(part, str) for pair in given.items() for part in pair):
        raise OptionError(
            f"{option}= needs two or more options, each with the sentence that is shown when it "
            f'was chosen: {option}={{"it works": "The graph was freed.", "it raises": "…"}}'
        )
    if any(not text.strip() for text in given):
        raise OptionError(f"{option}= has an option without text: every option needs words")
    return dict(given)


def with_error(options: Mapping[str, str], name: str) -> str | None:
    """The one option that names a type of error."""
    found = [one for one in options if name in one.replace("`", " ").split()]
    return found[0] if len(found) == 1 else None


def listed(options: Mapping[str, str]) -> str:
    """Options for an error message."""
    return ", ".join(map(repr, options))


@dataclass(frozen=True, slots=True)
class InPicture(Form):
    """An answer that is given in the picture of the graph."""

    reads: ClassVar[Literal["values", "items"]] = "items"

    labels: tuple[str, ...] = ()
    """What can be answered in it, once there is a picture."""
    picture: Mapping[str, Any] = field(default_factory=dict)
    """What the browser gets of it."""

    def data(self) -> dict[str, Any]:
        """Nothing else than the picture: see :meth:`drawing`."""
        return {"kind": self.kind}

    def drawing(self) -> Mapping[str, Any]:
        """The picture, and the places in it."""
        return self.picture
