"""Stored outputs beside fresh ones: which differ, and how."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from itertools import zip_longest
from typing import Any

from nbval.plugin import coalesce_streams

from gradviz.notebook_check.results import Difference
from gradviz.notebook_check.rules import (
    NOT_COMPARED,
    WIDGET,
    values_by_kind,
    without_what_may_differ,
)
from gradviz.notebook_check.words import parts_that_differ
from gradviz.view.documents.digest import MIME


def differences_of(stored: Iterable[Any], fresh: Iterable[Any]) -> list[Difference]:
    """What differs between the stored and the fresh outputs of a cell, as nbval compares them.

    Args:
        stored: Outputs as the notebook has them.
        fresh: Outputs of now.
    """
    before = values_by_kind(coalesce_streams(deepcopy(list(stored))))
    now = values_by_kind(coalesce_streams(deepcopy(list(fresh))))
    found = []
    for kind in dict.fromkeys((*before, *now)):
        if kind in NOT_COMPARED:
            continue
        pairs = zip_longest(before.get(kind, ()), now.get(kind, ()))
        for number, (old, new) in enumerate(pairs, 1):
            first, second = _text(old), _text(new)
            if first != second:
                note = _parts(old, new) if kind == MIME else ""
                found.append(Difference(kind, first, second, number, note))
    return sorted(found, key=lambda one: (_rank(one.kind), one.number))


def left_out_of(outputs: Iterable[Any]) -> list[str]:
    """Kinds of output that are there and not compared; a widget that has a digest is compared."""
    values = values_by_kind(outputs)
    return [
        kind
        for kind in NOT_COMPARED
        if len(values.get(kind, ())) > (len(values.get(MIME, ())) if kind == WIDGET else 0)
    ]


def _text(value: Any) -> str | None:
    """What is compared of a value, as text; ``None`` stays."""
    if value is None:
        return None
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    return without_what_may_differ(value)


def _parts(old: Any, new: Any) -> str:
    """Which parts of a widget's document differ, in words."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return "it is stored, and not shown now" if new is None else "no digest of it is stored"
    differ = [part for part in sorted({*old, *new}) if old.get(part) != new.get(part)]
    return f"differs in: {parts_that_differ(differ)}"


def _rank(kind: str) -> int:
    """What a person can read comes first."""
    order = ("ename", "evalue", "stderr", "stdout", "text/plain", "image/svg+xml", "text/html")
    return order.index(kind) if kind in order else len(order)
