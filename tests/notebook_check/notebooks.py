"""Notebooks that tests write: a few cells with the outputs they are said to have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cell(
    source: str, *outputs: Any, count: int | None = 1, key: str = "", tags: Iterable[str] = ()
) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": count,
        "id": key,
        "metadata": {"tags": list(tags)},
        "outputs": list(outputs),
        "source": source,
    }


def printed(text: str, stream: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": stream, "text": text}


def shown(**data: Any) -> dict[str, Any]:
    named = {key.replace("__", "/").replace("svg", "svg+xml"): one for key, one in data.items()}
    return {"output_type": "display_data", "data": named, "metadata": {}}


def error(name: str, message: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": message, "traceback": []}


def write(path: Path, *cells: dict[str, Any], **metadata: Any) -> Path:
    for place, one in enumerate(cells, 1):
        one["id"] = one["id"] or f"cell-{place}"
    document = {
        "cells": [{"cell_type": "markdown", "id": "text", "metadata": {}, "source": "# Title"}],
        "metadata": {**PYTHON, **metadata},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    document["cells"] += cells  # type: ignore[operator]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
