"""Puts the lessons into the wheel, and fails the build, not the import, without the front end.

Node is never run here: the bundle is committed, so that installing needs Python only. What the
metadata says about the repository is made here too, from its one address in ``pyproject.toml``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r'<img src="(?P<path>[^":]+)" alt="(?P<alt>[^"]*)"')
LINK = re.compile(r"\[(?P<text>[^]]+)\]\((?P<path>[^):#]+)\)")

BUNDLE = ("widget.js", "widget.css", "page.js", "page.css", "deck.js", "deck.css")


class CustomBuildHook(BuildHookInterface[Any]):
    """Called by hatchling for every sdist and every wheel, editable or not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        static = Path(self.root, "gradviz", "view", "static")
        missing = [name for name in BUNDLE if not (static / name).is_file()]
        if missing:
            raise RuntimeError(f"gradviz/view/static lacks {', '.join(missing)}: run `make build`")
        if self.target_name != "wheel":
            return
        notebooks = Path(self.root, "notebooks")
        lessons = {
            str(path): f"gradviz/_lessons/{path.relative_to(notebooks).as_posix()}"
            for pattern in ("*.ipynb", "howto/*.ipynb")
            for path in sorted(notebooks.glob(pattern))
        }
        # An editable install finds the lessons in the checkout.
        build_data["force_include"].update(lessons)


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling for the fields of the metadata that are dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config["repository"].rstrip("/")
        readme = Path(self.root, "README.md").read_text("utf-8")
        text = for_package_page(readme, repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls(repository)


def for_package_page(readme: str, repository: str) -> str:
    """The README as a package page can show it, where no path leads to a file.

    Links and pictures lead into the repository; without an address only their texts are left.
    """
    if not repository:
        return LINK.sub(r"\g<text>", re.sub(PICTURE.pattern + "[^>]*>", r"\g<alt>", readme))
    readme = PICTURE.sub(rf'<img src="{repository}/raw/main/\g<path>" alt="\g<alt>"', readme)
    return LINK.sub(rf"[\g<text>]({repository}/blob/main/\g<path>)", readme)


def urls(repository: str) -> dict[str, str]:
    """Where a package page leads to; nowhere as long as there is no address."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Lessons": f"{repository}/blob/main/notebooks",
        "Changes": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
