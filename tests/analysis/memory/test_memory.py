from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.analysis.memory.count import memory_of
from gradviz.capture.memory import read_kept
from gradviz.model import Graph, Node, SavedTensor
from gradviz.model.memory import Memory
from tests.analysis.memory.counting import counted, without_numbers
from tests.each import each
from tests.programs import PROGRAMS, Program, named, run_backward

MIB = 1 << 20
COUNTED = [p for p in PROGRAMS if not p.is_slow and p.name not in ("deep_chain", "func_grad")]
"""torch.func refuses hooks; the chain only repeats one node 20,000 times."""


def memory(
    loss: Any, model: nn.Module | None = None, names: dict[str, Tensor] | None = None
) -> Memory:
    """What ``gradviz.memory`` reports, without drawing it."""
    return memory_of(*read_kept(loss, model, names, sys._getframe(1)))


def leaf() -> Tensor:
    return torch.ones(3, requires_grad=True)


def eight_layers() -> nn.Sequential:
    return nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())))


# --- the numbers are those of torch ---------------------------------------------------------


@pytest.mark.parametrize("program", COUNTED, ids=str)
def test_storages_are_those_that_hooks_count(program: Program) -> None:
    built = program.build()
    found = memory(list(built.outputs), names=built.names)
    _, sizes = counted(lambda: program.build().outputs)
    known, expected = without_numbers(found), sorted(sizes.values())
    if not found.unknown:
        assert known == expected
    else:  # a hook of the program's own, or a node that does not show what it saves
        assert all(known.count(size) <= expected.count(size) for size in known)
    assert found.graph is not None
    assert found.total == found.graph.saved_bytes
    with contextlib.suppress(RuntimeError):
        run_backward(built)
    after = memory(list(built.outputs), names=built.names)
    assert after.total == sum(one.counted for one in after.nodes)


@pytest.mark.parametrize(
    ("requires_grad", "storages", "total"), [(False, 16, 11.5), (True, 17, 12.5)]
)
def test_eight_layers_keep_what_hooks_count(
    requires_grad: bool, storages: int, total: float
) -> None:
    model, x = eight_layers(), torch.ones(256, 512, requires_grad=requires_grad)
    found = memory(model(x).sum(), model)
    _, sizes = counted(lambda: model(x).sum())
    assert (len(found.storages), found.total / MIB) == (storages, total)
    assert (len(sizes), sum(sizes.values()) / MIB) == (storages, total)
    assert (found.activations + found.inputs) / MIB == 4.5
    assert (found.inputs / MIB, found.buffers, found.unknown) == (0.5, 0, ())


def test_parameters_are_the_sum_of_the_parameters_that_are_saved() -> None:
    model, x = eight_layers(), torch.ones(256, 512)
    found = memory(model(x).sum(), model)
    _, sizes = counted(lambda: model(x).sum())
    saved = [p for p in model.parameters() if p.untyped_storage()._cdata in sizes]
    assert found.parameters == sum(p.untyped_storage().nbytes() for p in saved) == 7 * MIB


def test_counts_of_holders_add_up_to_the_total() -> None:
    model, x = eight_layers(), torch.ones(256, 512)
    found = memory(model(x).sum(), model)
    for holders in (found.nodes, found.modules):
        assert sum(one.counted for one in holders) == found.total
        assert all(sum(one.by_kind) == one.nbytes >= one.counted for one in holders)


def test_a_view_keeps_all_of_its_storage() -> None:
    x = torch.ones(1000, requires_grad=True)
    row = torch.ones(100, 1000)[3]
    assert memory((x * row).sum()).total == 400_000


def test_a_storage_has_one_owner_and_lists_all_who_save_it() -> None:
    x = torch.ones(1000, requires_grad=True)
    e = x.exp()
    found = memory([e.sin().sum(), e.cos().sum()])
    (shared,) = found.storages
    assert (shared.name, shared.owner, found.shared) == ("e", shared.saves[0][0], 4000)
    assert sorted(slot for _, slot in shared.saves) == ["result", "self", "self"]
    assert [one.counted for one in found.nodes] == [4000, 0, 0]
    assert {one.shared for one in found.nodes} == {4000}


# --- what is kept and what is not -----------------------------------------------------------


def test_a_frozen_base_keeps_nothing_for_backward() -> None:
    base, head, x = eight_layers(), nn.Linear(512, 10), torch.ones(256, 512)
    model = nn.Sequential(base, head)
    before = memory(model(x).sum(), model)
    base.requires_grad_(False)
    after = memory(model(x).sum(), model)
    assert before.total > 11 * MIB
    assert (after.total, [one.id for one in after.nodes]) == (MIB // 2, ["n1"])
    assert after.modules[0].id == "model.1"


def test_frozen_parameters_that_are_saved_count_as_parameters_without_the_model() -> None:
    def build() -> Tensor:
        frozen = nn.Linear(64, 64).requires_grad_(False)
        x = torch.ones(8, 64, requires_grad=True)
        return frozen(x).sum()

    found = memory(build())
    assert (found.total, found.parameters) == (64 * 64 * 4, 64 * 64 * 4)


def test_after_backward_nothing_is_kept() -> None:
    model, x = eight_layers(), torch.ones(256, 512)
    loss = model(x).sum()
    loss.backward()
    found = memory(loss, model)
    assert (found.total, found.nodes, found.storages) == (0, (), ())
    assert found.sentences == ("Nothing is kept: 16 nodes have freed their saved tensors.",)


def test_a_graph_that_saves_nothing_says_so() -> None:
    x = torch.ones(2, requires_grad=True)
    assert memory((x + x).sum()).sentences[0].startswith("Nothing is kept: no node")


def test_tensors_without_elements_are_saved_and_take_nothing() -> None:
    found = memory((torch.zeros(0, 3, requires_grad=True) ** 2).sum())
    assert (found.total, len(found.storages)) == (0, 1)
    assert found.sentences == ("Nothing is kept: what nodes have saved has no elements.",)


def test_bytes_on_the_device_meta_are_said_to_be_no_memory() -> None:
    found = memory(torch.ones(3, 3, device="meta", requires_grad=True).exp().sum())
    said = (
        "36 B are on the device meta, which has no memory: tensors on a real device would take as "
        "much."
    )
    assert found.total == 36
    assert said in found.sentences
    assert not any("meta" in words for words in memory(leaf().exp().sum()).sentences)


class KeepsOnCtx(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.times, ctx.noise, ctx.pair = 3, torch.ones(50), [x, torch.ones(2)]
        return x * 3

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * ctx.times


def test_what_a_custom_function_keeps_on_ctx_is_not_counted_and_said() -> None:
    y = KeepsOnCtx.apply(leaf()).sum()  # type: ignore[no-untyped-call]
    for _ in range(2):
        found = memory(y)
        assert (found.total, found.storages) == (0, ())
        assert [save.slot for save in found.unknown] == ["ctx.noise", "ctx.pair"]
        assert [node.name for node in found.nodes] == ["KeepsOnCtxBackward"]
        assert found.sentences[0].startswith(
            "Not counted, since its size is not known: 2 saved tensors"
        )
        y.backward()
    assert y.grad_fn.next_functions[0][0].noise.shape == (50,)


def test_checkpointed_saves_are_unknown_and_not_in_the_numbers() -> None:
    model, x = eight_layers(), torch.ones(256, 512)
    found = memory(checkpoint(model, x, use_reentrant=False).sum(), model)
    assert (found.total, len(found.unknown)) == (0, 23)
    assert "packed by _checkpoint_hook" in found.unknown[0].why
    assert "23 saved tensors of unknown size" in found.title
    assert all(row["bytes"] is None for row in found)


def test_a_reentrant_checkpoint_keeps_its_input() -> None:
    model, x = eight_layers(), torch.ones(256, 512, requires_grad=True)
    found = memory(checkpoint(model, x, use_reentrant=True).sum(), model)
    assert [(one.nbytes, one.kind, one.name) for one in found.storages] == [
        (MIB // 2, "input", "x")
    ]


def test_a_node_that_does_not_show_what_it_saves_is_unknown() -> None:
    built = named("inplace_view").build()
    found = memory(list(built.outputs))
    assert [one.why for one in found.unknown] == ["torch does not show what this node saves"]


def test_a_sparse_tensor_has_no_storage_whose_size_is_known() -> None:
    built = named("sparse").build()
    found = memory(list(built.outputs))
    assert [one.why for one in found.unknown] == ["its memory is not one storage"]


def test_buffers_are_told_from_activations_by_the_model() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval()
    found = memory(model(torch.ones(2, 3, 8, 8)).sum(), model)
    assert found.buffers == 2 * 8 * 4
    assert found["model.1"].by_kind[1] == 64


# --- modules --------------------------------------------------------------------------------


def test_a_module_is_found_from_the_parameters_that_a_node_uses() -> None:
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 4))
    report = gradviz.memory(model(torch.ones(2, 4)).sum(), model)
    modules = {row["name"]: row["module"] for row in report}
    assert modules == {
        "AddmmBackward0": "model.2 (inferred)",
        "ReluBackward0": "model.1 (inferred)",
        "MmBackward0": "model.0 (inferred)",
    }
    assert report["0"].nbytes == 2 * 4 * 4


def test_a_parameter_of_two_modules_tells_no_module() -> None:
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 4, bias=False))
    model[2].weight = model[0].weight
    found = memory(model(torch.ones(2, 4)).sum(), model)
    assert found.modules == ()


def test_a_node_that_uses_parameters_of_two_modules_tells_no_module() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    model = nn.ModuleList([first, second])
    loss = nn.functional.linear(torch.ones(2, 4), first.weight, second.bias).exp().sum()
    found = memory(first(torch.ones(2, 4)).sum() + loss, model)
    assert [(one.id, len(one.nodes)) for one in found.modules] == [("?", 2), ("model.0", 1)]


class Deep(nn.Module):
    """Most of what it keeps is made by its own forward."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(14))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.repeat(1, 50).exp().sin()


def test_of_many_modules_the_one_around_them_is_named_with_what_it_keeps_itself() -> None:
    model = Deep()
    with gradviz.record() as recording:
        loss = model(torch.ones(20, 4)).sum()
    report = gradviz.memory(recording)
    said = next(one for one in report.findings.sentences if "by module" in one)
    assert "most at model itself with 15.6 KiB in 2 nodes" in said
    assert loss.requires_grad


def test_what_the_outermost_module_or_code_outside_made_is_not_known_without_a_recording() -> None:
    model = Deep()
    found = memory(model(torch.ones(20, 4)).sum(), model)
    assert (found.modules[0].id, len(found.modules[0].nodes)) == ("?", 2)
    said = next(one for one in found.sentences if "by module" in one)
    assert "most at nodes whose module is not known with 15.6 KiB in 2 nodes" in said
    assert not found.modules[0].inferred


def test_a_module_that_was_not_given_has_the_name_of_its_variable() -> None:
    net = nn.Sequential(nn.Linear(4, 4))
    assert [one.id for one in memory(net(torch.ones(2, 4)).sum()).modules] == ["net.0"]


@each("name", ["nothing", "", "n99", "?"])
def test_an_unknown_name_is_an_error_that_lists_names(name: str) -> None:
    net = nn.Sequential(nn.Linear(4, 4))
    report = gradviz.memory(net(torch.ones(2, 4)).sum())
    with pytest.raises(gradviz.UnknownNodeError, match=r"net\.0, n1"):
        report[name]


# --- looking changes nothing, and says the same every time ------------------------------------


def test_counting_changes_nothing_and_keeps_nothing_alive() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    alive = weakref.ref(y)
    versions = [t._version for t in (x, y, loss)]
    report = gradviz.memory(loss)
    assert [t._version for t in (x, y, loss)] == versions
    assert x.grad is None
    loss.backward()
    assert torch.equal(x.grad, y.detach())  # type: ignore[arg-type]
    del y, loss
    gc.collect()
    assert alive() is None
    assert report.findings.total == 16


def test_the_text_is_the_same_every_time() -> None:
    def text() -> str:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        return str(gradviz.memory(model(torch.ones(2, 4)).sum(), model))

    assert text() == text()
    assert "0x" not in text()


def test_the_text() -> None:
    w = torch.ones(1000, requires_grad=True)
    loss = w.exp().sum()
    assert str(gradviz.memory(loss)) == (
        "Backward of loss keeps 4000 B in 1 saved tensor\n"
        "This is 4000 B of activations.\n"
        "\n"
        "By node\n"
        "node  name           bytes  activations  shared  counted\n"
        "n1    ExpBackward0  4000 B       4000 B     0 B   4000 B\n"
        "\n"
        "By storage: 1 row in .tables[1]\n"
        "1 note in .findings.notes"
    )


def test_what_the_text_only_names_is_printed_when_it_is_asked_for() -> None:
    w = torch.ones(1000, requires_grad=True)
    report = gradviz.memory(w.exp().sum())
    assert report.findings.notes == ("The node that keeps most is ExpBackward0 (n1) with 4000 B.",)
    assert set(report.findings.notes) <= set(report.findings.sentences)
    assert str(report.tables[1]) == (
        "By storage\n"
        "storage  tensor  kind         bytes  owner  saved as  also saved by\n"
        "s0               activation  4000 B  n1     result"
    )


def test_the_answer_names_where_most_bytes_are() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 400), nn.Linear(400, 1))
    x, w = torch.ones(50, 4), torch.ones(1000, requires_grad=True)
    found = memory(model(x).sum(), model)
    assert found.title.endswith(" saved tensors, most of it in model.2")
    assert [(mark.id, mark.kind) for mark in found.marks] == [
        (node, "most") for node in found["model.2"].nodes
    ]
    found = memory((w.exp() * w.sin()).sum())
    assert found.title.endswith(" saved tensors, most of it in MulBackward0 (n1)")
    some = (torch.ones(size, requires_grad=True).exp().sum() for size in (20, 30, 40))
    assert memory(sum(some)).title.endswith(
        " keeps 360 B in 3 saved tensors, the largest part, 160 B, in ExpBackward0 (n5)"
    )
    some = (torch.ones(20, requires_grad=True).exp().sum() for _ in range(3))
    found = memory(sum(some))
    assert found.title.endswith(" keeps 240 B in 3 saved tensors")
    assert found.marks == ()
    assert memory((w + w).sum()).title.endswith(" keeps nothing")


# --- words ----------------------------------------------------------------------------------


def test_a_detached_tensor_is_no_input_but_not_computed_by_the_graph() -> None:
    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    z = encoder(torch.ones(5, 4)).detach()
    report = gradviz.memory(decoder(z).sum())
    (kept,) = report.findings.storages
    assert (kept.name, kept.nbytes) == ("z", 40)
    assert report.findings.sentences[0] == (
        "This is 40 B of tensors that this graph did not compute."
    )
    assert "input" not in str(report)
    assert next(iter(report))["not computed"] == 40


def test_a_result_without_a_name_is_told_as_its_graph() -> None:
    x = leaf()
    assert gradviz.memory(x.exp()).findings.title == (
        "Backward of ExpBackward0 (n0) keeps 12 B in 1 saved tensor"
    )


def test_bytes_of_the_largest_node_that_are_counted_elsewhere_are_said_to_be() -> None:
    x, w = (torch.ones(1000, requires_grad=True) for _ in range(2))
    e = x.exp().neg()
    found = memory(e.sin().sum() + (e * w).sum() * 1)
    largest, sine = found.nodes[0], next(one for one in found.nodes if one.name == "SinBackward0")
    assert (largest.name, largest.nbytes, largest.counted) == ("MulBackward0", 8000, 4000)
    assert found.sentences[1] == (
        f"The node that keeps most is MulBackward0 ({largest.id}) with 8000 B "
        f"(4000 B of it counted at {sine.id}, which saves it too)."
    )


def test_who_keeps_as_much_is_said() -> None:
    model, x = eight_layers(), torch.ones(256, 512)
    found = memory(model(x), model)
    assert found.sentences[1:3] == (
        "The node that keeps most is AddmmBackward0 (n1) with 1.5 MiB, as 6 more do.",
        "The same bytes by module: most at model.14 with 1.5 MiB, as 6 more do.",
    )


def test_what_is_of_no_known_module_is_not_passed_over() -> None:
    """As in a recording, where a node was there before it began."""

    def node(number: int, nbytes: int, module: str | None) -> Node:
        slot = SavedTensor("self", "held", storage=f"s{number}", storage_nbytes=nbytes)
        after: tuple[tuple[str, int] | None, ...] = ((f"n{number + 1}", 0),) if number < 2 else ()
        return Node(f"n{number}", "SinBackward0", after, (slot,), state="holds", module=module)

    nodes = [node(0, 1024, "net.a"), node(1, 4096, None), node(2, 8192, None)]
    found = memory_of(Graph.of(nodes, [("n0", 0)]))
    assert found.sentences[2] == (
        "The same bytes by module: most at nodes whose module is not known with 12.0 KiB in 2 "
        "nodes, then net.a with 1024 B."
    )


# --- what cannot be counted -----------------------------------------------------------------


LOSS = torch.ones(2, requires_grad=True).exp().sum()


@each(
    ("call", "error", "words"),
    [
        (lambda: gradviz.memory(torch.ones(1)), gradviz.NoGraphError, "does not require a grad"),
        (lambda: gradviz.memory(3.0), gradviz.NotATensorError, "the number 3.0"),
        (lambda: gradviz.memory(nn.Linear(1, 1)), gradviz.NoGraphError, "no output"),
        (lambda: gradviz.memory(LOSS, LOSS), gradviz.OptionError, "must be an nn.Module"),  # type: ignore[arg-type]
        (lambda: gradviz.memory(LOSS, step=1), gradviz.OptionError, "step= needs a recording"),
        (
            lambda: gradviz.memory(gradviz.snapshot(LOSS), nn.Linear(1, 1)),
            gradviz.OptionError,
            "model= and names= apply to tensors",
        ),
        (
            lambda: gradviz.memory(gradviz.Recording.empty(), names={}),
            gradviz.OptionError,
            "model= and names= apply to tensors",
        ),
        (
            lambda: gradviz.memory(gradviz.Recording.empty(), step=7),
            gradviz.UnknownNodeError,
            "no step 7",
        ),
    ],
)
def test_what_cannot_be_counted_says_what_to_type(
    call: Callable[[], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()
