"""The tables of one of the source documents, made again by the code of a how-to page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from gradviz.course import fashion
from notebooks import build
from tests.lessons.lesson_files import NOTEBOOKS, ROOT, Kernel, code_cells

SAMPLE = ROOT.parent / "shared" / "data" / "fashion_mnist_1012.npz"
PAGE = build.SOURCE / "howto" / "the-sandal-in-tables.py"
FIRST_FOUR = "0.0000 0.0000 0.0023 0.0173 0.0000 0.0447"
OTHERS = "0.0000 0.0000 0.0022 0.0172 0.0000 0.0447"
WITH_ZERO_GRAD = [FIRST_FOUR] * 4 + [OTHERS] * 6
WITHOUT_ZERO_GRAD = """\
0.0000 0.0000 0.0023 0.0173 0.0000 0.0447
0.0000 0.0000 0.0045 0.0345 0.0000 0.0894
0.0000 0.0000 0.0068 0.0518 0.0000 0.1341
0.0000 0.0000 0.0090 0.0690 0.0000 0.1788
0.0000 0.0000 0.0112 0.0862 0.0000 0.2235
0.0000 0.0000 0.0135 0.1035 0.0000 0.2681
0.0000 0.0000 0.0157 0.1207 0.0000 0.3127
0.0000 0.0000 0.0179 0.1379 0.0000 0.3572
0.0000 0.0000 0.0202 0.1552 0.0000 0.4017
0.0000 0.0000 0.0224 0.1724 0.0000 0.4461""".splitlines()
Passes = Callable[..., list[list[float]]]


@pytest.fixture(scope="module")
def passes() -> Passes:
    """``ten_passes`` of the page."""
    kernel = Kernel()
    kernel.run("import", "import torch\nfrom torch import nn\nfrom gradviz.course import fashion")
    cells = {cell.id: cell.source for cell in code_cells(build.read(PAGE))}
    kernel.run("passes-program", cells["passes-program"])
    return kernel.names["ten_passes"]


@pytest.fixture(scope="module")
def sample() -> tuple[torch.Tensor, int]:
    if not SAMPLE.exists():
        pytest.skip("picture 1012 (../shared/data) is not beside this checkout")
    numpy: Any = pytest.importorskip("numpy")
    with numpy.load(SAMPLE) as file:
        return torch.from_numpy(file["image"].copy()), int(file["label"])


def lines(rows: list[list[float]]) -> list[str]:
    return [" ".join(f"{value:.4f}" for value in row) for row in rows]


def test_with_zero_grad_every_digit_is_the_one_of_the_document(
    passes: Passes, sample: tuple[torch.Tensor, int]
) -> None:
    assert lines(passes(*sample)) == WITH_ZERO_GRAD


def test_without_zero_grad_every_digit_is_the_one_of_the_document(
    passes: Passes, sample: tuple[torch.Tensor, int]
) -> None:
    assert lines(passes(*sample, zero_grad=False)) == WITHOUT_ZERO_GRAD


def test_the_table_that_the_document_calls_without_step_was_made_with_step(
    passes: Passes, sample: tuple[torch.Tensor, int]
) -> None:
    # The document prints the first table a second time under that heading.
    assert lines(passes(*sample, step=False)) == [FIRST_FOUR] * 10 != WITH_ZERO_GRAD
    rows = passes(*sample, step=False)
    assert all(row == rows[0] for row in rows)


def test_the_files_of_torchvision_give_the_same_picture(
    sample: tuple[torch.Tensor, int],
) -> None:
    data = NOTEBOOKS / fashion.DATA
    if (found := fashion.find(data)) is None:
        pytest.skip(f"FashionMNIST is not in {data / 'FashionMNIST' / 'raw'}")
    images, labels = found
    assert torch.equal(images[1012], sample[0])
    assert int(labels[1012]) == sample[1]
