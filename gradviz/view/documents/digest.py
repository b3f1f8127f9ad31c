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
from collections.abc import Iterator
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
"""A text without any of these is not changed by any rule: most texts need not be searched."""
_LENGTH: Final = 12
_OF_THE_MACHINE: Final = ("format", "json", "memory", "message")
"""Fields that are left out: ``"json"`` has devices and torch's own words; ``"memory"`` is what the
allocator of a GPU has given out; ``"message"`` is what an exception says, in torch's own words."""
_ALLOCATOR: Final = "torch.cuda.memory_allocated() is "
"""How the sentence begins that a report has on a GPU only."""


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
    return {part: _digest(value) for part, value in sorted(_shared(document).items())}


def _digest(part: Any) -> str:
    text = json.dumps(part, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_LENGTH]


def _shared(value: Any) -> Any:
    """What all machines have of a document."""
    if isinstance(value, dict):
        return {
            k: _shared(_opened(one) if k == SEALED else one)
            for k, one in value.items()
            if k not in _OF_THE_MACHINE
        }
    if isinstance(value, (list, tuple)):
        return list(_shared_entries(value))
    return _without_device(value) if isinstance(value, str) else value


def _opened(text: Any) -> Any:
    """What was sealed; a text that cannot be opened as it is."""
    try:
        return unsealed(text)
    except (TypeError, ValueError, zlib.error):
        return text


def _shared_entries(entries: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    for one in entries:
        is_formula = isinstance(one, dict) and one.get("heading") == FORMULA
        words = one[0] if isinstance(one, list) and one else one
        if not is_formula and not (isinstance(words, str) and words.startswith(_ALLOCATOR)):
            yield _shared(one)


def _without_device(text: str) -> str:
    # A drawing has nothing of the device.
    if text.startswith("<") or not any(sign in text for sign in SIGNS):
        return text
    for pattern, replacement in rules():
        text = pattern.sub(replacement, text)
    return text


@cache
def rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The rules of ``sanitize.cfg``: what is looked for, and what stands for it."""
    pairs = re.findall(
        "^regex: (.*)$\n^replace: (.*)$", RULES.read_text("utf-8"), flags=re.MULTILINE
    )
    return tuple((re.compile(regex), replacement) for regex, replacement in pairs)
