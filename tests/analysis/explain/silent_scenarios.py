"""Programs in which torch raises nothing and the gradient, or the step, is wrong.

The lines that an explanation must name are marked: ``# culprit`` did it, ``# noticed`` does the
harm. What is wrong, as an expression of the program's variables, is given with what it is after
each fix, computed in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.analysis.explain.scenarios import Scenario
from tests.analysis.explain.silent_running import TRAINED_IN_PART, program, two_layers

SCENARIOS: Final[list[Scenario]] = []


def add(
    name: str, *right: dict[str, str], begin: str = "", end: str = "", before: str = ""
) -> Callable[[str], None]:
    """Takes the program of a scenario, between a beginning and an end, and puts it in the list."""

    def put(text: str) -> None:
        SCENARIOS.append(Scenario(name, program(begin + text + end), right, before=before))

    return put


def grad(function: str, at: str) -> str:
    """Text of the gradient of a function of one tensor, without any write in place."""
    return f"torch.func.grad(lambda a: {function})(torch.tensor({at}))"


A: Final = "[1.0, 2.0]"

# ------------------------------------------------------------------------- hidden writes

add("data on a saved input", {"a.grad": grad("(a * 2).pow(2).sum()", A)})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.pow(2)
    h.data.mul_(3)  # culprit
    y.sum().backward()  # noticed
""")
add(
    "the second of two writes through data in a line",
    {"a.grad": grad("((a * 2).pow(2) + a * 3).sum()", A)},
)("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h, g = a * 2, a * 3
    y = h.pow(2) + g
    g.data.add_(1); h.data.mul_(3)  # culprit
    y.sum().backward()  # noticed
""")
add(
    "data on a saved input that is read again", {"a.grad": grad("((a * 2).sin() + a * 6).sum()", A)}
)("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.sin()
    h.data *= 3  # culprit
    loss = (y + h).sum()
    loss.backward()  # noticed
""")
add("data of a part", {"a.grad": grad("(a * 2).pow(2).sum()", A)})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h * h
    h.data[0] = 7  # culprit
    y.sum().backward()  # noticed
""")
add("numpy on a saved result", {"a.grad": grad("a.exp().sum()", A)})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.exp()
    n = y.detach().numpy()
    loss = y.sum()
    n *= 0.5  # culprit
    loss.backward()  # noticed
""")
add("another name for data", {"a.grad": grad("(a * 2).cos().sum()", A)})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    d = h.data
    y = h.cos()
    d.mul_(3)  # culprit
    y.sum().backward()  # noticed
""")
add("a view of data", {"a.grad": grad("a.sigmoid().sum()", A)})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.sigmoid()
    v = y.data[1]
    loss = y.sum()
    v.zero_()  # culprit
    loss.backward()  # noticed
""")
add("other memory through data", {"a.grad": grad("(a * 2).pow(3).sum()", A)})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.pow(3)
    h.data = h.data + 1  # culprit
    y.sum().backward()  # noticed
""")
add("a parameter between two backwards", {"w.grad": grad("(a ** 3).sum()", A)})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w ** 3).sum()
    loss.backward(retain_graph=True)
    w.data -= 0.1 * w.grad  # culprit
    w.grad = None
    loss.backward()  # noticed
""")
add(
    "a layer's weight before backward",
    {
        "x.grad": "(lambda w: torch.func.grad(lambda a: ((a @ w.T) ** 2).sum())(x.detach()))"
        "((torch.manual_seed(0), nn.Linear(2, 1, bias=False).weight.detach())[1])"
    },
)("""
    model = nn.Linear(2, 1, bias=False)
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    loss = (model(x) ** 2).sum()
    model.weight.data.fill_(1.0)  # culprit
    loss.backward()  # noticed
""")
add("a buffer of numpy that is filled again", {"w.grad": "torch.ones(3)"})("""
    buffer = np.ones(3, dtype=np.float32)
    x = torch.from_numpy(buffer)
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (w * x).sum()
    buffer[:] = 9  # culprit
    loss.backward()  # noticed
""")
add(
    "more values than are recorded",
    {
        "a.grad": "torch.func.grad(lambda a: (a * 2).tanh().clamp(-0.5, 0.5).sum())"
        "(torch.linspace(-1, 1, 50))"
    },
)("""
    a = torch.linspace(-1, 1, 50).requires_grad_()
    h = a * 2
    y = h.tanh()
    y.data.clamp_(-0.5, 0.5)  # culprit
    y.sum().backward()  # noticed
""")

# ------------------------------------------------------------------- writes without a node

add("no_grad", {"a.grad": "torch.tensor([3.0, 4.0])"})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0])
    c = a + 1
    with torch.no_grad():
        c *= b  # culprit
    c.sum().backward()  # noticed
""")
add("no_grad, a part", {"a.grad": "torch.tensor([0.0, 1.0])"})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    with torch.no_grad():
        c[0] = 0  # culprit
    c.sum().backward()  # noticed
""")
add("no_grad, what is added requires grad", {"a.grad": "torch.tensor([6.0, 6.0])"})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    with torch.no_grad():
        c.add_(a * 5)  # culprit
    c.sum().backward()  # noticed
""")
add("inference mode", {"a.grad": "torch.tensor([1.0, 0.0])"})("""
    a = torch.tensor([1.0, 4.0], requires_grad=True)
    c = a + 1
    with torch.inference_mode():
        c.clamp_(max=3)  # culprit
    c.sum().backward()  # noticed
""")
add("data, then read", {"a.grad": "2 * 36 * torch.tensor([1.0, 2.0])"})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a * 2
    c.data.mul_(3)  # culprit
    loss = c.pow(2).sum()
    loss.backward()  # noticed
""")
add(
    "detach shares memory",
    {"(a.grad, c.detach())": "(torch.tensor([2.0, 2.0]), torch.tensor([2.0, 3.0]))"},
)("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    d = c.detach()
    d.mul_(3)  # culprit
    (c * 2).sum().backward()  # noticed
""")
add("numpy, then read", {"(a.grad, c.detach())": "(torch.ones(2), torch.tensor([2.0, 3.0]))"})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    n = c.detach().numpy()
    n[:] = 3  # culprit
    c.sum().backward()  # noticed
""")
add("backward begins there", {"a.grad": "torch.tensor([0.1, 0.1])"})("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = a.sum()
    with torch.no_grad():
        loss.div_(10)  # culprit
    loss.backward()  # noticed
""")

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
    {"net.weight.grad": _of_net("((p - t) ** 2).mean()")},
    begin=_NET,
)("""
    loss = F.mse_loss(net(x), t)  # culprit
    loss.backward()  # noticed
""")
add(
    "a loss that is a module", {"net.weight.grad": _of_net("F.smooth_l1_loss(p, t)")}, begin=_NET
)("""
    criterion = nn.SmoothL1Loss()
    prediction = net(x)
    loss = criterion(prediction, t)  # culprit
    loss.backward()  # noticed
""")
add("huber", {"net.weight.grad": _of_net("F.huber_loss(p, t, delta=0.5)")}, begin=_NET)("""
    loss = F.huber_loss(net(x), t, delta=0.5)  # culprit
    loss.backward()  # noticed
""")
add(
    "squares of a difference", {"net.weight.grad": _of_net("((p - t) ** 2).mean()")}, begin=_NET
)("""
    loss = ((net(x) - t) ** 2).mean()  # culprit
    loss.backward()  # noticed
""")
add(
    "targets are the column", {"net.weight.grad": _of_net("((p - t) ** 2).sum() / 3")}, begin=_NET
)("""
    column = t.unsqueeze(1)
    error = column - net(x).squeeze(1)  # culprit
    loss = (error * error).sum() / 3
    loss.backward()  # noticed
""")

# ---------------------------------------------------------------------- parameter rebound

add("a name bound again", {"w.detach()": "torch.tensor([4.0, 4.8])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    w = torch.tensor([5.0, 6.0], requires_grad=True)  # culprit
    loss = (w * w).sum()
    loss.backward()
    opt.step()  # noticed
""")
add(
    "the second of two optimizers that step in a line", {"w.detach()": "torch.tensor([2.0, 1.2])"}
)("""
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    one, two = optim.SGD([v], lr=0.1), optim.SGD([w], lr=0.1)
    w = torch.tensor([5.0, 6.0], requires_grad=True)  # culprit
    loss = (w * w * v).sum()
    loss.backward()
    one.step(); two.step()  # noticed
""")
add(
    "a new head",
    {"model[1].bias.detach() - start": "torch.tensor([-1.0])"},
    before="model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))",
)("""
    opt = optim.SGD(model.parameters(), lr=0.5)
    model[1] = nn.Linear(2, 1)  # culprit
    start = model[1].bias.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        opt.step()  # noticed
""")

# ------------------------------------------------------------------------- stale gradient

_TWO = """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    opt = optim.SGD([w, v], lr=0.1, momentum=0.9)
    (w * v).sum().backward()
    opt.step()
"""
add("frozen with a gradient", {"w - kept": "torch.zeros(2)"}, begin=_TWO)("""
    w.requires_grad_(False)  # culprit
    kept = w.clone()
    v.grad = None
    (w * v).sum().backward()
    opt.step()  # noticed
""")
add("frozen with a gradient of 0", {"w - kept": "torch.zeros(2)"}, begin=_TWO)("""
    w.requires_grad = False  # culprit
    kept = w.clone()
    opt.zero_grad(set_to_none=False)
    (w * v).sum().backward()
    opt.step()  # noticed
""")
add(
    "frozen before the recording",
    {"w - kept": "torch.zeros(2)"},
    before=program(_TWO) + "\nw.requires_grad_(False)\nkept = w.clone()",
)("""
    v.grad = None
    (w * v).sum().backward()
    opt.step()  # noticed
""")

# ---------------------------------------------------------------- frozen batch norm moves

add("a frozen batch norm in training mode", {"model[1].running_mean": "torch.zeros(2)"})("""
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
    for p in model[1].parameters():
        p.requires_grad = False
    loss = model(torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum()  # culprit noticed
    loss.backward()
""")
add(
    "a frozen backbone",
    {"backbone[1].running_mean": "torch.zeros(2)"},
    before="backbone = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.BatchNorm1d(2))\n"
    "backbone.requires_grad_(False)\n"
    "head = nn.Linear(2, 1)",
)("""
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    features = backbone(x)  # culprit noticed
    loss = head(features).sum()
    loss.backward()
""")

# ------------------------------------------------------------------- gradient thrown away

add("zero_grad between backward and step", {"w.detach()": "0.64 * torch.tensor([1.0, 2.0])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    for _ in range(2):
        loss = (w * w).sum()
        loss.backward()
        opt.zero_grad()  # culprit
        opt.step()  # noticed
""")
add(
    "zero_grad of the model, filling",
    {"model.weight.detach() - start": "torch.tensor([[-0.1, -0.2]])"},
)("""
    model = nn.Linear(2, 1, bias=False)
    opt = optim.SGD(model.parameters(), lr=0.1)
    start = model.weight.detach().clone()
    loss = model(torch.tensor([[1.0, 2.0]])).sum()
    loss.backward()
    model.zero_grad(set_to_none=False)  # culprit
    opt.step()  # noticed
""")
add("grad set to None by hand", {"w.detach()": "torch.tensor([0.8, 1.6])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    w.grad = None  # culprit
    opt.step()  # noticed
""")

# ---------------------------------------------------------------- clipped before backward

add(
    "clip_grad_norm_ before backward",
    {"model.weight.detach() - start": "torch.tensor([[-0.6, -0.8]])"},
)("""
    model = nn.Linear(2, 1, bias=False)
    opt = optim.SGD(model.parameters(), lr=1.0)
    start = model.weight.detach().clone()
    loss = 100 * model(torch.tensor([[3.0, 4.0]])).sum()
    opt.zero_grad()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # culprit
    loss.backward()
    opt.step()  # noticed
""")
add("clip_grad_value_ in a loop", {"w.detach()": "torch.tensor([0.9, 1.9])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    w.grad = torch.zeros(2)
    for _ in range(2):
        opt.zero_grad(set_to_none=False)
        nn.utils.clip_grad_value_([w], 0.5)  # culprit
        (w ** 2).sum().backward()
        opt.step()  # noticed
""")

# ---------------------------------------------------------------- gradients that nothing clears

add("zero_grad forgotten in a loop", {"w.detach()": "torch.tensor([-0.5, 0.5])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.5)
    for _ in range(3):
        w.sum().backward()  # culprit
        opt.step()  # noticed
""")

add("zero_grad once per epoch", {"w.detach()": "torch.tensor([-1.0, 0.0])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.5)
    for epoch in range(2):
        opt.zero_grad()
        for batch in range(2):
            w.sum().backward()  # culprit
            opt.step()  # noticed
""")
add(
    "an optimizer of each client that clears only at its beginning",
    {"w.detach()": "torch.tensor([-1.0, 0.0])"},
)("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    def train(batches):
        opt = optim.SGD([w], lr=0.5)
        opt.zero_grad()
        for batch in batches:
            (w * batch).sum().backward()  # culprit
            opt.step()  # noticed
    for client in range(2):
        train(torch.ones(2, 2))
""")

# ---------------------------------------------------------------- updates that are lost

add(
    "an update by hand of the loop's variable",
    {"model.weight.detach()": "torch.tensor([[0.5, 0.5]])"},
)("""
    model = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(1.0)
    model(torch.ones(1, 2)).sum().backward()
    with torch.no_grad():
        for p in model.parameters():
            p = p - 0.5 * p.grad  # culprit noticed
""")
add(
    "an update by hand, recorded, with gradients beside", {"w.detach()": "torch.tensor([0.0, 0.0])"}
)("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    params = [w]
    grads = torch.autograd.grad((w * w).sum(), params)
    for p, g in zip(params, grads):
        p = p - 0.5 * g  # culprit noticed
""")
add(
    "an update by hand of the loop's variable, which then clears a gradient",
    {"weights[0].detach()": "torch.tensor([0.25, 0.5])"},
)("""
    weights = [torch.tensor([1.0, 2.0], requires_grad=True)]
    for _ in range(2):
        (weights[0] * weights[0]).sum().backward()
        with torch.no_grad():
            for w in weights:
                w = w - 0.25 * w.grad  # culprit noticed
                w.grad = None
        weights[0].grad = None
""")

# ---------------------------------------------------------------- parameters not registered

add("layers in a list", {"model.layers[0].weight.detach()": "torch.tensor([[0.25]])"})("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(1, 1, bias=False)]  # culprit
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
        opt.step()  # noticed
""")
add("a tensor as an attribute", {"model.scale.detach()": "torch.tensor(1.625)"})("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.tensor(2.0, requires_grad=True)  # culprit
            self.net = nn.Linear(1, 1, bias=False)

        def forward(self, x):
            return self.scale * self.net(x)

    model = Net()
    nn.init.ones_(model.net.weight)
    opt = optim.SGD(model.parameters(), lr=0.25)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(1, 1)).sum().backward()
        opt.step()  # noticed
""")

# ---------------------------------------------------------------- first nan or inf

add("a logarithm of 0 in a divergence", {"loss.detach()": "torch.tensor(2.0).log()"})("""
    target = torch.tensor([0.0, 1.0])
    logits = torch.tensor([0.0, 0.0], requires_grad=True)
    p = logits.log_softmax(0)
    loss = (target * (target.log() - p)).sum()  # culprit
    loss.backward()  # noticed
""")
add(
    "distances with those of points to themselves",
    {"x.grad": "torch.arange(-4.0, 5.0, 2.0).mul(2 ** 0.5)[:, None].expand(5, 2)"},
)("""
    x = torch.arange(10.0).reshape(5, 2).requires_grad_()
    gaps = ((x[:, None] - x) ** 2).sum(-1)
    total = gaps.sqrt().sum()  # culprit
    total.backward()  # noticed
""")
add("data with a number that is missing")("""
    x = torch.tensor([1.0, float("nan")])  # culprit
    w = torch.ones(2, requires_grad=True)
    out = w * x
    out.sum().backward()  # noticed
""")

# --------------------------------------------------------- steps that change or repeat nothing

_TRAINED: Final = """
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(4, 3), torch.randn(4, 1)
"""


_STEPS: Final = """
def moved(w, b, x, t, times):
    def loss(both):
        return F.mse_loss(x @ both[0].T + both[1], t)

    for _ in range(times):
        w, b = (v - 0.1 * g for v, g in zip((w, b), torch.func.grad(loss)((w, b))))
    return w
"""

add("detached weights after a gradient that has no graph either", begin=_TRAINED)("""
    for _ in range(2):
        g, = torch.autograd.grad(F.mse_loss(net(x), t), [net.weight])
        fast = (net.weight - 0.1 * g).detach().requires_grad_()  # culprit
        opt.zero_grad()
        F.mse_loss(x @ fast.T, t).backward()
        opt.step()  # noticed
""")
add(
    "backward is named and not called",
    {"net.weight.detach()": "moved(w0, b0, x, t, 2)"},
    begin=_TRAINED,
    before=_STEPS,
)("""
    w0, b0 = net.weight.detach().clone(), net.bias.detach().clone()
    for _ in range(2):
        loss = F.mse_loss(net(x), t)
        loss.backward
        opt.step()  # culprit noticed
        opt.zero_grad()
""")
add("a loss made of a number", begin=_TRAINED)("""
    for _ in range(2):
        opt.zero_grad()
        loss = torch.tensor(F.mse_loss(net(x), t).item(), requires_grad=True)  # culprit
        loss.backward()
        opt.step()  # noticed
""")
add("the optimizer has the parameters of another model", begin=_TRAINED)("""
    model = nn.Linear(3, 1)
    for _ in range(2):
        opt.zero_grad()
        loss = F.mse_loss(model(x), t)
        loss.backward()  # culprit
        opt.step()  # noticed
""")
add("the loss is computed from labels", begin=_TRAINED)("""
    for _ in range(2):
        opt.zero_grad()
        labels = (net(x) > 0).float().requires_grad_()  # culprit
        loss = F.mse_loss(labels, t)
        loss.backward()
        opt.step()  # noticed
""")

# ----------------------------------------------------------------------------- clipping

add("clipped after the step", {"w.detach()": "torch.tensor([0.9, 1.9])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        (w ** 2).sum().backward()
        opt.step()  # noticed
        nn.utils.clip_grad_value_([w], 0.5)  # culprit
""")
add(
    "clipped while GradScaler's scale is in the gradients",
    {"w.detach()": "torch.tensor([0.9, 1.9])"},
)("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for _ in range(2):
        opt.zero_grad()
        scaler.scale((w ** 2).sum()).backward()
        nn.utils.clip_grad_value_([w], 0.5)  # culprit
        scaler.step(opt)  # noticed
        scaler.update()
""")
add("a step without a backward since the last one", begin=_TRAINED)("""
    for _ in range(2):
        opt.zero_grad()
        F.mse_loss(net(x), t).backward()
        opt.step()
        opt.step()  # culprit noticed
""")
add("cleared between two backwards of a step", begin=_TRAINED)("""
    for turn in range(4):
        loss = F.mse_loss(net(x), t) / 2
        net.zero_grad()  # culprit
        loss.backward()
        if turn % 2:
            opt.step()  # noticed
""")

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
add("softmax before cross_entropy", {"net.weight.grad": _OF_SCORES}, begin=_CLASSES)("""
    class Classifier(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x):
            return F.softmax(self.net(x), dim=1)  # culprit

    loss = nn.CrossEntropyLoss()(Classifier(net)(x), t)  # noticed
    loss.backward()
""")
add(
    "sigmoid before binary_cross_entropy_with_logits",
    {
        "net.weight.grad": "torch.func.grad(lambda w: F.binary_cross_entropy_with_logits("
        "x @ w.T + net.bias.detach(), t))(net.weight.detach())"
    },
)("""
    net = nn.Linear(3, 1)
    x, t = torch.randn(5, 3), torch.tensor([[0.0], [1.0], [1.0], [0.0], [1.0]])
    p = net(x).sigmoid()  # culprit
    loss = F.binary_cross_entropy_with_logits(p, t)  # noticed
    loss.backward()
""")
add("nll_loss of scores", begin=_CLASSES)("""
    loss = F.nll_loss(net(x), t)  # culprit noticed
    loss.backward()
""")
add("nll_loss of probabilities", begin=_CLASSES)("""
    p = net(x).softmax(1)  # culprit
    loss = F.nll_loss(p, t)  # noticed
    loss.backward()
""")
add("cross_entropy of one class")("""
    net = nn.Linear(3, 1)
    x, t = torch.randn(5, 3), torch.zeros(5, dtype=torch.long)
    scores = net(x)  # culprit
    loss = F.cross_entropy(scores, t)  # noticed
    loss.backward()
""")
add("softmax over one output")("""
    net = nn.Linear(3, 1)
    x, t = torch.randn(5, 3), torch.ones(5, 1)
    p = F.softmax(net(x), dim=1)  # culprit
    loss = F.mse_loss(p, 0.5 * t)  # noticed
    loss.backward()
""")
add(
    "weights of samples as a row",
    {"net.weight.grad": _of_net("(t * (p - t) ** 2).mean()")},
    begin=_NET,
)("""
    error = F.mse_loss(net(x), t.unsqueeze(1), reduction="none")
    loss = (t * error).mean()  # culprit
    loss.backward()  # noticed
""")

# ------------------------------------------------------------------ graphs that are kept

_LOOP: Final = """
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(4, 3), torch.randn(4, 1)
    total, losses = 0, []
    for _ in range(4):
        opt.zero_grad()
        loss = F.mse_loss(net(x), t)
        loss.backward()  # noticed
        opt.step()
"""
add(
    "a sum of losses",
    {"torch.tensor(float(total.requires_grad))": "torch.tensor(0.0)"},
    begin=_LOOP,
)("""
        total += loss  # culprit
""")
add(
    "a list of losses",
    {"torch.tensor(float(losses[0].requires_grad))": "torch.tensor(0.0)"},
    begin=_LOOP,
)("""
        losses.append(loss)  # culprit
""")
add("a hidden state that is not detached")("""
    cell, head = nn.RNNCell(2, 3), nn.Linear(3, 1)
    h = torch.zeros(1, 3)
    for _ in range(4):
        h = cell(torch.ones(1, 2), h)  # culprit
        loss = head(h).sum()
        loss.backward(retain_graph=True)  # noticed
""")

add(
    "predictions of an evaluation, in a list",
    {"torch.tensor(float(scores[0].requires_grad))": "torch.tensor(0.0)"},
)("""
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    scores = []
    for batch in torch.randn(5, 6, 3):
        scores.append(net(batch))  # culprit noticed
    classes = torch.cat(scores).argmax(1)
""")
add(
    "predictions of an evaluation, joined by a function",
    {"torch.tensor(float(every.requires_grad))": "torch.tensor(0.0)"},
)("""
    def predict(net, batches):
        found = []
        for batch in batches:
            out = net(batch)
            found.append(out)  # culprit noticed
        return torch.cat(found)
    net = nn.Linear(3, 2)
    every = predict(net, torch.randn(4, 6, 3))
    share = every.softmax(1).detach().numpy().mean(0)
""")
add("a GRU that chooses words and keeps its state")("""
    words, cell, out = nn.Embedding(7, 4), nn.GRUCell(4, 4), nn.Linear(4, 7)
    h, word, text = torch.zeros(1, 4), torch.tensor([1]), []
    while len(text) < 5:
        h = cell(words(word), h)  # culprit noticed
        word = out(h).argmax(1)
        text.append(int(word))
""")
add(
    "a sum over the validation set of each epoch",
    {"torch.tensor(float(total.requires_grad))": "torch.tensor(0.0)"},
)("""
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
            total += loss  # culprit noticed
""")
add("a memory of tuples that another function fills")("""
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    memory = []
    def keep(*item):
        memory.append(item)  # culprit
    for state in torch.randn(5, 3):
        opt.zero_grad()
        value = net(state)
        value.square().sum().backward()  # noticed
        opt.step()
        keep(state, value)
""")

# ------------------------------------------------------------- gradients that go too far

add("a target that is computed with a graph")("""
    q = nn.Linear(3, 2)
    opt = optim.Adam(q.parameters())
    state, later, reward = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4)
    target = reward + 0.9 * q(later).max(1).values  # culprit
    loss = F.mse_loss(q(state)[:, 0], target)  # noticed
    loss.backward()
    opt.step()
""")
add("an estimate on one side of a difference")("""
    value = nn.Linear(3, 1)
    state, later, reward = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 1)
    estimate = reward + 0.9 * value(later)  # culprit
    loss = (estimate - value(state)).pow(2).mean()  # noticed
    loss.backward()
""")
add("both sides of a similarity that is all of the loss")("""
    encoder, predictor = nn.Linear(3, 4), nn.Linear(4, 4)
    one, two = encoder(torch.randn(5, 3)), encoder(torch.randn(5, 3))  # culprit
    loss = -F.cosine_similarity(predictor(one), two).mean()  # noticed
    loss.backward()
""")
add("both sides of a product of vectors of length 1")("""
    encoder, predictor = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    z = F.normalize(encoder(torch.randn(5, 3)), dim=1)  # culprit
    p = F.normalize(predictor(encoder(torch.randn(5, 3))), dim=1)
    distance = 2 - 2 * (z * p).sum(dim=1)  # noticed
    distance.mean().backward()
""")
add("both sides of a similarity that a module computes, twice")("""
    encoder, predictor = nn.Linear(3, 4), nn.Linear(4, 4)
    like = nn.CosineSimilarity(dim=-1)
    one, two = encoder(torch.randn(5, 3)), encoder(torch.randn(5, 3))  # culprit
    first, second = like(predictor(one), two), like(predictor(two), one)  # noticed
    loss = 1 - (first + second).mean() / 2
    loss.backward()
""")
_ACTOR: Final = """
    policy, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    states, actions, returns = torch.ones(6, 3), torch.tensor([0, 1, 1, 0, 1, 1]), torch.ones(6)
    values = critic(states).squeeze(1)
"""
_CONSTANT: Final = "critic.bias - critic.bias + (2 * (critic(torch.ones(3)) - 1)).detach()"
add(
    "an advantage with a graph, and a distribution", {"critic.bias.grad": _CONSTANT}, begin=_ACTOR
)("""
    chosen = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
    advantage = returns - values
    loss = -(chosen * advantage).mean() + F.mse_loss(values, returns)  # culprit noticed
    loss.backward()
""")
add(
    "an advantage with a graph, and a ratio of probabilities",
    {"critic.bias.grad": _CONSTANT},
    begin=_ACTOR,
)("""
    chosen = F.log_softmax(policy(states), 1)[torch.arange(6), actions]
    ratio = (chosen - chosen.detach()).exp()
    advantage = returns - values
    surrogate = advantage * ratio  # culprit noticed
    loss = (returns - values).pow(2).mean() - surrogate.mean()
    loss.backward()
""")
add(
    "an advantage with a graph, step by step, and a normal distribution",
    {"critic.bias.grad": _CONSTANT},
)("""
    Normal = torch.distributions.Normal
    policy, critic = nn.Linear(3, 1), nn.Linear(3, 1)
    states, rewards = torch.ones(4, 3), torch.ones(4, 1)
    gaps = rewards - critic(states)
    loss = gaps.square().mean()
    for state, gap in zip(states, gaps):
        step = Normal(policy(state), 1.0).log_prob(torch.zeros(1)) * gap  # culprit noticed
        loss = loss - step.sum() / 4
    loss.backward()
""")
add("advantages of a loop over time, from values with a graph", {"critic.bias.grad": _CONSTANT})("""
    policy, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    states, actions, target = torch.ones(3, 3), torch.tensor([0, 1]), torch.ones(2)
    values, later, found = critic(states).squeeze(1), 0.0, []
    for t in (1, 0):
        later = 1.0 - values[t] + 0.5 * later
        found.insert(0, later)
    surprise = F.cross_entropy(policy(states[:2]), actions, reduction="none")
    gains = torch.stack(found) - torch.zeros(2)
    loss = F.mse_loss(values[:2], target) + (gains * surprise).mean()  # culprit noticed
    loss.backward()
""")
add("the backward of the discriminator reaches the generator")("""
    maker, judge = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_m, opt_j = optim.SGD(maker.parameters(), lr=0.1), optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        fake = maker(torch.ones(4, 2))  # culprit
        loss_j = judge(fake).mean() - judge(torch.ones(4, 3)).mean()
        opt_j.zero_grad()
        loss_j.backward()  # noticed
        opt_j.step()
        opt_m.zero_grad()
        loss_m = -judge(maker(torch.ones(4, 2))).mean()
        loss_m.backward()
        opt_m.step()
""")
add("gradients of the generator's loss in the discriminator")("""
    maker, judge = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_m, opt_j = optim.SGD(maker.parameters(), lr=0.1), optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        opt_m.zero_grad()
        loss_m = -judge(maker(torch.ones(4, 2))).mean()
        loss_m.backward()  # culprit
        opt_m.step()
        loss_j = (judge(maker(torch.ones(4, 2)).detach()) - judge(torch.ones(4, 3))).mean()
        loss_j.backward()
        opt_j.step()  # noticed
        opt_j.zero_grad()
""")
add("a decoder that no optimizer has")("""
    encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
    opt = optim.SGD(encoder.parameters(), lr=0.1)
    x = torch.randn(4, 3)
    for _ in range(2):
        opt.zero_grad()
        F.mse_loss(decoder(encoder(x)), x).backward()  # culprit noticed
        opt.step()
""")
add("a layer that forward makes")("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 4)

        def forward(self, x):
            head = nn.Linear(4, 1)  # culprit
            return head(self.body(x))

    net = Net()
    opt = optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.ones(2, 3)).sum().backward()  # noticed
        opt.step()
""")

# --------------------------------------------------------------- frozen, and modes

add("detach between two layers")("""
    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = body(torch.ones(2, 3)).detach()  # culprit
        head(h).sum().backward()
        opt.step()  # noticed
""")
add("frozen, and given to the optimizer")("""
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    for p in net[0].parameters():
        p.requires_grad = False  # culprit
    opt = optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        opt.step()  # noticed
""")
_DROPPED: Final = """
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, t = torch.randn(4, 3), torch.randn(4, 1)
"""
add("eval is never left", begin=_DROPPED)("""
    for _ in range(3):
        loss = F.mse_loss(net(x), t)  # culprit noticed
        opt.zero_grad()
        loss.backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            best = F.mse_loss(net(x), t)
""")
add("a forward without gradients in training mode", begin=_DROPPED)("""
    for _ in range(2):
        loss = F.mse_loss(net(x), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            wrong = F.mse_loss(net(x), t)  # culprit noticed
""")
add("the scheduler is first", begin=_TRAINED)("""
    scheduler = optim.lr_scheduler.StepLR(opt, 1)
    for _ in range(2):
        scheduler.step()  # culprit
        opt.zero_grad()
        F.mse_loss(net(x), t).backward()
        opt.step()  # noticed
""")

add("a hook of a row beside the way to the loss")("""
    img = torch.ones(2, 3, requires_grad=True)
    one = img[0]  # culprit
    one.register_hook(print)
    img.exp().sum().backward()  # noticed
""")
add("a retained result that the loss does not use")("""
    x = torch.ones(2, requires_grad=True)
    kept = x.exp()
    kept.retain_grad()
    (x * kept.detach()).sum().backward()  # culprit noticed
""")

# ------------------------------------------------------------------------ partial gradients

add("a square root in Python", {"p.grad": "torch.tensor(1.25)"})("""
    import math
    p = torch.tensor(4.0, requires_grad=True)
    out = torch.tensor(math.sqrt(p)) + p  # culprit
    out.backward()  # noticed
""")
add("a tensor that is copied", {"w.grad": "torch.tensor([4.0, 8.0])"})("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (torch.tensor(w * 2) * w).sum()  # culprit
    loss.backward()  # noticed
""")
add("a penalty that adds numbers up in a loop")("""
    model = nn.Linear(2, 1)
    penalty = 0.0
    for weight in model.parameters():
        penalty += weight.pow(2).sum().item()  # culprit
    loss = model(torch.ones(1, 2)).sum() + 0.5 * penalty
    loss.backward()  # noticed
""")
add("a number that a module keeps")("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            self.size = self.scale.abs().sum().item()  # culprit
            return x * self.scale

    net = Net()
    out = net(torch.ones(3))
    loss = out.sum() + net.size
    loss.backward()  # noticed
""")
add(
    "a penalty on a gradient without a graph",
    {
        "w.grad": "2 + torch.func.grad(lambda w: (2 * w * w * x.detach()).pow(2).sum())"
        "(torch.tensor([1.0, 2.0]))"
    },
)("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    (slope,) = torch.autograd.grad((w * x).pow(2).sum(), x)  # culprit
    loss = (w * 2).sum() + slope.pow(2).sum()
    loss.backward(inputs=[w])  # noticed
""")

# ------------------------------------------------------- gradients that a node hands on to none

add("the backward of a layer of one's own forgets its bias")("""
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return x @ w.t() + b
        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w, grad.t() @ x, None  # culprit
    layer, first = nn.Linear(3, 2), nn.Linear(2, 3)
    optimizer = optim.SGD([*first.parameters(), *layer.parameters()], lr=0.1)
    x, t = torch.randn(5, 2), torch.randn(5, 2)
    for _ in range(2):
        out = Affine.apply(first(x), layer.weight, layer.bias)
        loss = F.mse_loss(out, t)
        optimizer.zero_grad()
        loss.backward()  # noticed
        optimizer.step()
""")
add("a variable of a backward that stays None")("""
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
            return of_h, of_s  # culprit
    encoder, s = nn.Linear(3, 2), nn.Parameter(torch.tensor(2.0))
    optimizer = optim.Adam([*encoder.parameters(), s])
    def train(batch):
        loss = Scaled.apply(encoder(batch), s).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # noticed
        optimizer.step()
    for _ in range(3):
        train(torch.randn(4, 3))
""")
add(
    "a backward that gives nothing, whose text is not known",
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
)("""
    for _ in range(2):
        optimizer.zero_grad()
        loss = Stop.apply(a(torch.randn(4, 2))).mean() + b(torch.randn(4, 2)).mean()
        loss.backward()  # noticed
        optimizer.step()
""")
add(
    "an output is rounded before its loss",
    {"model[2].bias.grad": "(32 * (16 * old(x) - t)).mean(0)"},
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
)("""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, t = torch.randn(5, 3), torch.randn(5, 1)
    for _ in range(2):
        out = 2 * (model(x) * 8).round()  # culprit
        loss = F.mse_loss(out, t)
        optimizer.zero_grad()
        loss.backward()  # noticed
        optimizer.step()
""")
add("a random mask has a probability that is learned")("""
    layer, logit = nn.Linear(3, 4), nn.Parameter(torch.zeros(4))
    optimizer = optim.SGD([*layer.parameters(), logit], lr=0.1)
    for _ in range(3):
        kept = torch.bernoulli(logit.sigmoid())  # culprit
        optimizer.zero_grad()
        loss = (layer(torch.randn(5, 3)) * kept).pow(2).mean()
        loss.backward()  # noticed
        optimizer.step()
""")
add("a scale by hand, behind floor", {"scale": "torch.tensor(2 - 1.3 * 0.9748 ** 2)"})("""
    scale = torch.tensor(0.7, requires_grad=True)
    x = torch.tensor([0.3, 0.6, 0.9])
    for _ in range(2):
        steps = torch.floor(x * scale * 10)  # culprit
        loss = (steps / 10 - 2 * x).pow(2).sum()
        loss.backward()  # noticed
        with torch.no_grad():
            scale -= 0.01 * scale.grad
        scale.grad = None
""")
add("a count of gates as a penalty, in the one step that is recorded")("""
    gates, layer = nn.Parameter(torch.rand(4)), nn.Linear(4, 1)
    optimizer = optim.SGD([gates, *layer.parameters()], lr=0.1)
    loss = layer(torch.randn(5, 4)).pow(2).mean() + torch.norm(gates, p=0)  # culprit
    loss.backward()  # noticed
    optimizer.step()
""")
add("an exponent that a loop over parameters passes over")("""
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, p):
            ctx.save_for_backward(x, p)
            return x.pow(p)
        @staticmethod
        def backward(ctx, grad):
            x, p = ctx.saved_tensors
            return grad * p * x.pow(p - 1), None  # culprit
    w, p = torch.rand(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    for x in torch.rand(2, 4, 3):
        loss = Power.apply((x * w).sum(1), p).mean()
        loss.backward()  # noticed
        for each in (w, p):
            if each.grad is not None:
                each.data.sub_(0.1 * each.grad)
                each.grad = None
""")

# ----------------------------------------------------------------- frozen by parts of names

add("layer1 is a part of layer10", begin=two_layers("layer1", "layer10"), end=TRAINED_IN_PART)("""
    model = Model()
    for name, p in model.named_parameters():
        if "layer1" in name:
            p.requires_grad = False  # culprit noticed
""")
add(
    "a function freezes what its caller names",
    begin=two_layers("enc", "after_enc"),
    end=TRAINED_IN_PART,
)("""
    def freeze(net, parts):
        for key, value in net.named_parameters():
            if any(part in key for part in parts):
                value.requires_grad_(False)  # culprit noticed
    model = Model()
    freeze(model, ["enc"])
""")
add("adapters whose names do not begin with lora", end=TRAINED_IN_PART)("""
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.lora_up = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)
        def forward(self, x):
            return self.base(x) + self.lora_up(x)
    model = nn.Sequential(Adapted(), nn.Tanh())
    model.add_module("head", nn.Linear(3, 1))
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith("lora") or "head" in name  # culprit noticed
""")
