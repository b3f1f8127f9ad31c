from __future__ import annotations

import dataclasses
import gc
import unittest.mock
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
import torch

import gradviz
from gradviz.capture import naming, traversal

at_module_level = torch.ones(2, requires_grad=True)


def names_of(graph: gradviz.Graph) -> list[str | None]:
    return [tensor.name for tensor in graph.tensors]


def test_local_variables_give_names(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.ones(2, requires_grad=True)
    product = weight * 2
    assert names_of(gradviz.snapshot(product)) == ["product", "weight"]
    monkeypatch.setattr(naming, "_word", lambda _: 0)  # frames that lie in memory in another way
    monkeypatch.setattr(naming, "_LOCALS", naming._place_of_locals())
    assert names_of(gradviz.snapshot(product)) == ["product", "weight"]


def test_global_variables_give_names() -> None:
    assert "at_module_level" in names_of(gradviz.snapshot(at_module_level * 2))


def test_containers_and_modules_give_paths() -> None:
    params = {"w": torch.ones(2, requires_grad=True), 3: torch.ones(2, requires_grad=True)}
    runs = [(torch.ones(2, requires_grad=True),)]
    model = torch.nn.Sequential(torch.nn.Linear(2, 1))
    total = model(params["w"] + params[3] + runs[0][0])
    assert set(names_of(gradviz.snapshot(total))) == {
        "total",
        'params["w"]',
        "params[3]",
        "runs[0][0]",
        "model.0.weight",
        "model.0.bias",
    }


def test_attributes_of_self_and_of_dataclasses_give_names() -> None:
    @dataclasses.dataclass
    class State:
        hidden: torch.Tensor

    class Learner:
        def __init__(self) -> None:
            self.rate = torch.ones(1, requires_grad=True)

        def look(self) -> gradviz.Graph:
            state = State(torch.ones(1, requires_grad=True))
            return gradviz.snapshot(self.rate * state.hidden)

    assert {"self.rate", "state.hidden"} <= set(names_of(Learner().look()))


def test_given_names_come_first_and_show_tensors_outside_the_graph() -> None:
    weight = torch.ones(2, requires_grad=True)
    offset = torch.zeros(2)
    graph = gradviz.snapshot(weight + offset, names={"w": weight, "b": offset})
    assert graph.leaves[0].name == "w"
    assert graph.tensor("b").node is None
    assert not graph.tensor("b").requires_grad


def test_a_constant_that_a_node_saved_is_shown() -> None:
    data = torch.ones(2)
    weight = torch.ones(2, requires_grad=True)
    graph = gradviz.snapshot(weight * data)
    shown = graph.tensor("data")
    assert not shown.requires_grad
    assert shown.node is None
    assert [slot.tensor for slot in graph["n0"].saved if slot.state == "held"] == [shown.id]


def test_tensors_of_other_graphs_are_not_shown() -> None:
    weight = torch.ones(2, requires_grad=True)
    other = weight * 3
    alias = weight.detach()
    assert names_of(gradviz.snapshot(weight * 2)) == [None, "weight"]
    assert other.requires_grad
    assert not alias.requires_grad


def test_a_module_names_its_parameters_also_those_not_reached() -> None:
    model = torch.nn.ModuleDict({n: torch.nn.Linear(2, 2) for n in ("used", "unused")})
    graph = gradviz.snapshot(model["used"](torch.ones(2)).sum(), model)
    assert graph.tensor("model.unused.weight").node is None
    assert graph.tensor("model.used.weight").node is not None


def test_a_module_without_a_name_gives_bare_paths() -> None:
    def look(loss: torch.Tensor) -> gradviz.Graph:
        return gradviz.snapshot(loss, torch.nn.Linear(2, 2))

    assert look(torch.ones(1, requires_grad=True) * 2).tensor("weight").node is None


def test_names_that_are_not_tensors_are_refused() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(gradviz.NamesError, match=r"names\['x'\] is a float, not a tensor"):
        gradviz.snapshot(x * 2, names={"x": 1.0})  # type: ignore[dict-item]
    with pytest.raises(gradviz.NamesError, match="must map names to tensors"):
        gradviz.snapshot(x * 2, names=[x])  # type: ignore[arg-type]
    with pytest.raises(gradviz.NamesError, match="a name is text"):
        gradviz.snapshot(x * 2, names={0: x})  # type: ignore[dict-item]


def test_naming_a_stale_view_makes_no_node() -> None:
    base = torch.ones(2, requires_grad=True) * 1
    view = base.view(2)
    base.add_(1)
    before = (base * 1).grad_fn
    shown = gradviz.snapshot(base, names={"view": view}).tensor("view")
    after = (base * 1).grad_fn
    assert before is not None
    assert after is not None
    assert after._sequence_nr() - before._sequence_nr() == 1
    assert shown.is_leaf is False
    assert shown.node is None
    assert shown.may_be_elsewhere


def test_finding_names_keeps_no_local_value_alive() -> None:
    hidden = torch.ones(3, requires_grad=True).exp()
    total = hidden.sum()
    storage = weakref.ref(hidden.untyped_storage())
    gradviz.snapshot(total)
    del hidden, total
    assert storage() is None


def test_a_locals_dictionary_of_the_callers_is_left_as_it_is() -> None:
    weight = torch.ones(2, requires_grad=True)
    variables = locals()
    gradviz.snapshot(weight * 2)
    assert variables["weight"] is weight


def test_no_property_and_no_getattr_of_the_users_runs() -> None:
    class Trap:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"read {name}")

    trap, traps = Trap(), [Trap()]
    x = torch.ones(1, requires_grad=True)
    gradviz.snapshot(x * 2)
    assert type(trap) is Trap
    assert len(traps) == 1


def test_cyclic_containers_end() -> None:
    loop: list[Any] = [torch.ones(1, requires_grad=True)]
    loop.append(loop)
    assert "loop[0]" in names_of(gradviz.snapshot(loop[0] * 2))


@pytest.mark.parametrize("is_on", [True, False])
def test_the_garbage_collector_rests_while_looking_and_is_left_as_it_was(
    is_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    while_looking: list[bool] = []
    walk = traversal.walk

    def noted(roots: Sequence[Any]) -> Any:
        while_looking.append(gc.isenabled())
        return walk(roots)

    monkeypatch.setattr(traversal, "walk", noted)
    x = torch.ones(1, requires_grad=True)
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        gradviz.snapshot(x * 2)
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()
    assert while_looking == [False]


def test_a_module_that_is_not_ready_does_not_stop_a_snapshot() -> None:
    class Unready(torch.nn.Module):
        def __init__(self) -> None:
            self.graph = gradviz.snapshot(at_module_level * 2)
            super().__init__()

    assert Unready().graph["n0"].name == "MulBackward0"


def test_an_alias_that_was_cut_off_does_not_get_the_name() -> None:
    y = torch.ones(2, 2, requires_grad=True).exp()
    other = torch.ones(2, 2, requires_grad=True) * y.detach()
    node = gradviz.snapshot((other + y).sum())["n1"]
    product = gradviz.snapshot(other)["n0"]
    assert node.name == "AddBackward0"
    assert [slot.tensor for slot in product.saved if slot.state == "held"] == [None]


def test_a_result_written_in_place_keeps_its_name() -> None:
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    graph = gradviz.snapshot(y.sum())
    saved = next(n for n in graph.nodes if n.name == "ExpBackward0").saved[0]
    assert (saved.state, saved.tensor) == ("modified", graph.tensor("y").id)


def test_hooks_are_named_without_running_code_of_theirs() -> None:
    hook = unittest.mock.Mock(return_value=None)
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(hook)
    assert gradviz.snapshot(y).tensor("y").hooks[0].name == "Mock"
    assert hook._mock_children == {}
