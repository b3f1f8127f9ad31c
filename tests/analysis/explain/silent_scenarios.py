"""Programs in which torch raises nothing and the gradient, or the step, is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.analysis.explain.silent_running import program


@dataclass(frozen=True)
class Scenario:
    """A program with one fault."""

    name: str
    kind: str
    text: str
    culprit: str
    """The line that did it."""
    noticed: str
    """The line that does the harm."""
    variables: tuple[str, ...]
    result: str
    """What is wrong, as an expression of the program's variables."""
    right: tuple[str, ...]
    """What it is after each fix, computed in another way."""
    node: str | None = None
    saved: str | None = None
    before: str = ""
    """Code that runs before the recording begins."""
    unknown: str = ""
    """Words of what it says is not known."""

    def __str__(self) -> str:
        return self.name


SCENARIOS: Final[list[Scenario]] = []


def add(name: str, kind: str, text: str, **fields: object) -> None:
    """Put a scenario in the list."""
    SCENARIOS.append(Scenario(name, kind, program(text), **fields))  # type: ignore[arg-type]


def grad(function: str, at: str) -> str:
    """Text of the gradient of a function of one tensor, without any write in place."""
    return f"torch.func.grad(lambda a: {function})(torch.tensor({at}))"


A: Final = "[1.0, 2.0]"

# ------------------------------------------------------------------------- hidden writes

add(
    "data on a saved input",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.pow(2)
    h.data.mul_(3)
    y.sum().backward()
    """,
    culprit="h.data.mul_(3)",
    noticed="y.sum().backward()",
    variables=("h",),
    node="PowBackward0",
    saved="self",
    result="a.grad",
    right=(grad("(a * 2).pow(2).sum()", A),) * 2,
)
add(
    "the second of two writes through data in a line",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h, g = a * 2, a * 3
    y = h.pow(2) + g
    g.data.add_(1); h.data.mul_(3)
    y.sum().backward()
    """,
    culprit="g.data.add_(1); h.data.mul_(3)",
    noticed="y.sum().backward()",
    variables=("h",),
    node="PowBackward0",
    saved="self",
    result="a.grad",
    right=(grad("((a * 2).pow(2) + a * 3).sum()", A),) * 2,
)
add(
    "data on a saved input that is read again",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.sin()
    h.data *= 3
    loss = (y + h).sum()
    loss.backward()
    """,
    culprit="h.data *= 3",
    noticed="loss.backward()",
    variables=("h",),
    node="SinBackward0",
    saved="self",
    result="a.grad",
    right=(grad("((a * 2).sin() + a * 6).sum()", A),),
)
add(
    "data of a part",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h * h
    h.data[0] = 7
    y.sum().backward()
    """,
    culprit="h.data[0] = 7",
    noticed="y.sum().backward()",
    variables=("h",),
    node="MulBackward0",
    saved="other",
    result="a.grad",
    right=(grad("(a * 2).pow(2).sum()", A),) * 2,
)
add(
    "numpy on a saved result",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.exp()
    n = y.detach().numpy()
    loss = y.sum()
    n *= 0.5
    loss.backward()
    """,
    culprit="n *= 0.5",
    noticed="loss.backward()",
    variables=("y",),
    node="ExpBackward0",
    saved="result",
    result="a.grad",
    right=(grad("a.exp().sum()", A),) * 2,
)
add(
    "another name for data",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    d = h.data
    y = h.cos()
    d.mul_(3)
    y.sum().backward()
    """,
    culprit="d.mul_(3)",
    noticed="y.sum().backward()",
    variables=("h",),
    node="CosBackward0",
    saved="self",
    result="a.grad",
    right=(grad("(a * 2).cos().sum()", A),) * 2,
)
add(
    "a view of data",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.sigmoid()
    v = y.data[1]
    loss = y.sum()
    v.zero_()
    loss.backward()
    """,
    culprit="v.zero_()",
    noticed="loss.backward()",
    variables=("y",),
    node="SigmoidBackward0",
    saved="result",
    result="a.grad",
    right=(grad("a.sigmoid().sum()", A),) * 2,
)
add(
    "other memory through data",
    "hidden write",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.pow(3)
    h.data = h.data + 1
    y.sum().backward()
    """,
    culprit="h.data = h.data + 1",
    noticed="y.sum().backward()",
    variables=("h",),
    node="PowBackward0",
    saved="self",
    result="a.grad",
    right=(grad("(a * 2).pow(3).sum()", A),) * 2,
)
add(
    "a parameter between two backwards",
    "hidden write",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w ** 3).sum()
    loss.backward(retain_graph=True)
    w.data -= 0.1 * w.grad
    w.grad = None
    loss.backward()
    """,
    culprit="w.data -= 0.1 * w.grad",
    noticed="loss.backward()",
    variables=("w",),
    node="PowBackward0",
    saved="self",
    result="w.grad",
    right=(grad("(a ** 3).sum()", A),) * 2,
)
add(
    "a layer's weight before backward",
    "hidden write",
    """
    model = nn.Linear(2, 1, bias=False)
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    loss = (model(x) ** 2).sum()
    model.weight.data.fill_(1.0)
    loss.backward()
    """,
    culprit="model.weight.data.fill_(1.0)",
    noticed="loss.backward()",
    variables=("model.weight",),
    node="MmBackward0",
    saved="mat2",
    result="x.grad",
    right=(
        "(lambda w: torch.func.grad(lambda a: ((a @ w.T) ** 2).sum())(x.detach()))"
        "((torch.manual_seed(0), nn.Linear(2, 1, bias=False).weight.detach())[1])",
    ),
)
add(
    "a buffer of numpy that is filled again",
    "hidden write",
    """
    buffer = np.ones(3, dtype=np.float32)
    x = torch.from_numpy(buffer)
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (w * x).sum()
    buffer[:] = 9
    loss.backward()
    """,
    culprit="buffer[:] = 9",
    noticed="loss.backward()",
    variables=("x",),
    node="MulBackward0",
    saved="other",
    result="w.grad",
    right=("torch.ones(3)",) * 2,
)
add(
    "more values than are recorded",
    "hidden write",
    """
    a = torch.linspace(-1, 1, 50).requires_grad_()
    h = a * 2
    y = h.tanh()
    y.data.clamp_(-0.5, 0.5)
    y.sum().backward()
    """,
    culprit="y.data.clamp_(-0.5, 0.5)",
    noticed="y.sum().backward()",
    variables=("y",),
    node="TanhBackward0",
    saved="result",
    result="a.grad",
    right=(
        "torch.func.grad(lambda a: (a * 2).tanh().clamp(-0.5, 0.5).sum())"
        "(torch.linspace(-1, 1, 50))",
    ),
)

# ------------------------------------------------------------------- writes without a node

add(
    "no_grad",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0])
    c = a + 1
    with torch.no_grad():
        c *= b
    c.sum().backward()
    """,
    culprit="c *= b",
    noticed="c.sum().backward()",
    variables=("c",),
    node="AddBackward0",
    result="a.grad",
    right=("torch.tensor([3.0, 4.0])",),
)
add(
    "no_grad, a part",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    with torch.no_grad():
        c[0] = 0
    c.sum().backward()
    """,
    culprit="c[0] = 0",
    noticed="c.sum().backward()",
    variables=("c",),
    node="AddBackward0",
    result="a.grad",
    right=("torch.tensor([0.0, 1.0])",),
)
add(
    "no_grad, what is added requires grad",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    with torch.no_grad():
        c.add_(a * 5)
    c.sum().backward()
    """,
    culprit="c.add_(a * 5)",
    noticed="c.sum().backward()",
    variables=("c",),
    node="AddBackward0",
    result="a.grad",
    right=("torch.tensor([6.0, 6.0])",),
)
add(
    "inference mode",
    "write without a node",
    """
    a = torch.tensor([1.0, 4.0], requires_grad=True)
    c = a + 1
    with torch.inference_mode():
        c.clamp_(max=3)
    c.sum().backward()
    """,
    culprit="c.clamp_(max=3)",
    noticed="c.sum().backward()",
    variables=("c",),
    node="AddBackward0",
    result="a.grad",
    right=("torch.tensor([1.0, 0.0])",),
)
add(
    "data, then read",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a * 2
    c.data.mul_(3)
    loss = c.pow(2).sum()
    loss.backward()
    """,
    culprit="c.data.mul_(3)",
    noticed="loss.backward()",
    variables=("c",),
    node="MulBackward0",
    result="a.grad",
    right=("2 * 36 * torch.tensor([1.0, 2.0])",),
)
add(
    "detach shares memory",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    d = c.detach()
    d.mul_(3)
    (c * 2).sum().backward()
    """,
    culprit="d.mul_(3)",
    noticed="(c * 2).sum().backward()",
    variables=("c",),
    node="AddBackward0",
    result="(a.grad, c.detach())",
    right=("(torch.tensor([2.0, 2.0]), torch.tensor([2.0, 3.0]))",),
)
add(
    "numpy, then read",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    n = c.detach().numpy()
    n[:] = 3
    c.sum().backward()
    """,
    culprit="n[:] = 3",
    noticed="c.sum().backward()",
    variables=("c",),
    node="AddBackward0",
    result="(a.grad, c.detach())",
    right=("(torch.ones(2), torch.tensor([2.0, 3.0]))",),
)
add(
    "backward begins there",
    "write without a node",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = a.sum()
    with torch.no_grad():
        loss.div_(10)
    loss.backward()
    """,
    culprit="loss.div_(10)",
    noticed="loss.backward()",
    variables=("loss",),
    node="SumBackward0",
    result="a.grad",
    right=("torch.tensor([0.1, 0.1])",),
)

# ------------------------------------------------------------------------------ broadcast

_NET = """
    net = nn.Linear(2, 1)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]])
    t = torch.tensor([1.0, -2.0, 3.0])
"""


def _of_net(loss: str) -> str:
    """Text of the right gradient of ``net.weight``."""
    return (
        f"torch.func.grad(lambda w: (lambda p: {loss})"
        "((x @ w.T)[:, 0] + net.bias.detach()))(net.weight.detach())"
    )


add(
    "a loss of a column and a row",
    "broadcast",
    _NET
    + """
    loss = F.mse_loss(net(x), t)
    loss.backward()
    """,
    culprit="loss = F.mse_loss(net(x), t)",
    noticed="loss.backward()",
    variables=("t",),
    node="MseLossBackward0",
    result="net.weight.grad",
    right=(_of_net("((p - t) ** 2).mean()"),) * 2,
)
add(
    "a loss that is a module",
    "broadcast",
    _NET
    + """
    criterion = nn.SmoothL1Loss()
    prediction = net(x)
    loss = criterion(prediction, t)
    loss.backward()
    """,
    culprit="loss = criterion(prediction, t)",
    noticed="loss.backward()",
    variables=("prediction", "t"),
    node="SmoothL1LossBackward0",
    result="net.weight.grad",
    right=(_of_net("F.smooth_l1_loss(p, t)"),) * 2,
)
add(
    "huber",
    "broadcast",
    _NET
    + """
    loss = F.huber_loss(net(x), t, delta=0.5)
    loss.backward()
    """,
    culprit="loss = F.huber_loss(net(x), t, delta=0.5)",
    noticed="loss.backward()",
    variables=("t",),
    node="HuberLossBackward0",
    result="net.weight.grad",
    right=(_of_net("F.huber_loss(p, t, delta=0.5)"),) * 2,
)
add(
    "squares of a difference",
    "broadcast",
    _NET
    + """
    loss = ((net(x) - t) ** 2).mean()
    loss.backward()
    """,
    culprit="loss = ((net(x) - t) ** 2).mean()",
    noticed="loss.backward()",
    variables=("t",),
    node="SubBackward0",
    result="net.weight.grad",
    right=(_of_net("((p - t) ** 2).mean()"),) * 2,
)
add(
    "targets are the column",
    "broadcast",
    _NET
    + """
    column = t.unsqueeze(1)
    error = column - net(x).squeeze(1)
    loss = (error * error).sum() / 3
    loss.backward()
    """,
    culprit="error = column - net(x).squeeze(1)",
    noticed="loss.backward()",
    variables=("column",),
    node="SubBackward0",
    result="net.weight.grad",
    right=(_of_net("((p - t) ** 2).sum() / 3"),),
)

# ---------------------------------------------------------------------- parameter rebound

add(
    "a name bound again",
    "parameter rebound",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    w = torch.tensor([5.0, 6.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    opt.step()
    """,
    culprit="w = torch.tensor([5.0, 6.0], requires_grad=True)",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([4.0, 4.8])",),
)
add(
    "the second of two optimizers that step in a line",
    "parameter rebound",
    """
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    one, two = optim.SGD([v], lr=0.1), optim.SGD([w], lr=0.1)
    w = torch.tensor([5.0, 6.0], requires_grad=True)
    loss = (w * w * v).sum()
    loss.backward()
    one.step(); two.step()
    """,
    culprit="w = torch.tensor([5.0, 6.0], requires_grad=True)",
    noticed="one.step(); two.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([2.0, 1.2])",),
)
add(
    "a new head",
    "parameter rebound",
    """
    opt = optim.SGD(model.parameters(), lr=0.5)
    model[1] = nn.Linear(2, 1)
    start = model[1].bias.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        opt.step()
    """,
    before="model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))",
    culprit="model[1] = nn.Linear(2, 1)",
    noticed="opt.step()",
    variables=("model.1.weight", "model.1.bias"),
    result="model[1].bias.detach() - start",
    right=("torch.tensor([-1.0])",),
)

# ------------------------------------------------------------------------- stale gradient

_TWO = """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    opt = optim.SGD([w, v], lr=0.1, momentum=0.9)
    (w * v).sum().backward()
    opt.step()
"""
add(
    "frozen with a gradient",
    "stale gradient",
    _TWO
    + """
    w.requires_grad_(False)
    kept = w.clone()
    v.grad = None
    (w * v).sum().backward()
    opt.step()
    """,
    culprit="w.requires_grad_(False)",
    noticed="opt.step()",
    variables=("w",),
    result="w - kept",
    right=("torch.zeros(2)",),
)
add(
    "frozen with a gradient of 0",
    "stale gradient",
    _TWO
    + """
    w.requires_grad = False
    kept = w.clone()
    opt.zero_grad(set_to_none=False)
    (w * v).sum().backward()
    opt.step()
    """,
    culprit="w.requires_grad = False",
    noticed="opt.step()",
    variables=("w",),
    result="w - kept",
    right=("torch.zeros(2)",),
)
add(
    "frozen before the recording",
    "stale gradient",
    """
    v.grad = None
    (w * v).sum().backward()
    opt.step()
    """,
    before=program(_TWO) + "\nw.requires_grad_(False)\nkept = w.clone()",
    culprit="",
    noticed="opt.step()",
    variables=("w",),
    unknown="before the recording began",
    result="w - kept",
    right=("torch.zeros(2)",),
)

# ---------------------------------------------------------------- frozen batch norm moves

add(
    "a frozen batch norm in training mode",
    "frozen batch norm moves",
    """
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
    for p in model[1].parameters():
        p.requires_grad = False
    loss = model(torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum()
    loss.backward()
    """,
    culprit="loss = model(torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum()",
    noticed="loss = model(torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum()",
    variables=("model.1.running_mean", "model.1.running_var"),
    node="NativeBatchNormBackward0",
    result="model[1].running_mean",
    right=("torch.zeros(2)",),
)
add(
    "a frozen backbone",
    "frozen batch norm moves",
    """
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    features = backbone(x)
    loss = head(features).sum()
    loss.backward()
    """,
    before=(
        "backbone = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.BatchNorm1d(2))\n"
        "backbone.requires_grad_(False)\n"
        "head = nn.Linear(2, 1)"
    ),
    culprit="features = backbone(x)",
    noticed="features = backbone(x)",
    variables=(
        "backbone.1.running_mean",
        "backbone.1.running_var",
        "backbone.2.running_mean",
        "backbone.2.running_var",
    ),
    result="backbone[1].running_mean",
    right=("torch.zeros(2)",),
)

# ------------------------------------------------------------------- gradient thrown away

add(
    "zero_grad between backward and step",
    "gradient thrown away",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    for _ in range(2):
        loss = (w * w).sum()
        loss.backward()
        opt.zero_grad()
        opt.step()
    """,
    culprit="opt.zero_grad()",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("0.64 * torch.tensor([1.0, 2.0])",),
)
add(
    "zero_grad of the model, filling",
    "gradient thrown away",
    """
    model = nn.Linear(2, 1, bias=False)
    opt = optim.SGD(model.parameters(), lr=0.1)
    start = model.weight.detach().clone()
    loss = model(torch.tensor([[1.0, 2.0]])).sum()
    loss.backward()
    model.zero_grad(set_to_none=False)
    opt.step()
    """,
    culprit="model.zero_grad(set_to_none=False)",
    noticed="opt.step()",
    variables=("model.weight",),
    result="model.weight.detach() - start",
    right=("torch.tensor([[-0.1, -0.2]])",),
)
add(
    "grad set to None by hand",
    "gradient thrown away",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    w.grad = None
    opt.step()
    """,
    culprit="w.grad = None",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([0.8, 1.6])",),
)

# ---------------------------------------------------------------- clipped before backward

add(
    "clip_grad_norm_ before backward",
    "clipped before backward",
    """
    model = nn.Linear(2, 1, bias=False)
    opt = optim.SGD(model.parameters(), lr=1.0)
    start = model.weight.detach().clone()
    loss = 100 * model(torch.tensor([[3.0, 4.0]])).sum()
    opt.zero_grad()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    loss.backward()
    opt.step()
    """,
    culprit="nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    noticed="opt.step()",
    variables=("model.weight",),
    result="model.weight.detach() - start",
    right=("torch.tensor([[-0.6, -0.8]])",),
)
add(
    "clip_grad_value_ in a loop",
    "clipped before backward",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    w.grad = torch.zeros(2)
    for _ in range(2):
        opt.zero_grad(set_to_none=False)
        nn.utils.clip_grad_value_([w], 0.5)
        (w ** 2).sum().backward()
        opt.step()
    """,
    culprit="nn.utils.clip_grad_value_([w], 0.5)",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([0.9, 1.9])",),
)

# ---------------------------------------------------------------- gradients that nothing clears

add(
    "zero_grad forgotten in a loop",
    "gradient added to a used one",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.5)
    for _ in range(3):
        w.sum().backward()
        opt.step()
    """,
    culprit="w.sum().backward()",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([-0.5, 0.5])",),
)

# ---------------------------------------------------------------- updates that are lost

add(
    "an update by hand of the loop's variable",
    "update of a loop variable",
    """
    model = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(1.0)
    model(torch.ones(1, 2)).sum().backward()
    with torch.no_grad():
        for p in model.parameters():
            p = p - 0.5 * p.grad
    """,
    culprit="p = p - 0.5 * p.grad",
    noticed="p = p - 0.5 * p.grad",
    variables=("model.weight", "p"),
    result="model.weight.detach()",
    right=("torch.tensor([[0.5, 0.5]])",),
)
add(
    "an update by hand, recorded, with gradients beside",
    "update of a loop variable",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    params = [w]
    grads = torch.autograd.grad((w * w).sum(), params)
    for p, g in zip(params, grads):
        p = p - 0.5 * g
    """,
    culprit="p = p - 0.5 * g",
    noticed="p = p - 0.5 * g",
    variables=("w", "p"),
    result="w.detach()",
    right=("torch.tensor([0.0, 0.0])",),
)

# ---------------------------------------------------------------- parameters not registered

add(
    "layers in a list",
    "parameter not registered",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(1, 1, bias=False)]
            self.out = nn.Linear(1, 1, bias=False)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.out(x)

    model = Net()
    for layer in (model.layers[0], model.out):
        nn.init.ones_(layer.weight)
    opt = optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(1, 1)).sum().backward()
        opt.step()
    """,
    culprit="self.layers = [nn.Linear(1, 1, bias=False)]",
    noticed="opt.step()",
    variables=("model.layers[0].weight", "self.layers"),
    result="model.layers[0].weight.detach()",
    right=("torch.tensor([[0.25]])",),
)
add(
    "a tensor as an attribute",
    "parameter not registered",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.tensor(2.0, requires_grad=True)
            self.net = nn.Linear(1, 1, bias=False)

        def forward(self, x):
            return self.scale * self.net(x)

    model = Net()
    nn.init.ones_(model.net.weight)
    opt = optim.SGD(model.parameters(), lr=0.25)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(1, 1)).sum().backward()
        opt.step()
    """,
    culprit="self.scale = torch.tensor(2.0, requires_grad=True)",
    noticed="opt.step()",
    variables=("self.scale",),
    result="model.scale.detach()",
    right=("torch.tensor(1.625)",),
)
