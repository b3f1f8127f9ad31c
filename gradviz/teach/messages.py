"""What an exploration says in words: in HTML, in plain text, and as Python to copy."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Final

from gradviz.teach.controls import Control
from gradviz.teach.function_run import Outcome, returned_names
from gradviz.teach.parameters import name_of
from gradviz.view.text import clean

OLD: Final = "The picture shows the last run without an error"
CHANGED: Final = "What changed since the run before"
UNCHANGED: Final = "Nothing changed in the graph since the run before."
MOST_SENTENCES: Final = 12
"""Sentences about what changed that are shown before they are counted."""
_CODE: Final = "white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0"
_BOX: Final = "border-left:3px solid #b84300;padding:2px 10px;margin:4px 0"


def message_lines(outcome: Outcome, shown: Sequence[str]) -> list[str]:
    """The error of a run, and which run the picture shows.

    Args:
        outcome: The result of the last run.
        shown: Inputs of the run that the picture is of; empty if there was none.
    """
    if outcome.error:
        lines = [_cleaned(outcome.error)]
        lines += [clean(outcome.where)] if outcome.where else []
        return [*lines, f"{OLD}: {', '.join(shown)}"] if shown else lines
    return [f"No graph: the result {clean(outcome.note)}"] if outcome.note else []


def message_html(outcome: Outcome, shown: Sequence[str]) -> str:
    """The same as HTML; empty without an error or note."""
    lines = message_lines(outcome, shown)
    if not lines:
        return ""
    role = "alert" if outcome.error else "status"
    first, *rest = lines
    more = "".join(f"<div>{escape(line)}</div>" for line in rest)
    return (
        f'<div role="{role}" style="{_BOX}"><div style="{_CODE}"><b>{escape(first)}</b></div>'
        f"{more}</div>"
    )


def printed_text(printed: str) -> str:
    """What the function printed, fit to be shown."""
    return _cleaned(printed.rstrip("\n"))


def printed_html(printed: str) -> str:
    """The same as HTML."""
    if not printed:
        return ""
    return f'<div>Printed</div><pre style="{_CODE}">{escape(printed_text(printed))}</pre>'


def changed_lines(sentences: Sequence[str]) -> list[str]:
    """A heading, the first sentences, and how many more there are."""
    if not sentences:
        return [UNCHANGED]
    if len(sentences) <= MOST_SENTENCES:
        return [CHANGED, *sentences]
    more = f"… {len(sentences) - MOST_SENTENCES} more changes"
    return [CHANGED, *sentences[:MOST_SENTENCES], more]


def changed_html(sentences: Sequence[str]) -> str:
    """What changed, as a list."""
    heading, *lines = changed_lines(sentences)
    if not lines:
        return f'<div role="status">{heading}</div>'
    items = "".join(f'<li style="overflow-wrap:anywhere">{escape(line)}</li>' for line in lines)
    return f'<div role="status"><b>{heading}</b><ul style="margin:2px 0">{items}</ul></div>'


def changed_text(sentences: Sequence[str]) -> list[str]:
    """What changed, as lines."""
    heading, *lines = changed_lines(sentences)
    return [heading, *(f"  {line}" for line in lines)]


def outcome_text(outcome: Outcome, shown: Sequence[str]) -> list[str]:
    """What was printed and what went wrong, as lines."""
    printed = printed_text(outcome.printed)
    lines = ["printed", *(f"  {line}" for line in printed.split("\n"))] if printed else []
    return lines + message_lines(outcome, shown)


def code_for(
    function: Callable[..., Any],
    signature: inspect.Signature,
    controls: Mapping[str, Control],
    outcome: Outcome,
) -> str:
    """Python code that makes the picture: the function, its inputs, and the call that shows it.

    Args:
        function: The function.
        signature: Its signature.
        controls: Its current inputs.
        outcome: The result of its run with them.
    """
    name = name_of(function)
    try:
        source = textwrap.dedent(inspect.getsource(function)).rstrip("\n")
    except (OSError, TypeError):
        source = ""
    if not source.startswith(("def ", "@")):
        name = name if name.isidentifier() else "function"
        source = f"# {name}: the function you gave"
    returned = returned_names(function)
    result = returned[0] if len(returned) == 1 and returned[0] not in ("", *controls) else "result"
    inputs = "\n".join(control.code() for control in controls.values())
    arguments = ", ".join(_argument(key, signature) for key in controls)
    shown = ", ".join(f"{result}{place}" for place in outcome.shown)
    names = _names_option(result, controls, outcome)
    tensor = f"{result}{outcome.shown[0]}"
    backward = f"{tensor}.backward({outcome.backward})\n" if outcome.backward else ""
    return (
        f"import torch, gradviz\n\n{source}\n\n{inputs}\n"
        f"{result} = {name}({arguments})\n{backward}gradviz.show({shown}{names})\n"
    )


def _names_option(result: str, controls: Mapping[str, Control], outcome: Outcome) -> str:
    """The ``names`` option of ``show``: names in a dict, and tensors that are in no graph."""
    outside: list[str] = []
    if outcome.graph is not None:
        nodes = outcome.graph.nodes
        saved = {slot.tensor or slot.view_of for node in nodes for slot in node.saved}
        unseen = [t for t in outcome.graph.tensors if t.node is None and t.id not in saved]
        outside = [info.name for info in unseen if info.name and info.name in controls]
    entries = [f'"{name}": {name}' for name in outside]
    if outcome.names and not entries:
        return f", names={result}"
    entries += [f"**{result}"] if outcome.names else []
    return f", names={{{', '.join(entries)}}}" if entries else ""


def _argument(name: str, signature: inspect.Signature) -> str:
    parameter = signature.parameters.get(name)
    by_place = parameter is not None and parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    return name if by_place else f"{name}={name}"


def _cleaned(text: str) -> str:
    """Text of the user's, line by line without what a terminal or a browser would obey."""
    return "\n".join(clean(line) for line in text.split("\n"))
