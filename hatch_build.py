"""Puts the lessons into the wheel, and fails the build, not the import, without the front end.

Node is never run here: the bundle is committed, so that installing needs Python only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLE = ("widget.js", "widget.css")


class CustomBuildHook(BuildHookInterface[Any]):
    """Called by hatchling for every sdist and every wheel, editable or not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, "gradviz")
        missing = [name for name in BUNDLE if not (package / "view" / "static" / name).is_file()]
        if missing:
            raise RuntimeError(f"gradviz/view/static lacks {', '.join(missing)}: run `make build`")
        if self.target_name != "wheel":
            return
        watch = {
            str(package / "_watch.py"): "_gradviz_kit_watch.py",
            str(package / "_watch.pth"): "gradviz_kit_watch.pth",
        }
        notebooks = Path(self.root, "notebooks")
        lessons = {
            str(path): f"gradviz/_lessons/{path.name}"
            for path in sorted([*notebooks.glob("*.ipynb"), *notebooks.glob("lesson_tools.py")])
        }
        build_data["force_include"].update(watch | lessons)
        # An editable install finds the lessons in the checkout.
        build_data["force_include_editable"].update(watch)
