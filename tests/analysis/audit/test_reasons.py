from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model.audit import Audit, ParameterAudit
from gradviz.model.events import Note
from tests.each import each
from tests.programs import GivesNone, SavesNothing, apply

# Each program cuts ``fc`` off from the loss, and says in a comment which line does it.


def net() -> Any:
    torch.manual_seed(0)
    modules = {"fc": nn.Linear(2, 3), "head": nn.Linear(3, 1), "table": nn.Embedding(3, 1)}
    return nn.ModuleDict(modules)


X = torch.ones(4, 2)


@dataclass(frozen=True)
class Cut:
    """A program that cuts."""

    run: Callable[[Any, dict[str, Any]], Tensor]
    reason: str
    """What a recording tells."""
    alone: str = "unknown"
    """What is told without one, while ``keep`` is alive."""

    def __str__(self) -> str:
        return self.run.__name__


def detached(model: Any, keep: dict[str, Any]) -> Tensor:
    h = keep["h"] = model["fc"](X)
    d = h.detach()  # cut
    return model["head"](d).sum()


def detached_at_once(model: Any, keep: dict[str, Any]) -> Tensor:
    return model["head"](model["fc"](X).detach()).sum()  # cut


def data(model: Any, keep: dict[str, Any]) -> Tensor:
    h = keep["h"] = model["fc"](X)
    return model["head"](h.data).sum()  # cut


def under_no_grad(model: Any, keep: dict[str, Any]) -> Tensor:
    with torch.no_grad():
        h = model["fc"](X)  # cut
    return model["head"](h).sum()


def in_inference_mode(model: Any, keep: dict[str, Any]) -> Tensor:
    with torch.inference_mode():
        h = model["fc"](X)  # cut
    return model["head"](h.clone()).sum()


def argmax(model: Any, keep: dict[str, Any]) -> Tensor:
    k = model["fc"](X).argmax(1)  # cut
    return model["table"](k).sum()


def place_of_the_maximum(model: Any, keep: dict[str, Any]) -> Tensor:
    _values, k = model["fc"](X).max(1)  # cut
    return model["table"](k).sum()


def mask(model: Any, keep: dict[str, Any]) -> Tensor:
    m = model["fc"](X) > 0  # cut
    return (model["head"](torch.ones(4, 3)) * m).sum()


def item(model: Any, keep: dict[str, Any]) -> Tensor:
    scale = model["fc"](X).sum().item()  # cut
    return model["head"](torch.ones(4, 3)).sum() * scale


def numpy(model: Any, keep: dict[str, Any]) -> Tensor:
    a = model["fc"](X).detach().numpy()  # cut
    return model["head"](torch.from_numpy(a)).sum()


def copied_by_tensor(model: Any, keep: dict[str, Any]) -> Tensor:
    h = model["fc"](X)
    return model["head"](torch.tensor(h)).sum()  # cut


def result_not_used(model: Any, keep: dict[str, Any]) -> Tensor:
    keep["h"] = model["fc"](X)  # cut
    return model["head"](torch.ones(4, 3)).sum()


def only_its_shape(model: Any, keep: dict[str, Any]) -> Tensor:
    h = model["fc"](X)  # cut
    return model["head"](torch.ones_like(h)).sum()


def weights_detached(model: Any, keep: dict[str, Any]) -> Tensor:
    w, b = model["fc"].weight.detach(), model["fc"].bias.detach()  # cut
    return model["head"](nn.functional.linear(X, w, b)).sum()


def frozen_when_used(model: Any, keep: dict[str, Any]) -> Tensor:
    model["fc"].requires_grad_(False)  # cut
    out = model["head"](model["fc"](X)).sum()
    model["fc"].requires_grad_(True)
    return out


def in_a_list(model: Any, keep: dict[str, Any]) -> Tensor:
    hs = [model["fc"](X).detach(), torch.zeros(4, 3)]  # cut
    return model["head"](torch.stack(hs).mean(0)).sum()


def into_a_buffer(model: Any, keep: dict[str, Any]) -> Tensor:
    buffer = torch.zeros(4, 3)
    buffer[:] = model["fc"](X).detach()  # cut
    return model["head"](buffer).sum()


def into_a_part(model: Any, keep: dict[str, Any]) -> Tensor:
    buffer = torch.zeros(4, 3)
    buffer[0].add_(model["fc"](X)[0].detach())  # cut
    return model["head"](buffer).sum()


def behind_a_custom_function(model: Any, keep: dict[str, Any]) -> Tensor:
    h = apply(SavesNothing, model["fc"](X))
    d = h.detach()  # cut
    return model["head"](d).sum()


def a_leaf_again(model: Any, keep: dict[str, Any]) -> Tensor:
    h = model["fc"](X).detach().requires_grad_()  # cut
    return model["head"](h).sum()


def a_leaf_again_without_a_name(model: Any, keep: dict[str, Any]) -> Tensor:
    return model["head"](model["fc"](X).detach().requires_grad_()).sum()  # cut


def the_loss_itself(model: Any, keep: dict[str, Any]) -> Tensor:
    out = keep["out"] = model["head"](model["fc"](X)).sum()
    return out.detach()  # cut


def the_loss_under_no_grad(model: Any, keep: dict[str, Any]) -> Tensor:
    with torch.no_grad():
        return model["head"](model["fc"](X)).sum()  # cut


def the_loss_is_an_integer(model: Any, keep: dict[str, Any]) -> Tensor:
    return model["head"](model["fc"](X)).argmax()  # cut


def the_loss_is_made_of_a_number(model: Any, keep: dict[str, Any]) -> Tensor:
    out = model["head"](model["fc"](X)).sum()
    return torch.tensor(out.item(), requires_grad=True)  # cut


CUTS = [
    Cut(detached, "detached", "detached"),
    Cut(detached_at_once, "detached"),
    Cut(data, "detached", "detached"),
    Cut(under_no_grad, "no_grad"),
    Cut(in_inference_mode, "inference mode"),
    Cut(argmax, "integer"),
    Cut(place_of_the_maximum, "integer"),
    Cut(mask, "integer"),
    Cut(item, "left torch"),
    Cut(numpy, "detached"),
    Cut(copied_by_tensor, "left torch"),
    Cut(result_not_used, "not used"),
    Cut(only_its_shape, "not used"),
    Cut(weights_detached, "detached"),
    Cut(frozen_when_used, "frozen"),
    Cut(in_a_list, "detached"),
    Cut(into_a_buffer, "detached"),
    Cut(into_a_part, "detached"),
    Cut(behind_a_custom_function, "detached"),
    Cut(a_leaf_again, "detached"),
    Cut(a_leaf_again_without_a_name, "detached"),
    Cut(the_loss_itself, "detached", "detached"),
    Cut(the_loss_under_no_grad, "no_grad", "no graph"),
    Cut(the_loss_is_an_integer, "integer", "integer"),
    Cut(the_loss_is_made_of_a_number, "left torch", "no graph"),
]


def rows_of(report: Any) -> list[ParameterAudit]:
    audit: Audit = report.findings
    return [audit["fc.weight"], audit["fc.bias"]]


@pytest.mark.filterwarnings("ignore")  # torch.tensor(tensor) warns
@each("cut", CUTS)
def test_what_is_known_of_a_cut_is_said_with_a_recording_and_without(cut: Cut) -> None:
    model, keep = net(), {"X": X}
    with gradviz.record(into=cut.run) as recording:
        loss = cut.run(model, keep)
    for row in rows_of(gradviz.audit(loss, model, recording=recording)):
        assert (row.reached, row.gets_gradient, row.reason) == (False, False, cut.reason), row
        assert row.at is not None
        assert row.at.text.endswith("# cut")
        assert row.unknown == ()

    model, keep = net(), {"X": X}
    with gradviz.record(only=()) as recording:
        loss = cut.run(model, keep)
    for row in rows_of(gradviz.audit(loss, model, recording=recording)):
        assert row.reason == cut.reason
        assert row.at is not None
        assert row.at.text == "loss = cut.run(model, keep)", "the function was not followed"

    model, keep = net(), {}
    loss = cut.run(model, keep)
    for row in rows_of(gradviz.audit(loss, model)):
        assert (row.reached, row.gets_gradient, row.reason) == (False, False, cut.alone)
        assert row.at is None
        needs_more = cut.alone in ("unknown", "no graph")
        assert any("recording=" in text for text in row.unknown) is needs_more


def test_the_planted_cuts_are_all_kinds_of_cuts() -> None:
    assert {cut.reason for cut in CUTS} == {
        "detached",
        "no_grad",
        "inference mode",
        "integer",
        "left torch",
        "not used",
        "frozen",
    }


def test_parameters_that_no_call_takes_are_not_used() -> None:
    model = net()
    with gradviz.record() as recording:
        loss = model["head"](model["fc"](X)).sum()
    report = gradviz.audit(loss, model, recording=recording)
    assert report["table.weight"].reason == "not used"
    assert report["table.weight"].at is None
    assert report["fc.weight"].gets_gradient is True


def test_a_frozen_parameter_is_frozen_with_and_without_a_recording() -> None:
    model = net()
    model["fc"].requires_grad_(False)
    with gradviz.record() as recording:
        loss = model["head"](model["fc"](X)).sum()
    for given in (None, recording):
        for row in rows_of(gradviz.audit(loss, model, recording=given)):
            assert (row.gets_gradient, row.reason) == (False, "frozen")


def test_a_parameter_that_was_frozen_after_the_forward_is_reached_and_gets_nothing() -> None:
    model = net()
    loss = model["head"](model["fc"](X)).sum()
    model["fc"].requires_grad_(False)
    for row in rows_of(gradviz.audit(loss, model)):
        assert (row.reached, row.gets_gradient, row.reason) == (True, False, "frozen")
    loss.backward()
    assert model["fc"].weight.grad is None


def test_a_tensor_that_may_have_been_used_is_named_and_nothing_is_concluded() -> None:
    model = net()
    h = model["fc"](X)
    d = h.detach()
    loss = (model["head"](torch.ones(4, 3)) + d).sum()
    row = gradviz.audit(loss, model)["fc.weight"]
    assert row.reason == "unknown"
    assert row.also == (
        "d shares the storage of h, which is computed from it, but has no graph (detach() or "
        "similar); "
        "whether loss uses d is not known",
    )


def test_a_saved_alias_is_proof_and_is_marked() -> None:
    model = net()
    h = model["fc"](X)
    d = h.detach()
    loss = model["head"](d).sum()
    audit: Audit = gradviz.audit(loss, model).findings
    assert audit["fc.weight"].reason == "detached"
    assert "uses d on the storage of h" in audit["fc.weight"].why
    assert audit.graph is not None
    cut = [mark.id for mark in audit.marks if mark.kind == "cut"]
    assert cut == [audit.graph.tensor("d").id, "n1.saved.0"]
    assert audit.graph["n1"].saved[0].name == "mat1"


def test_a_write_in_place_since_then_is_no_proof_of_a_cut() -> None:
    q, p = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = q.exp()
    loss = h.sin().sum()
    h.add_(p)  # h leads to p now, and its memory is saved by a node of the loss
    row = gradviz.audit(loss, {"q": q, "p": p})["p"]
    assert (row.gets_gradient, row.reason) == (False, "unknown")


def test_what_is_saved_of_a_parameter_explains_no_other_with_the_same_memory() -> None:
    first = nn.Parameter(torch.ones(2))
    second = nn.Parameter(first.data)
    row = gradviz.audit((first * first).sum(), {"first": first, "second": second})["second"]
    assert (row.reached, row.why) == (False, "not in the graph of the loss")


def test_a_parameter_that_was_a_constant_when_it_was_used_is_seen() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    loss = (a * b).sum()
    b.requires_grad_()
    row = gradviz.audit(loss, [a, b])["b"]
    assert (row.reason, row.gets_gradient) == ("frozen", False)
    assert row.why.startswith("MulBackward0 (n1) saved it as a constant")


def test_what_was_frozen_while_forward_ran_is_not_taken_for_detached() -> None:
    model = net()
    first = nn.Linear(2, 2)  # so that fc's node saves its weight for the gradient of what came in
    model["fc"].requires_grad_(False)
    loss = model["head"](model["fc"](first(X))).sum()
    model["fc"].requires_grad_(True)
    weight, bias = rows_of(gradviz.audit(loss, model))
    assert (weight.reason, bias.reason) == ("unknown", "unknown")
    assert "did not require grad when it was used, or detach()" in weight.why
    assert any("whether it required grad then" in text for text in bias.unknown)


def test_what_a_custom_function_saved_of_its_own_accord_is_no_proof() -> None:
    w = torch.ones(2, requires_grad=True)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True)
    loss = apply(Scaled, x).sum()
    assert gradviz.audit(loss, {"w": w})["w"].reason == "unknown"


def test_a_view_under_no_grad_is_named_beside_detach() -> None:
    model = net()
    h = model["fc"](X)
    with torch.no_grad():
        v = h.view(-1)
    loss = model["head"](v.view(4, 3)).sum()
    weight, _ = rows_of(gradviz.audit(loss, model))
    assert "detach(), .data or a view under no_grad cut it off" in weight.why


def test_what_was_replaced_after_the_forward_is_rebound() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(X).sum()
    model[0].weight = nn.Parameter(torch.zeros(3, 2))
    row = gradviz.audit(loss, model, optimizer)["0.weight"]
    assert (row.reached, row.gets_gradient, row.reason) == (False, False, "rebound")
    assert (row.updated, row.update) == (False, "rebound: not in the optimizer")
    alone = gradviz.audit(loss, model)["0.weight"]
    assert alone.reason == "unknown"
    assert "replaced after the forward" in alone.also[0]


def test_a_recording_that_saw_a_layer_replaced_says_so() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with gradviz.record() as recording:
        loss = model(X).sum()
        model[1] = nn.Linear(2, 2)  # replaced
    for name in ("1.weight", "1.bias"):
        row = gradviz.audit(loss, model, recording=recording)[name]
        assert (row.reached, row.gets_gradient, row.reason) == (False, False, "rebound"), row
        assert row.at is not None
        assert row.at.text.endswith("# replaced")
    with gradviz.record() as recording:
        model[1] = nn.Linear(2, 2)
        loss = model[0](X).sum()
    row = gradviz.audit(loss, model, recording=recording)["1.bias"]
    assert row.reason == "not used"


def test_a_layer_that_was_replaced_is_known_by_the_names_the_optimizer_was_given() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    named: Any = list(reversed(list(model.named_parameters())))
    optimizer = torch.optim.SGD(named, lr=0.1)
    model[1] = nn.Linear(3, 3)
    loss = model(X).sum()
    report = gradviz.audit(loss, model, optimizer)
    assert [r.name for r in report.findings if r.updated is False] == ["1.weight", "1.bias"]
    stands = {s.stands_for for s in report.findings.optimizer.strangers}
    assert stands == {"1.weight", "1.bias"}


def test_an_optimizer_of_another_order_is_not_taken_for_a_replacement() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    other = torch.ones(3, 3, requires_grad=True)
    tensors: Any = [other, *reversed(list(model[1].parameters())), model[0].bias]
    optimizer = torch.optim.SGD(tensors, lr=0.1)
    audit: Audit = gradviz.audit(model(torch.ones(1, 3)).sum(), model, optimizer).findings
    assert audit.optimizer is not None
    assert [s.stands_for for s in audit.optimizer.strangers] == [None]
    assert audit["0.weight"].update == "not in the optimizer"


def test_a_recorded_backward_tells_what_a_custom_function_gave() -> None:
    w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        loss = apply(GivesNone, w).sum() + apply(SavesNothing, v).sum()
    before = gradviz.audit(loss, {"w": w, "v": v}, recording=recording)
    assert [row.gets_gradient for row in before.findings] == [None, None]
    assert "which may return no gradient" in before["w"].why
    with gradviz.record() as recording:
        loss = apply(GivesNone, w).sum() + apply(SavesNothing, v).sum()
        loss.backward()
    after = gradviz.audit(loss, {"w": w, "v": v}, recording=recording)
    assert [(row.gets_gradient, row.reason) for row in after.findings] == [
        (False, "not given"),
        (True, ""),
    ]


def test_a_recording_of_something_else_is_not_used_and_that_is_said() -> None:
    model = net()
    with gradviz.record() as recording:
        loss = model["head"](model["fc"](X)).sum()
    loss = model["head"](model["fc"](X).detach()).sum() * 1.5
    report = gradviz.audit(loss, model, recording=recording)
    assert report["fc.weight"].reason == "unknown"
    assert any(
        text.startswith("The recording was not used: ") for text in report.findings.sentences
    )


def test_the_place_of_a_recorded_cut_is_marked_in_the_graph() -> None:
    model = net()
    with gradviz.record() as recording:
        h = model["fc"](X)
        loss = (model["head"](torch.ones(4, 3)) + h.detach()).sum()
    audit: Audit = gradviz.audit(loss, model, recording=recording).findings
    assert audit.graph is not None
    cut = [mark for mark in audit.marks if mark.kind == "cut"]
    assert [mark.id for mark in cut] == ["n1.1"]
    assert audit.graph["n1"].name == "AddBackward0"
    assert audit.graph["n1"].next_functions[1] is None
    at = audit["fc.weight"].at
    assert at is not None
    assert cut[0].words == f"detach() in line {at.line} cut it off"


def test_all_that_gets_no_gradient_is_marked_and_shown_outside_the_graph() -> None:
    model = net()
    loss = model["head"](model["fc"](X).detach()).sum()
    audit: Audit = gradviz.audit(loss, model).findings
    assert audit.graph is not None
    unreached = {mark.id for mark in audit.marks if mark.kind == "unreached"}
    rows = [audit.graph.tensor(key) for key in unreached]
    assert {row.name for row in rows} == {"fc.weight", "fc.bias", "table.weight"}
    assert all(row.node is None for row in rows)


def test_a_parameter_has_one_name_in_table_sentences_and_picture() -> None:
    model = net()
    with gradviz.record() as recording:
        loss = model["head"](model["fc"](X).detach()).sum()
    for report in (gradviz.audit(loss, model), gradviz.audit(loss, model, recording=recording)):
        for row in report.findings:
            assert report.graph is not None
            assert report.graph.tensor(row.tensor).name == row.name
        assert "model.fc" not in str({**report.wire, "json": ""})


def test_calls_that_a_recording_does_not_tell_leave_the_reason_open() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    model = nn.ModuleDict({"layer": layer, "head": nn.Linear(4, 1)})
    with gradviz.record() as recording:
        with torch.no_grad():
            h = layer(torch.ones(1, 3, 4))  # fused: its calls are not seen
        loss = model["head"](h).sum()
    row = gradviz.audit(loss, model, recording=recording)["layer.linear1.weight"]
    assert (row.gets_gradient, row.reason) == (False, "unknown")
    assert row.unknown == (
        "The recording does not contain all calls: calls inside a compiled or fused module are not "
        "recorded.",
    )


def test_a_call_with_several_results_of_which_one_does_not_depend_on_it_is_named() -> None:
    layer, x = nn.MultiheadAttention(4, 1), torch.rand(3, 1, 4)
    with gradviz.record() as recording:
        _, weights = layer(x, x, x)
        loss = weights.sum()
    row = gradviz.audit(loss, layer, recording=recording)["out_proj.weight"]
    assert (row.gets_gradient, row.reason) == (False, "unknown")
    assert row.why.startswith("multi_head_attention_forward() ")
    assert " used it and returned 2 results" in row.why


def test_what_left_torch_is_named_even_if_not_all_ways_into_the_loss_were_seen() -> None:
    model = net()
    with gradviz.record() as recording:
        a = model["fc"](X).detach().numpy()
        loss = model["head"](torch.from_numpy(a).requires_grad_()).sum()
    row = gradviz.audit(loss, model, recording=recording)["fc.weight"]
    assert row.reason == "unknown"
    words = (
        r"detach\(\) in line \d+ cut it off, and it left torch; no other path to the loss was "
        r"recorded"
    )
    assert re.fullmatch(words, row.why)


def test_of_the_values_that_left_torch_the_one_that_came_into_the_loss_is_named() -> None:
    model = net()
    with gradviz.record() as recording:
        h = model["fc"](X)
        assert h.max().item() > -9
        scale = h.sum().item()  # cut
        loss = model["head"](torch.ones(4, 3)).sum() * torch.tensor(scale)
    row = gradviz.audit(loss, model, recording=recording)["fc.weight"]
    assert row.reason == "left torch"
    assert row.at is not None
    assert row.at.text.endswith("# cut")


def test_a_parameter_that_was_frozen_unseen_is_named_with_the_call_that_took_it() -> None:
    model = net()
    with gradviz.record(only=()) as recording:
        loss = frozen_when_used(model, {})
    row = gradviz.audit(loss, model, recording=recording)["fc.weight"]
    assert row.reason == "frozen"
    words = r"it did not require grad when linear\(\) of \S+ in line \d+ used it"
    assert re.fullmatch(words, row.why)
    with gradviz.record() as recording:
        loss = frozen_when_used(model, {})
    row = gradviz.audit(loss, model, recording=recording)["fc.weight"]
    assert row.reason == "frozen"
    words = r"requires_grad was set to False in line \d+ \(test_reasons.py: frozen_when_used\)"
    assert re.fullmatch(words, row.why)


def test_a_line_that_froze_what_the_graph_leads_to_is_told() -> None:
    model = net()
    with gradviz.record() as recording:
        loss = model["head"](model["fc"](X)).sum()
        model["fc"].requires_grad_(False)  # frozen
    row = gradviz.audit(loss, model, recording=recording)["fc.weight"]
    assert (row.reached, row.reason) == (True, "frozen")
    assert row.at is not None
    assert row.at.text.endswith("# frozen")
    words = rf"requires_grad was set to False in line {row.at.line}, though the graph reaches it"
    assert row.why == words


def test_weights_that_were_written_before_they_were_used_are_followed() -> None:
    model = net()
    with gradviz.record() as recording:
        nn.init.zeros_(model["fc"].weight)
        d = model["fc"](X).detach()  # cut
        loss = model["head"](d).sum()
    row = gradviz.audit(loss, model, recording=recording)["fc.weight"]
    assert row.reason == "detached"
    assert row.at is not None
    assert row.at.text.endswith("# cut")


def test_too_many_calls_in_one_line_leave_the_reason_open_and_into_tells_it() -> None:
    def deep(x: Tensor) -> Tensor:
        for _ in range(300):
            x = x * 1.0
        return x

    w, v = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    with gradviz.record(only=()) as recording:
        loss = (deep(w).detach() * v).sum()
    row = gradviz.audit(loss, {"w": w, "v": v}, recording=recording)["w"]
    assert row.reason == "unknown"
    assert "gradviz.record(into=model)" in row.unknown[0]
    with gradviz.record() as recording:
        loss = (deep(w).detach() * v).sum()
    row = gradviz.audit(loss, {"w": w, "v": v}, recording=recording)["w"]
    assert (row.reason, row.unknown) == ("detached", ())


def test_a_note_about_a_hook_makes_nothing_unknown() -> None:
    model = net()
    with gradviz.record() as recording:
        h = model["head"](torch.ones(2, 3) * 1)
        h.register_hook(abs)
        h.add_(1)
        loss = h.sum()
    notes = [e.about for s in recording.all_steps for e in s.events if isinstance(e, Note)]
    assert notes == ["hook stays"]
    assert gradviz.audit(loss, model, recording=recording)["fc.weight"].reason == "not used"
