"""Names of tensors in attributes: of modules, objects, dataclasses, closures, in containers."""

from __future__ import annotations

import collections
import dataclasses
import gc
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import gradviz
from gradviz.capture import contents, naming
from gradviz.model.events import Operation
from tests.each import each


def tensor() -> Tensor:
    return torch.ones(2, requires_grad=True)


class Box:
    """Any attributes."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Slots:
    __slots__ = ("__weakref__", "missing", "w")

    def __init__(self, w: Any) -> None:
        self.w = w


@dataclasses.dataclass
class State:
    hidden: Any


@dataclasses.dataclass(slots=True)
class SlotState:
    hidden: Any


class Pair(NamedTuple):
    first: Any
    second: Any


class Memory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.hidden: Any = torch.zeros(2)
        self.cache: dict[str, Any] = {}
        self.log: list[Any] = []

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.hidden * self.weight + x)
        self.hidden = h
        self.cache["k"] = h * 2
        self.log.append(h.sum())
        return h


class Distribution(torch.distributions.Distribution):
    def __init__(self, w: Tensor) -> None:
        self.probs = w
        super().__init__(validate_args=False)


class Agent:
    def __init__(self) -> None:
        self.policy = nn.Linear(2, 2)
        self.last: Any = None

    def act(self, x: Tensor) -> Tensor:
        out: Tensor = self.policy(x)
        self.last = out
        return out * 2


WAYS: dict[str, Callable[[Tensor], Any]] = {
    "box.w": lambda w: Box(w=w),
    "box._w": lambda w: Box(_w=w),
    'box.table["k"][0]': lambda w: Box(table={"k": [w]}),
    "box.inner.w": lambda w: Box(inner=Box(w=w)),
    "box.state.hidden": lambda w: Box(state=State(w)),
    "box.hidden": SlotState,
    "box.w ": Slots,
    "box.a": lambda w: types.SimpleNamespace(a=w),
    "box[1].w": lambda w: [0, Box(w=w)],
    "box.pair.second": lambda w: Box(pair=Pair(0, w)),
    "box[0]": lambda w: collections.deque([w]),
    "box.probs": lambda w: Distribution(w),
    "box.tensors[0]": lambda w: torch.utils.data.TensorDataset(w),
    "box[True]": lambda w: {True: w},
}


@each("way", WAYS)
def test_snapshots_and_recordings_find_the_same_name(way: str) -> None:
    w = tensor()
    box = WAYS[way](w)
    with gradviz.record() as recording:
        y = (box and w) * 2
        del w
        y = y + 1
    names = [info.names for info in gradviz.snapshot(y).leaves]
    assert names == [info.names for info in recording[-1].graph.leaves] == [(way.strip(),)]


def test_modules_in_objects_name_their_parameters_and_paths() -> None:
    agent = Agent()
    with gradviz.record(into=[Agent]) as recording:
        out = agent.act(torch.ones(2))
    names = {info.name for info in recording[-1].graph.leaves}
    assert names == {"agent.policy.weight", "agent.policy.bias"}
    assert {info.names for info in gradviz.snapshot(out, agent.policy).leaves} == {
        (name,) for name in names
    }
    called = [e for s in recording.all_steps for e in s.events if isinstance(e, Operation)]
    assert [e.module for e in called if e.name == "linear"] == ["agent.policy"]
    assert "agent.policy" in str(gradviz.memory(out.sum()))


def test_state_of_a_module_is_named_in_the_method_and_in_the_cell() -> None:
    model, x = Memory(), torch.ones(2)
    with gradviz.record(into=[Memory]) as recording:
        model(x)
        model(x)
        y = model.hidden * 2
    history = recording.history
    key = next(e.reads[0] for e in recording[-1].events if isinstance(e, Operation))
    names = [history.name(key, step) for step in range(len(recording.records))]
    assert list(dict.fromkeys(name for name in names if name)) == ["h", "model.hidden"]
    inside = [
        info.names
        for step in recording.all_steps
        for info in step.graph.tensors
        if step.number is not None and "self.hidden" in info.names
    ]
    assert inside
    last = {info.name for info in recording[-1].graph.tensors}
    assert {"model.hidden", 'model.cache["k"]', "model.log[0]", "model.log[1]"} <= last
    del y


def test_what_has_a_short_name_has_no_longer_ones() -> None:
    model = nn.Linear(2, 1)
    trainer = Box(model=model, best=[model.weight], w=model.bias, model_again=Box(m=model))
    graph = gradviz.snapshot(model(torch.ones(2)))
    assert {info.names for info in graph.leaves} == {("model.weight",), ("model.bias",)}
    del trainer


def test_of_several_long_names_the_shallowest_is_taken() -> None:
    w = tensor()
    first, second = Box(inner=Box(w=w)), Box(w=w)
    y = w * 2
    del w
    assert gradviz.snapshot(y).leaves[0].names == ("second.w",)
    del first, second


def test_parameters_of_modules_in_a_list_of_a_module_have_names() -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(2, 2, bias=False)]

    model = Deep()
    graph = gradviz.snapshot(model.layers[0](torch.ones(2)))
    assert [info.name for info in graph.leaves] == ["model.layers[0].weight"]


def test_a_function_that_calls_another_one_names_its_tensors_still() -> None:
    def inner(given: Tensor) -> Tensor:
        doubled = given * 2
        return doubled + 1

    def outer() -> Tensor:
        start = tensor()
        other = start.exp()
        result = inner(start)
        return result + other

    with gradviz.record(into=[inner, outer]) as recording:
        outer()
    history = recording.history
    for step in recording.all_steps:
        if "return doubled" in str(history.line(step.index)):
            assert {"start", "other", "doubled"} <= {i.name for i in step.graph.tensors}
            break
    else:
        pytest.fail("the line is not recorded")


def test_variables_of_a_closure_have_names_while_it_runs() -> None:
    def make() -> Callable[[], Tensor]:
        scale = tensor()

        def scaled() -> Tensor:
            y = scale * 2
            return y.sum()

        return scaled

    function = make()
    with gradviz.record(into=[function]) as recording:
        function()
    names = {info.name for step in recording.all_steps for info in step.graph.tensors}
    assert {"scale", "y"} <= names


def test_views_of_one_call_have_the_names_that_they_are_bound_to() -> None:
    gates, runs = torch.ones(1, 6, requires_grad=True) * 1, []
    with gradviz.record() as recording:
        i, f, o = gates.chunk(3, dim=1)
        for _ in range(3):
            runs.append((i * f * o).sum())
    names = {info.name for info in recording[-1].graph.tensors}
    assert {"i", "f", "o", "runs[0]", "runs[1]", "runs[2]"} <= names


def test_an_attribute_that_changes_is_another_name_at_once() -> None:
    box = Box()
    with gradviz.record() as recording:
        box.w = torch.ones(2, requires_grad=True)
        y = box.w * 2
        box.v = box.w
        del box.w
        box.v = None
    names = [tuple(i.names for i in s.graph.leaves) for s in recording if s.kind == "line"]
    assert names[1:] == [(("box.w",),), (("box.w", "box.v"),), (("box.v",),), ((),)]
    del y


# --------------------------------------------------------------------------- nothing runs


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("code of the user's has run")


DUNDERS = (  # noqa: SIM905  as a list, one below the other
    "__eq__ __ne__ __lt__ __hash__ __len__ __iter__ __getitem__ __contains__ __bool__ __repr__ "
    "__str__ __getattr__ __getattribute__ __dir__ __format__ __index__ __int__ __reduce__ "
    "__reduce_ex__ __sizeof__ __instancecheck__ __subclasscheck__ __class_getitem__ __call__"
).split()


def trapped(base: type, has_trapped_type: bool, trapped_dictionary: bool) -> type:
    """A class of which all special methods raise, and those of its metaclass if wanted."""
    body: dict[str, Any] = dict.fromkeys(DUNDERS, refuse)
    body |= {"items": refuse, "keys": refuse, "values": refuse, "named_modules": refuse}
    body |= {"named_parameters": refuse, "prop": property(refuse), "__class__": property(refuse)}
    if trapped_dictionary:
        body["__dict__"] = property(refuse)
    if not has_trapped_type:
        return type("Trapped", (base,), body)
    # type() itself calls __getattribute__ of no metaclass while a class is made.
    meta = type("Meta", (type,), dict.fromkeys(DUNDERS, refuse) | {"__call__": type.__call__})
    return meta("Trapped", (base,), body)


def filled(kind: type, base: type, value: Any, has_dictionary: bool) -> Any:
    if base is nn.Module:
        one: Any = base.__new__(kind)
        if has_dictionary:
            space = object.__getattribute__(one, "__dict__")
            space.update(vars(nn.Module()))
            space["_parameters"] = {"w": nn.Parameter(torch.ones(1))}
            space["attribute"] = value
        return one
    if base is dict:
        one = dict.__new__(kind)
        dict.__setitem__(one, "k", value)
        return one
    if base is list:
        one = list.__new__(kind)
        list.append(one, value)
        return one
    if base is tuple:
        return tuple.__new__(kind, (value,))
    if base is collections.deque:
        one = collections.deque.__new__(kind)
        collections.deque.append(one, value)
        return one
    one = object.__new__(kind)
    if has_dictionary:
        object.__setattr__(one, "attribute", value)
    return one


@settings(deadline=None, max_examples=60)
@given(
    st.recursive(
        st.just("tensor"),
        lambda inside: st.tuples(
            st.sampled_from([object, dict, list, tuple, nn.Module, collections.deque]),
            st.booleans(),
            st.booleans(),
            inside,
        ),
        max_leaves=1,
    )
)
def test_no_code_of_the_users_runs(shape: Any) -> None:
    def build(shape: Any) -> Any:
        if shape == "tensor":
            return tensor()
        base, has_trapped_type, trapped_dictionary, inside = shape
        kind = trapped(base, has_trapped_type, trapped_dictionary)
        return filled(kind, base, build(inside), not trapped_dictionary)

    thing, w = build(shape), tensor()
    gradviz.snapshot(w * 2)
    with gradviz.record() as recording:
        y = w * 2
        holder = [thing]
        holder.append(thing)
        y = y + 1
    assert recording[-1].graph.leaves[0].names == ("w",)
    assert list(naming.named_tensors([("self", thing)])) is not None
    del y


# ------------------------------------------------------------------------- nothing is kept


def test_nothing_that_was_searched_is_kept_alive() -> None:
    class Local(Box):
        __slots__ = ("w",)

    box = Local(inner=Box(w=tensor()), model=Memory())
    box.w = tensor()
    w = box.w
    refs = [weakref.ref(one) for one in (box, box.inner, box.model, box.w, box.inner.w, Local)]
    with gradviz.record(values=False) as recording:
        y = w * 2
        box.inner.more = [y]
    gradviz.snapshot(y)
    assert recording[-1].graph.tensors
    del box, w, y, Local
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)


def test_a_tensor_that_an_attribute_lets_go_is_freed_while_it_is_recorded() -> None:
    box = Box(w=torch.ones(2))
    ref = weakref.ref(box.w)
    with gradviz.record():
        y = box.w * 2
        box.w = None
        gone = ref() is None
    assert gone
    del y


# ------------------------------------------------------------------------------- bounds


def test_what_a_bound_leaves_out_has_no_name() -> None:
    box: Any = Box(w=tensor())
    for _ in range(naming.DEEPEST + 1):
        box = Box(inner=box)
    assert list(naming.named_tensors([("box", box)])) == []
    wide = [Box(w=tensor()) for _ in range(300)]
    found = list(naming.named_tensors([("wide", wide)], most=50))
    assert len(found) < 50
    assert len(list(naming.named_tensors([("wide", wide)], widest=200))) == 0


def test_attributes_use_up_nothing_of_what_variables_may_be_searched() -> None:
    many = [Box(a=Box(b=1), c=Box(d=2)) for _ in range(50)]
    params = {"deep": [{"w": tensor()}]}
    variables = [("many", many), ("params", params)]
    assert [n for n, _ in naming.named_tensors(variables, most=60)] == ['params["deep"][0]["w"]']


def test_cyclic_objects_and_modules_end() -> None:
    box = Box(w=tensor())
    box.box, box.list = box, [box]
    model = Memory()
    model.cache["model"] = model
    model._modules["again"] = model
    names = [name for name, _ in naming.named_tensors([("box", box), ("model", model)])]
    assert "box.w" in names
    assert "model.weight" in names
    assert len(contents.parts_of(model)) == 1


def test_objects_of_other_libraries_are_not_looked_into() -> None:
    parser = types.ModuleType("parser")
    parser.w = tensor()  # type: ignore[attr-defined]
    error = ValueError()
    error.w = tensor()  # type: ignore[attr-defined]
    optimizer = torch.optim.SGD([tensor()], 0.1)
    variables = [("parser", parser), ("error", error), ("optimizer", optimizer)]
    assert list(naming.named_tensors(variables)) == []
