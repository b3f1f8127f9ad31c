"""What ``gradviz.show(loss)`` shows of each model at first: pictures, a table and a page."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import gradviz
from tests.models.entry import Model

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "gallery.md"
PICTURES: Final = DOCS / "gallery"
WIDE, NARROW = (1304.0, 490.0), (338.0, 490.0)
"""Pixels that there are for a picture in windows of 1366x768 and of 400 px, in a saved page."""

_INTRODUCTION: Final = """\
# Gallery

What `gradviz.show(loss)` shows at first of models as people build them, small and with random
weights. Graphs that are too large for a screen open folded: a box is a call of a module or a few
operations, `×12` means that it stands for twelve parts of equal structure, and a click or Enter
opens it where it is. In a clone of this repository these lines show any of them:

```python
import gradviz
from tests.models.gallery import named

built = named("{example}").build()
model, loss = built.model, built.loss()
gradviz.show(loss)  # finds the module by your variables; else gradviz.show(loss, model=model)
```

The models are in [tests/models](../tests/models); those of transformers, peft and lightning need
`make test-models`, which makes an environment with these packages. `make gallery` draws this page
again, and `python -m tests.models` prints how large each picture is.
"""


@dataclass(frozen=True)
class First:
    """The first picture of a model."""

    name: str
    nodes: int
    folds: int
    """How many folds there are, open or closed; 0: all nodes are drawn."""
    boxes: int
    """How many boxes there are at first."""
    svg: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.svg)
        assert found is not None
        return float(found[1]), float(found[2])

    def zoom(self, pane: tuple[float, float]) -> float:
        """At which zoom all of it is in a pane, at most 1."""
        return min(1.0, *(room / length for room, length in zip(pane, self.size, strict=True)))


@cache
def first(which: Model) -> First:
    """The first picture of a model.

    Args:
        which: An entry of the gallery.
    """
    built = which.build()
    model, loss = built.model, built.loss()
    picture = gradviz.show(loss, model=model)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture.svg"
        picture.save(file)
        svg = file.read_text("utf-8")
    folded = picture._drawing
    nodes = len(picture.graph)
    if folded is None:
        return First(which.name, nodes, 0, nodes, svg)
    folds = sum(1 for _ in folded.tree)
    return First(which.name, nodes, folds, folded.boxes, svg)


def table(models: Sequence[Model]) -> Iterator[str]:
    """A row per model: its nodes, folds and boxes, and at which zoom all of them are seen."""
    yield f"{'':20}{'nodes':>8}{'folds':>8}{'boxes':>8}{'size':>12}{'1366x768':>10}{'400 px':>10}"
    for model in models:
        one = first(model)
        size = "x".join(f"{length:.0f}" for length in one.size)
        zooms = "".join(f"{one.zoom(pane):>10.0%}" for pane in (WIDE, NARROW))
        yield f"{one.name:20}{one.nodes:8,}{one.folds:8,}{one.boxes:8,}{size:>12}{zooms}"


def page(models: Sequence[Model]) -> str:
    """The page with all pictures."""
    return "\n".join([_INTRODUCTION.format(example="gpt2_12_layers"), *map(_section, models)])


def _section(model: Model) -> str:
    one = first(model)
    counts = f"{one.nodes:,} nodes, all drawn" if not one.folds else _folded(one)
    width = round(min(one.size[0], 830))
    alt = f"The graph of the loss of {one.name}: {counts}."
    image = f'<img src="gallery/{one.name}.svg" alt="{alt}" width="{width}">'
    return f"## {one.name}\n\n{model.words}\n\n{image}\n\n{counts[0].upper()}{counts[1:]}.\n"


def _folded(one: First) -> str:
    return f"{one.nodes:,} nodes, shown as {one.boxes:,} cards"


def write(models: Sequence[Model]) -> None:
    """Write the page and its pictures, and remove those of no model."""
    PICTURES.mkdir(exist_ok=True)
    for file in PICTURES.glob("*.svg"):
        if file.stem not in {model.name for model in models}:
            file.unlink()
    for model in models:
        (PICTURES / f"{model.name}.svg").write_text(first(model).svg, "utf-8")
    PAGE.write_text(page(models), "utf-8")
