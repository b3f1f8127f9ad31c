"""Every sentence under "Remember" in the lessons, with the programs that would break it."""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.teach.predict.course import QUESTIONS
from notebooks import build
from tests.each import each
from tests.lessons.lesson_budget import FIFTEEN_MINUTES
from tests.programs import GivesNone, apply

_Write: TypeAlias = Callable[[Tensor, Tensor], Tensor]
ATTACKS: Final[dict[str, Callable[[], object]]] = {}


def attack(program: Callable[[], object]) -> None:
    """Its docstring is the sentence that it attacks."""
    ATTACKS[" ".join((program.__doc__ or "").split())] = program


def sentences(lesson: str) -> list[str]:
    (cell,) = (c for c in build.read(build.SOURCE / f"{lesson}.py").cells if c.id == "remember")
    text = " ".join(cell.source.splitlines()[2:])
    return re.split(r"(?<=[.]) (?=[A-Z`])", text)


def leaf(*values: float) -> Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def raises(program: Callable[[], object]) -> bool:
    try:
        program()
    except RuntimeError:
        return True
    return False


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


@attack
def _() -> None:
    """A result remembers how it was made when an input requires grad, a gradient can pass and
    recording is on: it has a `grad_fn`."""
    a, b = leaf(), torch.ones(2)
    assert all(t.grad_fn for t in (a + b, a.round(), a.sort().values, a[:0], b.mul_(a), a * 0))
    cut = (a > 0, a.argmax(), a.int(), a.detach(), a.data, torch.zeros_like(a), torch.ones(2) + 1)
    assert not any(t.grad_fn for t in (*cut, torch.tensor(a.tolist())))
    with torch.no_grad():
        assert (a + b).grad_fn is None
        with torch.enable_grad():
            assert (a + b).grad_fn


@attack
def _() -> None:
    """A tensor with no `grad_fn` is a leaf, and gradients end at leaves that require grad."""
    a, unused, frozen = leaf(), leaf(), torch.ones(2)
    with torch.inference_mode():
        inference = a * 2
    assert all(t.is_leaf for t in (a, frozen, inference, a > 0, a.detach(), frozen * 2))
    h = a * frozen
    h.sum().backward()
    assert a.grad is not None
    assert not h.is_leaf
    assert (h.grad, unused.grad, frozen.grad) == (None, None, None)


def behind(end: Tensor) -> list[Any]:
    found: list[Any] = [end.grad_fn]
    for node in found:
        found += [one for one, _ in node.next_functions if one and one not in found]
    return found


def reached(loss: Tensor) -> set[int]:
    return {id(getattr(node, "variable", None)) for node in behind(loss)}


@attack
def _() -> None:
    """Forward records nodes where a gradient has to pass, and the `grad_fn` of a result leads to
    them."""
    x, w = torch.ones(5), torch.ones(5, 3, requires_grad=True)
    before = w * 1
    assert before.contiguous().grad_fn is before.grad_fn  # it did nothing, and made nothing
    assert (x * 2).grad_fn is None
    for loss in ((x @ w).relu().sum(), functional.linear(x[None], w.T), w.unbind()[2].exp()):
        assert reached(loss) >= {id(w)}


@attack
def _() -> None:
    """Follow `next_functions` from the loss: a leaf that you do not reach gets no gradient from it,
    unless code that runs in backward gives it one."""
    a, b, x = leaf(), leaf(), leaf()
    for loss, is_given in (
        ((a + b.detach()).sum(), False),
        (a.sum() * b.sum().item(), False),
        (checkpoint(lambda t: (t * b).sum(), x, use_reentrant=True) + a.sum(), True),
    ):
        assert id(b) not in reached(loss)
        loss.backward()
        assert (b.grad is not None) is is_given


@attack
def _() -> None:
    """In backward a gradient passes from node to node; `loss.backward()` writes it down only at
    leaves that require grad, and where you have called `retain_grad()`."""
    a, frozen, none = leaf(), torch.ones(2), leaf()
    h = a * frozen
    kept = h.exp()
    kept.retain_grad()
    loss = (kept + apply(GivesNone, none)).sum()
    seen: list[Tensor] = []
    h.register_hook(seen.append)
    torch.autograd.grad(loss, a, retain_graph=True)
    assert a.grad is None
    loss.backward()
    assert len(seen) == 2
    assert [t.grad is not None for t in (a, kept)] == [True, True]
    assert [t.grad for t in (h, frozen, none, loss)] == [None] * 4
    alone = leaf(3.0)
    alone.backward()
    assert alone.grad == 1


@attack
def _() -> None:
    """In between a hook may look at it, keep it or replace it; else it is gone."""
    a = leaf()
    seen: list[Any] = []
    h = (a * 2).exp()
    h.register_hook(lambda grad: seen.append(weakref.ref(grad)))
    h.register_hook(lambda grad: grad * 10)
    (h * 3).sum().backward()
    assert seen[0]() is None
    assert torch.allclose(a.grad if a.grad is not None else a, 60 * h)


@attack
def _() -> None:
    """Backward frees what a node had saved as soon as the node has run; a second backward fails at
    the first node that needs what is gone, and what it did before stays done."""
    a, b = leaf(), leaf()
    h = a.exp()
    y = h.sin()
    states: list[tuple[bool, bool]] = []

    def look(_: Tensor) -> None:
        nodes: tuple[Any, Any] = y.grad_fn, h.grad_fn
        states.append(
            (raises(lambda: nodes[0]._saved_self), raises(lambda: nodes[1]._saved_result))
        )

    h.register_hook(look)
    loss = (y + b).sum()
    loss.backward()
    assert states == [(True, False)]
    assert raises(loss.backward)
    assert b.grad is not None
    assert b.grad.tolist() == [2, 2]
    nothing_saved = (b + 1).sum()
    nothing_saved.backward()
    nothing_saved.backward()


@attack
def _() -> None:
    """`retain_graph=True` frees nothing in that one call, at the price of the memory; so does
    `create_graph=True`."""
    loss = leaf().exp().sin().sum()
    kept = gradviz.snapshot(loss).saved_bytes
    for option in ("retain_graph", "create_graph"):
        loss.backward(**{option: True})
        assert gradviz.snapshot(loss).saved_bytes == kept > 0
    loss.backward()
    assert gradviz.snapshot(loss).saved_bytes == 0
    assert raises(lambda: loss.backward(retain_graph=True))


def optimizers() -> Iterator[tuple[torch.optim.Optimizer, nn.Parameter]]:
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            every: list[dict[str, Any]] = [{}, {"weight_decay": 0.1}, {"maximize": True}]
            for settings in every:
                p = nn.Parameter(torch.ones(2, 2))
                try:
                    made: Any = kind([p], **{"lr": 0.1, **settings})
                except (TypeError, ValueError, RuntimeError):  # it has no such setting
                    continue
                yield made, p


@attack
def _() -> None:
    """Backward adds to `.grad` of the leaf and never clears it; `step()` reads it and never clears
    it."""
    used = set()
    for optimizer, p in optimizers():
        for times in (1, 2, 3):
            (p * 2).sum().backward()
            assert p.grad is not None
            assert p.grad.tolist() == [[2.0 * times] * 2] * 2
            if type(optimizer) is torch.optim.SparseAdam:
                continue
            closure: Any = [lambda: 1.0] if type(optimizer) is torch.optim.LBFGS else []
            optimizer.step(*closure)
            used.add(type(optimizer))
            assert p.grad.tolist() == [[2.0 * times] * 2] * 2, optimizer
    assert len(used) > 10


@attack
def _() -> None:
    """So call `zero_grad()` once per step: after `step()`, or before the first backward."""

    def trained(order: Sequence[str], steps: int = 3) -> float:
        q = nn.Parameter(torch.ones(()))
        optimizer = torch.optim.SGD([q], lr=0.1)
        for line in [*order] * steps:
            if line == "backward":
                (2 * q).backward()
            else:
                getattr(optimizer, line)()
        return round(q.item(), 4)

    for backwards in (1, 2):
        lines = ["backward"] * backwards
        wanted = round(1 - 3 * 0.2 * backwards, 4)
        for place in range(backwards + 2):
            order = [*lines, "step"]
            order.insert(place, "zero_grad")
            is_told = place in (0, backwards + 1)
            assert (trained(order) == wanted) is is_told, order


@attack
def _() -> None:
    """A recorded forward makes a new graph whenever it runs, of just what ran, and the graph is
    there as long as somebody holds its end."""
    model, x = network(), torch.ones(4, 2)

    def nodes(end: Tensor) -> set[Any]:
        return {node for node in behind(end) if not hasattr(node, "variable")}

    one, two = model(x), model(x)
    assert nodes(one).isdisjoint(nodes(two))
    assert len(nodes(one)) == len(nodes(two)) > len(nodes(model[:1](x)))
    marks = [nn.Module(), nn.Module()]  # torch keeps them with the nodes
    one.grad_fn.metadata["mark"], two.grad_fn.metadata["mark"] = marks
    gone, there = map(weakref.ref, marks)
    del marks
    two.sum().backward()
    del one
    assert gone() is None
    assert there() is not None
    with torch.no_grad():
        assert model(x).grad_fn is None


@attack
def _() -> None:
    """What you take from one pass to the next (a total, a list, a state) should be a number, or
    detached, unless backward is to go through it."""
    w = leaf(2.0)
    for take, is_kept in ((Tensor.clone, True), (Tensor.item, False), (Tensor.detach, False)):
        total = torch.zeros(1)
        for passes in range(1, 4):
            total = total + take((w * 2).sum())
            kept = len(gradviz.snapshot(total)) if total.requires_grad else 0
            assert (kept > 3 * passes) is is_kept
    through, cut = w * w, (w * w).detach()
    assert torch.autograd.grad(through * w, w)[0] == 12
    assert torch.autograd.grad(cut * w, w)[0] == 4


@attack
def _() -> None:
    """A node saves what the gradients of its inputs are made with, by reference; where no gradient
    has to pass, there is no node and nothing is saved."""
    x, w = torch.ones(4, 2), torch.ones(2, 2, requires_grad=True)
    node: Any = (x @ w).grad_fn
    assert node._saved_self.data_ptr() == x.data_ptr()
    assert node._saved_mat2 is None  # x needs no gradient
    y = w.exp()
    node = y.grad_fn
    assert node._saved_result.data_ptr() == y.data_ptr()
    y.mul_(2)
    assert raises(lambda: y.sum().backward())
    held = weakref.ref(z := x * 2)
    _unused = z * z
    del z, _unused
    assert held() is None


@attack
def _() -> None:
    """In most networks this memory grows with the batch, is most at the end of forward if no
    checkpoint computes it later, and goes node by node in backward."""
    convolutions = nn.Sequential(nn.Conv1d(2, 3, 1), nn.BatchNorm1d(3), nn.ReLU(), nn.Flatten())
    for model, shape in ((network(), (2,)), (convolutions, (2, 5)), (nn.GRU(2, 3), (4, 2))):
        kept = []
        for batch in (2, 4, 8):
            made = model(torch.ones(batch, *shape))
            loss = (made[0] if isinstance(made, tuple) else made).square().sum()
            kept.append(gradviz.snapshot(loss).saved_bytes)
        assert kept == sorted(set(kept))
    h = leaf()
    steps = [h := h.sin() for _ in range(5)]
    left: list[int] = []
    for step in steps:
        step.register_hook(lambda _: left.append(gradviz.snapshot(h).saved_bytes))
    h.sum().backward()
    assert left == sorted(set(left), reverse=True)


@attack
def _() -> None:
    """Ask what is to change: what layers compute (`eval()`), what is recorded (`no_grad()`, or
    `inference_mode()` for results that nobody trains with), or which tensors get a gradient
    (`requires_grad_(False)`)."""
    x = torch.ones(100)
    layer = nn.Sequential(nn.Dropout(), nn.Linear(100, 2))
    layer.eval()
    assert layer[0](x).equal(x)
    assert layer(x).requires_grad
    layer.train()
    with torch.no_grad():
        assert not layer[0](x).equal(x)
        assert not layer(x).requires_grad
        assert layer[1].weight.requires_grad
    with torch.inference_mode():
        y = layer(x)
    assert raises(lambda: y * layer[1].bias)
    layer[1].weight.requires_grad_(False)
    layer(x).sum().backward()
    assert (layer[1].weight.grad, layer[1].bias.grad is None) == (None, False)
    assert not layer[0](x).equal(x)


@attack
def _() -> None:
    """To freeze leaves the way open for gradients; a block closes it."""
    first, last = nn.Linear(2, 2), nn.Linear(2, 1).requires_grad_(False)
    last(first(torch.ones(2))).sum().backward()
    assert first.weight.grad is not None
    for block in (torch.no_grad(), torch.inference_mode()):
        with block:
            h = last(first(torch.ones(2)))
        assert not h.requires_grad


@attack
def _() -> None:
    """`detach()` gives another tensor on the same memory and torch counts its writes, `.data` and
    an array hide them, and `clone()`, `item()` and `tolist()` copy: to write, take
    `b.detach().clone()`."""
    writes: dict[str, tuple[Callable[[Tensor], Any], bool, bool]] = {
        "detach": (lambda b: b.detach(), True, True),
        "data": (lambda b: b.data, True, False),
        "array": (lambda b: b.detach().numpy(), True, False),
        "clone": (lambda b: b.clone(), False, False),
        "tolist": (lambda b: b.tolist(), False, False),
        "both": (lambda b: b.detach().clone(), False, False),
    }
    for name, (take, is_shared, is_counted) in writes.items():
        b = leaf().exp()
        before, taken = b.tolist(), take(b)
        assert taken is not b
        taken[0] = 7.0
        assert ((b.tolist() != before), b._version == 1) == (is_shared, is_counted), name
        assert raises(b.sum().backward) is is_counted, name
    assert type(leaf(1.0).item()) is float


@attack
def _() -> None:
    """Of all these, only `clone()` lets a gradient pass."""
    b = leaf(3.0) * 2
    assert b.clone().requires_grad
    out = (b.detach(), b.data, b.detach().clone(), torch.from_numpy(b.detach().numpy()))
    assert not any(
        t.requires_grad for t in (*out, torch.tensor(b.item()), torch.tensor(b.tolist()))
    )


def written(write: _Write, before: Callable[[Tensor], Tensor]) -> Any:
    """The gradient after a write into a result, or when torch raises."""
    a = leaf()
    try:
        h = write(before(a), a)
    except RuntimeError:
        return "at once"
    return "later" if raises(lambda: h.sum().backward()) else a.grad


@attack
def _() -> None:
    """A recorded write in place moves the arrow to a new node, and raises at once where it cannot,
    as at a leaf that requires grad; it raises in `backward()` when a node that runs had saved
    that tensor before; else the gradient is right."""
    makers: dict[str, Callable[[Tensor], Tensor]] = {
        "itself": lambda a: a,
        "product": lambda a: a * 2,
        "result": lambda a: a.exp(),
        "input": lambda a: a.sin(),
        "view": lambda a: (a * 2)[:],
        "view of the leaf": lambda a: a[:],
        "one of several views": lambda a: (a * 2).unbind()[0],
        "several": lambda a: a.exp() * a,
    }
    writes: tuple[tuple[_Write, _Write], ...] = (
        (lambda h, a: h.mul_(3), lambda h, a: h * 3),
        (lambda h, a: h.mul_(a.sum()), lambda h, a: h * a.sum()),
        (lambda h, a: h.sqrt_(), lambda h, a: h.sqrt()),
        (lambda h, a: h.mul_(2).exp_(), lambda h, a: (h * 2).exp()),
    )
    rights = 0
    for (name, maker), (write, apart) in product(makers.items(), writes):
        grad = written(write, maker)
        is_refused = name in ("itself", "view of the leaf", "one of several views")
        assert (str(grad) == "at once") is is_refused, name
        assert name != "result" or grad == "later"
        if isinstance(grad, Tensor):
            rights += 1
            assert torch.allclose(grad, written(apart, maker)), name
    assert rights > 8
    a = leaf()
    h = a * 2
    view = h[0]
    for act in (lambda: h.mul_(3), lambda: view.add_(1), lambda: h.__setitem__(1, a[0])):
        old, old_view = h.grad_fn, view.grad_fn
        act()
        assert h.grad_fn is not old
        assert view.grad_fn is not old_view
    plain = torch.zeros(2)
    plain[0] = a[0]
    assert plain.grad_fn is not None


@attack
def _() -> None:
    """A write under `no_grad`, or through `detach()` or `.data`, is not in the graph of that
    tensor: its gradient can be wrong without an error."""
    writes: tuple[Callable[[Tensor], Tensor], ...] = (
        torch.no_grad()(lambda h: h.mul_(3)),
        lambda h: h.detach().mul_(3),
        lambda h: h.data.mul_(3),
        lambda h: h.detach().mul_(leaf(3.0)),  # recorded, but not of h
    )
    for write in writes:
        a = leaf()
        h = a * 2
        before = h.grad_fn
        write(h)
        assert h.grad_fn is before
        h.sum().backward()
        assert a.grad is not None
        assert a.grad.tolist() == [2, 2]  # right is 6


@attack
def _() -> None:
    """An optimizer owns a list of tensors and updates each that has a `.grad`, whatever the names
    of the module and the flags say."""
    for optimizer, p in optimizers():
        if type(optimizer) in (torch.optim.SparseAdam, torch.optim.LBFGS):
            continue
        module: Any = nn.Module()
        module.weight = p
        optimizer.step()
        assert p.equal(torch.ones(2, 2)), optimizer  # no .grad
        p.grad = torch.full((2, 2), 2.0)
        p.requires_grad_(False)
        module.weight = nn.Parameter(torch.ones(2, 2))
        optimizer.step()
        assert not p.equal(torch.ones(2, 2)), optimizer
        assert module.weight.equal(torch.ones(2, 2))


@attack
def _() -> None:
    """Write into a parameter instead of replacing it, freeze with `requires_grad_(False)`, and set
    `.grad` to `None` when you do."""
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1, weight_decay=0.1)
    for is_replaced, is_frozen in ((True, False), (False, False), (False, True)):
        if is_replaced:
            layer.weight = nn.Parameter(torch.ones(1, 2))
        else:
            with torch.no_grad():
                layer.weight.fill_(1)
        if is_frozen:
            layer.weight.requires_grad_(False)
            layer.weight.grad = None
        layer(torch.ones(2)).sum().backward()
        optimizer.step()
        is_moved = not layer.weight.equal(torch.ones(1, 2))
        assert is_moved is not (is_replaced or is_frozen)
        if is_replaced:
            optimizer = torch.optim.Adam(layer.parameters(), lr=0.1, weight_decay=0.1)


@attack
def _() -> None:
    """No error does not mean no fault: record a step and ask `gradviz.explain()`, ask
    `gradviz.audit` who gets no gradient, and `gradviz.memory` what is kept."""
    model, x, y, total = network(), torch.ones(8, 2), torch.arange(8.0), torch.zeros(())
    with gradviz.record():
        loss = (model(x).data * model[2].bias - y).square().mean()
        loss.backward()
    assert "no fault" not in str(gradviz.explain()).lower()
    row = gradviz.audit(loss, model)["0.weight"]
    assert row.gets_gradient is False
    for _ in range(3):
        total = total + model(x).square().mean()
    assert gradviz.memory(total).findings.total > gradviz.memory(loss).findings.total


@attack
def _() -> None:
    """Where no tool has an answer, a hook shows the gradient that passes one place, and anomaly
    mode names the first node that hands on a nan."""
    w, seen = leaf(0.0, 4.0), []
    root = w.sqrt()
    root.register_hook(lambda grad: seen.append(grad.tolist()))
    programs: dict[str, Callable[[], Tensor]] = {
        "Sqrt": lambda: torch.where(w > 0, root, 0).sum(),
        "": lambda: torch.where(w > 0, torch.where(w > 0, w, 1).sqrt(), 0).sum(),
        "Mul": lambda: (w * torch.nan).sum(),
    }
    for name, program in programs.items():
        w.grad = None
        with torch.autograd.set_detect_anomaly(True):
            loss = program()
            try:
                loss.backward()
                found = ""
            except RuntimeError as error:
                found = str(error)
        assert f"'{name}Backward0' returned nan" in found if name else found == ""
    assert seen == [[0, 1]]


def test_every_sentence_is_attacked_and_no_other() -> None:
    written = [sentence for lesson in FIFTEEN_MINUTES for sentence in sentences(lesson)]
    assert written == list(ATTACKS)


@pytest.mark.filterwarnings("ignore")
@each("sentence", ATTACKS)
def test_no_program_breaks_a_sentence(sentence: str) -> None:
    torch.manual_seed(0)
    ATTACKS[sentence]()


def test_the_home_task_of_lesson_2_counts_leaves_where_ways_meet_and_in_long_recurrences() -> None:
    text = (build.SOURCE / "02-reading-the-graph.py").read_text("utf-8")
    (code,) = re.findall(r"# Print `(.+?)`", text)
    blocks, x = nn.ModuleList(nn.Linear(2, 2) for _ in range(12)), torch.ones(1, 2)
    for block in blocks:
        x = x + block(x)
    assert eval(code, {"gradviz": gradviz, "loss": x.sum()}) == 24
    for _ in range(400):
        x = blocks[0](x).tanh()
    assert eval(code, {"gradviz": gradviz, "loss": x.sum()}) == 24


def test_what_lesson_12_writes_for_the_nan_gives_the_values_and_the_gradient_that_it_should() -> (
    None
):
    question = json.loads((QUESTIONS / "12-hunting-in-real-code.json").read_text("utf-8"))
    (code,) = re.findall(r"`(torch\.where\(.+?)`", question["nan-predict"]["why"])
    w = leaf(0.0, 4.0)
    y = eval(code, {"torch": torch, "w": w})
    (grad,) = torch.autograd.grad(y.sum(), w)
    assert (y.tolist(), grad.tolist()) == ([0, 2], [0, 0.25])
