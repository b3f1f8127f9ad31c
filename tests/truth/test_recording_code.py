"""Code of every form runs in a recorded block as it runs without."""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable, Generator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.modes import Kernels
from tests.programs import Double, apply
from tests.truth.recorded import (
    Seen,
    Spy,
    Story,
    assert_same,
    bits,
    facts,
    nodes_now,
)

STORIES: dict[str, Story] = {}


def story(function: Story) -> Story:
    STORIES[function.__name__] = function
    return function


def leaf() -> Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def scale(x: Tensor) -> Tensor:
    doubled = x * 2
    gone = weakref.ref(doubled)
    doubled = doubled + 1
    print("inside a function, the first is", gone())
    return doubled


# --- life of variables ----------------------------------------------------------------------


@story
def variables_are_rebound_and_deleted(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        y = x * 2
        first = weakref.ref(y)
        y = y.exp()
        print(first() is None)
        second = weakref.ref(y)
        z = y.sin()
        del y
        print(second() is None)
        third = weakref.ref(z)
        z = None  # type: ignore[assignment]
        print(third() is None)
        big = torch.ones(1000)
        memory = weakref.ref(big)
        big = torch.zeros(3)
        print(memory() is None, big)
        kept = [x * i for i in range(3)]
        some = weakref.ref(kept[1])
        kept.pop(1)
        print(some() is None)


@story
def a_function_that_is_stepped_into(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        y = scale(x)
        print(y.sum().item())
        scale(y).sum().backward()
    seen["facts"] = facts(x)


@story
def saved_tensors_die_inside_backward(block: Any, seen: Seen) -> None:
    happened: list[Any] = []
    with block:
        x = leaf()
        first = x.exp()
        second = first.exp()
        out = second.sum()
        for name, tensor in (("first", first), ("second", second)):
            weakref.finalize(tensor.untyped_storage(), happened.append, f"{name} died")
        x.register_hook(lambda g: happened.append("gradient of x"))
        first.register_hook(lambda g: happened.append("gradient of first"))
        first.grad_fn.register_prehook(lambda g: happened.append("before first"))  # type: ignore[union-attr]
        first.grad_fn.register_hook(lambda i, o: happened.append("after first"))  # type: ignore[union-attr]
        del first, second, tensor
        out.backward()
        happened.append("backward returned")
    seen["happened"] = happened


@story
def a_graph_that_is_dropped_midway(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        hidden = x.exp()
        loss = hidden.sum()
        memory = weakref.ref(hidden.untyped_storage())
        node = hidden.grad_fn
        del hidden, loss
        print(memory() is None)
        del node
        print(memory() is None)


# --- forms of code --------------------------------------------------------------------------


@story
def generators_comprehensions_and_nested_functions(block: Any, seen: Seen) -> None:
    def numbers(x: Tensor) -> Generator[Tensor, None, None]:
        for i in range(3):
            y = x * i
            yield y
            print("after", i)

    with block:
        x = leaf()
        total = torch.zeros(2)
        for y in numbers(x):
            total = total + y

        def inner(t: Tensor) -> Tensor:
            return t + x

        half_read = numbers(x)
        next(half_read)
        squares = [t * t for t in (x, inner(x))]
        table = {i: t.sum() for i, t in enumerate(squares)}
        chosen = sum(t for t in table.values() if t > 0)
        (total.sum() + chosen).backward()
        half_read.close()
        print(total, (lambda t: t + 1)(x))
        while total.sum() < 100:
            total = total * 3
            if total.sum() > 50:
                continue
        assert total.sum() > 100, "a message"
        match total.dim():
            case 1:
                print("one")
        import math

        print(math.pi, __name__, __file__)
    seen["facts"] = facts(x)


@story
def a_return_from_inside_the_block(block: Any, seen: Seen) -> None:
    def run() -> Tensor:
        with block:
            x = leaf()
            for _ in range(3):
                x = x * 2
                if x.sum() > 5:
                    return x
        raise AssertionError

    seen["value"] = bits(run())


@story
def coroutines_that_the_block_runs(block: Any, seen: Seen) -> None:
    async def step(x: Tensor) -> Tensor:
        return x * 2

    async def both(x: Tensor) -> Tensor:
        return await step(x) + await step(x)

    with block:
        running = both(leaf())
        try:
            running.send(None)
        except StopIteration as done:
            print(done.value)


# --- errors and warnings --------------------------------------------------------------------


def fails(x: Tensor) -> Tensor:
    return x @ torch.ones(3, 3)


@story
def errors_that_are_caught(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        for run in (
            lambda: fails(x),
            lambda: x.view(7),
            lambda: nn.Linear(5, 1)(x),
            lambda: nn.functional.linear(x, x, x, x),  # type: ignore[call-arg]
            lambda: torch.cat([x, 3]),  # type: ignore[list-item]
            lambda: x.sum().backward(torch.ones(5)),
            lambda: (x * 2).backward(),
            lambda: x.add_(1),
            lambda: torch.autograd.grad(torch.ones(1), x),
            lambda: apply(Double, x),
            lambda: torch.func.grad(lambda t: t)(x),
        ):
            try:
                run()
            except Exception:
                print(traceback.format_exc())
        try:
            y = (x * x).sum()
            y.backward()
            y.backward()
        except RuntimeError as error:
            print(traceback.format_exc(), error)
            saved = error
        print([entry.name for entry in traceback.extract_tb(saved.__traceback__)])
        try:
            try:
                fails(x)
            except RuntimeError as error:
                raise ValueError("another") from error
            finally:
                print(sys.exc_info()[0])
        except ValueError:
            traceback.print_exc()


@story
def an_error_that_leaves_the_block(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        y = x * 2
        fails(y)


@story
def an_error_that_leaves_backward(block: Any, seen: Seen) -> None:
    with block:
        x, w = leaf(), torch.ones(2)
        y = (x * w).exp()
        w.add_(1)
        y.sum().backward()


@story
def an_error_in_a_hook(block: Any, seen: Seen) -> None:
    def refuse(grad: Tensor) -> None:
        raise KeyError("no")

    x = leaf()
    y = x.exp()
    try:
        with block:
            y.register_hook(refuse)
            loss = y.sin().sum()
            loss.backward()
    finally:
        seen["nodes"] = nodes_now([loss])
        seen["facts"] = facts(x)


@story
def an_error_in_a_custom_function(block: Any, seen: Seen) -> None:
    class Refuses(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise ZeroDivisionError

    with block:
        x = leaf()
        apply(Refuses, x).sum().backward()


@story
def the_end_of_the_program(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        x.sum().backward()
        sys.exit(3)


def warns(x: Tensor) -> None:
    warnings.warn("of the user's", stacklevel=2)


@story
def warnings_name_the_users_line(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        y = x * 2
        print(y.grad)  # warns of a tensor that is no leaf
        for _ in range(2):
            warns(x)
            torch.tensor(x)  # warns in Python, once a place
        (x.sum()).backward(create_graph=True)
        torch.nn.functional.softmax(x)
        nn.CrossEntropyLoss(reduce=True)
        print(torch.ones(2, 3).T.T.T)
        print(torch.ones(3).T)  # warns in C++


# --- what torch can do ----------------------------------------------------------------------


@story
def random_numbers(block: Any, seen: Seen) -> None:
    with block:
        torch.manual_seed(1)
        x = torch.randn(3, requires_grad=True)
        y = nn.functional.dropout(x, 0.5)
        y.sum().backward()
        print(torch.rand(2), x.grad)


@story
def a_function_mode_of_the_users(block: Any, seen: Seen) -> None:
    with Spy() as outer, block:
        x = leaf()
        with Spy() as inner:
            y = x * 2
            y.register_hook(lambda g: g * 2)
            y.sum().backward()
            print(y)
        z = x.exp()
    seen["calls"] = outer.calls, inner.calls
    seen["alive"] = outer.alive(), inner.alive()
    seen["facts"] = facts(x), facts(z)


@story
def a_dispatch_mode_of_the_users(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        with Kernels() as mode:
            y = (x * x).exp()
            y.sum().backward()
            x.grad.add_(1)  # type: ignore[union-attr]
    seen["calls"], seen["facts"] = mode.names, facts(x)


@story
def a_tensor_subclass(block: Any, seen: Seen) -> None:
    calls = []

    class Loud(Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(torch.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]

    with block:
        x = torch.ones(2).as_subclass(Loud).requires_grad_()
        y = (x * x).exp().sum()
        y.backward()
        print(x.grad, type(y).__name__)
    seen["calls"], seen["facts"] = calls, facts(x)


@story
def the_default_device_and_dtype(block: Any, seen: Seen) -> None:
    try:
        with block:
            torch.set_default_dtype(torch.float64)
            torch.set_default_device("cpu")
            x = torch.ones(2, requires_grad=True)
            with torch.device("meta"):
                shape_only = torch.ones(3, requires_grad=True) * 2
            print(x, shape_only)
            torch.set_default_device(None)
            x.sum().backward()
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


@story
def inference_mode_and_the_fast_path_of_a_transformer(block: Any, seen: Seen) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    tokens = torch.rand(2, 3, 8)
    with block:
        with torch.no_grad():
            fast = layer(tokens)
        with torch.inference_mode():
            faster = layer(tokens)
            print(faster.is_inference())
        slow = layer(tokens)
        slow.sum().backward()
    seen["values"] = bits(fast), bits(faster), bits(slow)


@story
def transforms(block: Any, seen: Seen) -> None:
    def loss(x: Tensor) -> Tensor:
        return (x.sin() * x).sum()

    with block:
        x = leaf()
        slope = torch.func.grad(loss)(x)
        both = torch.func.vmap(torch.func.grad(loss))(torch.stack([x, x * 2]))
        jacobian = torch.func.jacrev(lambda t: t * t)(x)
        tangent = torch.func.jvp(loss, (x.detach(),), (torch.ones(2),))
        hessian = torch.func.hessian(loss)(x)
        (slope.sum() + both.sum()).backward()
        print(slope, both, jacobian, tangent, hessian)
    seen["facts"] = facts(x)


@story
def checkpoints(block: Any, seen: Seen) -> None:
    runs = []

    def part(x: Tensor) -> Tensor:
        runs.append(torch.is_grad_enabled())
        return nn.functional.dropout(x.sin(), 0.5).exp()

    with block:
        x = leaf()
        for reentrant in (False, True):
            y = checkpoint(part, x * 2, use_reentrant=reentrant)
            y.sum().backward()
    seen["facts"], seen["runs"] = facts(x), runs


@story
def hooks_that_change_gradients(block: Any, seen: Seen) -> None:
    calls: list[Any] = []

    def note(name: str) -> Callable[[Any], Any]:
        return lambda g: calls.append((name, bits(g)))

    with block:
        x = leaf()
        y = x * 2
        y.register_hook(note("first"))
        y.retain_grad()
        y.register_hook(lambda g: g * 3)
        y.register_hook(note("second"))
        x.register_post_accumulate_grad_hook(lambda t: calls.append(bits(t.grad)))
        x.register_hook(note("leaf"))
        y.grad_fn.register_prehook(lambda g: (g[0] * 2,))  # type: ignore[union-attr]
        y.grad_fn.register_hook(lambda i, o: calls.append((bits(i[0]), bits(o[0]))))  # type: ignore[union-attr]
        torch.autograd.graph.register_multi_grad_hook([y], lambda gs: calls.append(len(gs)))
        y.exp().sum().backward()
    seen["calls"], seen["facts"] = calls, (facts(x), facts(y))


@story
def gradients_of_gradients(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        y = (x**3).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        (curve,) = torch.autograd.grad(slope.sum(), [x], retain_graph=True)
        y.backward(inputs=[x], retain_graph=True)
        slope.pow(2).sum().backward()
        print(torch.autograd.grad(x.sum() * 2, [x, y], allow_unused=True))
        torch.autograd.functional.hessian(lambda t: (t**3).sum(), x)
    seen["facts"] = facts(x), facts(curve)


@story
def a_backward_in_a_hook(block: Any, seen: Seen) -> None:
    with block:
        x, w = leaf(), leaf()
        y = x * 2
        y.register_hook(lambda g: (w * g.sum()).sum().backward())
        y.sum().backward()
    seen["facts"] = facts(x), facts(w)


@story
def memory_written_behind_torchs_back(block: Any, seen: Seen) -> None:
    with block:
        x = leaf()
        w = torch.ones(2)
        y = x * w
        w.numpy()[0] = 5
        w.data.mul_(2)
        w.untyped_storage().fill_(0)  # type: ignore[attr-defined]
        x.data = torch.zeros(2)
        y.sum().backward()
    seen["facts"] = facts(x), facts(w)


@story
def work_in_another_thread(block: Any, seen: Seen) -> None:
    results = []

    def work() -> None:
        w = leaf()
        (w * w).sum().backward()
        results.append(bits(w.grad))

    with block:
        x = leaf()
        y = (x * x).sum()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        other = threading.Thread(target=y.backward)
        other.start()
        other.join()
        x.sum().backward()
    seen["results"], seen["facts"] = results, facts(x)


@story
def built_before_the_recording(block: Any, seen: Seen) -> None:
    x = leaf()
    hidden = x.exp()
    hidden.retain_grad()
    loss = hidden.sin().sum()
    with block:
        loss.backward()
    seen["facts"], seen["nodes"] = (facts(x), facts(hidden)), nodes_now([loss])


@story
def a_state_dict_is_saved_and_loaded(block: Any, seen: Seen) -> None:
    import copy
    import io
    import pickle

    with block:
        model = nn.Linear(2, 1)
        with torch.no_grad():
            model.weight.fill_(0.5)
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        model.load_state_dict(torch.load(file))
        twin = copy.deepcopy(model)
        again = pickle.loads(pickle.dumps(model.weight))
        print(twin.weight, again, repr(model), hash(twin.weight) != 0, len(twin.weight))
    seen["facts"] = facts(model.weight), facts(twin.weight)


@story
def a_compiled_function(block: Any, seen: Seen) -> None:
    compiled = torch.compile(lambda x: (x * x).sin().sum(), backend="eager")
    with block:
        x = leaf()
        y = compiled(x)
        y.backward()
        compiled(x * 2).backward()
    compiled(x)
    seen["facts"], seen["nodes"] = facts(x), nodes_now([y])


@pytest.mark.parametrize("name", STORIES)
def test_code_runs_the_same_with_and_without_a_recording(name: str) -> None:
    into: Any = [scale] if name == "a_function_that_is_stepped_into" else ()
    assert_same(STORIES[name], into=into)
