"""Bytes of tensors that are no plain block of numbers, and that reading them runs nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch

import gradviz
from gradviz.capture import autograd
from gradviz.capture.autograd.tensors import nbytes_of
from gradviz.view import aria
from gradviz.view.step_index import step_indexes
from tests.each import each

Make = Callable[[torch.Tensor], torch.Tensor]


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """torch warns that these layouts are new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


ROWS, COLUMNS = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")


@each("is_batched", [False, True])
@each("dtype", [torch.float64, torch.float16])
@each(
    ("make", "indices"),
    [
        (lambda t: t.to_sparse_csr(), ROWS),
        (lambda t: t.to_sparse_csc(), COLUMNS),
        (lambda t: t.to_sparse_bsr((2, 2)), ROWS),
        (lambda t: t.to_sparse_bsc((2, 2)), COLUMNS),
    ],
)
def test_a_compressed_sparse_tensor_has_its_indices_and_values(
    make: Make, indices: tuple[str, ...], dtype: torch.dtype, is_batched: bool
) -> None:
    whole = torch.eye(4, dtype=dtype)
    tensor = make(whole.expand(3, 4, 4).contiguous() if is_batched else whole)
    parts = [getattr(tensor, name)() for name in (*indices, "values")]
    assert nbytes_of(tensor) == sum(part.numel() * part.element_size() for part in parts)


def test_small_indices_count_as_what_they_are() -> None:
    at = torch.tensor([0, 1, 2], dtype=torch.int32)
    tensor = torch.sparse_csr_tensor(at, at[:2], torch.ones(2), (2, 2))
    assert nbytes_of(tensor) == 3 * 4 + 2 * 4 + 2 * 4


def test_a_wrapper_has_the_bytes_of_all_that_it_holds() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    parts = torch.ones(6), torch.ones(6)
    pair: torch.Tensor = TwoTensor(*parts)
    assert nbytes_of(pair) == sum(part.nbytes for part in parts)
    assert gradviz.snapshot(pair.requires_grad_().exp()).saved_bytes == nbytes_of(pair)


def test_a_parameter_that_is_not_initialised_has_no_known_shape() -> None:
    graph = gradviz.snapshot(torch.ones(1, requires_grad=True).exp(), torch.nn.LazyLinear(3))
    assert [t.shape for t in graph.tensors].count((-1,)) == 2


def test_a_total_says_how_many_saved_tensors_it_leaves_out() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with gradviz.record() as recording:
        y = torch.sparse.mm(torch.eye(2).to_sparse(), x.exp())
    assert "2 saved tensors (16 B, 1 not counted)" in str(gradviz.snapshot(y))
    assert "saved mat1 (2, 2) v0 not counted" in recording.outline(full=True)
    said = [aria.of_graph(index) for _, index, _ in step_indexes(recording)]
    assert ["not counted" in words for words in said] == [False, True]


def test_a_nested_tensor_has_the_bytes_of_its_numbers_a_jagged_one_of_its_offsets_too() -> None:
    parts = [torch.ones(2), torch.ones(3)]
    assert nbytes_of(torch.nested.nested_tensor(parts)) == 5 * 4
    assert nbytes_of(torch.nested.nested_tensor(parts, layout=torch.jagged)) == 5 * 4 + 3 * 8


def test_the_layout_of_another_library_has_no_known_bytes() -> None:
    if not torch.backends.mkldnn.is_available():
        pytest.skip("torch is built without MKLDNN")
    assert nbytes_of(torch.ones(2, 2).to_mkldnn()) is None


def test_reading_them_makes_no_node_and_a_saved_tensor_has_them() -> None:
    sparse = torch.eye(4).to_sparse_csr().requires_grad_()
    before = autograd.sequence_number(), sparse._version
    with autograd.unseen():
        assert nbytes_of(sparse) == 5 * 8 + 4 * 8 + 4 * 4
    assert (autograd.sequence_number(), sparse._version) == before
    graph = gradviz.snapshot((sparse.detach() @ torch.ones(4, 2, requires_grad=True)).sum())
    sizes = [slot.nbytes for node in graph.nodes for slot in node.saved if slot.state == "held"]
    assert sizes == [88]


def test_a_sparse_tensor_has_the_bytes_of_its_indices_and_values() -> None:
    w = torch.ones(3, requires_grad=True)
    sparse = torch.eye(3).to_sparse()
    node = next(n for n in gradviz.snapshot(torch.sparse.mm(sparse, w[:, None])).nodes if n.saved)
    slot = next(slot for slot in node.saved if slot.dtype is not None and slot.nbytes == 60)
    assert slot.nbytes == sparse._indices().nbytes + sparse._values().nbytes
