"""Puts the lessons into the wheel, and fails the build, not the import, without the front end.

Node is never run here: the bundle is committed, so that installing needs Python only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLE = ("widget.js", "widget.css")


class CustomBuildHook(BuildHookInterface[Any]):
    """Called by hatchling for every wheel, editable or not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        static = root / "gradviz" / "view" / "static"
        missing = [name for name in BUNDLE if not (static / name).is_file()]
        if missing:
            raise RuntimeError(f"gradviz/view/static lacks {', '.join(missing)}: run `make build`")
        lessons = sorted((root / "notebooks").glob("*.ipynb"))
        if self.target_name == "wheel" and version != "editable":
            build_data["force_include"].update(
                {str(path): f"gradviz/_lessons/{path.name}" for path in lessons}
            )
