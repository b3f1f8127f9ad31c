"""Doctests run as a user would type them: as ``__main__``, in a folder of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _doctests_are_user_code(
    request: pytest.FixtureRequest,
    doctest_namespace: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        doctest_namespace["__name__"] = "__main__"
        folder: Path = tmp_path_factory.mktemp("doctest")
        monkeypatch.chdir(folder)
