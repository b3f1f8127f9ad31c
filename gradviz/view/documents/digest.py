"""The digest of what the browser gets: a few characters in which two documents differ.

A notebook keeps picture and text of an output, not its widget. The digest is stored beside them,
so that whoever compares stored outputs with fresh ones compares the widget too: captions, code,
figures, tabs, every step.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any, Final

from gradviz.view.documents.question import SEALED, unsealed
from gradviz.view.inspector import FORMULA

MIME: Final = "application/vnd.gradviz.digest+json"
"""The mime type under which an output has its digest; no front end shows it."""
RULES: Final = Path(__file__).parents[2] / "sanitize.cfg"
"""What may differ between two machines in stored and fresh outputs, as nbval reads it."""
SIGNS: Final = ("0x", "cpu", "cuda", "ipykernel", ",\n")
"""A text without any of these is not changed by any rule."""
_OF_THE_MACHINE: Final = ("format", "json", "memory", "message")
"""Fields that are left out: ``"json"`` has devices and torch's own words; ``"memory"`` is what the
allocator of a GPU has given out; ``"message"`` is what an exception says, in torch's own words."""
_ALLOCATOR: Final = "torch.cuda.memory_allocated() is "
"""How the sentence begins that a report has on a GPU only."""
_OF_SOME: Final = re.compile(
    "|".join(
        re.escape(json.dumps(text)[1:-1])
        for text in (*SIGNS, *_OF_THE_MACHINE, SEALED, FORMULA, _ALLOCATOR)
    )
)
"""What the JSON of a value has in it that is not the same on all machines."""


def digest(document: dict[str, Any]) -> dict[str, str]:
    """A digest of each part of a document, by its name.

    It is the same for the same program on every device and every torch that gradviz supports:
    what is of the device, and torch's own formulas, is left out, of what is sealed too.

    Args:
        document: What the browser gets, as the functions of this folder make it.

    Examples:
        >>> digest({"format": 1, "title": "autograd graph of loss", "text": "n0 SumBackward0"})
        {'text': 'e1101bb06819', 'title': '9b5c1b047dae'}
    """
    return {
        part: hashlib.sha256(text.encode("ascii")).hexdigest()[:12]
        for part, text in _parts_of(document).items()
    }


def _parts_of(value: dict[str, Any]) -> dict[str, str]:
    """What all machines have of a document or an object in it, each part as JSON."""
    return {
        key: _text_of(_opened(one) if key == SEALED else one)
        for key, one in sorted(value.items())
        if key not in _OF_THE_MACHINE
    }


def _text_of(value: Any) -> str:
    """As JSON what all machines have of a part of a document."""
    text = _written(value)
    if not _OF_SOME.search(text) or text.startswith('"<'):
        return text  # as most parts, and all drawings: nothing in it is of the machine
    if isinstance(value, dict):
        entries = (f"{_written(key)}:{entry}" for key, entry in _parts_of(value).items())
        return f"{{{','.join(entries)}}}"
    if isinstance(value, str):
        for pattern, replacement in rules():
            value = pattern.sub(replacement, value)
        return _written(value)
    return f"[{','.join(_text_of(one) for one in value if not _is_of_torch(one))}]"


_written: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _opened(text: Any) -> Any:
    """What was sealed; a text that cannot be opened as it is."""
    try:
        return unsealed(text)
    except (TypeError, ValueError, zlib.error):
        return text


def _is_of_torch(entry: Any) -> bool:
    """Whether an entry of a list is torch's own formula, or what its allocator has given out."""
    if isinstance(entry, dict):
        return bool(entry.get("heading") == FORMULA)
    words = entry[0] if isinstance(entry, list) and entry else entry
    return isinstance(words, str) and words.startswith(_ALLOCATOR)


@cache
def rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The rules of ``sanitize.cfg``: what is looked for, and what stands for it."""
    found = re.finditer("(?m)^regex: (.*)$\n^replace: (.*)$", RULES.read_text("utf-8"))
    return tuple((re.compile(rule[1]), rule[2]) for rule in found)
