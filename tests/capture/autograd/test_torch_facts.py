"""Facts about torch that gradviz relies on, each shown by torch alone: docs/torch_facts.md."""

from __future__ import annotations

import copy
import gc
import os
import re
import subprocess
import sys
import threading
import timeit
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.function import _HookMixin
from torch.distributed.tensor import DTensor, Shard
from torch.utils.checkpoint import checkpoint
from torch.utils.hooks import RemovableHandle

from tests.each import each
from tests.modes import Functions, Kernels
from tests.programs import SavesNothing
from tests.truth.tools import two_processes

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))
FREED = re.compile(r"second time|already been freed")
# Attributes of nodes and saved tensors stand in no stub of torch's.
Node = Any
next_number: Callable[[], int] = torch._C._autograd._get_sequence_nr


class Double(torch.autograd.Function):
    """Saves its input and leaves data on ``ctx``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = 2
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * ctx.factor


class Probe:
    """Something that can be referred to weakly."""


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(shape or (3,), requires_grad=True)


def node_of(tensor: torch.Tensor) -> Node:
    node = tensor.grad_fn
    assert node is not None
    return node


def before(node: Node, place: int = 0) -> Node:
    return node.next_functions[place][0]


def chain(length: int) -> torch.Tensor:
    y = leaf(1)
    for _ in range(length):
        y = y * 1.5
    return y


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


# ----------------------------------------------------------------------------- nodes


def _distinct_wrappers(y: torch.Tensor) -> int:
    ids: set[int] = set()
    node = y.grad_fn
    while node is not None:
        ids.add(id(node))
        node = before(node) if node.next_functions else None
    return len(ids)


@pytest.mark.skipif(RELEASE < (2, 13), reason="before torch 2.13 wrappers of nodes are transient")
def test_the_wrapper_of_a_node_lives_as_long_as_the_node() -> None:
    y = chain(500)
    assert _distinct_wrappers(y) == 501
    tracked = len(gc.get_objects())
    assert _distinct_wrappers(y) == 501
    assert len(gc.get_objects()) - tracked < 100


@pytest.mark.skipif(RELEASE >= (2, 13), reason="since torch 2.13 a node keeps its wrapper")
def test_the_wrapper_of_a_node_lives_as_long_as_it_is_held() -> None:
    assert _distinct_wrappers(chain(500)) < 100


def test_wrappers_of_one_node_are_the_same_while_one_is_held() -> None:
    y = leaf().exp()
    node = node_of(y)
    assert y.grad_fn is node
    assert before(node_of(y * 2)) is node
    assert hash(node) == object.__hash__(node)


def test_the_id_of_a_dead_node_is_given_to_the_next() -> None:
    x = leaf()
    assert len({id(x.exp().grad_fn) for _ in range(20)}) < 20


def test_a_node_has_a_dictionary_that_dies_with_it() -> None:
    y = leaf().exp()
    probe = Probe()
    dead = weakref.ref(probe)
    node_of(y).metadata["gradviz test"] = probe
    del probe
    y.sum().backward()
    gc.collect()
    assert node_of(y).metadata["gradviz test"] is dead()
    del y
    assert dead() is None


def test_a_node_of_an_operator_takes_neither_a_weak_reference_nor_an_attribute() -> None:
    for node in (node_of(leaf().exp()), before(node_of(leaf().exp()))):
        with pytest.raises(TypeError):
            weakref.ref(node)
        with pytest.raises(AttributeError):
            node.anything = 1


def test_holding_a_node_holds_what_its_graph_has_saved() -> None:
    y = leaf().exp()
    storage = weakref.ref(y.untyped_storage())
    node = node_of(y.sin().sum())
    del y
    gc.collect()
    assert storage() is not None
    del node
    assert storage() is None


@pytest.mark.skipif(RELEASE < (2, 13), reason="before torch 2.13 only its tensor holds it")
def test_holding_the_node_of_a_function_holds_its_graph() -> None:
    node = node_of(Double.apply(leaf().exp()))  # type: ignore[no-untyped-call]
    assert before(node).name() == "ExpBackward0"


@pytest.mark.skipif(RELEASE >= (2, 13), reason="since torch 2.13 the node itself holds it")
def test_holding_the_node_of_a_function_does_not_hold_its_graph() -> None:
    node = node_of(Double.apply(leaf().exp()))  # type: ignore[no-untyped-call]
    with pytest.raises(RuntimeError, match="invalid for this instance"):
        before(node)


def test_walking_a_graph_makes_no_node() -> None:
    y = chain(10)
    number = next_number()
    _distinct_wrappers(y)
    assert next_number() == number


def test_names_of_nodes_written_by_hand_have_a_namespace() -> None:
    y = leaf().clone()
    y[0].mul_(2)
    assert node_of(y).name() == "torch::autograd::CopySlices"
    assert before(node_of(leaf().exp())).name() == "torch::autograd::AccumulateGrad"
    assert node_of(leaf().exp()).name() == "ExpBackward0"
    assert node_of(Double.apply(leaf())).name() == "DoubleBackward"  # type: ignore[no-untyped-call]


def test_sequence_numbers_count_the_nodes_that_a_thread_makes() -> None:
    x = leaf()
    first = next_number()
    y = x.exp()
    with torch.no_grad():
        x.exp()
    torch.ones(3).exp()
    z = y.sin()
    assert (node_of(y)._sequence_nr(), node_of(z)._sequence_nr()) == (first, first + 1)
    assert next_number() == first + 2


def test_every_thread_counts_for_itself() -> None:
    x = leaf()
    here = next_number()
    numbers: list[int] = []

    def work() -> None:
        numbers.extend([next_number(), node_of(x.exp())._sequence_nr(), next_number()])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert numbers == [0, 0, 1]
    assert next_number() == here


def test_an_accumulator_has_the_largest_sequence_number() -> None:
    assert before(node_of(leaf().exp()))._sequence_nr() == 2**64 - 1


def test_asking_for_the_edge_of_a_leaf_takes_a_sequence_number() -> None:
    x = leaf()
    number = next_number()
    torch.autograd.graph.get_gradient_edge(x)
    assert next_number() == number + 1


def test_input_metadata_has_the_shape_of_each_differentiable_output() -> None:
    x = leaf(2, 3)
    assert [list(m.shape) for m in node_of(x.unbind(0)[0])._input_metadata] == [[3], [3]]
    values = x.max(0).values
    assert [list(m.shape) for m in node_of(values)._input_metadata] == [[3]]
    values.sum().backward()
    assert [list(m.shape) for m in node_of(values)._input_metadata] == [[3]]


def test_next_functions_has_an_entry_per_differentiable_argument() -> None:
    x = leaf(2, 3)
    assert node_of(x * 2).next_functions[1] == (None, 0)
    assert [node is None for node, _ in node_of(x * torch.ones(3)).next_functions] == [False, True]
    both = node_of(x + x).next_functions
    assert both[0] == both[1]
    a, b = x.unbind(0)
    assert node_of(b.sum()).next_functions == ((node_of(a), 1),)
    three = [leaf(), torch.ones(3), leaf()]
    assert [node is None for node, _ in node_of(torch.cat(three)).next_functions] == [0, 1, 0]


def test_outputs_of_one_operation_share_a_node() -> None:
    x = leaf(4, 4)
    a, b = x.unbind(0)[:2]
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)
    assert x.max(0).indices.grad_fn is None


def test_the_variable_of_an_accumulator_is_the_leaf_itself() -> None:
    x = leaf()
    assert before(node_of(x.exp())).variable is x


def test_a_leaf_has_one_accumulator_while_a_graph_uses_it() -> None:
    x = leaf()
    y, z = x.exp(), x.sin()
    assert before(node_of(y)) is before(node_of(z))
    before(node_of(y)).metadata["gradviz test"] = 1
    del y, z
    assert "gradviz test" not in before(node_of(x.exp())).metadata


def test_writing_a_view_hides_the_operation_in_copy_slices() -> None:
    y = leaf().clone()
    clone = node_of(y)
    y[0].exp_()
    node = node_of(y)
    assert type(node).__name__ == "CopySlices"
    assert before(node) is clone
    assert [name for name in dir(node) if name.startswith(("_saved", "_raw_saved"))] == []


@pytest.mark.skipif(RELEASE < (2, 15), reason="came with torch 2.15")
def test_copy_slices_shows_the_node_that_it_wraps() -> None:
    y = leaf().clone()
    y[0].exp_()
    assert node_of(y)._wrapped_node.name() == "ExpBackward0"


def _stale_view() -> tuple[torch.Tensor, torch.Tensor]:
    base = leaf(2, 3).clone()
    view = base[0]
    base.mul_(2)
    return base, view


@pytest.mark.parametrize("attribute", ["grad_fn", "is_leaf"])
def test_reading_the_place_of_a_stale_view_makes_a_node(attribute: str) -> None:
    _base, view = _stale_view()
    number = next_number()
    getattr(view, attribute)
    assert next_number() > number
    number = next_number()
    getattr(view, attribute)
    assert next_number() == number


def test_other_reads_of_a_stale_view_make_no_node() -> None:
    base, view = _stale_view()
    number = next_number()
    assert view.requires_grad
    assert (view.output_nr, view._base is base, view._is_view()) == (0, True, True)
    assert (view.retains_grad, view._backward_hooks, view.shape) == (False, None, (3,))
    assert view._version == 1
    assert next_number() == number


def test_a_view_whose_version_never_moved_is_not_stale() -> None:
    base = leaf(2, 3).clone()
    view = base[0]
    assert view._version == 0
    number = next_number()
    assert node_of(view).name() == "SelectBackward0"
    assert next_number() == number


def test_the_place_of_some_stale_views_cannot_be_read() -> None:
    base = leaf(2, 3).clone()
    one_of_several = base.unbind(0)[0]
    base.mul_(2)
    with pytest.raises(RuntimeError, match="is a view and its base"):
        _ = one_of_several.grad_fn
    plain = torch.ones(2, 3)
    with torch.no_grad():
        unrecorded = plain[0]
    plain.mul_(leaf())
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        _ = unrecorded.grad_fn


def test_a_write_in_place_moves_the_tensor_to_a_new_node_behind_the_old() -> None:
    y = leaf().clone()
    old = node_of(y)
    y.mul_(2)
    assert node_of(y).name() == "MulBackward0"
    assert before(node_of(y)) is old


def test_what_a_function_leaves_on_ctx_is_in_the_dictionary_of_its_node() -> None:
    y: torch.Tensor = Double.apply(leaf())  # type: ignore[no-untyped-call]
    node = node_of(y)
    assert vars(node) == {"factor": 2}
    assert node.needs_input_grad == (True,)
    assert type(node)._forward_cls is Double
    assert isinstance(node, torch._C._FunctionBase)
    assert [tuple(raw.data.shape) for raw in node._raw_saved_tensors] == [(3,)]


def test_a_reentrant_checkpoint_is_one_function_that_calls_backward() -> None:
    y: torch.Tensor = checkpoint(torch.exp, leaf(), use_reentrant=True)
    node = node_of(y)
    assert node.name() == "CheckpointFunctionBackward"
    assert before(node).name() == "torch::autograd::AccumulateGrad"
    assert "backward" in type(node)._forward_cls.backward.__code__.co_names


def test_compiled_functions_and_their_backwards_run_in_known_functions() -> None:
    compiled: Any = torch.compile(torch.sin, backend="aot_eager")
    code = compiled.__code__
    assert code.co_name == "compile_wrapper"
    assert code.co_filename.endswith(os.path.join("_dynamo", "eval_frame.py"))
    y = compiled(leaf())
    assert node_of(y).name() == "CompiledFunctionBackward"
    code = type(node_of(y))._forward_cls.backward.__code__
    assert code.co_name == "backward"
    assert os.path.basename(os.path.dirname(code.co_filename)) == "_aot_autograd"
    lazy = type(node_of(y))._forward_cls._lazy_backward_info
    (returned,) = (one.args[0] for one in lazy.bw_module.graph.nodes if one.op == "output")
    assert [one is not None for one in returned] == [True]
    assert len(node_of(y).next_functions) == 1


def test_a_fake_tensor_has_its_mode_in_its_dictionary_and_a_device_of_its_own() -> None:
    with FakeTensorMode() as mode:
        fakes = [torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(2, 2).weight]
        fakes.append(fakes[1] * 2)
    for fake in fakes:
        assert object.__getattribute__(fake, "__dict__")["fake_mode"] is mode
        assert str(fake.device) == "cpu"
    for real in (torch.ones(2), leaf(), torch.ones(2, device="meta")):
        assert "fake_mode" not in object.__getattribute__(real, "__dict__")


def test_a_dtensor_has_the_part_of_this_process_in_an_attribute() -> None:
    with two_processes() as mesh:
        part = torch.ones(2)
        whole = DTensor.from_local(part, mesh, [Shard(0)])
        assert object.__getattribute__(whole, "_local_tensor").data_ptr() == part.data_ptr()
        assert type(whole) is sys.modules["torch.distributed.tensor"].DTensor
        assert (tuple(whole.shape), whole.nbytes) == ((4,), 16)
    for other in (part, torch.nn.Parameter(part)):
        assert not hasattr(other, "_local_tensor")


def test_inside_vmap_only_the_tensor_behind_knows_that_it_requires_grad() -> None:
    weight, seen = leaf(), []

    def times(x: torch.Tensor) -> torch.Tensor:
        y = x * weight
        behind = torch._C._functorch.get_unwrapped(y)
        seen.append(
            (y.requires_grad, y.grad_fn, behind.requires_grad, type(behind.grad_fn).__name__)
        )
        return y

    torch.vmap(times)(torch.ones(3, 1))
    assert seen == [(False, None, True, "MulBackward0")]


def test_what_a_fake_operation_gives_is_computed_in_one_function_of_python() -> None:
    seen: set[tuple[str, str, str]] = set()

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call":
            folder, name = os.path.split(frame.f_code.co_filename)
            seen.add((os.path.basename(folder), name, frame.f_code.co_name))

    with FakeTensorMode():
        x = torch.ones(2, requires_grad=True)
        sys.setprofile(look)
        try:
            x.sin()
        finally:
            sys.setprofile(None)
    assert ("_subclasses", "fake_tensor.py", "__torch_dispatch__") in seen


def test_a_tensor_of_a_transform_that_ended_is_known_as_dead() -> None:
    kept: list[torch.Tensor] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x.sin().sum()

    functorch: Any = torch._C._functorch
    torch.func.grad(function)(torch.ones(3))
    assert functorch.is_functorch_wrapped_tensor(kept[0])
    assert functorch.is_dead_tensor_wrapper(kept[0])
    assert not functorch.is_functorch_wrapped_tensor(torch.ones(3))


def test_nodes_without_a_class_of_their_own_are_no_instances_of_node() -> None:
    node = node_of(torch._foreach_exp([leaf()])[0])
    assert (type(node).__name__, node.name()) == ("CppFunction", "ForeachExpBackward0")
    assert not isinstance(node, torch.autograd.graph.Node)
    assert before(node).name() == "torch::autograd::AccumulateGrad"
    assert isinstance(node_of(leaf().exp()), torch.autograd.graph.Node)


def test_a_node_can_be_called_and_then_computes() -> None:
    assert callable(node_of(leaf().exp()))
    assert torch.equal(node_of(leaf() * 3)(torch.ones(3))[0], torch.full((3,), 3.0))


FREE_DEEP_CHAINS = """
import threading, torch
def free(length, looks):
    y = torch.ones(1, requires_grad=True)
    for _ in range(length):
        y = y * 1.5
    node = y.grad_fn if looks else None
    while node is not None and node.next_functions:
        node = node.next_functions[0][0]
    del y, node
threading.stack_size(512 * 1024)
for length, looks in ((30_000, False), (1_000, True), (20_000, True)):
    thread = threading.Thread(target=free, args=(length, looks))
    thread.start()
    thread.join()
    print(length, flush=True)
"""


@pytest.mark.skipif(RELEASE < (2, 13), reason="before torch 2.13 no chain is freed by recursion")
def test_freeing_a_long_chain_overflows_the_stack_only_if_its_nodes_were_touched() -> None:
    done = run(FREE_DEEP_CHAINS)
    assert (done.returncode < 0, done.stdout) == (True, "30000\n1000\n"), done.stderr[-2000:]


@pytest.mark.skipif(RELEASE >= (2, 13), reason="since torch 2.13 touched chains are not safe")
def test_freeing_a_long_chain_of_touched_nodes_is_safe() -> None:
    done = run(FREE_DEEP_CHAINS)
    assert (done.returncode, done.stdout) == (0, "30000\n1000\n20000\n"), done.stderr[-2000:]


@pytest.mark.skipif(RELEASE < (2, 13), reason="before torch 2.13 the dictionary went first")
def test_a_dying_node_lets_go_of_its_edges_before_its_dictionary() -> None:
    died: list[str] = []
    x = leaf()
    y = x.exp()
    z = y.sin()
    for name, tensor in (("exp", y), ("sin", z)):
        probe = Probe()
        weakref.finalize(probe, died.append, name)
        node_of(tensor).metadata["gradviz test"] = probe
    del probe, y, tensor
    del z
    assert died == ["exp", "sin"]


# ----------------------------------------------------------------- tensors and hooks


def test_an_inference_tensor_has_no_version() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = x._version


def test_what_is_not_self_or_out_is_written_without_counting() -> None:
    x, mean, var, out = torch.ones(2, 3), torch.zeros(3), torch.ones(3), torch.zeros(2, 3)
    torch.batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, False)
    torch.add(x, x, out=out)
    x.apply_(lambda number: number + 1)
    assert mean.tolist() != [0.0] * 3
    assert [t._version for t in (mean, var, x, out)] == [0, 0, 0, 1]
    (schema,) = torch._C._jit_get_schemas_for_operator("aten::batch_norm")
    info = torch._C._SchemaInfo(schema)
    written = [a.name for a in schema.arguments if info.is_mutable(a.name)]
    assert written == ["running_mean", "running_var"]
    assert all(a.alias_info is None for a in schema.arguments)


def test_no_mode_sees_set() -> None:
    x, y = torch.ones(3), torch.ones(4)
    with Functions() as mode:
        x.set_(y)  # type: ignore[call-overload]
    assert mode.names == []
    assert x._version == 1


def test_a_saved_input_is_the_tensor_itself() -> None:
    y = leaf() * 2
    assert node_of(y.sin())._raw_saved_self.data is y
    assert node_of(y.sin())._saved_self is y


def test_a_saved_own_output_is_a_new_tensor_on_the_same_memory_without_a_place() -> None:
    y = leaf().exp()
    node = node_of(y)
    saved = node._raw_saved_result.data
    assert saved is not y
    assert saved.untyped_storage()._cdata == y.untyped_storage()._cdata
    assert (saved.grad_fn, saved.requires_grad) == (None, False)
    rebuilt = node._saved_result
    assert rebuilt is not y
    assert (rebuilt.grad_fn, rebuilt.output_nr) == (node, y.output_nr)


def test_isinstance_asks_the_object_and_type_does_not() -> None:
    asked: list[str] = []

    class Proxy:
        @property  # type: ignore[misc]
        def __class__(self) -> type:
            asked.append("class")
            return torch.Tensor

    proxy = Proxy()
    assert not issubclass(type(proxy), torch.Tensor)
    assert asked == []
    assert isinstance(proxy, torch.Tensor)
    assert asked != []


def test_reading_the_grad_of_a_tensor_that_keeps_none_warns() -> None:
    x = leaf()
    y = x.exp()
    with pytest.warns(UserWarning, match=r"\.grad attribute of a Tensor that is not a leaf"):
        _ = y.grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None
        y.retain_grad()
        assert y.grad is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_reading_a_value_is_refused_while_a_cuda_graph_is_captured() -> None:
    done = run("""
import torch
x = torch.ones(1, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    y = x * 2
    print(torch.cuda.is_current_stream_capturing())
    try:
        y.item()
    except RuntimeError as error:
        print("capturing" in str(error), flush=True)
""")
    assert done.stdout == "True\nTrue\n", done.stderr[-2000:]


def test_retain_grad_is_known_to_the_tensor() -> None:
    x = leaf()
    y = x.exp()
    assert not y.retains_grad
    y.retain_grad()
    x.retain_grad()
    assert (y.retains_grad, x.retains_grad) == (True, False)
    y.sum().backward()
    assert y.grad is not None


def test_hooks_of_a_tensor_are_in_its_dictionaries() -> None:
    x = leaf()
    y = x.exp()
    hooks = [lambda grad: None for _ in range(3)]
    y.register_hook(hooks[0])
    x.register_hook(hooks[1])
    x.register_post_accumulate_grad_hook(hooks[2])
    held: list[Any] = [y._backward_hooks, x._backward_hooks, x._post_accumulate_grad_hooks]
    assert [list(found.values()) for found in held] == [[hook] for hook in hooks]
    assert y._post_accumulate_grad_hooks is None


def test_hooks_of_a_node_are_in_no_attribute() -> None:
    node = node_of(leaf().exp())
    node.register_prehook(lambda grads: None)
    shown = {name for name in dir(node) if "hook" in name and not name.startswith("__")}
    assert shown == {"_register_hook_dict", "register_hook", "register_prehook"}


def test_hooks_run_in_the_order_tensor_retain_grad_before_the_node_after_it() -> None:
    log: list[str] = []
    x = leaf(1)
    y = x * 2

    def enlarge(grad: torch.Tensor) -> torch.Tensor:
        log.append("tensor")
        return grad * 10

    y.register_hook(enlarge)
    y.retain_grad()
    y.register_hook(enlarge)
    node_of(y).register_prehook(lambda grads: log.append(f"before {grads[0].item():g}"))
    node_of(y).register_hook(lambda *_: log.append("after"))
    accumulator = before(node_of(y))
    x.register_hook(lambda grad: log.append("leaf"))
    accumulator.register_prehook(lambda grads: log.append(f"before leaf {x.grad is not None}"))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append("accumulated"))
    accumulator.register_hook(lambda *_: log.append(f"after leaf {x.grad is not None}"))
    y.backward()
    first = ["tensor", "tensor", "before 100", "after"]
    assert log == [*first, "leaf", "before leaf False", "accumulated", "after leaf True"]
    assert y.grad is not None
    assert y.grad.item() == 100


def test_hooks_of_a_module_are_in_the_closure_of_a_hook_at_a_node() -> None:
    registered: list[Any] = []
    module = torch.nn.Linear(3, 2)

    def hook(module: Any, grad_input: Any, grad_output: Any) -> None: ...

    module.register_full_backward_hook(hook)

    def note(hooks: Any, function: Any) -> Any:
        registered.append(function)
        return register(hooks, function)

    register: Any = _HookMixin._register_hook
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_HookMixin, "_register_hook", staticmethod(note))
        module(leaf())
    cells = [cell.cell_contents for one in registered for cell in one.__closure__]
    (found, *_) = [cell for cell in cells if type(cell).__name__ == "BackwardHook"]
    assert found.user_hooks == [hook]


def test_every_hook_of_a_node_is_registered_by_one_python_function() -> None:
    entered: list[Any] = []

    def hook(*_: Any) -> None: ...

    def trace(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code is _HookMixin._register_hook.__code__:
            entered.append(frame.f_locals["hook"])

    y: torch.Tensor = Double.apply(leaf().exp())  # type: ignore[no-untyped-call]
    nodes = [node_of(y), before(node_of(y)), before(before(node_of(y)))]
    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        for node in nodes:
            node.register_hook(hook)
            node.register_prehook(hook)
    finally:
        sys.settrace(outer)
    assert entered == [hook] * 6


def test_modes_see_reads_of_attributes_unless_torch_function_is_disabled() -> None:
    y = leaf().exp()
    with Functions() as mode:
        _ = y.grad_fn, y._version, y.shape
        assert len(mode.names) == 3
        with torch._C.DisableTorchFunction():
            _ = y.grad_fn, y._version, y.shape, y.untyped_storage()
        assert len(mode.names) == 3


def test_dispatch_modes_see_one_detach_when_a_saved_output_is_read() -> None:
    y = leaf().exp()
    z = (leaf() * 2).sin()
    with Kernels() as mode:
        _ = y.grad_fn, y._version, node_of(y)._raw_saved_result.data, node_of(z)._saved_self
        assert mode.names == []
        _ = node_of(y)._saved_result
        assert mode.names == ["aten.detach.default"]
        with torch._C._DisableTorchDispatch():
            _ = node_of(y)._saved_result
        assert mode.names == ["aten.detach.default"]


def test_after_a_write_in_place_a_tensor_lists_no_hooks_but_the_old_ones_run() -> None:
    log: list[float] = []
    y = leaf(1).clone()
    y.register_hook(lambda grad: log.append(grad.item()))
    y.mul_(3)
    assert y._backward_hooks is None
    y.backward()
    assert log == [3]


def test_removing_a_hook_calls_no_function_that_a_mode_sees() -> None:
    handle = leaf().exp().register_hook(lambda grad: None)
    assert type(handle) is RemovableHandle
    with Functions() as mode:
        handle.remove()
    assert mode.names == []


SET_GRAD_TO_NONE_WHILE_ANOTHER_THREAD_READS = """
import sys, threading, time, torch
sys.setswitchinterval(1e-5)
x = torch.ones(3, requires_grad=True)
def work():
    while True:
        x.grad = torch.zeros(3)
        x.grad = None
threading.Thread(target=work, daemon=True).start()
ends = time.monotonic() + 60
while time.monotonic() < ends:
    x.grad
print("alive", flush=True)
import os; os._exit(0)
"""


@pytest.mark.skipif(RELEASE < (2, 13), reason="not tried before torch 2.13")
def test_reading_a_grad_while_another_thread_sets_it_to_none_ends_the_process() -> None:
    done = run(SET_GRAD_TO_NONE_WHILE_ANOTHER_THREAD_READS)
    assert (done.returncode < 0, done.stdout) == (True, ""), done.stderr[-2000:]


# --------------------------------------------------------------------- saved tensors


def test_saved_tensors_can_be_looked_at_without_running_a_hook() -> None:
    unpacked: list[int] = []

    def unpack(packed: torch.Tensor) -> torch.Tensor:
        unpacked.append(1)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        y = (leaf() * 2).sin()
    raw = node_of(y)._raw_saved_self
    assert raw.unpack_hook is unpack
    assert torch.equal(raw.data, torch.full((3,), 2.0))
    assert unpacked == []
    _ = node_of(y)._saved_self
    assert unpacked == [1]


def test_released_saved_tensors_are_none_and_their_values_raise() -> None:
    y = (leaf() * 2).sin()
    node = node_of(y)
    assert node._raw_saved_self.unpack_hook is None
    y.sum().backward()
    assert (node._raw_saved_self.data, node._raw_saved_self.unpack_hook) == (None, None)
    with pytest.raises(RuntimeError, match="second time"):
        _ = node._saved_self


def test_an_argument_that_was_not_given_is_saved_as_none_and_stays_so() -> None:
    y = torch.nn.functional.layer_norm(leaf(), (3,))
    node = node_of(y)
    assert (node._raw_saved_weight.data, node._saved_weight) == (None, None)
    y.sum().backward()
    assert node._saved_weight is None


@pytest.mark.skipif(RELEASE < (2, 12), reason="SavedTensor.unpack came with torch 2.12")
def test_unpack_fails_for_an_own_output_whatever_its_version() -> None:
    y = leaf().exp()
    raw = node_of(y)._raw_saved_result
    for _ in range(2):
        with pytest.raises(RuntimeError, match="detached in-place"):
            raw.unpack()
        y.add_(1)


@pytest.mark.skipif(RELEASE >= (2, 12), reason="SavedTensor.unpack came with torch 2.12")
def test_saved_tensors_have_no_unpack() -> None:
    assert not hasattr(node_of(leaf().exp())._raw_saved_result, "unpack")


def test_getters_of_saved_tensors_are_on_the_class_of_a_node() -> None:
    kind = type(node_of(leaf() * leaf()))
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(dir(kind))
    softmax = dir(type(node_of(leaf().softmax(0))))
    assert {"_saved_dim", "_saved_result", "_raw_saved_result"} <= set(softmax)
    assert "_raw_saved_dim" not in softmax


def test_negative_dims_are_saved_as_unsigned_numbers() -> None:
    x = leaf(2, 3)
    assert node_of(x.softmax(-1))._saved_dim == 2**64 - 1
    assert node_of(x.sum((-1, 0)))._saved_dim == (2**64 - 1, 0)
    assert node_of(x.softmax(1))._saved_dim == 1


def test_a_saved_tensor_that_outlives_its_node_reads_freed_memory() -> None:
    done = run("""
import torch
x = torch.ones(3, 4, requires_grad=True)
y = x.exp()
raw = y.grad_fn._raw_saved_result
del y
others = [torch.full((3, 4), 7.0, requires_grad=True).exp() for _ in range(1000)]
print(raw.data is not None and raw.data.sum().item() == x.exp().sum().item())
""")
    assert done.returncode != 0 or done.stdout == "False\n"


# A list is longest in reading, so that the other thread soon frees what is being read.
READ_WHILE_ANOTHER_THREAD_RUNS_BACKWARD = """
import sys, threading, torch
torch.set_num_threads(1)
sys.setswitchinterval(1e-6)
def hammer(read, rounds):
    for _ in range(rounds):
        x = torch.ones((1,) * 25, requires_grad=True)
        y = x[tuple(torch.zeros(1, dtype=torch.long) for _ in range(25))]
        node, loss = y.grad_fn, y.sum()
        ready, stop = threading.Event(), threading.Event()
        def work():
            ready.set()
            while not stop.is_set():
                try:
                    read(node)
                except RuntimeError:
                    pass
        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        loss.backward()
        stop.set()
        thread.join()
def structure(node):
    node.name(), node._sequence_nr(), node.next_functions, node.metadata
    node._input_metadata[0].shape
hammer(structure, 500)
print("structure", flush=True)
hammer(lambda node: node._saved_indices, 50_000)
print("saved tensors", flush=True)
"""


def test_another_threads_backward_may_meet_reads_of_structure_but_not_of_saved_tensors() -> None:
    done = run(READ_WHILE_ANOTHER_THREAD_RUNS_BACKWARD)
    assert (done.returncode < 0, done.stdout) == (True, "structure\n"), done.stderr[-2000:]


def test_reading_saved_tensors_changes_nothing_but_a_kept_value_keeps_its_memory() -> None:
    y = leaf().exp()
    node, number, storage = node_of(y), next_number(), weakref.ref(y.untyped_storage())
    for read in ("data", "unpack_hook"):
        getattr(node._raw_saved_result, read)
    assert (next_number(), y._version) == (number, 0)
    value = node._saved_result
    y.sum().backward()
    del y
    assert storage() is not None
    del value
    assert storage() is None


def test_several_saved_tensors_can_be_one_storage() -> None:
    y = leaf(4) * 2
    node = node_of(y * y)
    views = node_of(y[:2] * y[2:])
    raws = [node._raw_saved_self, node._raw_saved_other, views._raw_saved_self]
    assert len({raw.data.untyped_storage()._cdata for raw in raws}) == 1
    assert views._raw_saved_self.data.untyped_storage().nbytes() == 16


def test_a_saved_tensor_is_readable_exactly_while_its_version_is_the_saved_one() -> None:
    saved_input = leaf() * 2
    own_output = leaf().exp()
    constant = torch.ones(3)
    slots = [
        (node_of(saved_input.sin()), "self", saved_input),
        (node_of(own_output), "result", own_output),
        (node_of(leaf() * constant), "other", constant),
    ]
    for node, slot, tensor in slots:
        number = next_number()
        getattr(node, f"_saved_{slot}")
        assert next_number() == number
        tensor.add_(1)
        tensor.add_(1)
        assert getattr(node, f"_raw_saved_{slot}").data._version == 2
        with pytest.raises(RuntimeError, match="is at version 2; expected version 0 instead"):
            getattr(node, f"_saved_{slot}")


def test_a_checkpoint_and_an_offload_are_known_by_their_unpack_hook() -> None:
    computed: list[int] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        computed.append(1)
        return (x * 2).sin()

    y: torch.Tensor = checkpoint(function, leaf(), use_reentrant=False)
    hook = node_of(y)._raw_saved_self.unpack_hook
    assert (hook.__module__, hook.__name__) == ("torch.utils.checkpoint", "unpack_hook")
    assert computed == [1]
    with torch.autograd.graph.save_on_cpu():
        z = (leaf() * 2).sin()
    assert node_of(z)._raw_saved_self.unpack_hook.__qualname__.startswith("save_on_cpu.")


def test_a_foreach_node_shows_nothing_that_it_saves() -> None:
    y = torch._foreach_exp([leaf()])[0]
    assert [name for name in dir(node_of(y)) if name.startswith(("_saved", "_raw_saved"))] == []
    y.sum().backward(retain_graph=True)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_sparse_tensors_have_no_storage() -> None:
    sparse = torch.eye(3).to_sparse()
    with pytest.raises((NotImplementedError, RuntimeError)):
        sparse.untyped_storage()


@pytest.mark.parametrize(
    ("look", "version"),
    [(vars(torch._C)["_data_address"], 1), (torch.Tensor.untyped_storage, 0)],
    ids=["by its address", "by its storage"],
)
def test_asking_a_gradient_for_its_storage_keeps_the_engine_from_adding_in_place(
    look: Callable[[torch.Tensor], Any], version: int
) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp() * x
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda grad_inputs, _: look(grad_inputs[1]) and None)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad._version == version


def test_a_nested_tensor_has_no_shape_as_a_whole() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(RuntimeError):
        _ = nested.shape
    assert (nested.dim(), nested.size(0)) == (2, 2)
    with pytest.raises(RuntimeError):
        nested.size(1)


AFTER_A_PACK_HOOK_RAISED = """
import sys, torch
x = torch.ones(3, requires_grad=True)
node = x.sin().grad_fn
def pack(tensor):
    raise ValueError("no")
def unpack(*packed):
    print(len(packed), end=" ")
    return x
try:
    node._raw_saved_self.register_hooks(pack, unpack)
except ValueError as error:
    print(error, end=" ")
try:
    node._raw_saved_self.register_hooks(pack, unpack)
except RuntimeError as error:
    print("already been set" in str(error), end=" ")
node._saved_self
print("read", flush=True)
node._raw_saved_self.unpack_hook
print("alive")
"""


def test_hooks_of_which_the_pack_hook_raised_stay_and_reading_them_ends_the_process() -> None:
    done = run(AFTER_A_PACK_HOOK_RAISED)
    assert (done.returncode < 0, done.stdout) == (True, "no True 0 read\n"), done.stderr[-2000:]


@pytest.mark.skipif(RELEASE < (2, 11), reason="the flag came with torch 2.11")
def test_reading_saved_tensors_of_a_function_can_take_them_from_backward() -> None:
    class Cleared(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return grad * x

    looked: torch.Tensor = Cleared.apply(leaf())  # type: ignore[no-untyped-call]
    assert node_of(looked)._raw_saved_tensors[0].data is not None
    looked.sum().backward()
    read: torch.Tensor = Cleared.apply(leaf())  # type: ignore[no-untyped-call]
    assert len(node_of(read).saved_tensors) == 1
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        read.sum().backward()


# --------------------------------------------------------------- freeing and lifetimes


def test_backward_frees_saved_tensors_and_nothing_else() -> None:
    x = leaf(2, 3)
    y = x.softmax(-1)
    node, accumulator = node_of(y), before(node_of(y))
    number = node._sequence_nr()
    node.metadata["gradviz test"] = 1
    y.sum().backward()
    assert node._raw_saved_result.data is None
    assert (y.grad_fn, before(node), accumulator.variable) == (node, accumulator, x)
    assert (node._sequence_nr(), node._saved_dim) == (number, 2**64 - 1)
    assert node.metadata["gradviz test"] == 1


def test_a_getter_of_a_list_raises_once_the_node_is_freed() -> None:
    y = leaf(2, 3)[torch.tensor([0]), torch.tensor([1])]
    node = node_of(y)
    assert len(node._raw_saved_indices) == 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        _ = node._raw_saved_indices


def test_a_node_that_saves_nothing_runs_again() -> None:
    y = (leaf() + 1).sum()
    y.backward()
    y.backward()


def test_a_function_that_saved_nothing_is_marked_freed_and_runs_again() -> None:
    y: torch.Tensor = SavesNothing.apply(leaf())  # type: ignore[no-untyped-call]
    assert node_of(y)._raw_saved_tensors == ()
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        _ = node_of(y)._raw_saved_tensors
    y.sum().backward()


def test_only_nodes_that_ran_are_freed() -> None:
    x = leaf()
    first, second = x.exp(), x.sin()
    torch.autograd.grad((first + second).sum(), first)
    assert node_of(first)._raw_saved_result.data is not None
    (first.sum() + second.sum().detach()).backward()
    assert node_of(first)._raw_saved_result.data is None
    assert node_of(second)._raw_saved_self.data is x


def test_a_second_backward_is_refused_at_the_first_freed_node() -> None:
    ran: list[str] = []
    x = leaf()
    trunk = x.exp()
    one, other = trunk.sin().sum(), trunk.cos().sum()
    one.backward()
    for node in (node_of(other), node_of(trunk)):
        node.register_prehook(lambda _, node=node: ran.append(node.name()))
    with pytest.raises(RuntimeError, match="second time") as raised:
        other.backward()
    assert ran == ["SumBackward0", "ExpBackward0"]
    assert "Exp" not in str(raised.value)


def test_a_storage_dies_when_its_memory_is_given_back() -> None:
    y = leaf().exp()
    z = y.sin().sum()
    storage = weakref.ref(y.untyped_storage())
    watched = torch.multiprocessing.reductions.StorageWeakRef(y.untyped_storage())
    del y
    gc.collect()
    assert storage() is not None
    assert not watched.expired()
    z.backward()
    assert storage() is None
    assert watched.expired()


def test_the_key_of_a_storage_is_not_given_to_another_while_it_is_watched() -> None:
    watched = []
    for _ in range(20):
        storage = torch.ones(3).untyped_storage()
        watched.append(torch.multiprocessing.reductions.StorageWeakRef(storage))
        del storage
    assert len({one.cdata for one in watched}) == 20
    assert all(one.expired() for one in watched)


def test_data_pointers_are_given_to_the_next_tensor() -> None:
    assert len({torch.ones(1000).data_ptr() for _ in range(20)}) < 20


# -------------------------------------------------------------------------- backward


def test_hooks_of_every_node_tell_order_and_gradients() -> None:
    log: list[Any] = []
    x = leaf(1)
    y = x * 3
    z = y * 2
    for node in (node_of(z), node_of(y), before(node_of(y))):

        def look(grads: Any, node: Node = node) -> None:
            assert torch._C._current_autograd_node() is node
            assert torch._C._current_graph_task_id() != -1
            log.append((node.name().split("::")[-1], grads[0].item()))

        node.register_prehook(look)
    assert torch._C._current_graph_task_id() == -1
    assert torch._C._current_autograd_node() is None
    z.backward()
    assert log == [("MulBackward0", 1), ("MulBackward0", 2), ("AccumulateGrad", 6)]


def test_saved_tensors_are_freed_after_the_hooks_of_a_node_and_before_the_next() -> None:
    log: list[bool] = []
    y = (leaf() * 2).sin()
    node = node_of(y)
    raw = node._raw_saved_self
    node.register_hook(lambda *_: log.append(raw.data is not None))
    before(node).register_prehook(lambda _: log.append(raw.data is not None))
    y.sum().backward()
    assert log == [True, False]


def _takes_over(keep: Callable[[torch.Tensor], Any]) -> bool:
    """Whether a leaf takes the engine's gradient over, or copies it."""
    given: list[int] = []
    kept: list[Any] = []

    class Gives(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            result = grad * 1
            given.append(result.data_ptr())
            return result

    x = leaf()
    y: torch.Tensor = Gives.apply(x)  # type: ignore[no-untyped-call]
    before(node_of(y)).register_prehook(lambda grads: kept.append(keep(grads[0])))
    y.sum().backward()
    assert x.grad is not None
    return x.grad.data_ptr() == given[0]


def test_a_leaf_takes_its_gradient_over_unless_a_hook_keeps_the_tensor() -> None:
    assert _takes_over(lambda grad: tuple(grad.shape))
    assert not _takes_over(lambda grad: grad)


def test_a_second_gradient_is_added_in_place() -> None:
    x = leaf()
    x.sum().backward()
    first = x.grad
    assert first is not None
    version = first._version
    x.sum().backward()
    assert x.grad is first
    assert first._version == version + 1


def _train(hooks: bool) -> list[Any]:
    torch.manual_seed(0)
    number = next_number()
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    hidden = model[1](model[0](torch.ones(2, 4)))
    hidden.retain_grad()
    loss = model[2](hidden).sum()
    handles, nodes, todo = [], [], [node_of(loss)]
    while todo:
        node = todo.pop()
        nodes.append(node)
        todo += [following for following, _ in node.next_functions if following is not None]
        if hooks:
            handles.append(node.register_prehook(lambda grads: None))
            handles.append(node.register_hook(lambda grad_inputs, grad_outputs: None))
    loss.backward()
    for handle in handles:
        handle.remove()
    freed = [node._raw_saved_result.data is None for node in nodes if "Tanh" in node.name()]
    found = [p.grad.tolist() for p in model.parameters() if p.grad is not None]
    versions = [p.grad._version for p in model.parameters() if p.grad is not None]
    return [
        found,
        versions,
        freed,
        hidden.grad.tolist(),
        next_number() - number,
        torch.rand(1).item(),
    ]


def test_hooks_that_return_none_change_no_gradient_version_or_freeing() -> None:
    bare, hooked = _train(False), _train(True)
    assert hooked == bare
    assert bare[2] == [True]


def test_gradients_in_a_hook_are_the_engines_own_and_are_not_recorded() -> None:
    seen: list[Any] = []
    x = leaf()
    y = x * 2
    node_of(y).register_prehook(
        lambda grads: seen.append((grads[0].stride(), torch.is_grad_enabled()))
    )
    loss = y.sum()
    loss.backward(retain_graph=True)
    torch.autograd.grad(loss, x, create_graph=True)
    assert seen == [((0,), False), ((0,), True)]


def test_an_error_in_a_hook_stops_backward_and_leaves_the_engine_usable() -> None:
    x = leaf()
    y = x.exp()
    z = y.sin()

    def refuse(grads: Any) -> None:
        raise KeyError("no")

    node_of(y).register_prehook(refuse)
    with pytest.raises(KeyError, match="no"):
        z.sum().backward()
    assert node_of(z)._raw_saved_self.data is None
    assert node_of(y)._raw_saved_result.data is not None
    assert torch._C._current_graph_task_id() == -1
    leaf().exp().sum().backward()


def test_the_gradient_of_what_was_broadcast_is_summed_before_node_hooks() -> None:
    narrow, seen = leaf(1, 2), []
    product = narrow * torch.ones(3, 2)
    node: Any = product.grad_fn
    node.register_hook(lambda grad_inputs, _: seen.append(grad_inputs[0].shape))
    product.sum().backward()
    assert seen == [narrow.shape]


def test_nodes_on_the_cpu_run_in_the_thread_that_calls_backward() -> None:
    threads: list[int] = []
    y = leaf().exp()
    node_of(y).register_prehook(lambda _: threads.append(threading.get_ident()))
    y.sum().backward()
    assert threads == [threading.get_ident()]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_nodes_on_a_gpu_run_in_a_thread_of_the_engine() -> None:
    threads: list[int] = []
    y = torch.ones(3, device="cuda", requires_grad=True).exp()
    node_of(y).register_prehook(lambda _: threads.append(threading.get_ident()))
    y.sum().backward()
    assert threads != [threading.get_ident()]


def test_a_hook_that_leads_to_a_later_tensor_keeps_the_graph_for_ever() -> None:
    def graph() -> tuple[Any, Any]:
        y = leaf().exp()
        z = y.sin()
        handle = node_of(y).register_prehook(lambda grads, z=z: None)
        return weakref.ref(z.untyped_storage()), handle

    storage, handle = graph()
    gc.collect()
    assert storage() is not None
    handle.remove()
    gc.collect()
    assert storage() is None


@each("how", ["backward", "autograd.backward", "autograd.grad", "inside"])
def test_every_backward_passes_one_python_function(how: str) -> None:
    passed: list[Any] = []
    original = torch.autograd.graph._engine_run_backward

    def trace(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code is original.__code__:
            passed.append(frame.f_locals["t_outputs"])

    x = leaf()
    y = checkpoint(torch.exp, x, use_reentrant=True).sum() if how == "inside" else x.exp().sum()
    calls: dict[str, Callable[[], Any]] = {
        "backward": y.backward,
        "autograd.backward": lambda: torch.autograd.backward(y),
        "autograd.grad": lambda: torch.autograd.grad(y, x),
        "inside": y.backward,
    }
    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        calls[how]()
    finally:
        sys.settrace(outer)
    assert [type(outputs) for outputs in passed] == [tuple] * (2 if how == "inside" else 1)
    assert passed[0][0] is y


# --------------------------------------------------------------------------- forward


def test_anomaly_mode_leaves_the_frames_of_the_forward_in_the_node() -> None:
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        y = leaf().exp()  # the line that is noted
    finally:
        torch.autograd.set_detect_anomaly(False)
    frames = node_of(y).metadata["traceback_"]
    assert "y = leaf().exp()  # the line that is noted" in frames[-1]
    assert "traceback_" in before(node_of(y)).metadata
    assert "traceback_" not in node_of(leaf().exp()).metadata


def test_sequence_numbers_before_and_after_a_line_bracket_its_nodes() -> None:
    x = leaf()
    first = next_number()
    y = (x * 2).exp().sum()
    last = next_number()
    numbers = [node._sequence_nr() for node in (node_of(y), before(node_of(y)))]
    numbers.append(before(before(node_of(y)))._sequence_nr())
    assert sorted(numbers) == list(range(first, last))


def test_a_function_mode_sees_every_operation_with_its_arguments() -> None:
    x = leaf()
    with Functions() as mode:
        y = x * 2
        y[0] = 5
        torch.exp(y).sum()
    assert mode.names == ["mul", "__setitem__", "exp", "sum"]


def test_views_and_detached_tensors_share_a_version_and_writes_move_it() -> None:
    base = torch.ones(3)
    others = [base[0], base.detach()]
    base.add_(1)
    base[1] = 3
    torch.mul(base, 2, out=base)
    assert [tensor._version for tensor in (base, *others)] == [3, 3, 3]


def test_writes_by_data_and_numpy_move_no_version() -> None:
    base = torch.ones(3)
    base.data.add_(1)
    base.numpy()[0] = 7
    assert (base._version, base[0].item()) == (0, 7)


def test_a_fused_optimizer_may_move_no_version() -> None:
    versions = []
    for fused in (True, False):
        weight = leaf()
        optimizer = torch.optim.Adam([weight], fused=fused)
        weight.sum().backward()
        old = weight.detach().clone()
        optimizer.step()
        assert not torch.equal(weight, old)
        versions.append(weight._version)
    assert versions == [0, 1]


def _entered(code: Any, function: Callable[[], Any]) -> list[Any]:
    """First positional argument of the frames that run a code object."""
    found: list[Any] = []

    def trace(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code is code:
            variables = frame.f_locals
            found.append(variables["self"] if "self" in variables else variables["args"][0])

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(outer)
    return found


@each("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.LBFGS])
def test_every_step_of_an_optimizer_runs_through_one_wrapper(kind: Any) -> None:
    weight = leaf()
    weight.sum().backward()
    optimizer = kind([weight], lr=0.1)
    code = torch.optim.Optimizer.profile_hook_step(lambda: None).__code__
    assert _entered(code, lambda: optimizer.step(lambda: weight.detach().sum())) == [optimizer]


@pytest.mark.filterwarnings("ignore:Detected call of")
def test_a_scheduler_steps_when_it_is_made_and_notes_whether_its_optimizer_has_stepped() -> None:
    weight = leaf()
    weight.sum().backward()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    made: list[torch.optim.lr_scheduler.StepLR] = []
    make = torch.optim.lr_scheduler.LRScheduler._initial_step.__code__
    step = torch.optim.lr_scheduler.LRScheduler.step.__code__
    started = lambda: made.append(torch.optim.lr_scheduler.StepLR(optimizer, 1))  # noqa: E731
    assert len(_entered(make, started)) == 1
    assert len(_entered(step, started)) == 1
    made[0].step()
    assert not getattr(optimizer, "_opt_called", False)
    optimizer.step()
    assert optimizer._opt_called  # type: ignore[attr-defined]


def test_apply_numbers_the_node_and_switches_grad_mode_off_before_it_calls_forward() -> None:
    seen: list[tuple[bool, Any, bool]] = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = x * 2
            seen.append((torch.is_grad_enabled(), ctx._sequence_nr(), y.grad_fn is None))
            return y

    x, double = leaf(), cast("Any", Double.apply)
    with Functions() as mode:
        y = double(x)
        with torch.no_grad():
            pass
    assert [name for name in mode.names if "grad_enabled" in name] == ["_set_grad_enabled"] * 2
    assert seen == [(False, y.grad_fn._sequence_nr(), True)]


def test_apply_is_in_c_since_torch_2_14() -> None:
    is_in_python = hasattr(torch.autograd.Function.apply, "__func__")
    assert is_in_python == (RELEASE < (2, 14))


def test_a_warning_of_torch_names_the_innermost_python_frame() -> None:
    variables: dict[str, Any] = {}
    exec(compile("\ndef f(x):\n    return x.grad", "the file", "exec"), variables)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        variables["f"](leaf().exp())
    assert [(one.filename, one.lineno) for one in caught] == [("the file", 3)]


def test_an_operation_is_no_event_of_the_profiler_while_record_functions_are_disabled() -> None:
    x = torch.ones(3)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        assert torch._C._autograd._profiler_enabled()
        x.sin()
        torch._C._autograd._enable_record_function(False)
        x.cos()
        torch._C._autograd._enable_record_function(True)
        x.tan()
    assert not torch._C._autograd._profiler_enabled()
    events: Any = profiler.events()
    assert [event.name for event in events] == ["aten::sin", "aten::tan"]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:`torch.jit.trace` is deprecated:FutureWarning")
def test_a_trace_misses_operations_without_its_state_and_names_values_by_the_innermost_frame() -> (
    None
):
    internals: Any = torch._C

    def inner(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    def function(x: torch.Tensor) -> torch.Tensor:
        y = inner(x) * 2
        state = internals._get_tracing_state()
        assert state is not None
        internals._set_tracing_state(None)
        y.cos()
        internals._set_tracing_state(state)
        return inner(y)

    trace: Any = torch.jit.trace(function, (torch.ones(3),), check_trace=False)
    assert torch._C._get_tracing_state() is None
    graph = str(trace.graph)
    assert re.findall(r"aten::(\w+)", graph) == ["sin", "mul", "sin"]
    assert "%y" not in graph
    assert "%x" in graph


def test_resolving_a_name_makes_python_forget_which_warnings_it_has_shown() -> None:
    def shown(between: Callable[[], object]) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(2):
                warnings.warn("once per place", stacklevel=1)
                between()
        return len(caught)

    resolve: Any = torch.overrides.resolve_name
    assert shown(lambda: None) == 1
    assert shown(lambda: resolve(torch.add)) == 2
    assert shown(lambda: resolve.__wrapped__(torch.add)) == 1


# --------------------------------------------------------------------------- modules


def test_every_call_of_a_module_runs_through_one_function() -> None:
    inner = torch.nn.Linear(3, 3)
    model = torch.nn.Sequential(inner, inner)
    entered = _entered(torch.nn.Module._call_impl.__code__, lambda: model(torch.ones(1, 3)))
    assert entered == [model, inner, inner]


def test_sequence_numbers_before_and_after_a_module_bracket_its_nodes() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    spans: list[tuple[int, int]] = []
    for module in model:
        module.register_forward_pre_hook(lambda *_: spans.append((next_number(), 0)))
        module.register_forward_hook(lambda *_: spans.append((spans.pop()[0], next_number())))
    y = model(torch.ones(1, 3))
    (_, end_of_linear), (start_of_tanh, end) = spans
    assert end_of_linear == start_of_tanh == node_of(y)._sequence_nr()
    assert end == start_of_tanh + 1


def test_a_transformer_layer_runs_one_fused_kernel_unless_a_mode_is_on() -> None:
    kernels = []
    layer = torch.nn.TransformerEncoderLayer(4, 2, 4, batch_first=True).eval()
    x = torch.ones(1, 2, 4)
    with torch.no_grad():
        with Kernels() as mode:
            layer(x)
        kernels.append(mode.names)
        with Kernels() as mode, Functions():
            layer(x)
        kernels.append(mode.names)
    fused = "aten._transformer_encoder_layer_fwd.default"
    assert [fused in names for names in kernels] == [True, False]


class _Spare(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.frozen = torch.nn.Linear(1, 1).requires_grad_(False)
        self.used = torch.nn.Linear(1, 1)
        self.spare = torch.nn.Linear(1, 1)
        self.norm = torch.nn.BatchNorm1d(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.norm(self.used(x))
        return out


@pytest.fixture
def replica() -> Iterator[Any]:
    distributed = torch.distributed
    store = vars(distributed)["HashStore"]()
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield torch.nn.parallel.DistributedDataParallel(_Spare())
    distributed.destroy_process_group()


def test_ddp_numbers_the_parameters_that_require_grad_in_their_order(replica: Any) -> None:
    replica(torch.ones(2, 1)).sum().backward()
    with pytest.raises(RuntimeError, match=r"did not receive grad for rank 0: 2 3\n"):
        replica(torch.ones(2, 1))
    names = [name for name, p in replica.module.named_parameters() if p.requires_grad]
    assert names[2:4] == ["spare.weight", "spare.bias"]
    assert replica._get_ddp_logging_data()["num_parameter_tensors"] == len(names)


def test_ddp_takes_buffers_over_in_one_function_before_forward(replica: Any) -> None:
    before = []
    replica._sync_buffers = lambda: before.append(replica.module.norm.num_batches_tracked.item())
    for _ in range(2):
        replica(torch.ones(2, 1))
    assert before == [0, 1]


# ---------------------------------------------------------------------------- errors


def _backward_twice() -> None:
    y = leaf().exp().sum()
    y.backward()
    y.backward()


def _saved_input_written() -> None:
    h = leaf() * 1
    y = h.sin()
    h.add_(1)
    y.sum().backward()


def _saved_output_detached() -> None:
    h = leaf() * 1
    y = h.sin()
    h.detach_()
    y.sum().backward()


def _inference_tensor_saved() -> None:
    with torch.inference_mode():
        weight = torch.ones(3)
    leaf() * weight


def _view_without_recording() -> tuple[torch.Tensor, torch.Tensor]:
    base = leaf() * 1
    with torch.no_grad():
        return base, base[:2]


def _base_written() -> None:
    base, view = _view_without_recording()
    base.add_(1)
    view.sum()


def _too_few_gradients() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad

    Product.apply(leaf(), leaf()).sum().backward()  # type: ignore[no-untyped-call]


SUFFIX = "" if RELEASE >= (2, 13) else "Backward0"
"""Before torch 2.13 sentences name a node, since then its operation."""
ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "backward twice": (_backward_twice, "^Trying to backward through the graph a second time"),
    "saved input written": (
        _saved_input_written,
        r"has been modified by an inplace operation: \[torch.FloatTensor \[3\]\], which is output "
        rf"0 of Add{SUFFIX}, is at version 1; expected version 0 instead",
    ),
    "saved tensor detached": (_saved_output_detached, "saved tensor that has been detached in-pl"),
    "leaf written": (lambda: leaf().add_(1), "^a leaf Variable that requires grad"),
    "view of a leaf written": (lambda: leaf()[0].add_(1), "^a view of a leaf Variable"),
    "one of several views written": (
        lambda: (leaf() * 1).unbind(0)[0].add_(1),
        f"^Output 0 of Unbind{SUFFIX} is a view .* function that returns multiple views",
    ),
    "view made without recording written": (
        lambda: _view_without_recording()[1].add_(1),
        "^A view was created in no_grad mode and is being modified inplace",
    ),
    "view of a written base used": (
        _base_written,
        "its base or another view of its base has been modified inplace",
    ),
    "resized": (lambda: leaf().resize_(4), "^cannot resize variables that require grad"),
    "view detached": (lambda: (leaf() * 1)[0].detach_(), "^Can't detach views in-place"),
    "expanded tensor written": (
        lambda: (leaf() * 1).expand(2, 3).add_(1),
        "more than one element of the written-to tensor refers to a single memory location",
    ),
    "function of each number": (
        lambda: (leaf() * 1).apply_(abs),
        r"^Can't call apply_\(\) on Variable that requires grad",
    ),
    "inference tensor saved": (_inference_tensor_saved, "^Inference tensors cannot be saved for"),
    "not a scalar": (
        lambda: leaf().exp().backward(),
        "^grad can be implicitly created only for scalar outputs",
    ),
    "not a real scalar": (
        lambda: (leaf() * 1j).sum().backward(),
        "^grad can be (implicitly )?created only for real scalar outputs",
    ),
    "no gradient required": (
        lambda: torch.ones(3).sum().backward(),
        "^element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "integers": (
        lambda: torch.ones(3, dtype=torch.int64, requires_grad=True),
        "^Only Tensors of floating point and complex dtype can require gradients",
    ),
    "flag of a result": (
        lambda: (leaf() * 2).requires_grad_(False),
        "only change requires_grad flags of leaf variables",
    ),
    "numpy": (lambda: leaf().numpy(), r"^Can't call numpy\(\) on Tensor that requires grad"),
    "copy of a result": (
        lambda: copy.deepcopy(leaf() * 2),
        "support the deepcopy protocol",
    ),
    "gradient of another shape": (
        lambda: leaf().exp().backward(torch.ones(2)),
        r"^Mismatch in shape: grad_output\[0\] has a shape",
    ),
    "unused": (
        lambda: torch.autograd.grad(leaf().sum(), leaf()),
        "appears to not have been used in the graph",
    ),
    "too few gradients": (
        _too_few_gradients,
        r"returned an incorrect number of gradients \(expected 2, got 1\)",
    ),
}


def test_a_view_made_under_no_grad_says_that_it_is_a_leaf() -> None:
    base, view = _view_without_recording()
    assert not base.is_leaf
    assert (view.is_leaf, view.requires_grad, view._is_view()) == (True, True, True)


@each("error", ERRORS)
def test_what_torch_says_when_it_refuses(error: str) -> None:
    program, sentence = ERRORS[error]
    with pytest.raises(RuntimeError, match=sentence):
        program()


# ----------------------------------------------------------------------------- costs


def test_listing_the_attributes_of_a_class_costs_many_reads() -> None:
    node = node_of(leaf().exp())
    kind = type(node)
    listing = min(timeit.repeat(lambda: dir(kind), number=200, repeat=5))
    reading = min(timeit.repeat(lambda: node._raw_saved_result, number=200, repeat=5))
    assert listing > 3 * reading


def test_memory_that_numpy_shares_is_not_resizable() -> None:
    given, asked, plain = torch.ones(3), torch.ones(3), torch.ones(3)
    array = given.detach().numpy()
    other = np.asarray(asked)
    made = torch.from_numpy(np.ones(3))
    shared = [t.untyped_storage().resizable() for t in (given, asked, made, plain)]
    assert shared == [False, False, False, True]
    assert array is not other


def test_tensors_with_weak_references_are_not_swapped() -> None:
    x, y = leaf(), torch.zeros(3)
    product = (x * 2).sum()
    node = node_of(product).next_functions[0][0].next_functions[0][0]
    reference = weakref.ref(x)
    for one, other in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="has weakref associated with it"):
            torch.utils.swap_tensors(one, other)
    del reference
    assert node.variable is x
    torch.utils.swap_tensors(x, y)
    assert node.variable is y
    assert (x.shape, x.requires_grad, y.requires_grad) == ((3,), False, True)
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        product.backward()


def test_a_tensor_that_is_refused_without_a_call_is_in_a_variable() -> None:
    result, integers = leaf() * 2, torch.tensor([1, 2])
    runs: list[tuple[Callable[[], Any], str, torch.Tensor]] = [
        (lambda: torch.optim.SGD([result], lr=0.1), "add_param_group param", result),
        (lambda: torch.nn.Parameter(integers), "__new__ data", integers),
    ]
    for run, known, wrong in runs:
        with pytest.raises((ValueError, RuntimeError)) as caught:
            run()
        entry = caught.tb
        while entry.tb_next is not None:
            entry = entry.tb_next
        function, variable = known.split()
        assert entry.tb_frame.f_code.co_name == function
        assert entry.tb_frame.f_locals[variable] is wrong
