from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch

import gradviz
from gradviz.capture import autograd
from gradviz.capture.run_values import RunObserver, run_backward
from gradviz.model import ValueSummary
from gradviz.model.run_values import RunValues


def observed(
    program: Callable[[torch.Tensor], torch.Tensor], value: float = 2.0
) -> tuple[torch.Tensor, RunObserver]:
    observer = RunObserver()
    with observer.on():
        out = program(torch.tensor(value, requires_grad=True))
    return out, observer


def numbers(found: Mapping[tuple[str, int], ValueSummary | None]) -> dict[str, object]:
    return {f"{node}.{place}": one and one.values for (node, place), one in found.items()}


def test_values_and_gradients_have_the_ids_of_the_snapshot() -> None:
    def program(a: torch.Tensor) -> torch.Tensor:
        out = (a * 3).exp()
        out.backward()
        return out

    out, observer = observed(program, 0.0)
    found = observer.values([out])
    graph = gradviz.snapshot(out)
    assert [node.name for node in graph.nodes] == ["ExpBackward0", "MulBackward0", "AccumulateGrad"]
    assert numbers(found.outputs) == {"n0.0": (1.0,), "n1.0": (0.0,)}
    assert numbers(found.gradients) == {"n0.0": (1.0,), "n1.0": (3.0,)}


def test_only_few_numbers_are_noted_and_a_write_in_place_is_of_its_own_node() -> None:
    def program(a: torch.Tensor) -> torch.Tensor:
        many = a * torch.ones(9)
        few = a * 2
        few.mul_(5)
        with torch.no_grad():
            few.add_(100)
        return few + many.sum()

    out, observer = observed(program)
    made = set(numbers(observer.values([out]).outputs).values())
    assert made == {(4.0,), (20.0,), (18.0,), (138.0,)}


def test_the_gradients_are_those_of_the_last_backward() -> None:
    def program(a: torch.Tensor) -> torch.Tensor:
        out = a * 3
        out.backward(retain_graph=True)
        out.backward(torch.tensor(2.0))
        return out

    out, observer = observed(program)
    assert observer.backwards == 2
    assert numbers(observer.values([out]).gradients) == {"n0.0": (6.0,)}


def test_hooks_are_gone_afterwards_also_after_an_error() -> None:
    def program(a: torch.Tensor) -> torch.Tensor:
        out = a * 3
        out.backward()
        with pytest.raises(RuntimeError, match="second time"):
            (out * a).backward()
        return out

    out, _ = observed(program)
    assert autograd.node_hooks(out.grad_fn) == []
    assert torch.autograd._engine_run_backward.__name__ == "_engine_run_backward"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("program", "is_derivative"),
    [
        (lambda a: a * 2, True),
        (lambda a: a * (2 if a > 1 else 3), True),
        (lambda a: a * a.detach(), False),
        (lambda a: a * a.data, False),
        (lambda a: a * a.item(), False),
        (lambda a: a * torch.tensor([a.item()]).sum(), False),
        (lambda a: a * a * len(f"{a.item()}"), True),
        (lambda a: a * (2 if a.item() > 1 else 3), True),
        (lambda a: a * torch.no_grad()(torch.exp)(a), False),
        (lambda a: a * torch.no_grad()(torch.argmax)(a), False),
    ],
)
def test_a_value_that_goes_around_autograd_is_noticed(
    program: Callable[[torch.Tensor], torch.Tensor], is_derivative: bool
) -> None:
    def run(a: torch.Tensor) -> torch.Tensor:
        out = program(a)
        out.backward()
        return out

    out, observer = observed(run)
    assert observer.is_derivative_of(out) is is_derivative


def test_a_backward_that_does_not_start_with_one_gives_no_derivative() -> None:
    def run(a: torch.Tensor) -> torch.Tensor:
        out = a * 2
        out.backward(torch.tensor(3.0))
        return out

    out, observer = observed(run)
    assert not observer.is_derivative_of(out)
    (two, other) = observed(lambda a: a * 2)
    assert not other.is_derivative_of(two)


def test_autograd_grad_is_no_backward_and_its_result_is_cut_unless_it_has_a_graph() -> None:
    def slope(a: torch.Tensor, create_graph: bool) -> torch.Tensor:
        (found,) = torch.autograd.grad(a**3, a, create_graph=create_graph)
        out = a * found
        out.backward()
        return out

    for create_graph in (True, False):
        out, observer = observed(lambda a, c=create_graph: slope(a, c))  # type: ignore[misc]
        assert observer.backwards == 1
        assert observer.is_derivative_of(out) is create_graph


def test_what_cannot_be_looked_at_does_not_stop_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    def program(a: torch.Tensor) -> torch.Tensor:
        out = a * 3
        out.backward()
        return out

    for name in ("returned", "_begin", "_ran"):
        with monkeypatch.context() as patched:
            patched.setattr(RunObserver, name, fails)
            out, observer = observed(program)
        assert out.item() == 6.0
        assert not observer.is_derivative_of(out)


def test_a_compiled_function_is_compiled_as_ever_and_once() -> None:
    compiled = torch.compile(lambda a: (a * 2).sin(), backend="aot_eager")
    torch._dynamo.utils.counters.clear()
    for value in (0.1, 0.2, 0.3):
        out, _ = observed(compiled, value)
        assert type(out.grad_fn).__name__ == "CompiledFunctionBackward"
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_a_backward_inside_of_a_backward_is_part_of_it() -> None:
    def run(a: torch.Tensor) -> torch.Tensor:
        out = a * 2
        other = torch.tensor(1.0, requires_grad=True)

        def hook(_grad: torch.Tensor) -> None:
            with torch.enable_grad():
                (other * 5).backward()

        out.register_hook(hook)
        out.backward()
        return out

    out, observer = observed(run)
    assert observer.backwards == 1
    assert numbers(observer.values([out]).gradients) == {"n0.0": (2.0,)}


def test_inside_of_a_recording_nothing_is_observed() -> None:
    with gradviz.record():
        out, observer = observed(lambda a: a * 2)
    assert not observer.is_on
    assert observer.values([out]) == RunValues()


def test_the_backward_that_is_called_adds_only_to_the_leaves_that_are_given() -> None:
    a, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0))
    assert run_backward(a * b, {"a": a, "b": b}, {"a": None, "b": None}) == "retain_graph=True"
    assert (a.grad, b.grad) == (torch.tensor(3.0), torch.tensor(2.0))
    words = run_backward(a * b, {"a": a}, {"a": None})
    assert words == "retain_graph=True, inputs=[a]"
    assert (a.grad, b.grad) == (torch.tensor(6.0), torch.tensor(2.0))
