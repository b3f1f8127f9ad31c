"""Programs of several files and cells in which backward starts from a tensor without a graph."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.ledger.bug import explained, fix

MESSAGE: Final = "does not require grad"
program = partial(explained, "explained: no graph", message=MESSAGE)

# --- grad mode -------------------------------------------------------------------------------

program(
    "flag of the trainer enables grad",
    ("outputs", "loss"),
    """
    # %% trainer.py
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model):
            self.model = model
            self.training = False

        def loss(self, x, y):
            with torch.set_grad_enabled(self.training):  # culprit
                outputs = self.model(x)
                return (outputs - y).pow(2).mean()

        def fit(self, x, y):
            loss = self.loss(x, y)
            loss.backward()  # raises
    # %%
    from trainer import Trainer
    model, x, y = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 1)
    trainer = Trainer(model)
    # %%
    trainer.fit(x, y)
    """,
    fix(
        "        loss = self.loss(x, y)\n",
        "        self.training = True\n        loss = self.loss(x, y)\n",
    ),
)
program(
    "recording switched off in a context manager",
    ("z", "loss"),
    """
    # %% frozen.py
    from contextlib import contextmanager
    import torch

    @contextmanager
    def evaluating(model):
        was = torch.is_grad_enabled()
        model.eval()
        torch.set_grad_enabled(False)  # culprit
        yield model
        torch.set_grad_enabled(was)
    # %%
    from frozen import evaluating
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), torch.randn(2, 3)
    # %%
    with evaluating(model) as net:
        z = net(x)
    loss = z.pow(2).sum()
    loss.backward()  # raises
    """,
    (("    torch.set_grad_enabled(False)\n", ""),),
)
program(
    "decorated function calls the forward of another file",
    ("z", "scores", "loss"),
    """
    # %% net.py
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            z = self.fc(x)
            return z.tanh()
    # %% scoring.py
    import torch

    @torch.inference_mode()  # culprit
    def score(model, x):
        scores = model(x)
        return scores.sum(dim=1)
    # %%
    from net import Net
    from scoring import score
    model, x = Net(), torch.randn(4, 3)
    # %%
    loss = score(model, x).mean()
    loss.backward()  # raises
    """,
    (("    @torch.inference_mode()\n".replace("    ", ""), ""),),
)
program(
    "validation of the turn before leaves grad mode off",
    ("loss",),
    """
    # %% validation.py
    import torch

    def validate(model, x):
        torch.autograd.set_grad_enabled(False)  # culprit
        return model(x).mean().item()
    # %%
    from validation import validate
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    # %%
    try:
        for epoch in range(2):
            loss = model(x).pow(2).mean()
            loss.backward()  # raises
            validate(model, x)
    finally:
        torch.set_grad_enabled(True)
    """,
    fix(
        "    torch.autograd.set_grad_enabled(False)\n    return model(x).mean().item()",
        "    with torch.no_grad():\n        return model(x).mean().item()",
    ),
)
program(
    "stack of contexts enters no_grad",
    ("h", "loss"),
    """
    # %% passes.py
    from contextlib import ExitStack
    import torch

    def run(model, x, amp=False):
        with ExitStack() as stack:
            if not amp:
                stack.enter_context(torch.no_grad())  # culprit
            h = model(x)
        return h
    # %%
    from passes import run
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    # %%
    h = run(model, x)
    loss = h.abs().sum()
    loss.backward()  # raises
    """,
    (("        if not amp:\n            stack.enter_context(torch.no_grad())\n", ""),),
    without_fix=True,
)
program(
    "property computes its value without recording",
    ("scale", "model.scale", "loss", "model.raw"),
    """
    # %% gauge.py
    import torch
    from torch import nn

    class Gauge(nn.Module):
        def __init__(self):
            super().__init__()
            self.raw = nn.Parameter(torch.zeros(3))

        @property
        def scale(self):
            with torch.no_grad():  # culprit
                return nn.functional.softplus(self.raw)

        def forward(self, x):
            return x * self.scale
    # %%
    from gauge import Gauge
    model, x = Gauge(), torch.randn(2, 3)
    # %%
    loss = model(x).pow(2).sum()
    loss.backward()  # raises
    """,
    fix(
        "            with torch.no_grad():\n                return nn".replace(
            "            with", "        with"
        ).replace("                return", "            return"),
        "        return nn",
    ),
)

# --- checkpoint ------------------------------------------------------------------------------

program(
    "checkpoint of an input that does not require grad",
    ("h", "x", "features", "loss"),
    """
    # %% deep.py
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x):
            return self.fc(x).relu()

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Block(), Block()

        def forward(self, x):
            h = checkpoint(self.first, x, use_reentrant=True)  # culprit
            h = checkpoint(self.second, h, use_reentrant=True)  # culprit
            return h.sum()
    # %%
    from deep import Deep
    model, x = Deep(), torch.randn(2, 3)
    # %%
    loss = model(x)
    loss.backward()  # raises
    """,
    fix(
        "checkpoint(self.first, x, use_reentrant=True)",
        "checkpoint(self.first, x, use_reentrant=False)",
        "checkpoint(self.second, h, use_reentrant=True)",
        "checkpoint(self.second, h, use_reentrant=False)",
    ),
)

# --- frozen ----------------------------------------------------------------------------------

program(
    "helper freezes the model",
    ("model.0.weight", "model.2.weight", "model.2.bias"),
    """
    # %% parts.py
    def evaluation(module):
        module.eval()
        module.requires_grad_(False)  # culprit
        return module
    # %%
    from parts import evaluation
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(5, 3)
    # %%
    before = evaluation(model)(x)
    model.train()
    loss = (model(x) - 1).pow(2).mean()
    loss.backward()  # raises
    """,
    (("    module.requires_grad_(False)\n", ""),),
)
program(
    "mean of weights shares the parameters",
    ("model.0.weight", "model.2.weight", "model.2.bias", "average.0.weight"),
    """
    # %% averaging.py
    import copy

    def average_of(model):
        average = copy.copy(model)
        for p in average.parameters():
            p.requires_grad_(False)  # culprit
        return average
    # %%
    from averaging import average_of
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(5, 3)
    # %%
    average = average_of(model)
    loss = (model(x) - 1).pow(2).mean()
    loss.backward()  # raises
    """,
    (("copy.copy(model)", "copy.deepcopy(model)"),),
    without_fix=True,
)

# --- out of torch and back -------------------------------------------------------------------

program(
    "loss made of a float that a helper returns",
    ("score", "loss"),
    """
    # %% scores.py
    def similarity(a, b):
        score = (a * b).sum() / (a.norm() * b.norm())
        return float(score)  # culprit
    # %%
    from scores import similarity
    model, x, y = nn.Linear(3, 4), torch.randn(3), torch.randn(4)
    # %%
    loss = torch.tensor(1 - similarity(model(x), y))  # culprit
    loss.backward()  # raises
    """,
    fix(
        "float(score)",
        "score",
        "torch.tensor(1 - similarity(model(x), y))",
        "1 - similarity(model(x), y)",
    ),
)
program(
    "quantiles by NumPy",
    ("values", "errors"),
    """
    # %% quantiles.py
    import numpy as np
    import torch

    def middle(values):
        array = values.detach().cpu().numpy()  # culprit
        ordered = np.sort(array)
        return torch.from_numpy(ordered[1:-1]).mean()  # culprit
    # %%
    from quantiles import middle
    model, x, y = nn.Linear(3, 1), torch.randn(6, 3), torch.randn(6, 1)
    # %%
    errors = (model(x) - y).squeeze(1).abs()
    loss = middle(errors)
    loss.backward()  # raises
    """,
    fix(
        "values.detach().cpu().numpy()",
        "values",
        "np.sort(array)",
        "array.sort().values",
        "torch.from_numpy(ordered[1:-1]).mean()",
        "ordered[1:-1].mean()",
    ),
    without_fix=True,
)
program(
    "rewards as a list of numbers",
    ("returns", "rewards", "values", "losses"),
    """
    # %%
    def total(model, rows):
        losses = []
        for row in rows:
            losses.append(model(row).pow(2).sum().item())  # culprit
        return torch.tensor(losses).sum()  # culprit
    model, rows = nn.Linear(3, 1), torch.randn(4, 3)
    # %%
    loss = total(model, rows)
    loss.backward()  # raises
    """,
    (("sum().item())", "sum())"), ("torch.tensor(losses)", "torch.stack(losses)")),
)

# --- no derivative ---------------------------------------------------------------------------

program(
    "accuracy taken for the loss",
    ("predicted", "logits"),
    """
    # %% metrics.py
    def accuracy(logits, labels):
        predicted = logits.argmax(dim=1)  # culprit
        return (predicted == labels).float().mean()
    # %%
    from metrics import accuracy
    model = nn.Linear(4, 3)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 2, 2, 1, 0])
    # %%
    loss = 1 - accuracy(model(x), labels)
    loss.backward()  # raises
    """,
    fix(
        "predicted = logits.argmax(dim=1)",
        "predicted = logits.log_softmax(dim=1)",
        "(predicted == labels).float().mean()",
        "1 + predicted.gather(1, labels[:, None]).mean()",
    ),
    without_fix=True,
)
program(
    "counts of a thresholded map",
    ("mask", "heat"),
    """
    # %% counting.py
    import torch
    from torch import nn

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(1, 1, 3, padding=1)

        def forward(self, x):
            heat = self.conv(x).sigmoid()
            mask = heat > 0.5  # culprit
            return mask.float().sum(dim=(1, 2))
    # %%
    from counting import Counter
    model, x, y = Counter(), torch.randn(2, 1, 5), torch.tensor([2.0, 3.0])
    # %%
    loss = (model(x) - y).abs().mean()
    loss.backward()  # raises
    """,
    (("heat > 0.5", "heat"), ("mask.float().sum(dim=(1, 2))", "mask.sum(dim=(1, 2))")),
    without_fix=True,
)

# --- an input that should require grad -------------------------------------------------------

program(
    "saliency of frozen features",
    ("image",),
    """
    # %% saliency.py
    def saliency(model, image, label):
        model.requires_grad_(False)
        image = image.clone()  # culprit
        score = model(image)[:, label].sum()
        score.backward()  # raises
        return image.grad.abs()
    # %%
    from saliency import saliency
    model, image = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), torch.randn(2, 4)
    # %%
    found = saliency(model, image, 1)
    """,
    (("image = image.clone()", "image = image.clone().requires_grad_()"),),
    result="[found]",
)
program(
    "derivative by a coordinate made here",
    ("t",),
    """
    # %% physics.py
    import torch

    def residual(model, n):
        t = torch.linspace(0, 1, n).reshape(-1, 1)  # culprit
        u = t.sin() * 2
        (rate,) = torch.autograd.grad(u.sum(), t, create_graph=True)  # raises
        return (rate + model(t)).pow(2).mean()
    # %%
    from physics import residual
    model = nn.Linear(1, 1)
    # %%
    loss = residual(model, 5)
    loss.backward()
    """,
    (("reshape(-1, 1)", "reshape(-1, 1).requires_grad_()"),),
)

# --- detached --------------------------------------------------------------------------------

program(
    "cached features are read through a helper",
    ("h", "features", "value"),
    """
    # %% cache.py
    class Cache:
        def __init__(self):
            self.entries = {}

        def put(self, name, value):
            self.entries[name] = value.detach()  # culprit

        def get(self, name):
            return self.entries[name]
    # %%
    from cache import Cache
    model, x, cache = nn.Linear(3, 2), torch.randn(4, 3), Cache()
    # %%
    cache.put("h", model(x))
    loss = cache.get("h").pow(2).sum()
    loss.backward()  # raises
    """,
    (("value.detach()", "value"),),
)
program(
    "outputs copied with their data",
    ("out", "outputs"),
    """
    # %% outputs.py
    from torch.autograd import Variable

    def as_variable(out):
        return Variable(out.data)  # culprit
    # %%
    from outputs import as_variable
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    # %%
    loss = as_variable(model(x)).pow(2).mean()
    loss.backward()  # raises
    """,
    (("Variable(out.data)", "out"),),
)
program(
    "teacher and student in one block of a cell",
    ("s", "t", "loss", "out", "model.weight"),
    """
    # %%
    teacher, model = nn.Linear(3, 4), nn.Linear(3, 4)
    x = torch.randn(6, 3)
    # %%
    with torch.no_grad():  # culprit
        t = F.softmax(teacher(x) / 2, dim=1)
        s = F.log_softmax(model(x) / 2, dim=1)
    loss = F.kl_div(s, t, reduction="batchmean")
    loss.backward()  # raises
    """,
    (("    s = F.log_softmax", "s = F.log_softmax"),),
    without_gradient=("teacher.weight", "teacher.bias"),
)

program(
    "query and keys of two encoders in one block",
    ("q", "logits", "loss"),
    """
    # %%
    queries, keys = nn.Linear(3, 4), nn.Linear(3, 4)
    x1, x2 = torch.randn(5, 3), torch.randn(5, 3)
    # %%
    optimizer = optim.SGD(queries.parameters(), lr=0.1)
    with torch.no_grad():  # culprit
        q = F.normalize(queries(x1), dim=1)
        k = F.normalize(keys(x2), dim=1)
        logits = q @ k.t() / 0.1
    loss = F.cross_entropy(logits, torch.arange(5))
    loss.backward()  # raises
    optimizer.step()
    """,
    fix(
        "with torch.no_grad():\n    q = F.normalize(queries(x1), dim=1)\n    k",
        "q = F.normalize(queries(x1), dim=1)\nwith torch.no_grad():\n    k",
        "    logits = q",
        "logits = q",
    ),
    result="queries.parameters()",
    without_gradient=("keys.weight", "keys.bias"),
)

program(
    "fixed features and their head in one block",
    ("logits", "loss", "f"),
    """
    # %%
    backbone, head = nn.Linear(3, 4), nn.Linear(4, 2)
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])
    # %%
    optimizer = optim.SGD(head.parameters(), lr=0.1)
    with torch.no_grad():  # culprit
        f = torch.relu(backbone(x))
        logits = head(f)
        loss = F.cross_entropy(logits, y)
    loss.backward()  # raises
    optimizer.step()
    """,
    (("    logits = head(f)\n    loss", "logits = head(f)\nloss"),),
    result="[*head.parameters(), *backbone.parameters()]",
    without_gradient=("backbone.weight", "backbone.bias"),
)

program(
    "value and target of one network in one block",
    ("q", "target", "loss"),
    """
    # %%
    model = nn.Linear(3, 2)
    s, s2, r = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5)
    # %%
    with torch.no_grad():  # culprit
        q = model(s).max(1).values
        target = r + 0.9 * model(s2).max(1).values
    loss = F.mse_loss(q, target)
    loss.backward()  # raises
    """,
    fix(
        "with torch.no_grad():\n    q = model(s).max(1).values",
        "q = model(s).max(1).values\nwith torch.no_grad():",
    ),
    without_fix=True,
)

program(
    "state of a cell in a block of a loop",
    ("h", "loss", "model.weight_ih"),
    """
    # %%
    model = nn.RNNCell(2, 3)
    h = torch.zeros(4, 3)
    batches = torch.randn(3, 4, 2)
    # %%
    for x in batches:
        with torch.no_grad():  # culprit
            h = model(x, h)
            loss = h.pow(2).mean()
        loss.backward()  # raises
    """,
    fix(
        "    with torch.no_grad():\n        h = model(x, h)\n",
        "    h = model(x, h.detach())\n    if True:\n",
    ),
    without_fix=True,
)

program(
    "a training step in inference mode",
    ("out", "loss"),
    """
    # %%
    model, x = nn.Linear(3, 2), torch.randn(5, 3)
    # %%
    with torch.inference_mode():  # culprit
        out = model(x)
        loss = out.pow(2).mean()
    loss.backward()  # raises
    """,
    (("with torch.inference_mode():", "if True:"),),
)

program(
    "numbers of losses add up in a tensor",
    ("total", "loss"),
    """
    # %%
    model = nn.Linear(3, 2)
    batches = torch.randn(3, 4, 3)
    # %%
    total = torch.tensor(0.0)
    for x in batches:
        loss = model(x).pow(2).mean()
        total += loss.item()  # culprit
    total.backward()  # raises
    """,
    (("total += loss.item()", "total = total + loss"),),
)

program(
    "number of a loss is weighted by a tensor",
    ("total", "loss"),
    """
    # %%
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    weight = torch.tensor(0.5)
    # %%
    loss = model(x).pow(2).mean().item()  # culprit
    total = weight * loss
    total.backward()  # raises
    """,
    ((".mean().item()", ".mean()"),),
)

program(
    "numbers of log-probabilities beside a list of rewards",
    ("logps", "R", "loss"),
    """
    # %%
    model = nn.Linear(4, 2)
    states = torch.randn(4, 4)
    # %%
    logps, rewards = [], []
    for state in states:
        logps.append(F.log_softmax(model(state), 0)[1].item())  # culprit
        rewards.append(1.0)
    R = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.tensor(logps) * R).sum()
    loss.backward()  # raises
    """,
    fix("[1].item()", "[1]", "torch.tensor(logps)", "torch.stack(logps)"),
)

program(
    "error of a prediction in NumPy over lines",
    ("p", "err", "loss"),
    """
    # %%
    model = nn.Linear(3, 1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    p = model(x).detach().numpy()  # culprit
    err = np.mean(np.square(p - y.numpy()))
    loss = torch.tensor(err)
    loss.backward()  # raises
    """,
    fix(
        "model(x).detach().numpy()",
        "model(x)",
        "np.mean(np.square(p - y.numpy()))",
        "((p - y) ** 2).mean()",
        "torch.tensor(err)",
        "err",
    ),
)

program(
    "array of weights beside a prediction in NumPy",
    ("a", "loss"),
    """
    # %%
    model, x = nn.Linear(3, 1), torch.randn(5, 3)
    w = np.linspace(0.0, 1.0, 5)[:, None]
    # %%
    a = model(x).detach().numpy()  # culprit
    loss = torch.tensor(np.sum(np.square(a * w)))
    loss.backward()  # raises
    """,
    fix(
        "model(x).detach().numpy()",
        "model(x)",
        "torch.tensor(np.sum(np.square(a * w)))",
        "(a * torch.from_numpy(w)).square().sum()",
    ),
    without_fix=True,
)

program(
    "head is frozen with the backbone and given to the optimizer",
    ("model.2.weight", "model.2.bias", "loss"),
    """
    # %%
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 1, 0, 0, 1])
    # %%
    for p in model.parameters():
        p.requires_grad = False  # culprit
    optimizer = optim.SGD(model[2].parameters(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # raises
        optimizer.step()
    """,
    (("optimizer = optim", "model[2].requires_grad_(True)\noptimizer = optim"),),
    result="model.parameters()",
)

program(
    "the gradient of a head is printed, which is frozen with the whole",
    ("head.weight", "head.bias", "loss"),
    """
    # %%
    body, head = nn.Linear(3, 4), nn.Linear(4, 2)
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 1, 0, 0, 1])
    # %%
    for layer in (body, head):
        for p in layer.parameters():
            p.requires_grad = False  # culprit
    optimizer = optim.SGD(head.parameters(), lr=0.1)
    loss = F.cross_entropy(head(torch.relu(body(x))), y)
    loss.backward()  # raises
    print(head.bias.grad)
    """,
    (("optimizer = optim", "head.requires_grad_(True)\noptimizer = optim"),),
    result="head.parameters()",
)

program(
    "generated weights are put into a frozen layer",
    ("main.weight", "loss"),
    """
    # %%
    hyper, main = nn.Linear(3, 6), nn.Linear(3, 2, bias=False)
    z, x, y = torch.randn(3), torch.randn(5, 3), torch.randn(5, 2)
    # %%
    w = hyper(z).view(2, 3)
    main.weight.requires_grad = False  # culprit
    main.weight.data = w.data
    loss = F.mse_loss(main(x), y)
    loss.backward()  # raises
    """,
    (("main(x)", "F.linear(x, w)"),),
    result="[p.grad for p in hyper.parameters()]",
    without_fix=True,
)

program(
    "second derivative in a residual that is learned",
    ("du", "model.0.weight", "x", "u"),
    """
    # %%
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.linspace(0, 1, 7).view(-1, 1).requires_grad_()
    # %%
    u = model(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u))[0]  # culprit
    d2u = torch.autograd.grad(du, x, torch.ones_like(du))[0]  # raises
    loss = (d2u + u).pow(2).mean()
    loss.backward()
    """,
    fix(
        "torch.ones_like(u))",
        "torch.ones_like(u), create_graph=True)",
        "torch.ones_like(du))",
        "torch.ones_like(du), create_graph=True)",
    ),
)
