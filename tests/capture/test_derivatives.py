from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
import torch

from gradviz.capture import derivatives
from gradviz.capture.derivatives import lookup
from tests.each import each
from tests.programs import named

WRITTEN_BY_HAND = {
    "AccumulateGrad",
    "CopyBackwards",
    "CopySlices",
    "DelayedError",
    "Error",
    "NotImplemented",
    "SendRpcBackward",
    "UndefinedGrad",
    "UndefinedGradBackward",
}


def generated_classes() -> list[str]:
    functions = vars(torch._C._functions)
    return [n for n, v in functions.items() if isinstance(v, type) and n not in WRITTEN_BY_HAND]


def look(node: Any) -> Any:
    return lookup(type(node).__name__, tuple(e is not None for e, _ in node.next_functions))


def test_every_generated_class_has_a_row() -> None:
    assert len(generated_classes()) > 600
    table = derivatives._table()
    assert [n for n in generated_classes() if n.removesuffix("_copy") not in table] == []


def test_every_row_has_a_class_or_is_for_the_same_views_copy() -> None:
    assert set(derivatives._table()) - set(generated_classes()) == set()


def test_the_table_is_read_as_torchgen_reads_it() -> None:
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    packaged = files("torchgen").joinpath("packaged")
    native = packaged.joinpath("ATen/native")
    infos, _ = load_derivatives(
        str(packaged.joinpath("autograd/derivatives.yaml")),
        str(native.joinpath("native_functions.yaml")),
        str(native.joinpath("tags.yaml")),
    )
    theirs = {
        info.op: (
            tuple((a.name, "List" in a.type) for a in info.args_with_derivatives),
            {(d.var_names, " ".join(d.original_formula.split())) for d in info.derivatives},
        )
        for by_key in infos.values()
        for info in by_key.values()
        if info.op is not None
    }
    table = derivatives._table()
    ours = {name: table[name.removesuffix("_copy")] for name in theirs}
    assert {n: (e.arguments, set(e.formulas)) for n, e in ours.items()} == theirs


@each(
    "name",
    [
        "AccumulateGrad",
        "CopySlices",
        "MyFunctionBackward",
        "MulBackward",
        "MulBackward99",
        "ForeachAddBackward0Scalar",
        "",
    ],
)
def test_what_the_table_does_not_have_is_absent(name: str) -> None:
    assert lookup(name, (True,)) is None


def test_only_arguments_that_need_a_gradient_have_a_formula() -> None:
    both, one = lookup("MulBackward0", (True, True)), lookup("MulBackward0", (False, True))
    assert both is not None
    assert one is not None
    assert [line.split(":")[0] for line in both.formula.splitlines()] == ["self", "other"]
    assert one.formula.startswith("other: ")
    assert one.arguments == both.arguments == ("self", "other")


def test_arguments_that_share_an_expression_share_a_line() -> None:
    found = lookup("ConvolutionBackward0", (True, True, False))
    assert found is not None
    assert found.arguments == ("input", "weight", "bias")
    assert found.formula.startswith("input, weight: ")


def test_items_of_a_list_have_their_places() -> None:
    found = lookup("CatBackward0", (True, False, True))
    assert found is not None
    assert found.arguments == ("tensors[0]", "tensors[1]", "tensors[2]")
    assert found.formula.startswith("tensors: ")


def test_two_lists_have_no_names() -> None:
    found = lookup("ForeachDivBackward0", (True,) * 4)
    assert found is not None
    assert found.arguments == (None,) * 4
    assert lookup("ForeachDivBackward0", (True, False)) is None


def test_a_count_that_does_not_fit_is_not_explained() -> None:
    assert lookup("MulBackward0", (True, False, True)) is None
    assert lookup("IndexPutBackward0", (True,)) is None
    assert lookup("SinBackward0", (True, True)) is None


def test_the_formula_is_on_one_line_per_argument() -> None:
    for name, entry in derivatives._table().items():
        found = lookup(name, (True,) * len(entry.arguments))
        assert found is not None
        assert all(": " in line and "  " not in line for line in found.formula.splitlines())


def leaf(*shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64) + 0.5


OPERATORS: dict[str, tuple[Callable[..., Any], dict[str, torch.Tensor]]] = {
    "add": (torch.add, {"self": leaf(2), "other": leaf(2)}),
    "sub": (torch.sub, {"self": leaf(2), "other": leaf(2)}),
    "mul": (torch.mul, {"self": leaf(2), "other": leaf(2)}),
    "div": (torch.div, {"self": leaf(2), "other": leaf(2)}),
    "pow": (torch.pow, {"self": leaf(2), "exponent": leaf(2)}),
    "atan2": (torch.atan2, {"self": leaf(2), "other": leaf(2)}),
    "addmm": (torch.addmm, {"self": leaf(2, 2), "mat1": leaf(2, 2), "mat2": leaf(2, 2)}),
    "addcmul": (torch.addcmul, {"self": leaf(2), "tensor1": leaf(2), "tensor2": leaf(2)}),
    "addmv": (torch.addmv, {"self": leaf(2), "mat": leaf(2, 2), "vec": leaf(2)}),
    "baddbmm": (
        torch.baddbmm,
        {"self": leaf(1, 2, 2), "batch1": leaf(1, 2, 2), "batch2": leaf(1, 2, 2)},
    ),
    "lerp": (torch.lerp, {"self": leaf(2), "end": leaf(2), "weight": leaf(2)}),
    "where": (
        lambda **t: torch.where(torch.tensor([True, False]), t["self"], t["other"]),
        {"self": leaf(2), "other": leaf(2)},
    ),
    "conv2d": (
        torch.conv2d,
        {"input": leaf(1, 1, 3, 3), "weight": leaf(1, 1, 2, 2), "bias": leaf(1)},
    ),
    "layer_norm": (
        lambda **t: torch.layer_norm(t["input"], [2], t["weight"], t["bias"]),
        {"input": leaf(3, 2), "weight": leaf(2), "bias": leaf(2)},
    ),
    "batch_norm": (
        lambda **t: torch.batch_norm(
            t["input"], t["weight"], t["bias"], None, None, True, 0.1, 1e-5, False
        ),
        {"input": leaf(3, 2), "weight": leaf(2), "bias": leaf(2)},
    ),
    "linalg.solve": (
        lambda **t: torch.linalg.solve(t["A"], t["B"]),
        {"A": leaf(2, 2) + 2 * torch.eye(2), "B": leaf(2, 2)},
    ),
    "index_add": (
        lambda **t: torch.index_add(t["self"], 0, torch.tensor([0, 1]), t["source"]),
        {"self": leaf(2), "source": leaf(2)},
    ),
    "index_put": (
        lambda **t: torch.index_put(t["self"], (torch.tensor([0]),), t["values"]),
        {"self": leaf(2), "values": leaf(1)},
    ),
    "masked_fill": (
        lambda **t: torch.masked_fill(t["self"], torch.tensor([True, False]), t["value"]),
        {"self": leaf(2), "value": leaf()},
    ),
    "mse_loss": (
        lambda **t: torch.nn.functional.mse_loss(t["self"], t["target"]),
        {"self": leaf(2), "target": leaf(2)},
    ),
    "gather": (
        lambda **t: torch.gather(t["self"], 0, torch.tensor([1])),
        {"self": leaf(2)},
    ),
    "cat": (
        lambda **t: torch.cat((t["tensors[0]"], t["tensors[1]"], t["tensors[2]"])),
        {"tensors[0]": leaf(2), "tensors[1]": leaf(1), "tensors[2]": leaf(2)},
    ),
    "stack": (
        lambda **t: torch.stack((t["tensors[0]"], t["tensors[1]"])),
        {"tensors[0]": leaf(2), "tensors[1]": leaf(2)},
    ),
    "hstack": (
        lambda **t: torch.hstack((t["tensors[0]"], t["tensors[1]"])),
        {"tensors[0]": leaf(2, 2), "tensors[1]": leaf(2, 1)},
    ),
}


@each("name", OPERATORS)
def test_the_argument_named_is_the_one_that_requires_grad(name: str) -> None:
    function, arguments = OPERATORS[name]
    for chosen in arguments:
        values = {n: v.clone().requires_grad_(n == chosen) for n, v in arguments.items()}
        try:
            result = function(**values)
        except TypeError:
            result = function(*values.values())
        node = result.grad_fn
        if type(node).__name__ not in derivatives._table():
            pytest.fail(f"{type(node).__name__} is not in the table")
        found = look(node)
        needed = [a for a, (e, _) in zip(found.arguments, node.next_functions) if e is not None]
        assert needed == [chosen]
        assert all(
            line.split(":")[0].split(",")[0] == chosen.split("[")[0]
            for line in found.formula.splitlines()
        )


def test_an_argument_written_in_place_keeps_its_name() -> None:
    x, y = torch.ones(2, requires_grad=True).clone(), torch.ones(2, requires_grad=True)
    x.mul_(y)
    assert look(x.grad_fn).arguments == ("self", "other")


def test_a_nested_tensor_has_the_row_of_its_own_dispatch_key() -> None:
    built = named("nested").build()
    node = built.outputs[0].grad_fn.next_functions[0][0].next_functions[0][0]  # type: ignore[union-attr]
    assert type(node).__name__ == "MulBackward0"
    assert look(node).arguments == ("self", "other")
    usual = lookup("SplitWithSizesBackward0", (True,))
    by_key = lookup("SplitWithSizesBackwardAutogradNestedTensor0", (True,))
    assert usual is not None
    assert by_key is not None
    assert usual != by_key


def test_a_view_copy_has_the_formula_of_the_view() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    node = torch.t_copy(x).grad_fn
    assert node is not None
    assert type(node).__name__ == "TBackward0_copy"
    assert look(node) == lookup("TBackward0", (True,))


def test_reading_the_table_is_quick_and_looking_up_is_a_dict_hit() -> None:
    gc.disable()  # with millions of objects of other tests, one collection takes longer
    try:
        times = []
        for _ in range(3):
            derivatives._table.cache_clear()
            start = time.process_time()
            derivatives._table()
            times.append(time.process_time() - start)
    finally:
        gc.enable()
    assert min(times) < 0.3
    lookup("MulBackward0", (True, True))
    hits = lookup.cache_info().hits
    for _ in range(1000):
        lookup("MulBackward0", (True, True))
    assert lookup.cache_info().hits == hits + 1000


@pytest.mark.parametrize("missing", ["torchgen", "yaml"])
def test_without_the_table_everything_is_absent(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cached in (lookup, derivatives._table):
        cached.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    try:
        assert lookup("MulBackward0", (True, True)) is None
    finally:
        for cached in (lookup, derivatives._table):
            cached.cache_clear()
