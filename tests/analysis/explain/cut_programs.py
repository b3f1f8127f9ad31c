"""Programs of several files and cells in which backward starts from a tensor without a graph."""

from __future__ import annotations

from textwrap import dedent
from typing import Final

from tests.analysis.explain.file_programs import FileProgram
from tests.ledger.bug import Edit

NO_GRAPH: Final = "does not require grad"
PROGRAMS: Final[list[FileProgram]] = []


def program(
    name: str,
    variables: tuple[str, ...],
    text: str,
    *fixes: tuple[Edit, ...],
    result: str = "[p.grad for p in model.parameters()]",
    also_right: tuple[tuple[Edit, ...], ...] = (),
) -> None:
    """Put a program in the list."""
    PROGRAMS.append(
        FileProgram(
            name,
            "cuts",
            dedent(text).strip("\n"),
            fixes,
            "",
            result,
            variables=variables,
            message=NO_GRAPH,
            also_right=also_right,
            audit=("", "", ""),
        )
    )


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
    (
        (
            "        loss = self.loss(x, y)\n",
            "        self.training = True\n        loss = self.loss(x, y)\n",
        ),
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
    (
        (
            "    torch.autograd.set_grad_enabled(False)\n    return model(x).mean().item()",
            "    with torch.no_grad():\n        return model(x).mean().item()",
        ),
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
    (
        (
            "            with torch.no_grad():\n                return nn".replace(
                "            with", "        with"
            ).replace("                return", "            return"),
            "        return nn",
        ),
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
    (
        (
            "checkpoint(self.first, x, use_reentrant=True)",
            "checkpoint(self.first, x, use_reentrant=False)",
        ),
        (
            "checkpoint(self.second, h, use_reentrant=True)",
            "checkpoint(self.second, h, use_reentrant=False)",
        ),
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
    (
        ("float(score)", "score"),
        ("torch.tensor(1 - similarity(model(x), y))", "1 - similarity(model(x), y)"),
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
    (
        ("values.detach().cpu().numpy()", "values"),
        ("np.sort(array)", "array.sort().values"),
        ("torch.from_numpy(ordered[1:-1]).mean()", "ordered[1:-1].mean()"),
    ),
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
    (
        ("predicted = logits.argmax(dim=1)", "predicted = logits.log_softmax(dim=1)"),
        ("(predicted == labels).float().mean()", "1 + predicted.gather(1, labels[:, None]).mean()"),
    ),
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
