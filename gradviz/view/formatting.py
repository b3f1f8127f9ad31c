"""Words for what is shown, fit for a picture: text of the user's program is cleaned."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.model.facts import hook_fact
from gradviz.model.formatting import number as number
from gradviz.model.formatting import numbers as numbers
from gradviz.model.formatting import plural as plural
from gradviz.model.formatting import shape as shape
from gradviz.model.formatting import size as size
from gradviz.model.records import Hook, TensorInfo
from gradviz.view.text import clean, shorten


def join(parts: Iterable[str], between: str = " · ") -> str:
    """The parts that are not empty."""
    return between.join(part for part in parts if part)


def tensor_name(info: TensorInfo) -> str:
    """The name of a tensor, else its id."""
    return clean(info.name) if info.name else info.id


def hook(found: Hook, room: int = 1000) -> str:
    """A hook by kind and name, the name shortened to what the kind leaves of ``room``."""
    fact = hook_fact(found, clean)
    return fitted(fact.label, fact.words, room)


def fitted(kind: str, name: str, room: int) -> str:
    """Kind and name, the name shortened to what the kind leaves of ``room``."""
    return f"{kind} {shorten(name, max(8, room - len(kind) - 1))}"
