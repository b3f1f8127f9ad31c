"""The first picture of each model fits a screen, and is the one in docs/gallery.md."""

from __future__ import annotations

import platform
import re
from importlib.util import find_spec

import pytest

from tests.models.gallery import EACH, GALLERY, Model
from tests.models.pictures import NARROW, PAGE, PICTURES, WIDE, first, page

on_x86 = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"),
    reason="the pictures are of kernels for x86-64: other processors have other nodes",
)
READABLE = 0.7
NARROWEST = 0.25
MOST = 1_500_000
"""Bytes of all pictures."""

FLAT = {"mlp", "gan", "accumulation", "lightning_step", "lstm"}
"""Those of so few nodes that all are drawn."""


@pytest.mark.parametrize("model", EACH)
def test_there_are_few_boxes_and_all_of_them_are_readable_on_one_screen(model: Model) -> None:
    found = first(model)
    assert (found.folds == 0) == (model.name in FLAT)
    assert found.boxes <= (40 if model.name in FLAT else 12)
    assert found.zoom(WIDE) >= READABLE
    assert found.zoom(NARROW) >= NARROWEST  # in a narrow window it is no smear


@on_x86
@pytest.mark.parametrize("model", EACH)
def test_the_committed_picture_is_what_is_drawn_now(model: Model) -> None:
    assert (PICTURES / f"{model.name}.svg").read_text("utf-8") == first(model).svg


def test_the_page_has_a_section_and_a_picture_of_each_model() -> None:
    names = [model.name for model in GALLERY]
    assert re.findall(r"^## (\w+)$", PAGE.read_text("utf-8"), re.MULTILINE) == names
    assert {file.name for file in PICTURES.iterdir()} == {f"{name}.svg" for name in names}
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) <= MOST
    assert all(model.words for model in GALLERY)


@on_x86
@pytest.mark.models
def test_the_committed_page_is_what_is_written_now() -> None:
    needed = {name for model in GALLERY for name in model.needs}
    if not all(map(find_spec, sorted(needed))):
        pytest.skip("the packages of the extra 'models' are not installed")
    assert PAGE.read_text("utf-8") == page(GALLERY)
