"""Errors of the forward, of optimizers and of conversions: which are explained, and which are not
autograd's."""

from __future__ import annotations

import gradviz
from gradviz.analysis.explain.fault_table import faults_of
from tests.analysis.explain.running import explained, run

VIEWS = {
    "one of several views written": """
h = torch.ones(2, 2, requires_grad=True) * 1
rows = h.unbind(0)
rows[0].mul_(2)
""",
    "view made without recording written": """
h = torch.ones(2, 2, requires_grad=True) * 1
with torch.no_grad():
    row = h[0]
row.mul_(2)
""",
    "view of a written base used": """
h = torch.ones(2, 2, requires_grad=True) * 1
with torch.no_grad():
    row = h[0]
h.mul_(2)
row.sum()
""",
}
"""How a view can be made and written so that torch refuses it."""
INSIDE = """
class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[0]

    @staticmethod
    def backward(ctx, grad):
        return torch.stack([grad, grad])

h = torch.ones(2, 2, requires_grad=True) * 1
row = Rows.apply(h)
"""
VIEWS_OF_FUNCTION = {
    "view from a custom Function written": f"{INSIDE}row.mul_(2)",
    "view of a written base used": f"{INSIDE}h.mul_(2)\nrow.sum()",
}
NOT_AUTOGRADS = [
    ("RuntimeError", "if torch.ones(2, requires_grad=True) > 0:\n    pass"),
    ("TypeError", "len(torch.tensor(1.0, requires_grad=True))"),
    ("ValueError", "float(torch.ones(2))"),
    ("TypeError", 'nn.Linear(1, 1).register_buffer("scale", 3.0)'),
    ("TypeError", "model = nn.Linear(1, 1)\nboth = torch.optim.SGD(model.parameters()), list(3)"),
    ("TypeError", "model = nn.Linear(1, 1)\nlayers = list(model)"),
    ("TypeError", "import collections\nmodel = nn.Linear(1, 1)\ncollections.Counter(model)"),
    ("TypeError", "np.array([1.0]) * [None]"),
]


def test_each_way_in_which_torch_refuses_a_view_has_a_kind() -> None:
    for kind, text in (*VIEWS.items(), *VIEWS_OF_FUNCTION.items()):
        for record in (True, False):
            found = explained(text, record)
            assert found.kind == kind, (text, record)
            assert not {"rows[0]", "row"}.isdisjoint(found.variables), (text, record)


def test_what_is_not_autograds_has_no_kind() -> None:
    for raised, text in NOT_AUTOGRADS:
        for record in (True, False):
            assert kind_of(text, record) == ("other", raised), (text, record)


def kind_of(text: str, record: bool) -> tuple[str, str | None]:
    """The kind of an error, and its class; what is not explained leaves the block."""
    try:
        found = explained(text, record)
    except (TypeError, ValueError) as error:
        return "other", type(error).__name__
    return found.kind, found.raised


def test_without_a_recording_a_call_of_torch_is_read_from_its_line() -> None:
    for line, name in (
        ("w.numpy()", "w"),
        ("w.add_(1)", "w"),
        ("w += 1", "w"),
        ("box.weight.zero_()", "box.weight"),
        ("torch.add(w, 1, out=w)", "w"),
        ("w.requires_grad_(); (w * 1).retain_grad(); w.mul_(2.0)", "w"),
    ):
        text = f"w = torch.ones(2, requires_grad=True)\nbox = nn.Linear(1, 1)\n{line}"
        assert explained(text, record=False).variables == (name,), line


def test_without_a_recording_nothing_in_a_line_is_computed_again() -> None:
    text = """
calls = []
def made():
    calls.append(1)
    return torch.ones(2, requires_grad=True)
made().numpy()
"""
    found = run(text, lambda: gradviz.expect_error(record=False))
    assert found["calls"] == [1]
    assert found["found"].variables == ()


def test_a_value_that_backward_needs_is_not_detached() -> None:
    text = """
def penalty(x):
    return torch.tensor(np.abs(x.numpy()).sum())

w = torch.ones(2, requires_grad=True)
loss = penalty(w) + 1
loss.backward()
"""
    for record in (True, False):
        assert explained(text, record).fixes == ()


def test_a_name_is_not_given_to_what_a_function_computes_from_an_argument() -> None:
    found = explained("""
def rate(x):
    return np.asarray(x * 2).mean()

mean = rate(torch.ones(2, requires_grad=True))
""")
    assert "mean" not in found.variables


def test_the_first_words_of_a_message_choose_the_kind() -> None:
    written = "Output 0 of UnbindBackward0 is a view and is being modified inplace. This view is "
    used = "Output 0 of UnbindBackward0 is a view and its base or another view of its base has "
    end = "the output of a function that returns multiple views."
    assert next(faults_of("RuntimeError", written + end)).kind == "one of several views written"
    middle = "been modified inplace. This view is "
    assert next(faults_of("RuntimeError", used + middle + end)).kind == (
        "view of a written base used"
    )
