"""A write in place has one form out of place, the same for errors and silent faults."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradviz.analysis.code.statements import is_expression
from gradviz.analysis.explain.fixes import out_of_place, untracked_writes
from gradviz.model.explanation import Fix
from gradviz.model.history import History, WriteEvent
from tests.analysis.explain import silent_running
from tests.analysis.explain.running import explained, fixed, run

FLOATS = """
w = torch.tensor([float("nan"), 2.0, -3.0], requires_grad=True)
x = torch.tensor([4.0, 5.0, 6.0])
k, i = torch.tensor(3.0), torch.tensor([1])
h = w * 1
"""
NUMBERS = FLOATS.replace("h = w * 1", "h = x + 1")
INTEGERS = FLOATS.replace("h = w * 1", "h = torch.tensor([4, 5, 6])")

LINES = [
    # line, what stands there instead or, if a copy is written, before it
    (FLOATS, "h.add_(1)", "h = h.add(1)"),
    (FLOATS, "h.mul_(h)", "h = h.mul(h)"),
    (FLOATS, "h.sub_(x, alpha=2)", "h = h.sub(x, alpha=2)"),
    (FLOATS, "h += 1", "h = h + 1"),
    (FLOATS, "h -= 2", "h = h - 2"),
    (FLOATS, "h *= 2 + 1", "h = h * (2 + 1)"),
    (FLOATS, "h /= 4", "h = h / 4"),
    (FLOATS, "h **= 2", "h = h ** 2"),
    (FLOATS, "h %= 2", "h = h % 2"),
    (NUMBERS, "h //= 2", "h = h // 2"),
    (INTEGERS, "h &= 6", "h = h & 6"),
    (INTEGERS, "h |= 1", "h = h | 1"),
    (INTEGERS, "h ^= 3", "h = h ^ 3"),
    (INTEGERS, "h <<= 1", "h = h << 1"),
    (INTEGERS, "h >>= 1", "h = h >> 1"),
    (FLOATS, "h.zero_()", "h = torch.zeros_like(h)"),
    (FLOATS, "h.fill_(7.0)", "h = torch.full_like(h, 7.0)"),
    (FLOATS, "h.fill_(-7)", "h = torch.full_like(h, -7)"),
    (FLOATS, "h.fill_(k)", "h = h.clone()"),
    (FLOATS, "h.copy_(x)", "h = h.clone()"),
    (FLOATS, "h.clamp_(min=0)", "h = h.clamp(min=0)"),
    (FLOATS, "h.lt_(2)", "h = h.clone()"),
    (FLOATS, "h.index_fill_(0, i, 7.0)", "h = h.clone()"),
    (FLOATS, "h.masked_fill_(x > 4, 0)", "h = h.masked_fill(x > 4, 0)"),
    (NUMBERS, "h.bernoulli_(0.5)", "h = h.clone()"),
    (NUMBERS, "nn.init.normal_(h)", "h = h.clone()"),
    (NUMBERS, "torch.mul(x, 2, out=h)", "h = torch.mul(x, 2)"),
    (NUMBERS, "torch.mul(x[:1], 2, out=h[1:2])", "h = h.clone()"),
    (FLOATS, "torch.zero_(h)", "h = torch.zeros_like(h)"),
    (FLOATS, "torch.relu_(h)", "h = torch.relu(h)"),
    (FLOATS, "F.relu(h, inplace=True)", "h = F.relu(h, inplace=False)"),
    (FLOATS, "F.relu(input=h, inplace=True)", "h = F.relu(input=h, inplace=False)"),
    (FLOATS, "F.relu(h, True)", "h = h.clone()"),
    (FLOATS, "h[0] = 1", "h = h.clone()"),
    (FLOATS, "h[0] += 1", "h = h.clone()"),
    (FLOATS, "h[1:] *= 4", "h = h.clone()"),
    (FLOATS, "h[0], h[1] = 5, 6", "h = h.clone()"),
    (FLOATS, "h[0].mul_(3)", "h = h.clone()"),
    (FLOATS, "h.view(-1).add_(1)", "h = h.clone()"),
    (FLOATS, "h = h.add_(1)", "h = h.add(1)"),
    (FLOATS, "z = h.mul_(2)", "z = h = h.mul(2)"),
    (FLOATS, "z = F.relu(h, inplace=True)", "z = h = F.relu(h, inplace=False)"),
    (FLOATS, "z = h.add_(1).sum() + h.sum()", "h = h.clone()"),
    (FLOATS, "z = (h * h.add_(1)).sum()", "h = h.clone()"),
    (FLOATS, "h.add_(1); h.mul_(2)", "h = h.add(1); h.mul_(2)"),
    (FLOATS, "x = x + 1; h[0] = 1", "x = x + 1; h = h.clone(); h[0] = 1"),
    (FLOATS, "if True: h.add_(1)", "if True: h = h.add(1)"),
    (FLOATS, "z = [h.add_(n).sum() for n in (1, 2)]", "h = h.clone()"),
    (FLOATS, "h.detach().mul_(3)", "h = h.mul(3)"),
]
HIDDEN = [
    (FLOATS, "h.data.mul_(3)", "h = h.mul(3)"),
    (FLOATS, "h.data.zero_()", "h = torch.zeros_like(h)"),
    (FLOATS, "h.data = h.data * 2", "h = h * 2"),
    (FLOATS, "h.data -= h.data / 2", "h = h - (h / 2)"),
    (FLOATS, "h.data[0] = 5", "h = h.clone(); h[0] = 5"),
    (FLOATS, "h.data[0] += 5", "h = h.clone(); h[0] += 5"),
    (FLOATS, "z = h.data.mul_(2)", "z = h = h.mul(2)"),
    (FLOATS, "h[0].data.mul_(2)", "h = h.clone(); h[0].mul_(2)"),
]
"""Writes that torch does not see, so that there is no error."""
NONE = [
    (FLOATS, "h.detach().numpy()[0] = 5"),
    (FLOATS, "torch._foreach_add_([h], 1.0)"),
    (FLOATS, "g = lambda: h.add_(1); g()"),
    (FLOATS, "[g.add_(1) for g in (h,)]"),
    (FLOATS, "kept = [h]; h.data.add_(1)"),
]
"""Writes without such a form: what is written is not typed there, or an array."""
WRONG = {
    "retain_graph": """
w = torch.ones(2, requires_grad=True)
h = w.exp()
loss = h.sum()
loss.backward()
with torch.no_grad():
    h.add_(1)
loss.backward()
""",
    "unbind": """
x = torch.ones(2, 2, requires_grad=True)
one, two = x.unbind(0)
x.sum().backward()
one.grad + 1
""",
    "one + two": """
w = torch.ones(2, requires_grad=True)
trunk = w.exp()
one, two = trunk.sum(), (2 * trunk).sum()
one.backward()
with torch.no_grad():
    trunk.add_(1)
two.backward()
""",
    "(one + two)": """
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
trunk = w.exp()
one, two = trunk.sum(), (2 * trunk).sum()
one.backward()
optimizer.zero_grad()
two.backward()
""",
    "np.random": """
w = torch.ones(2, requires_grad=True)
loss = (w.exp() * np.random.rand()).sum()
loss.backward()
loss.backward()
""",
    "(x).detach()": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x):
        self.last = self.layer(x)
        return x
net = Net()
net(torch.ones(1, 2))
penalty = net.last.pow(2).sum()
kept = copy.deepcopy(net)
penalty.backward()
""",
    "create_graph": """
x = torch.ones(2, requires_grad=True)
(slope,) = torch.autograd.grad((3 * x).sum(), x, create_graph=True)
slope.sum().backward()
""",
}
"""Programs, each by a part of a fix that would raise again or give other gradients."""


def silent_fix(program: str, line: str) -> Fix | None:
    """What a silent fault is told to write in place of a line."""
    recording = silent_running.run_recorded((program + line).strip())
    history = recording.history
    last = len(program.strip().split("\n")) + silent_running.FIRST
    fixes = [
        fix
        for act in acts(history)
        if recording.records[act.place[0]].line == last
        for fix in untracked_writes.recorded_write(act, "h", history)
    ]
    return fixes[0] if fixes else None


def acts(history: History) -> list[WriteEvent]:
    found = [act for acts in history.acts.values() for act in acts]
    return sorted(found, key=lambda act: act.place)


def loud(program: str, line: str) -> str:
    """A program in which torch notices the write."""
    saves = "y = w * h" if "w * 1" not in program else "y = h * h"
    return f"{program.strip()}\n{saves}\n{line}\n(y.sum() + w.sum() + h.sum()).backward()"


def variables(text: str, *names: str) -> list[Any]:
    found = run(text)
    return [found.get(name) for name in names]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return (
            one.dtype == other.dtype
            and torch.equal(one.isnan(), other.isnan())
            and (torch.equal(one.nan_to_num(), other.nan_to_num()))
        )
    if isinstance(one, list):
        return all(map(same, one, other))
    return bool(one == other)


def gradient(program: str) -> torch.Tensor:
    """That of the sum of ``h`` and ``w``, which saves nothing of ``h``."""
    found: torch.Tensor = run(f"{program.strip()}\n(h.sum() + w.sum()).backward()")["w"].grad
    return found


def test_what_is_written_out_of_place_has_the_values_of_the_write() -> None:
    wrong = []
    for program, line, code in (*LINES, *HIDDEN):
        fix = silent_fix(program, line)
        if fix is None or (fix.code, fix.how) != (code, how_of(code)):
            wrong.append((line, "fix", fix))
            continue
        whole = f"{fix.code}\n{line}" if fix.how == "before" else fix.code
        expected = variables(program + line, "h", "z")
        if not all(map(same, variables(program + whole, "h", "z"), expected)):
            wrong.append((line, "values", fix))
        # Torch gives no gradient for some of these in place, or another one.
        if not any(word in line for word in ("data", "detach", "init", "mul_(h)")) and not same(
            gradient(program + whole), gradient(program + line)
        ):
            wrong.append((line, "gradient", fix))
    assert wrong == []


def how_of(code: str) -> str:
    return "before" if code == "h = h.clone()" else "instead"


def test_an_error_gets_the_same() -> None:
    wrong: list[object] = []
    for program, line, code in LINES:
        text = loud(program, line)
        found = explained(text)
        fix = found.fixes[0] if found.fixes else None
        if found.kind != "saved tensor written" or fix is None:
            wrong.append((line, found.kind, fix))
        elif (fix.code, fix.how) != (code, how_of(code)) or run(fixed(text, fix))["w"].grad is None:
            wrong.append((line, "fix", fix))
    assert wrong == []


def test_where_the_tensor_is_not_typed_nothing_is_rewritten() -> None:
    fixes = {line: silent_fix(program, line) for program, line in NONE}
    assert fixes == dict.fromkeys(fixes)


def test_no_fix_is_offered_that_would_not_help() -> None:
    for part, program in WRONG.items():
        found = explained(program)
        assert found.kind != "other"
        codes = [one.code for fix in found.fixes for one in (fix, *fix.also)]
        assert not [code for code in codes if part in code]


def methods() -> list[str]:
    """Methods of a tensor that write in place."""
    return [
        name
        for name in dir(torch.Tensor)
        if name.endswith("_") and not name.startswith("_") and not name.endswith("__")
    ]


def test_every_method_in_place_has_a_form_out_of_place_or_is_known_to_have_none() -> None:
    known = out_of_place.COPIED | out_of_place.NO_WRITE | {"zero_"}
    assert [m for m in methods() if m not in known and not hasattr(torch.Tensor, m[:-1])] == []


def test_a_method_out_of_place_gives_the_values_of_that_in_place() -> None:
    wrong = []
    for name in methods():
        if name in out_of_place.COPIED | out_of_place.NO_WRITE | {"zero_"}:
            continue
        for given in ((), (torch.tensor([0.5, 2.0]),), (1,), (0, 1)):
            written, other = torch.tensor([0.25, 0.75]), torch.tensor([0.25, 0.75])
            try:
                getattr(written, name)(*given)
            except (RuntimeError, TypeError, IndexError):
                continue
            new = getattr(other, name[:-1])(*given)
            is_same = new.dtype == written.dtype and torch.allclose(new, written, equal_nan=True)
            if not is_same or math.prod(new.shape) != 2:
                wrong.append((name, given, new, written))
            break
    assert wrong == []


def test_names_are_expressions() -> None:
    assert all(map(is_expression, ("h", "self.h", "hs[0]", "größe", "텐서")))
