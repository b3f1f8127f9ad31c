"""nbval's rules: which cells are compared, which outputs, and what may differ in them.

They are nbval's own functions, so that a notebook means the same to ``gradviz check`` and to
``pytest --nbval``.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from nbval.plugin import find_comment_markers, find_metadata_tags

from gradviz.view.documents.digest import rules

WIDGET: Final = "application/vnd.jupyter.widget-view+json"
NOT_COMPARED: Final = (WIDGET, "image/png", "image/jpeg")
"""Kinds of output that differ from run to run, or from machine to machine."""


def options_of(cell: Any) -> dict[str, bool]:
    """What tags and comments of a cell ask for: ``skip``, ``check``, ``check_exception``.

    Examples:
        >>> from types import SimpleNamespace
        >>> options_of(SimpleNamespace(source="# NBVAL_SKIP", metadata={}))
        {'skip': True}
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two that contradict each other the last one counts
        return {
            **dict(find_metadata_tags(cell.metadata)),
            **dict(find_comment_markers(cell.source)),
        }


def written_as(cell: Any, option: str) -> str:
    """The tag or comment that asks for an option, as it is written in the cell.

    Args:
        cell: The cell.
        option: ``"skip"``, ``"check"`` or ``"check_exception"``.
    """
    for line in reversed(cell.source.splitlines()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if any(found == option for found, _ in find_comment_markers(line)):
                return f"comment {line.strip()}"
    tags = [
        tag
        for tag in cell.metadata.get("tags", ())
        if any(found == option for found, _ in find_metadata_tags({"tags": [tag]}))
    ]
    return f"tag {tags[-1]}" if tags else ""


def without_what_may_differ(text: str) -> str:
    """A text after the rules of ``sanitize.cfg``.

    Examples:
        >>> without_what_may_differ("<object at 0x7f00deadbeef>")
        '<object at 0xADDR>'
    """
    for pattern, replacement in rules():
        text = pattern.sub(replacement, text)
    return text


def values_by_kind(outputs: Iterable[Any]) -> dict[str, list[Any]]:
    """Outputs as nbval compares them: the values of each kind, in order; kinds have no order."""
    found: dict[str, list[Any]] = defaultdict(list)
    for output in outputs:
        if output.output_type == "stream":
            found[output.name].append(output.text)
        elif output.output_type == "error":
            found["ename"].append(output.ename)
            found["evalue"].append(output.evalue)
        else:
            for kind, value in output.data.items():
                found[kind].append(value)
    return dict(found)
