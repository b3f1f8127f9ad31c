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

add(
    "zero_grad once per epoch",
    "gradient added to a used one",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.5)
    for epoch in range(2):
        opt.zero_grad()
        for batch in range(2):
            w.sum().backward()
            opt.step()
    """,
    culprit="w.sum().backward()",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([-1.0, 0.0])",),
)
add(
    "zero_grad at every second batch",
    "gradient added to a used one",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.5)
    for batch in range(4):
        if batch % 2 == 0:
            opt.zero_grad(set_to_none=False)
        w.sum().backward()
        opt.step()
    """,
    culprit="w.sum().backward()",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([-1.0, 0.0])",),
)
add(
    "an optimizer of each client that clears only at its beginning",
    "gradient added to a used one",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    def train(batches):
        opt = optim.SGD([w], lr=0.5)
        opt.zero_grad()
        for batch in batches:
            (w * batch).sum().backward()
            opt.step()
    for client in range(2):
        train(torch.ones(2, 2))
    """,
    culprit="(w * batch).sum().backward()",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([-1.0, 0.0])",),
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
add(
    "an update by hand of the loop's variable, which then clears a gradient",
    "update of a loop variable",
    """
    weights = [torch.tensor([1.0, 2.0], requires_grad=True)]
    for _ in range(2):
        (weights[0] * weights[0]).sum().backward()
        with torch.no_grad():
            for w in weights:
                w = w - 0.25 * w.grad
                w.grad = None
        weights[0].grad = None
    """,
    culprit="w = w - 0.25 * w.grad",
    noticed="w = w - 0.25 * w.grad",
    variables=("weights[0]", "w"),
    result="weights[0].detach()",
    right=("torch.tensor([0.25, 0.5])",),
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

# ---------------------------------------------------------------- first nan or inf

add(
    "a logarithm of 0 in a divergence",
    "first nan or inf",
    """
    target = torch.tensor([0.0, 1.0])
    logits = torch.tensor([0.0, 0.0], requires_grad=True)
    p = logits.log_softmax(0)
    loss = (target * (target.log() - p)).sum()
    loss.backward()
    """,
    culprit="loss = (target * (target.log() - p)).sum()",
    noticed="loss.backward()",
    variables=("target", "loss"),
    result="loss.detach()",
    right=("torch.tensor(2.0).log()",),
)
add(
    "distances with those of points to themselves",
    "first nan or inf",
    """
    x = torch.arange(10.0).reshape(5, 2).requires_grad_()
    gaps = ((x[:, None] - x) ** 2).sum(-1)
    total = gaps.sqrt().sum()
    total.backward()
    """,
    culprit="total = gaps.sqrt().sum()",
    noticed="total.backward()",
    variables=("x",),
    node="SqrtBackward0",
    result="x.grad",
    right=("torch.arange(-4.0, 5.0, 2.0).mul(2 ** 0.5)[:, None].expand(5, 2)",),
)
add(
    "data with a number that is missing",
    "first nan or inf",
    """
    x = torch.tensor([1.0, float("nan")])
    w = torch.ones(2, requires_grad=True)
    out = w * x
    out.sum().backward()
    """,
    culprit='x = torch.tensor([1.0, float("nan")])',
    noticed="out.sum().backward()",
    variables=("x",),
    result="w.grad",
    right=(),
)

# --------------------------------------------------------- steps that change or repeat nothing

_TRAINED: Final = """
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(4, 3), torch.randn(4, 1)
"""
_UNTRAINED: Final = {
    "kind": "step without gradients",
    "noticed": "opt.step()",
    "result": "net.weight.detach()",
}


_STEPS: Final = """
def moved(w, b, x, t, times):
    def loss(both):
        return F.mse_loss(x @ both[0].T + both[1], t)

    for _ in range(times):
        w, b = (v - 0.1 * g for v, g in zip((w, b), torch.func.grad(loss)((w, b))))
    return w
"""

add(
    "detached weights after a gradient that has no graph either",
    text=_TRAINED
    + """
    for _ in range(2):
        g, = torch.autograd.grad(F.mse_loss(net(x), t), [net.weight])
        fast = (net.weight - 0.1 * g).detach().requires_grad_()
        opt.zero_grad()
        F.mse_loss(x @ fast.T, t).backward()
        opt.step()
    """,
    culprit="fast = (net.weight - 0.1 * g).detach().requires_grad_()",
    variables=("net.weight", "net.bias"),
    right=(),
    **_UNTRAINED,
)
add(
    "backward is named and not called",
    text=_TRAINED
    + """
    w0, b0 = net.weight.detach().clone(), net.bias.detach().clone()
    for _ in range(2):
        loss = F.mse_loss(net(x), t)
        loss.backward
        opt.step()
        opt.zero_grad()
    """,
    culprit="opt.step()",
    variables=("net.weight", "net.bias"),
    right=("moved(w0, b0, x, t, 2)",),
    before=_STEPS,
    **_UNTRAINED,
)
add(
    "a loss made of a number",
    text=_TRAINED
    + """
    for _ in range(2):
        opt.zero_grad()
        loss = torch.tensor(F.mse_loss(net(x), t).item(), requires_grad=True)
        loss.backward()
        opt.step()
    """,
    culprit="loss = torch.tensor(F.mse_loss(net(x), t).item(), requires_grad=True)",
    variables=("loss", "net.weight", "net.bias"),
    right=(),
    **_UNTRAINED,
)
add(
    "the optimizer has the parameters of another model",
    text=_TRAINED
    + """
    model = nn.Linear(3, 1)
    for _ in range(2):
        opt.zero_grad()
        loss = F.mse_loss(model(x), t)
        loss.backward()
        opt.step()
    """,
    culprit="loss.backward()",
    variables=("net.weight", "net.bias"),
    right=(),
    **_UNTRAINED,
)
add(
    "the loss is computed from labels",
    text=_TRAINED
    + """
    for _ in range(2):
        opt.zero_grad()
        labels = (net(x) > 0).float().requires_grad_()
        loss = F.mse_loss(labels, t)
        loss.backward()
        opt.step()
    """,
    culprit="labels = (net(x) > 0).float().requires_grad_()",
    variables=("net.weight", "net.bias"),
    right=(),
    **_UNTRAINED,
)

# ----------------------------------------------------------------------------- clipping

add(
    "clipped after the step",
    "clipped after the step",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        (w ** 2).sum().backward()
        opt.step()
        nn.utils.clip_grad_value_([w], 0.5)
    """,
    culprit="nn.utils.clip_grad_value_([w], 0.5)",
    noticed="opt.step()",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([0.9, 1.9])",),
)
add(
    "clipped while GradScaler's scale is in the gradients",
    "clipped while scaled",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for _ in range(2):
        opt.zero_grad()
        scaler.scale((w ** 2).sum()).backward()
        nn.utils.clip_grad_value_([w], 0.5)
        scaler.step(opt)
        scaler.update()
    """,
    culprit="nn.utils.clip_grad_value_([w], 0.5)",
    noticed="scaler.step(opt)",
    variables=("w",),
    result="w.detach()",
    right=("torch.tensor([0.9, 1.9])",),
)
add(
    "a step without a backward since the last one",
    "step without backward",
    _TRAINED
    + """
    for _ in range(2):
        opt.zero_grad()
        F.mse_loss(net(x), t).backward()
        opt.step()
        opt.step()
    """,
    culprit="opt.step()",
    noticed="opt.step()",
    variables=("net.weight", "net.bias"),
    result="net.weight",
    right=(),
)
add(
    "cleared between two backwards of a step",
    "gradient thrown away",
    _TRAINED
    + """
    for turn in range(4):
        loss = F.mse_loss(net(x), t) / 2
        net.zero_grad()
        loss.backward()
        if turn % 2:
            opt.step()
    """,
    culprit="net.zero_grad()",
    noticed="opt.step()",
    variables=("net.weight", "net.bias"),
    result="net.weight",
    right=(),
)

# ------------------------------------------------------------------------- inputs of losses

_CLASSES: Final = """
    net = nn.Linear(3, 4)
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0])
"""
_OF_SCORES: Final = (
    "torch.func.grad(lambda w: F.cross_entropy(x @ w.T + net.bias.detach(), t))"
    "(net.weight.detach())"
)
add(
    "softmax before cross_entropy",
    "softmax before a loss",
    _CLASSES
    + """
    class Classifier(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x):
            return F.softmax(self.net(x), dim=1)

    loss = nn.CrossEntropyLoss()(Classifier(net)(x), t)
    loss.backward()
    """,
    culprit="return F.softmax(self.net(x), dim=1)",
    noticed="loss = nn.CrossEntropyLoss()(Classifier(net)(x), t)",
    variables=(),
    node="NllLossBackward0",
    result="net.weight.grad",
    right=(_OF_SCORES,),
)
add(
    "sigmoid before binary_cross_entropy_with_logits",
    "softmax before a loss",
    """
    net = nn.Linear(3, 1)
    x, t = torch.randn(5, 3), torch.tensor([[0.0], [1.0], [1.0], [0.0], [1.0]])
    p = net(x).sigmoid()
    loss = F.binary_cross_entropy_with_logits(p, t)
    loss.backward()
    """,
    culprit="p = net(x).sigmoid()",
    noticed="loss = F.binary_cross_entropy_with_logits(p, t)",
    variables=("p",),
    node="BinaryCrossEntropyWithLogitsBackward0",
    result="net.weight.grad",
    right=(
        "torch.func.grad(lambda w: F.binary_cross_entropy_with_logits("
        "x @ w.T + net.bias.detach(), t))(net.weight.detach())",
    ),
)
add(
    "nll_loss of scores",
    "no logarithm before a loss",
    _CLASSES
    + """
    loss = F.nll_loss(net(x), t)
    loss.backward()
    """,
    culprit="loss = F.nll_loss(net(x), t)",
    noticed="loss = F.nll_loss(net(x), t)",
    variables=(),
    node="NllLossBackward0",
    result="net.weight.grad",
    right=(),
)
add(
    "nll_loss of probabilities",
    "no logarithm before a loss",
    _CLASSES
    + """
    p = net(x).softmax(1)
    loss = F.nll_loss(p, t)
    loss.backward()
    """,
    culprit="p = net(x).softmax(1)",
    noticed="loss = F.nll_loss(p, t)",
    variables=("p",),
    node="NllLossBackward0",
    result="net.weight.grad",
    right=(),
)
add(
    "cross_entropy of one class",
    "loss of one class",
    """
    net = nn.Linear(3, 1)
    x, t = torch.randn(5, 3), torch.zeros(5, dtype=torch.long)
    scores = net(x)
    loss = F.cross_entropy(scores, t)
    loss.backward()
    """,
    culprit="scores = net(x)",
    noticed="loss = F.cross_entropy(scores, t)",
    variables=("scores",),
    node="NllLossBackward0",
    result="net.weight.grad",
    right=(),
)
add(
    "softmax over one output",
    "loss of one class",
    """
    net = nn.Linear(3, 1)
    x, t = torch.randn(5, 3), torch.ones(5, 1)
    p = F.softmax(net(x), dim=1)
    loss = F.mse_loss(p, 0.5 * t)
    loss.backward()
    """,
    culprit="p = F.softmax(net(x), dim=1)",
    noticed="loss = F.mse_loss(p, 0.5 * t)",
    variables=("p",),
    node="MseLossBackward0",
    result="net.weight.grad",
    right=(),
)
add(
    "weights of samples as a row",
    "broadcast",
    _NET
    + """
    error = F.mse_loss(net(x), t.unsqueeze(1), reduction="none")
    loss = (t * error).mean()
    loss.backward()
    """,
    culprit="loss = (t * error).mean()",
    noticed="loss.backward()",
    variables=("error", "t"),
    node="MulBackward0",
    result="net.weight.grad",
    right=(_of_net("(t * (p - t) ** 2).mean()"),) * 2,
)

# ------------------------------------------------------------------ graphs that are kept

_LOOP: Final = """
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(4, 3), torch.randn(4, 1)
    total, losses = 0, []
    for _ in range(4):
        opt.zero_grad()
        loss = F.mse_loss(net(x), t)
        loss.backward()
        opt.step()
"""
add(
    "a sum of losses",
    "graph kept in each pass",
    _LOOP
    + """
        total += loss
    """,
    culprit="total += loss",
    noticed="loss.backward()",
    variables=("total",),
    result="torch.tensor(float(total.requires_grad))",
    right=("torch.tensor(0.0)",),
)
add(
    "a list of losses",
    "graph kept in each pass",
    _LOOP
    + """
        losses.append(loss)
    """,
    culprit="losses.append(loss)",
    noticed="loss.backward()",
    variables=("losses",),
    result="torch.tensor(float(losses[0].requires_grad))",
    right=("torch.tensor(0.0)",),
)
add(
    "a hidden state that is not detached",
    "graph kept in each pass",
    """
    cell, head = nn.RNNCell(2, 3), nn.Linear(3, 1)
    h = torch.zeros(1, 3)
    for _ in range(4):
        h = cell(torch.ones(1, 2), h)
        loss = head(h).sum()
        loss.backward(retain_graph=True)
    """,
    culprit="h = cell(torch.ones(1, 2), h)",
    noticed="loss.backward(retain_graph=True)",
    variables=("h",),
    result="h",
    right=(),
)

add(
    "predictions of an evaluation, in a list",
    "graph kept in each pass",
    """
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    scores = []
    for batch in torch.randn(5, 6, 3):
        scores.append(net(batch))
    classes = torch.cat(scores).argmax(1)
    """,
    culprit="scores.append(net(batch))",
    noticed="scores.append(net(batch))",
    variables=("scores",),
    result="torch.tensor(float(scores[0].requires_grad))",
    right=("torch.tensor(0.0)",),
)
add(
    "predictions of an evaluation, joined by a function",
    "graph kept in each pass",
    """
    def predict(net, batches):
        found = []
        for batch in batches:
            out = net(batch)
            found.append(out)
        return torch.cat(found)
    net = nn.Linear(3, 2)
    every = predict(net, torch.randn(4, 6, 3))
    share = every.softmax(1).detach().numpy().mean(0)
    """,
    culprit="found.append(out)",
    noticed="found.append(out)",
    variables=("every",),
    result="torch.tensor(float(every.requires_grad))",
    right=("torch.tensor(0.0)",),
)
add(
    "a GRU that chooses words and keeps its state",
    "graph kept in each pass",
    """
    words, cell, out = nn.Embedding(7, 4), nn.GRUCell(4, 4), nn.Linear(4, 7)
    h, word, text = torch.zeros(1, 4), torch.tensor([1]), []
    while len(text) < 5:
        h = cell(words(word), h)
        word = out(h).argmax(1)
        text.append(int(word))
    """,
    culprit="h = cell(words(word), h)",
    noticed="h = cell(words(word), h)",
    variables=("h",),
    result="h",
    right=(),
)
add(
    "a sum over the validation set of each epoch",
    "graph kept in each pass",
    """
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    data = torch.randn(4, 6, 3)
    for epoch in range(2):
        net(data[0]).square().mean().backward()
        opt.step()
        opt.zero_grad()
        total = torch.zeros(())
        for batch in data:
            loss = net(batch).square().mean()
            total += loss
    """,
    culprit="total += loss",
    noticed="total += loss",
    variables=("total",),
    result="torch.tensor(float(total.requires_grad))",
    right=("torch.tensor(0.0)",),
)
add(
    "a memory of tuples that another function fills",
    "graph kept in each pass",
    """
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    memory = []
    def keep(*item):
        memory.append(item)
    for state in torch.randn(5, 3):
        opt.zero_grad()
        value = net(state)
        value.square().sum().backward()
        opt.step()
        keep(state, value)
    """,
    culprit="memory.append(item)",
    noticed="value.square().sum().backward()",
    variables=("memory",),
    result="memory[0][1]",
    right=(),
)

# ------------------------------------------------------------- gradients that go too far

add(
    "a target that is computed with a graph",
    "target with a gradient",
    """
    q = nn.Linear(3, 2)
    opt = optim.Adam(q.parameters())
    state, later, reward = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4)
    target = reward + 0.9 * q(later).max(1).values
    loss = F.mse_loss(q(state)[:, 0], target)
    loss.backward()
    opt.step()
    """,
    culprit="target = reward + 0.9 * q(later).max(1).values",
    noticed="loss = F.mse_loss(q(state)[:, 0], target)",
    variables=("target",),
    node="MseLossBackward0",
    result="q.weight.grad",
    right=(),
)
add(
    "an estimate on one side of a difference",
    "target with a gradient",
    """
    value = nn.Linear(3, 1)
    state, later, reward = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 1)
    estimate = reward + 0.9 * value(later)
    loss = (estimate - value(state)).pow(2).mean()
    loss.backward()
    """,
    culprit="estimate = reward + 0.9 * value(later)",
    noticed="loss = (estimate - value(state)).pow(2).mean()",
    variables=("estimate",),
    node="SubBackward0",
    result="value.weight.grad",
    right=(),
)
add(
    "both sides of a similarity that is all of the loss",
    "target with a gradient",
    """
    encoder, predictor = nn.Linear(3, 4), nn.Linear(4, 4)
    one, two = encoder(torch.randn(5, 3)), encoder(torch.randn(5, 3))
    loss = -F.cosine_similarity(predictor(one), two).mean()
    loss.backward()
    """,
    culprit="one, two = encoder(torch.randn(5, 3)), encoder(torch.randn(5, 3))",
    noticed="loss = -F.cosine_similarity(predictor(one), two).mean()",
    variables=("two",),
    node="SumBackward1",
    result="encoder.weight.grad",
    right=(),
)
add(
    "both sides of a product of vectors of length 1",
    "target with a gradient",
    """
    encoder, predictor = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    z = F.normalize(encoder(torch.randn(5, 3)), dim=1)
    p = F.normalize(predictor(encoder(torch.randn(5, 3))), dim=1)
    distance = 2 - 2 * (z * p).sum(dim=1)
    distance.mean().backward()
    """,
    culprit="z = F.normalize(encoder(torch.randn(5, 3)), dim=1)",
    noticed="distance = 2 - 2 * (z * p).sum(dim=1)",
    variables=("z",),
    node="MulBackward0",
    result="encoder.weight.grad",
    right=(),
)
add(
    "both sides of a similarity that a module computes, twice",
    "target with a gradient",
    """
    encoder, predictor = nn.Linear(3, 4), nn.Linear(4, 4)
    like = nn.CosineSimilarity(dim=-1)
    one, two = encoder(torch.randn(5, 3)), encoder(torch.randn(5, 3))
    first, second = like(predictor(one), two), like(predictor(two), one)
    loss = 1 - (first + second).mean() / 2
    loss.backward()
    """,
    culprit="one, two = encoder(torch.randn(5, 3)), encoder(torch.randn(5, 3))",
    noticed="first, second = like(predictor(one), two), like(predictor(two), one)",
    variables=("two",),
    node="SumBackward1",
    result="encoder.weight.grad",
    right=(),
)
_ACTOR: Final = """
    policy, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    states, actions, returns = torch.ones(6, 3), torch.tensor([0, 1, 1, 0, 1, 1]), torch.ones(6)
    values = critic(states).squeeze(1)
"""
_CONSTANT: Final = "critic.bias - critic.bias + (2 * (critic(torch.ones(3)) - 1)).detach()"
add(
    "an advantage with a graph, and a distribution",
    "advantage with a gradient",
    _ACTOR
    + """
    chosen = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
    advantage = returns - values
    loss = -(chosen * advantage).mean() + F.mse_loss(values, returns)
    loss.backward()
    """,
    culprit="loss = -(chosen * advantage).mean() + F.mse_loss(values, returns)",
    noticed="loss = -(chosen * advantage).mean() + F.mse_loss(values, returns)",
    variables=("advantage",),
    node="MulBackward0",
    result="critic.bias.grad",
    right=(_CONSTANT,),
)
add(
    "an advantage with a graph, and a ratio of probabilities",
    "advantage with a gradient",
    _ACTOR
    + """
    chosen = F.log_softmax(policy(states), 1)[torch.arange(6), actions]
    ratio = (chosen - chosen.detach()).exp()
    advantage = returns - values
    surrogate = advantage * ratio
    loss = (returns - values).pow(2).mean() - surrogate.mean()
    loss.backward()
    """,
    culprit="surrogate = advantage * ratio",
    noticed="surrogate = advantage * ratio",
    variables=("advantage",),
    node="MulBackward0",
    result="critic.bias.grad",
    right=(_CONSTANT,),
)
add(
    "an advantage with a graph, step by step, and a normal distribution",
    "advantage with a gradient",
    """
    policy, critic = nn.Linear(3, 1), nn.Linear(3, 1)
    states, rewards = torch.ones(4, 3), torch.ones(4, 1)
    gaps = rewards - critic(states)
    loss = gaps.square().mean()
    for state, gap in zip(states, gaps):
        step = torch.distributions.Normal(policy(state), 1.0).log_prob(torch.zeros(1)) * gap
        loss = loss - step.sum() / 4
    loss.backward()
    """,
    culprit="step = torch.distributions.Normal(policy(state), 1.0).log_prob(torch.zeros(1)) * gap",
    noticed="step = torch.distributions.Normal(policy(state), 1.0).log_prob(torch.zeros(1)) * gap",
    variables=("gap",),
    node="MulBackward0",
    result="critic.bias.grad",
    right=(_CONSTANT,),
)
add(
    "advantages of a loop over time, from values with a graph",
    "advantage with a gradient",
    """
    policy, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    states, actions, target = torch.ones(3, 3), torch.tensor([0, 1]), torch.ones(2)
    values, later, found = critic(states).squeeze(1), 0.0, []
    for t in (1, 0):
        later = 1.0 - values[t] + 0.5 * later
        found.insert(0, later)
    surprise = F.cross_entropy(policy(states[:2]), actions, reduction="none")
    gains = torch.stack(found) - torch.zeros(2)
    loss = F.mse_loss(values[:2], target) + (gains * surprise).mean()
    loss.backward()
    """,
    culprit="loss = F.mse_loss(values[:2], target) + (gains * surprise).mean()",
    noticed="loss = F.mse_loss(values[:2], target) + (gains * surprise).mean()",
    variables=("gains",),
    node="MulBackward0",
    result="critic.bias.grad",
    right=(_CONSTANT,),
)
add(
    "the backward of the discriminator reaches the generator",
    "gradient that nothing uses",
    """
    maker, judge = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_m, opt_j = optim.SGD(maker.parameters(), lr=0.1), optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        fake = maker(torch.ones(4, 2))
        loss_j = judge(fake).mean() - judge(torch.ones(4, 3)).mean()
        opt_j.zero_grad()
        loss_j.backward()
        opt_j.step()
        opt_m.zero_grad()
        loss_m = -judge(maker(torch.ones(4, 2))).mean()
        loss_m.backward()
        opt_m.step()
    """,
    culprit="fake = maker(torch.ones(4, 2))",
    noticed="loss_j.backward()",
    variables=("fake", "maker"),
    result="maker.weight",
    right=(),
)
add(
    "gradients of the generator's loss in the discriminator",
    "gradient of another loss",
    """
    maker, judge = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_m, opt_j = optim.SGD(maker.parameters(), lr=0.1), optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        opt_m.zero_grad()
        loss_m = -judge(maker(torch.ones(4, 2))).mean()
        loss_m.backward()
        opt_m.step()
        loss_j = (judge(maker(torch.ones(4, 2)).detach()) - judge(torch.ones(4, 3))).mean()
        loss_j.backward()
        opt_j.step()
        opt_j.zero_grad()
    """,
    culprit="loss_m.backward()",
    noticed="opt_j.step()",
    variables=("judge.weight",),
    result="judge.weight",
    right=(),
)
add(
    "a decoder that no optimizer has",
    "gradient that nothing uses",
    """
    encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
    opt = optim.SGD(encoder.parameters(), lr=0.1)
    x = torch.randn(4, 3)
    for _ in range(2):
        opt.zero_grad()
        F.mse_loss(decoder(encoder(x)), x).backward()
        opt.step()
    """,
    culprit="F.mse_loss(decoder(encoder(x)), x).backward()",
    noticed="F.mse_loss(decoder(encoder(x)), x).backward()",
    variables=("decoder",),
    result="decoder.weight",
    right=(),
)
add(
    "a layer that forward makes",
    "layer made in each pass",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 4)

        def forward(self, x):
            head = nn.Linear(4, 1)
            return head(self.body(x))

    net = Net()
    opt = optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        opt.step()
    """,
    culprit="head = nn.Linear(4, 1)",
    noticed="net(torch.ones(2, 3)).sum().backward()",
    variables=("head.bias", "head.weight"),
    result="net.body.weight",
    right=(),
)

# --------------------------------------------------------------- frozen, and modes

add(
    "detach between two layers",
    "parameter without a gradient",
    """
    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = body(torch.ones(2, 3)).detach()
        head(h).sum().backward()
        opt.step()
    """,
    culprit="h = body(torch.ones(2, 3)).detach()",
    noticed="opt.step()",
    variables=("body.weight", "body.bias"),
    result="body.weight",
    right=(),
)
add(
    "frozen, and given to the optimizer",
    "parameter without a gradient",
    """
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    for p in net[0].parameters():
        p.requires_grad = False
    opt = optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        opt.step()
    """,
    culprit="p.requires_grad = False",
    noticed="opt.step()",
    variables=("net.0.weight", "net.0.bias"),
    result="net[0].weight",
    right=(),
)
_DROPPED: Final = """
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(4, 3), torch.randn(4, 1)
"""
add(
    "eval is never left",
    "trained in eval mode",
    _DROPPED
    + """
    for _ in range(3):
        loss = F.mse_loss(net(x), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            best = F.mse_loss(net(x), t)
    """,
    culprit="loss = F.mse_loss(net(x), t)",
    noticed="loss = F.mse_loss(net(x), t)",
    variables=(),
    result="net[0].weight",
    right=(),
)
add(
    "a forward without gradients in training mode",
    "evaluated in training mode",
    _DROPPED
    + """
    for _ in range(2):
        loss = F.mse_loss(net(x), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            wrong = F.mse_loss(net(x), t)
    """,
    culprit="wrong = F.mse_loss(net(x), t)",
    noticed="wrong = F.mse_loss(net(x), t)",
    variables=(),
    result="net[0].weight",
    right=(),
)
add(
    "the scheduler is first",
    "scheduler before the optimizer",
    _TRAINED
    + """
    scheduler = optim.lr_scheduler.StepLR(opt, 1)
    for _ in range(2):
        scheduler.step()
        opt.zero_grad()
        F.mse_loss(net(x), t).backward()
        opt.step()
    """,
    culprit="scheduler.step()",
    noticed="opt.step()",
    variables=(),
    result="net.weight",
    right=(),
)

# ------------------------------------------------------------------------ partial gradients

add(
    "a square root in Python",
    "partial gradient",
    """
    import math
    p = torch.tensor(4.0, requires_grad=True)
    out = torch.tensor(math.sqrt(p)) + p
    out.backward()
    """,
    culprit="out = torch.tensor(math.sqrt(p)) + p",
    noticed="out.backward()",
    variables=("p",),
    result="p.grad",
    right=("torch.tensor(1.25)",),
)
add(
    "a tensor that is copied",
    "partial gradient",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (torch.tensor(w * 2) * w).sum()
    loss.backward()
    """,
    culprit="loss = (torch.tensor(w * 2) * w).sum()",
    noticed="loss.backward()",
    variables=("w",),
    result="w.grad",
    right=("torch.tensor([4.0, 8.0])",),
)
add(
    "a penalty that adds numbers up in a loop",
    "partial gradient",
    """
    model = nn.Linear(2, 1)
    penalty = 0.0
    for weight in model.parameters():
        penalty += weight.pow(2).sum().item()
    loss = model(torch.ones(1, 2)).sum() + 0.5 * penalty
    loss.backward()
    """,
    culprit="penalty += weight.pow(2).sum().item()",
    noticed="loss.backward()",
    variables=("model.bias", "model.weight"),
    result="model.bias.grad",
    right=(),
)
add(
    "a number that a module keeps",
    "partial gradient",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            self.size = self.scale.abs().sum().item()
            return x * self.scale

    net = Net()
    out = net(torch.ones(3))
    loss = out.sum() + net.size
    loss.backward()
    """,
    culprit="self.size = self.scale.abs().sum().item()",
    noticed="loss.backward()",
    variables=("net.scale",),
    result="net.scale.grad",
    right=(),
)
add(
    "a penalty on a gradient without a graph",
    "partial gradient",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    (slope,) = torch.autograd.grad((w * x).pow(2).sum(), x)
    loss = (w * 2).sum() + slope.pow(2).sum()
    loss.backward(inputs=[w])
    """,
    culprit="(slope,) = torch.autograd.grad((w * x).pow(2).sum(), x)",
    noticed="loss.backward(inputs=[w])",
    variables=("w",),
    result="w.grad",
    right=(
        "2 + torch.func.grad(lambda w: (2 * w * w * x.detach()).pow(2).sum())"
        "(torch.tensor([1.0, 2.0]))",
    ),
)

# ------------------------------------------------------- gradients that a node hands on to none

add(
    "the backward of a layer of one's own forgets its bias",
    "gradient withheld by a Function",
    """
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return x @ w.t() + b
        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w, grad.t() @ x, None
    layer, first = nn.Linear(3, 2), nn.Linear(2, 3)
    optimizer = optim.SGD([*first.parameters(), *layer.parameters()], lr=0.1)
    x, t = torch.randn(5, 2), torch.randn(5, 2)
    for _ in range(2):
        out = Affine.apply(first(x), layer.weight, layer.bias)
        loss = F.mse_loss(out, t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    culprit="return grad @ w, grad.t() @ x, None",
    noticed="loss.backward()",
    variables=("layer.bias",),
    node="AffineBackward",
    result="layer.bias.grad",
    right=(),
)
add(
    "a variable of a backward that stays None",
    "gradient withheld by a Function",
    """
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h, s):
            ctx.save_for_backward(h)
            return h * s
        @staticmethod
        def backward(ctx, grad):
            of_h = of_s = None
            if ctx.needs_input_grad[1]:
                of_s = (grad * ctx.saved_tensors[0]).sum()
            return of_h, of_s
    encoder, s = nn.Linear(3, 2), nn.Parameter(torch.tensor(2.0))
    optimizer = optim.Adam([*encoder.parameters(), s])
    def train(batch):
        loss = Scaled.apply(encoder(batch), s).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for _ in range(3):
        train(torch.randn(4, 3))
    """,
    culprit="return of_h, of_s",
    noticed="loss.backward()",
    variables=("encoder.weight", "encoder.bias"),
    node="ScaledBackward",
    result="encoder.weight.grad",
    right=(),
)
add(
    "a backward that gives nothing, whose text is not known",
    "gradient withheld by a Function",
    """
    for _ in range(2):
        optimizer.zero_grad()
        loss = Stop.apply(a(torch.randn(4, 2))).mean() + b(torch.randn(4, 2)).mean()
        loss.backward()
        optimizer.step()
    """,
    culprit="",
    noticed="loss.backward()",
    variables=("a.weight", "a.bias"),
    node="StopBackward",
    result="a.weight.grad",
    right=(),
    before=program(
        """
        class Stop(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()
            @staticmethod
            def backward(ctx, grad):
                return None
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        optimizer = optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
        """
    ),
    unknown="which line of Stop.backward",
)
add(
    "an output is rounded before its loss",
    "derivative of 0",
    """
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, t = torch.randn(5, 3), torch.randn(5, 1)
    for _ in range(2):
        out = 2 * (model(x) * 8).round()
        loss = F.mse_loss(out, t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    culprit="out = 2 * (model(x) * 8).round()",
    noticed="loss.backward()",
    variables=("model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"),
    node="RoundBackward0",
    result="model[2].bias.grad",
    right=("(32 * (16 * old(x) - t)).mean(0)",),
    before=program(
        """
        def old(x):
            torch.manual_seed(1)
            model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
            optimizer = optim.SGD(model.parameters(), lr=0.1)
            y, t = torch.randn(5, 3), torch.randn(5, 1)
            F.mse_loss(16 * model(y), t).backward()
            optimizer.step()
            return model(x).detach()
        """
    ),
)
add(
    "a random mask has a probability that is learned",
    "derivative of 0",
    """
    layer, logit = nn.Linear(3, 4), nn.Parameter(torch.zeros(4))
    optimizer = optim.SGD([*layer.parameters(), logit], lr=0.1)
    for _ in range(3):
        kept = torch.bernoulli(logit.sigmoid())
        optimizer.zero_grad()
        loss = (layer(torch.randn(5, 3)) * kept).pow(2).mean()
        loss.backward()
        optimizer.step()
    """,
    culprit="kept = torch.bernoulli(logit.sigmoid())",
    noticed="loss.backward()",
    variables=("logit",),
    node="BernoulliBackward0",
    result="logit.grad",
    right=(),
)
add(
    "a scale by hand, behind floor",
    "derivative of 0",
    """
    scale = torch.tensor(0.7, requires_grad=True)
    x = torch.tensor([0.3, 0.6, 0.9])
    for _ in range(2):
        steps = torch.floor(x * scale * 10)
        loss = (steps / 10 - 2 * x).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            scale -= 0.01 * scale.grad
        scale.grad = None
    """,
    culprit="steps = torch.floor(x * scale * 10)",
    noticed="loss.backward()",
    variables=("scale",),
    node="FloorBackward0",
    result="scale",
    right=("torch.tensor(2 - 1.3 * 0.9748 ** 2)",),
)
add(
    "a count of gates as a penalty, in the one step that is recorded",
    "derivative of 0",
    """
    gates, layer = nn.Parameter(torch.rand(4)), nn.Linear(4, 1)
    optimizer = optim.SGD([gates, *layer.parameters()], lr=0.1)
    loss = layer(torch.randn(5, 4)).pow(2).mean() + torch.norm(gates, p=0)
    loss.backward()
    optimizer.step()
    """,
    culprit="loss = layer(torch.randn(5, 4)).pow(2).mean() + torch.norm(gates, p=0)",
    noticed="loss.backward()",
    variables=("gates",),
    node="LinalgVectorNormBackward0",
    result="gates.grad",
    right=(),
)
add(
    "an exponent that a loop over parameters passes over",
    "gradient withheld by a Function",
    """
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, p):
            ctx.save_for_backward(x, p)
            return x.pow(p)
        @staticmethod
        def backward(ctx, grad):
            x, p = ctx.saved_tensors
            return grad * p * x.pow(p - 1), None
    w, p = torch.rand(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    for x in torch.rand(2, 4, 3):
        loss = Power.apply((x * w).sum(1), p).mean()
        loss.backward()
        for each in (w, p):
            if each.grad is not None:
                each.data.sub_(0.1 * each.grad)
                each.grad = None
    """,
    culprit="return grad * p * x.pow(p - 1), None",
    noticed="loss.backward()",
    variables=("p",),
    node="PowerBackward",
    result="p.grad",
    right=(),
)

# ----------------------------------------------------------------- frozen by parts of names

add(
    "layer1 is a part of layer10",
    "frozen by a part of a name",
    """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1, self.layer10 = nn.Linear(3, 3), nn.Linear(3, 3)
            self.out = nn.Linear(3, 1)
        def forward(self, x):
            return self.out(torch.tanh(self.layer10(torch.tanh(self.layer1(x)))))
    model = Model()
    for name, p in model.named_parameters():
        if "layer1" in name:
            p.requires_grad = False
    optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    """,
    culprit="p.requires_grad = False",
    noticed="p.requires_grad = False",
    variables=("model.layer10.weight", "model.layer10.bias"),
    result="model.layer10.weight",
    right=(),
)
add(
    "a function freezes what its caller names",
    "frozen by a part of a name",
    """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.after_enc = nn.Linear(3, 3), nn.Linear(3, 3)
            self.out = nn.Linear(3, 1)
        def forward(self, x):
            return self.out(torch.tanh(self.after_enc(torch.tanh(self.enc(x)))))
    def freeze(net, parts):
        for key, value in net.named_parameters():
            if any(part in key for part in parts):
                value.requires_grad_(False)
    model = Model()
    freeze(model, ["enc"])
    optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    """,
    culprit="value.requires_grad_(False)",
    noticed="value.requires_grad_(False)",
    variables=("model.after_enc.weight", "model.after_enc.bias"),
    result="model.after_enc.weight",
    right=(),
)
add(
    "adapters whose names do not begin with lora",
    "frozen by a part of a name",
    """
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.lora_up = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)
        def forward(self, x):
            return self.base(x) + self.lora_up(x)
    model = nn.Sequential(Adapted(), nn.Tanh())
    model.add_module("head", nn.Linear(3, 1))
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith("lora") or "head" in name
    optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    """,
    culprit='p.requires_grad = name.startswith("lora") or "head" in name',
    noticed='p.requires_grad = name.startswith("lora") or "head" in name',
    variables=("model.0.lora_up.weight",),
    result="model[0].lora_up.weight",
    right=(),
)
