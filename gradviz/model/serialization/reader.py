"""From a JSON document to dataclasses, by the types of their fields.

What a field may hold is said once, by its annotation; a document that holds anything else is
refused with the place. Nothing is converted but lists, which become tuples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from gradviz.model import progress
from gradviz.model.errors import DocumentError
from gradviz.model.formatting import a_kind
from gradviz.model.serialization.formats import Format, refusal

Read: TypeAlias = Callable[[Any], Any]
_LARGEST: Final = 1 << 64
"""Numbers of a tensor and of its memory are smaller."""
_DEEPEST: Final = 50
"""How many tuples can be inside each other where a field does not say it."""
_LONGEST: Final = 60
"""Characters of a wrong value in an error."""


class DamagedError(DocumentError):
    """A document holds at one place what the format does not allow there.

    Args:
        what: What is wrong there.
        within: The place, as far as it is known.
    """

    def __init__(self, what: str, within: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.within = within

    def inside(self, part: str) -> DamagedError:
        """The same error, seen from the value that holds the part."""
        self.within = f"{part}{self.within}"
        return self

    def __str__(self) -> str:
        place = self.within.removeprefix(".") or "the document"
        return (
            f"{place}: {self.what}. The text has changed since to_json() wrote it: "
            "write it again, or undo the change"
        )


class Scalar:
    """What stands for a value whose annotation is :data:`~gradviz.model.records.Number`."""


class Scalars:
    """What stands for one whose annotation is :data:`~gradviz.model.records.Attribute`."""


_NAMES: Final = {"Number": Scalar, "Attribute": Scalars}
"""Annotations that are text at run time, because the second contains itself."""


def parse(text: str, form: Format) -> dict[str, Any]:
    """The JSON object of a document.

    Args:
        text: The document.
        form: What its ``"format"`` must be.

    Raises:
        DocumentError: If the text is not JSON, or a document of another format.
    """
    if not isinstance(text, str):
        raise DocumentError(
            f"this is {a_kind(text)}, and not the text that {form.writer} writes. "
            'Of a file: from_json(Path("graph.json").read_text())'
        )
    try:
        document = _split(text) or json.loads(text)
    except RecursionError:
        raise DocumentError(
            f"this is no JSON that {form.writer} wrote: it is nested too deeply to be read"
        ) from None
    except ValueError as error:  # also for a number of more than 4300 digits
        raise DocumentError(
            f"this is not JSON: {error}. The text may be cut off; {form.writer} writes a whole one"
        ) from None
    if not isinstance(document, dict) or document.get("format") != form.name:
        found = document.get("format") if isinstance(document, dict) else document
        raise DocumentError(
            refusal(found, form)
            or f"this is not a {form.name!r} document; {form.writer} writes one. "
            f"Its format is {_shown(found)}"
        )
    return document


class Rows:
    """The items of a long list in a document, parsed again whenever they are gone through.

    Args:
        text: The document.
        start: Where the first item begins.
        count: How many there are.
    """

    def __init__(self, text: str, start: int, count: int) -> None:
        self._text = text
        self._start = start
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        at = self._start
        for _ in range(self._count):
            item, at = _decode(self._text, at)
            at = _after(self._text, at) + 1  # the comma, or the end of the list
            yield item
            at = _after(self._text, at)


_SHORT: Final = 1_000
"""Items of a list that are in memory together."""
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_decode: Final = json.JSONDecoder().raw_decode


def _after(text: str, at: int) -> int:
    """The place of the next character that is no space."""
    return at if text[at : at + 1] not in " \t\n\r" else _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _split(text: str) -> dict[str, Any] | None:
    """The members of a JSON object, long lists as :class:`Rows`; ``None`` if it is no JSON object.

    All of a graph of a million nodes as lists and dicts takes far more memory than the graph.
    """
    found: dict[str, Any] = {}
    try:
        at = _after(text, 0)
        while text[at] == ("," if found else "{"):
            name, at = _decode(text, _after(text, at + 1))
            at = _after(text, at)
            if type(name) is not str or text[at] != ":":
                return None
            at = _after(text, at + 1)
            found[name], at = _list(text, at) if text[at] == "[" else _decode(text, at)
            at = _after(text, at)
        return found if text[at] == "}" and _after(text, at + 1) == len(text) else None
    except (IndexError, RecursionError, ValueError):
        return None


def _list(text: str, at: int) -> tuple[Any, int]:
    """The list that begins at a place, and where it ends."""
    at = start = _after(text, at + 1)
    if text[at] == "]":
        return [], at + 1
    count, items = 0, []
    while True:
        item, at = _decode(text, at)
        count += 1
        if count <= _SHORT:
            items.append(item)
        elif count % progress.STRIDE == 0:
            progress.at("items found", count)
        at = _after(text, at)
        if text[at] == "]":
            return (items if count <= _SHORT else Rows(text, start, count)), at + 1
        if text[at] != ",":
            raise ValueError("neither a comma nor the end of a list")
        at = _after(text, at + 1)


def reader(annotation: Any) -> Read:
    """A function that reads a value of a type, or raises :class:`DamagedError`.

    Args:
        annotation: A dataclass or what can annotate a field of one.

    Examples:
        >>> reader(tuple[int, ...])([1, 2])
        (1, 2)
        >>> reader(tuple[int, ...])([1, "2"])
        Traceback (most recent call last):
        ...
        gradviz.model.serialization.reader.DamagedError: [1]: '2' is not a number from 0 on. The ...
    """
    return _reader(annotation)


@cache
def _reader(annotation: Any) -> Read:
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if origin is Literal:
        return _one_of(arguments)
    if origin in (UnionType, Union):
        (one,) = (one for one in arguments if one is not NoneType)
        return optional(reader(one))
    if origin is tuple:
        is_list = len(arguments) == 2 and arguments[1] is Ellipsis
        return items_reader(reader(arguments[0])) if is_list else row_reader(map(reader, arguments))
    if is_dataclass(annotation):
        return object_reader(annotation)
    raise TypeError(f"no document holds {annotation!r}")


def object_reader(kind: Any, **others: Read) -> Read:
    """A function that reads a dataclass from an object with its fields.

    Args:
        kind: The class; a field that does not count in comparisons is not stored.
        others: Functions for fields that are stored in another way than they are annotated.
    """
    hints = get_type_hints(kind, localns=_NAMES)
    stored = [field for field in fields(kind) if field.compare]
    needed = [f.name for f in stored if f.default is MISSING]
    reads: Mapping[str, Read] = {
        f.name: others.get(f.name) or reader(hints[f.name]) for f in stored
    }

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _not(value, "an object")
        name, found = "", {}
        try:
            for name, item in value.items():
                found[name] = _unknown(name) if name not in reads else reads[name](item)
        except DamagedError as error:
            raise error.inside(f".{name}" if name in reads else "") from None
        for name in needed:
            if name not in found:
                raise DamagedError(f"has no {name!r}")
        return kind(**found)

    return read


def _unknown(name: str) -> Any:
    raise DamagedError(f"has {_shown(name)}, which the format does not know")


def items_reader(read_item: Read, what: str = "") -> Read:
    """A function that reads a tuple from a list.

    Args:
        read_item: Reads one of its items.
        what: As for :func:`each`.
    """
    return lambda value: tuple(each(read_item, value, what))


def each(read_item: Read, value: Any, what: str = "") -> Iterator[Any]:
    """The items of a list, read one after the other.

    Args:
        read_item: Reads one of them.
        value: The list.
        what: What is counted of a list that may be long: ``"nodes read"``.
    """
    if type(value) is not list and type(value) is not Rows:
        raise _not(value, "a list")
    items = progress.counted(value, what, len(value)) if what else value
    for at, item in enumerate(items):
        try:
            yield read_item(item)
        except DamagedError as error:
            raise error.inside(f"[{at}]") from None


def row_reader(read_items: Iterable[Read]) -> Read:
    """A function that reads a tuple from a list of as many items.

    Args:
        read_items: Functions that read each of them.
    """
    reads = tuple(read_items)

    def read(value: Any) -> Any:
        if type(value) is not list or len(value) != len(reads):
            raise _not(value, f"a list of {len(reads)}")
        found: list[Any] = []
        try:
            for read_item, item in zip(reads, value, strict=True):
                found.append(read_item(item))
        except DamagedError as error:
            raise error.inside(f"[{len(found)}]") from None
        return tuple(found)

    return read


def optional(read: Read) -> Read:
    """A function that reads ``None``, or what another reads."""
    return lambda value: None if value is None else read(value)


def _one_of(words: tuple[Any, ...]) -> Read:
    known = {word: word for word in words}

    def read(value: Any) -> Any:
        if type(value) is not str or value not in known:
            raise _not(value, "one of " + ", ".join(map(repr, words)))
        return known[value]

    return read


_texts: Final[dict[str, str]] = {}
_shapes: Final[dict[tuple[int, ...], tuple[int, ...]]] = {}
_MOST_SHARED: Final = 4_096


def _shared(value: Any, among: dict[Any, Any]) -> Any:
    """An equal value that was read before, so that a name is not in memory a million times."""
    if len(among) >= _MOST_SHARED:
        among.clear()
    return among.setdefault(value, value)


def _text(value: Any) -> Any:
    if type(value) is not str:
        raise _not(value, "text")
    return _shared(value, _texts)


def _shape(value: Any) -> Any:
    return _shared(_sizes(value), _shapes)


def _truth(value: Any) -> Any:
    if type(value) is not bool:
        raise _not(value, "true or false")
    return value


def _count(value: Any) -> Any:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise _not(value, "a number from 0 on")
    return value


def _size(value: Any) -> Any:
    """A number of a shape; -1 where the parts of a nested tensor differ."""
    return value if type(value) is int and value == -1 else _count(value)


def _scalar(value: Any) -> Any:
    is_known = type(value) in (bool, int, str) or (type(value) is float and isfinite(value))
    if not is_known:
        raise _not(value, "a number, true, false or text")
    return value


def _scalars(value: Any, depth: int = 0) -> Any:
    if type(value) is not list:
        return None if value is None else _scalar(value)
    if depth > _DEEPEST:
        raise DamagedError("is nested too deeply")
    found: list[Any] = []
    try:
        for item in value:
            found.append(_scalars(item, depth + 1))
    except DamagedError as error:
        raise error.inside(f"[{len(found)}]") from None
    return tuple(found)


def _not(value: Any, wanted: str) -> DamagedError:
    return DamagedError(f"{_shown(value)} is not {wanted}")


def _shown(value: Any) -> str:
    """A wrong value in few characters, as JSON has it where that differs from Python."""
    if isinstance(value, (dict, list, Rows)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_sizes: Final = items_reader(_size)
_SIMPLE: Final[Mapping[Any, Read]] = {
    str: _text,
    bool: _truth,
    int: _count,
    tuple[int, ...]: _shape,
    Scalar: _scalar,
    Scalars: _scalars,
}
