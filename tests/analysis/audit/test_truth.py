"""What an audit says about gradients, beside what a real backward does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.analysis.audit.auditor import audit_of
from gradviz.capture.audit.reader import audit_facts
from gradviz.model.audit import Audit
from tests.each import each
from tests.programs import PROGRAMS, Built, Program, apply, deep_chain, mlp, run_backward

SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]
UP_TO_A_NODE = {
    "checkpoint_reentrant",
    "custom_function",
    "custom_function_clears",
    "custom_function_freed",
    "custom_function_modified",
    "custom_function_saves_none",
    "custom_function_saves_nothing",
    "custom_function_saves_output",
    "foreach",
    "node_hooks",
    "post_accumulate_grad_hook",
    "saved_tensors_hooks_on_lists",
}
"""Programs in which code of the user's decides whether a gradient comes."""
RAISES = {
    "inplace_after_save",
    "inplace_after_save_of_output",
    "inplace_in_list",
    "partially_freed",
    "pruned_backward",
}
"""Programs whose backward raises at a node that the graph shows."""
FREED = {"freed_after_backward", "freed_list_save"}
STALE_VIEWS = {"inplace_view", "stale_view"}


def answers(built: Built) -> dict[str, bool | None]:
    audit: Audit = gradviz.audit(built.outputs, built.names).findings
    return {row.name: row.gets_gradient for row in audit}


def gradients(built: Built) -> dict[str, bool]:
    """Which tensors a backward gives a ``.grad``; what was there before is taken away."""
    keep = {name: t for name, t in built.names.items() if t.is_leaf or t.retains_grad}
    for tensor in keep.values():
        tensor.grad = None
    run_backward(built)
    return {name: name in keep and keep[name].grad is not None for name in built.names}


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_a_program_gives_a_gradient_exactly_where_the_audit_says(program: Program) -> None:
    built = program.build()
    said = answers(built)
    unknown = {name for name, gets in said.items() if gets is None}
    if program.name in RAISES | UP_TO_A_NODE | STALE_VIEWS:
        assert unknown
    else:
        assert not unknown
    if program.backward == "raises":
        return
    real = gradients(built)
    assert {n: real[n] for n in said if n not in unknown} == {
        n: gets for n, gets in said.items() if n not in unknown
    }
    for name, gets in answers(built).items():
        assert gets is None or gets == real[name], f"{name}, after backward"


# --- modules --------------------------------------------------------------------------------


class Heads(nn.Module):
    """One head is used, one is not, and one has only constants to work on."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.used = nn.Linear(4, 4), nn.Linear(4, 1)
        self.idle, self.apart = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.trunk(x)
        total: Tensor = self.used(h).sum() + self.apart(h.detach()).sum()
        return total


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.out(self.table(x))
        return y


class LastOfLstm(nn.Module):
    def __init__(self, kind: Any = nn.LSTM) -> None:
        super().__init__()
        self.rnn = kind(4, 3, num_layers=2, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.rnn(x.view(-1, 1, 4))[0]
        return out[-1]


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first, self.second, self.reentrant = nn.Linear(4, 4), nn.Linear(4, 1), reentrant

    def forward(self, x: Tensor) -> Tensor:
        x = x.clone().requires_grad_()
        h = checkpoint(self.first, x, use_reentrant=self.reentrant)
        y: Tensor = self.second(h)
        return y


class Penalty(nn.Module):
    """The gradient's own gradient does not reach every parameter that its graph leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 2, 3), nn.LayerNorm(2)

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, None].clone().requires_grad_()
        (slope,) = torch.autograd.grad(self.norm(self.conv(x)).tanh().sum(), x, create_graph=True)
        return slope.pow(2)


def hooked() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 4), mlp(1, 4))
    model[1].register_full_backward_hook(lambda module, grad_input, grad_output: None)
    return model


def frozen() -> nn.Module:
    model = mlp(2, 4)
    for parameter in list(model.parameters())[:3]:
        parameter.requires_grad_(False)
    return model


def partly_lazy() -> Any:
    model: Any = nn.ModuleDict({"seen": nn.Linear(4, 1), "lazy": nn.LazyLinear(2)})
    model.forward = model["seen"].forward
    return model


INDICES = torch.tensor([0, 3, 3])
ZOO: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: mlp(2, 4),
    "hooked": hooked,
    "frozen": frozen,
    "heads": Heads,
    "tied": Tied,
    "lstm": LastOfLstm,
    "gru": lambda: LastOfLstm(nn.GRU),
    "rnn": lambda: LastOfLstm(nn.RNN),
    "convolutions": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 2), nn.BatchNorm1d(2), nn.MaxPool1d(2), nn.PReLU()
    ),
    "norms": lambda: nn.Sequential(nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.Linear(4, 2)),
    "attention": lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0),
    "bilinear": lambda: nn.Sequential(
        nn.Flatten(), nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))
    ),
    "sparse": lambda: nn.Embedding(5, 3, sparse=True),
    "checkpoint": lambda: Checkpointed(False),
    "reentrant checkpoint": lambda: Checkpointed(True),
    "penalty": Penalty,
    "lazy": partly_lazy,
}


def made(name: str) -> tuple[nn.Module, Tensor]:
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        model = ZOO[name]()
        x = INDICES if name in ("tied", "sparse") else torch.rand(3, 4)
        return model, model(x).sum()


UNKNOWN_IN_ZOO = {
    "penalty": {"conv.weight", "conv.bias", "norm.weight", "norm.bias"},
    "reentrant checkpoint": {"first.weight", "first.bias"},
}
"""What a node decides: formulas of second derivatives, and a forward that runs in backward."""


@each("name", ZOO)
def test_a_module_gets_a_gradient_exactly_where_the_audit_says(name: str) -> None:
    model, loss = made(name)
    before = gradviz.audit(loss, model).findings
    other, other_loss = made(name)
    other_loss.backward()
    real = {n: p.grad is not None for n, p in other.named_parameters()}
    loss.backward()
    after = gradviz.audit(loss, model).findings
    for audit in (before, after):
        unknown = {row.name for row in audit if row.gets_gradient is None}
        assert unknown <= UNKNOWN_IN_ZOO.get(name, set())
        said = {row.name: row.gets_gradient for row in audit if row.name not in unknown}
        assert said == {n: gets for n, gets in real.items() if n not in unknown}


def test_what_formulas_of_second_derivatives_leave_out_is_not_called_sure() -> None:
    x, norm = torch.rand(3, 4, requires_grad=True), nn.LayerNorm(4)
    (slope,) = torch.autograd.grad(norm(x).sum(), norm.weight, create_graph=True)
    report = gradviz.audit(slope.pow(2).sum(), {"x": x, "w": norm.weight})
    assert (report["w"].reached, report["w"].gets_gradient) == (True, None)
    assert "which may return no gradient" in report["w"].why
    slope.pow(2).sum().backward()
    assert (x.grad is None, norm.weight.grad is None) == (False, True)


def test_a_reentrant_checkpoint_reaches_what_its_graph_does_not() -> None:
    model, loss = made("reentrant checkpoint")
    row = gradviz.audit(loss, model)["first.weight"]
    assert (row.reached, row.gets_gradient) == (False, None)
    assert "CheckpointFunctionBackward (n3) may give it a gradient" in row.why
    loss.backward()
    assert isinstance(model.first, nn.Linear)
    assert model.first.weight.grad is not None


class GivesToOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0], None


def test_a_custom_function_decides_and_the_audit_says_so() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    loss = apply(GivesToOne, a, b).sum()
    audit: Audit = gradviz.audit(loss, [a, b]).findings
    assert [(row.reached, row.gets_gradient) for row in audit] == [(True, None), (True, None)]
    assert "GivesToOneBackward (n1)" in audit["b"].why
    loss.backward()
    assert (a.grad is None, b.grad is None) == (False, True)


def test_another_way_around_a_custom_function_is_sure() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    loss = (apply(GivesToOne, a, b) + b).sum()
    assert [row.gets_gradient for row in gradviz.audit(loss, [a, b]).findings] == [None, True]


def test_outputs_without_a_gradient_of_their_own_are_known() -> None:
    a = torch.eye(2, requires_grad=True)
    sign, logarithm = torch.linalg.slogdet(a)
    assert gradviz.audit(sign, [a])["a"].gets_gradient is None
    assert gradviz.audit(logarithm, [a])["a"].gets_gradient is True
    assert gradviz.audit(torch.linalg.vector_norm(a, 0), [a])["a"].gets_gradient is None
    assert gradviz.audit(torch.linalg.vector_norm(a, 2), [a])["a"].gets_gradient is True
    sign.backward()
    torch.linalg.vector_norm(a, 0).backward()
    assert a.grad is None


def test_a_failed_backward_leaves_the_audit_in_doubt_and_shows_what_it_filled() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = a.exp()
    loss = (b * 2).exp().sum() + h.sum()  # b's part runs first
    h2 = (a.sin() * 1).exp()
    loss = h2.sum() + loss
    h.zero_()  # exp saved it
    before = gradviz.audit(loss, [a, b])
    assert "backward raises at ExpBackward0" in before["b"].why
    with pytest.raises(RuntimeError):
        loss.backward()
    report = gradviz.audit(loss, [a, b])
    assert report.findings.state == "partly freed"
    assert {row.gets_gradient for row in report.findings} == {None}
    assert [row.grad is not None for row in report.findings] == [
        a.grad is not None,
        b.grad is not None,
    ]


def test_several_losses_are_one_backward() -> None:
    a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
    losses = {"one": (a * 2).sum(), "two": (b * 2).sum(), "three": (c.detach() * 2).sum()}
    audit: Audit = gradviz.audit(losses, [a, b, c]).findings
    assert [row.gets_gradient for row in audit] == [True, True, False]
    assert audit.title == (
        '1 of 3 parameters gets no gradient from losses["one"], losses["two"] and losses["three"]'
    )
    assert audit.sentences[0] == 'losses["three"] has no graph: backward() from it raises an error.'


def test_a_result_gets_a_grad_only_if_it_retains_it() -> None:
    x = torch.ones(2, requires_grad=True)
    kept, passed = x * 2, x * 3
    kept.retain_grad()
    loss = (kept + passed).sum()
    report = gradviz.audit(loss, [kept, passed])
    assert report["kept"].gets_gradient is True
    assert (report["passed"].gets_gradient, report["passed"].reason) == (False, "not a leaf")
    loss.backward()
    assert kept.grad is not None
    assert gradviz.audit(loss, [kept, passed])["kept"].gets_gradient is True


def test_one_output_of_a_node_is_not_another() -> None:
    x = torch.ones(4, requires_grad=True)
    first, second = x.split(2)
    for half in (first, second):
        half.retain_grad()
    report = gradviz.audit(first.sum(), {"first": first, "second": second})
    assert [row.reached for row in report.findings] == [True, False]
    first.sum().backward()
    assert second.grad is None


def test_parameters_on_meta_have_no_numbers() -> None:
    model = nn.Linear(2, 1, device="meta")
    loss = model(torch.ones(1, 2, device="meta")).sum()
    loss.backward()
    row = gradviz.audit(loss, model)["weight"]
    assert (row.gets_gradient, row.device) == (True, "meta")
    assert row.grad is not None
    assert (row.grad.numbers, row.grad.zeros, row.grad.norm) == (2, None, None)


def test_a_lazy_parameter_is_uninitialised() -> None:
    model, loss = made("lazy")
    row = gradviz.audit(loss, model)["lazy.weight"]
    assert (row.shape, row.gets_gradient, row.reason) == (None, False, "uninitialised")


def test_a_tied_parameter_has_one_row_and_all_its_paths() -> None:
    model, loss = made("tied")
    audit: Audit = gradviz.audit(loss, model).findings
    assert [row.names for row in audit] == [("table.weight", "out.weight")]
    assert audit["out.weight"] is audit["table.weight"]


def test_deep_graphs_are_audited_within_and_without() -> None:
    built = deep_chain(20_000)
    (y,) = built.outputs
    inside = audit_of(audit_facts(y, built.names, None, None, None))
    assert inside["x"].gets_gradient is True
    z = y.detach() * torch.ones(1, requires_grad=True)
    outside = audit_of(audit_facts(z, built.names, None, {"y": y}, None))
    assert (outside["x"].reached, outside["x"].reason) == (False, "detached")
    assert "on the storage of y" in outside["x"].why


def test_graphs_of_other_tensors_are_looked_at_up_to_a_limit_and_that_is_said() -> None:
    built = deep_chain(30_000)
    (y,) = built.outputs
    z = y.detach() * torch.ones(1, requires_grad=True)
    audit = audit_of(audit_facts(z, built.names, None, {"y": y}, None))
    assert audit["x"].reason == "unknown"
    assert "Not all graphs of named tensors were examined." in audit["x"].unknown
