"""What torch says when it refuses a backward leads to the row of that fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.analysis.explain.fault_table import faults_of
from gradviz.model.explanation import ErrorKind


def leaf() -> Tensor:
    return torch.ones(2, requires_grad=True)


def hooked(register: str, hook: Callable[..., Any]) -> None:
    net = nn.Linear(2, 1)
    getattr(net, register)(hook)
    net(leaf()).backward()


def hooked_node(hook: Callable[..., Any]) -> None:
    y = leaf() * 2
    assert y.grad_fn is not None
    y.grad_fn.register_hook(hook)
    y.sum().backward()


def hooked_tensor(hook: Callable[[Tensor], Any]) -> None:
    w = leaf()
    w.register_hook(hook)
    w.sum().backward()


def of_function(**methods: Any) -> Any:
    """``apply`` of a custom Function with these methods."""
    own = {name: staticmethod(method) for name, method in methods.items()}
    return type("Own", (torch.autograd.Function,), own).apply  # type: ignore[attr-defined]


def marks_dirty(ctx: Any, x: Tensor) -> Tensor:
    ctx.mark_dirty(x)
    return x.clone()


def same(ctx: Any, x: Tensor) -> Tensor:
    return x * 1


def two_kinds_of_hooks() -> None:
    net = nn.Linear(2, 1)
    net.register_backward_hook(lambda *_: None)
    net.register_full_backward_hook(lambda *_: None)


def reentrant(**options: Any) -> Tensor:
    found: Tensor = checkpoint(torch.exp, leaf(), use_reentrant=True, **options)
    return found


def complex_root() -> None:
    (leaf() * 1j).backward(torch.ones(2))


def written_by_pack(tensor: Tensor) -> Tensor:
    return tensor.mul_(2)


def packed() -> None:
    with torch.autograd.graph.saved_tensors_hooks(written_by_pack, lambda tensor: tensor):
        (leaf() * 1).exp()


REFUSED: Final[dict[str, tuple[Callable[[], Any], ErrorKind]]] = {
    "dirty": (lambda: of_function(forward=marks_dirty)(leaf() * 1), "invalid custom Function"),
    "no backward": (
        lambda: of_function(forward=same)(leaf()).sum().backward(),
        "invalid custom Function",
    ),
    "no setup_context": (
        lambda: torch.func.grad(lambda x: of_function(forward=same)(x).sum())(torch.ones(2)),
        "invalid custom Function",
    ),
    "backward on another device": (
        lambda: (
            of_function(forward=same, backward=lambda ctx, g: g.to("meta"))(leaf()).sum().backward()
        ),
        "gradient of another dtype or device",
    ),
    "module hook": (
        lambda: hooked("register_full_backward_hook", lambda m, i, o: (i[0], i[0])),
        "wrong number of gradients",
    ),
    "module pre hook": (
        lambda: hooked("register_full_backward_pre_hook", lambda m, o: (o[0], o[0])),
        "wrong number of gradients",
    ),
    "two kinds of module hooks": (two_kinds_of_hooks, "hook cannot be registered"),
    "hook of a number": (lambda: hooked_tensor(lambda g: 1.0), "gradient of no tensor"),
    "hook of a node": (lambda: hooked_node(lambda i, o: 1.0), "gradient of no tensor"),
    "hook of a node with one": (
        lambda: hooked_node(lambda i, o: (i[0],)),
        "wrong number of gradients",
    ),
    "hook of another dtype": (
        lambda: hooked_tensor(lambda g: g.double()),
        "gradient of another dtype or device",
    ),
    "batch": (
        lambda: torch.autograd.grad(leaf() * 2, leaf(), torch.eye(3), is_grads_batched=True),
        "gradient of another shape",
    ),
    "real gradient": (complex_root, "gradient of another dtype or device"),
    "text": (lambda: torch.autograd.grad(leaf().sum(), "w"), "gradient of no tensor"),  # type: ignore[arg-type]
    "vector": (
        lambda: torch.autograd.functional.vjp(torch.exp, torch.ones(2), torch.ones(3)),
        "gradient of another shape",
    ),
    "number of jacobian": (
        lambda: torch.autograd.functional.jacobian(lambda x: 1.0, torch.ones(2)),
        "gradient of no tensor",
    ),
    "gradcheck without inputs": (
        lambda: torch.autograd.gradcheck(torch.exp, torch.ones(2).double()),
        "gradcheck failed",
    ),
    "reentrant with keywords": (lambda: reentrant(out=None), "reentrant checkpoint"),
    "reentrant with debug": (lambda: reentrant(debug=True), "reentrant checkpoint"),
    "edge of a constant": (
        lambda: torch.autograd.graph.get_gradient_edge(torch.ones(2)),
        "does not require grad",
    ),
    "pack hook writes": (packed, "hook of saved tensors"),
    "backward in vmap": (
        lambda: torch.func.vmap(lambda x: x.sum().backward())(torch.ones(2, 2)),
        "backward under torch.func",
    ),
}


def test_the_message_leads_to_the_row() -> None:
    for name, (program, kind) in REFUSED.items():
        with pytest.raises(Exception) as caught:  # noqa: PT011 (its class is part of the row)
            program()
        faults = faults_of(caught.type.__name__, str(caught.value))
        assert kind in {fault.kind for fault in faults}, name


def fit(x: Tensor) -> Tensor:
    return x


OTHERS: Final[dict[str, Callable[[], Any]]] = {
    "a function of the user's without its argument": lambda: fit(),  # type: ignore[call-arg]
    "one with too many": lambda: fit(1, 2),  # type: ignore[call-arg, arg-type]
    "sizes in forward": lambda: torch.ones(3) + torch.ones(2),
    "keywords of another function": lambda: (_ for _ in ()).throw(
        ValueError("Unexpected keyword arguments: a")
    ),
    "a list": lambda: [leaf()].backward(),  # type: ignore[attr-defined]
    "a number that is looped over": lambda: list(1.0),  # type: ignore[call-overload]
}


def test_an_error_of_other_code_with_like_words_is_not_explained() -> None:
    for name, program in OTHERS.items():
        with pytest.raises(Exception) as caught:  # noqa: PT011 (whatever it is)
            program()
        assert gradviz.explain(caught.value).kind == "other", name
