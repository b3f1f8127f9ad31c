"""Programs with errors that come neither from a write nor from a graph that is freed or cut."""

from __future__ import annotations

from functools import partial

from tests.ledger.bug import explained, fix

program = partial(explained, "explained: other errors")

program(
    "statistics fitted in inference mode follow the batches",
    ("scaler.mean", "self.mean"),
    """
    # %% scaler.py
    import torch

    class Scaler:
        def __init__(self, rate):
            self.rate, self.mean = rate, None

        @torch.inference_mode()  # culprit
        def fit(self, x):
            self.mean = x.mean(0)

        def scaled(self, x):
            self.mean.mul_(1 - self.rate).add_(self.rate * x.mean(0))  # raises
            return x - self.mean
    # %%
    from scaler import Scaler
    model, scaler = nn.Linear(3, 1), Scaler(0.1)
    batches = torch.randn(3, 4, 3)
    # %%
    scaler.fit(batches[0])
    for x in batches:
        model(scaler.scaled(x)).pow(2).mean().backward()
    """,
    (("@torch.inference_mode()", "@torch.no_grad()"),),
    kinds=("inference tensor written",),
    message="Inplace update to inference tensor",
)
program(
    "memory of classes made in inference mode",
    ("memory",),
    """
    # %%
    encoder = nn.Linear(3, 2)
    x, label = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    # %%
    with torch.inference_mode():  # culprit
        memory = torch.zeros(2, 2).index_add(0, label, encoder(x))
    for _ in range(2):
        z = encoder(x)
        loss = (z - memory[label]).pow(2).sum()
        loss.backward()
        memory.index_add_(0, label, 0.1 * z.detach())  # raises
    """,
    (("with torch.inference_mode():", "with torch.no_grad():"),),
    result="[p.grad for p in encoder.parameters()]",
    kinds=("inference tensor written",),
    message="Inplace update to inference tensor",
)
program(
    "penalty on the gradient of a gate that is differentiable once",
    ("Gate",),
    """
    # %% gate.py
    import torch
    from torch import nn
    from torch.autograd.function import once_differentiable

    class Gate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        @once_differentiable  # culprit
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return grad * (s + x * s * (1 - s))

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

        def forward(self, x):
            return self.last(Gate.apply(self.first(x)))
    # %%
    from gate import Critic
    model, x = Critic(), torch.randn(5, 3)
    # %%
    x.requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    penalty.backward()  # raises
    """,
    (("    @once_differentiable\n", ""),),
    kinds=("differentiated twice",),
    message="marked with @once_differentiable",
    without_gradient=("model.last.bias",),
)
program(
    "curvature through a function that is differentiable once",
    ("Cube",),
    """
    # %%
    from torch.autograd.function import once_differentiable
    # %%
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        @once_differentiable  # culprit
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x ** 2 * grad

    x = torch.linspace(0.5, 1.5, 3).requires_grad_()
    (slope,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)  # raises
    """,
    (("    @once_differentiable\n", ""),),
    result="[curvature]",
    kinds=("differentiated twice",),
    message="element 0 of tensors does not require grad",
)
program(
    "gradient of an image that a helper has changed",
    ("image", "start"),
    """
    # %% attack.py
    import torch

    def jittered(image, noise):
        image = image.clone().requires_grad_()
        return image + noise

    def step(model, image, label, noise):
        start = jittered(image, noise)  # culprit
        loss = torch.nn.functional.cross_entropy(model(start), label)
        loss.backward()
        return start + 0.1 * start.grad.sign()  # raises
    # %%
    from attack import step
    model, image, label = nn.Linear(4, 3), torch.randn(2, 4), torch.tensor([0, 2])
    # %%
    moved = step(model, image, label, 0.1 * torch.randn(2, 4))
    """,
    fix(
        "start = jittered(image, noise)", "start = jittered(image, noise).detach().requires_grad_()"
    ),
    (("    loss.backward()", "    start.retain_grad()\n    loss.backward()"),),
    result="[moved]",
    raised="AttributeError",
    kinds=("grad is None",),
    message="'NoneType' object has no attribute 'sign'",
)
program(
    "importance of units that forward keeps",
    ("model.hidden", "self.hidden"),
    """
    # %% units.py
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

        def forward(self, x):
            self.hidden = torch.tanh(self.first(x))  # culprit
            return self.last(self.hidden)
    # %%
    from units import Net
    model, x = Net(), torch.randn(5, 3)
    # %%
    model(x).sum().backward()
    importance = (model.hidden.grad * model.hidden).abs().mean(0)  # raises
    """,
    fix(
        "return self.last(self.hidden)", "self.hidden.retain_grad(); return self.last(self.hidden)"
    ),
    result="[importance]",
    raised="TypeError",
    kinds=("grad is None",),
    message="'NoneType' and 'Tensor'",
)
program(
    "slope that a function returns",
    ("mixed",),
    """
    # %% slopes.py
    import torch

    def slope_at(critic, points):
        critic(points).sum().backward()
        return points.grad
    # %%
    from slopes import slope_at
    model, real, fake = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 3)
    # %%
    weight = torch.rand(4, 1, requires_grad=True)
    mixed = weight * real + (1 - weight) * fake  # culprit
    slope = slope_at(model, mixed)
    size = slope.norm(dim=1)  # raises
    """,
    (("slope = slope_at(model, mixed)", "mixed.retain_grad(); slope = slope_at(model, mixed)"),),
    result="[size]",
    raised="AttributeError",
    kinds=("grad is None",),
    message="'NoneType' object has no attribute 'norm'",
)
program(
    "norm of gradients where a layer is frozen",
    ("model[0].weight", "model.0.weight", "p"),
    """
    # %%
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    # %%
    model[0].requires_grad_(False)  # culprit
    model(torch.randn(2, 3)).sum().backward()
    size = sum(p.grad.norm() for p in model.parameters())  # raises
    """,
    (("model.parameters())", "model.parameters() if p.grad is not None)"),),
    result="[size]",
    raised="AttributeError",
    kinds=("grad is None",),
    message="'NoneType' object has no attribute 'norm'",
)
program(
    "checkpointed block alternates its branches",
    ("self.count", "model.block"),
    """
    # %% alternating.py
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.count = nn.Linear(3, 3), 0

        def forward(self, x):
            self.count += 1  # culprit
            if self.count % 2 == 1:
                x = torch.sigmoid(x)
            return torch.tanh(self.linear(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.block, self.last = nn.Linear(3, 3), Block(), nn.Linear(3, 1)

        def forward(self, x):
            return self.last(checkpoint(self.block, self.first(x), use_reentrant=False))
    # %%
    from alternating import Net
    model, x = Net(), torch.randn(2, 3)
    # %%
    loss = model(x).pow(2).mean()
    loss.backward()  # raises
    """,
    (("        self.count += 1\n", ""), ("self.count % 2 == 1", "self.count % 2 == 0")),
    raised="CheckpointError",
    kinds=("recomputation differs",),
    message="different number of tensors",
    without_fix=True,
)
program(
    "cached mask is made in the first call of a checkpointed function only",
    ("cache.ready",),
    """
    # %%
    from torch.utils.checkpoint import checkpoint

    class Cache:
        ready = False

    model, cache, x = nn.Linear(3, 3), Cache(), torch.randn(2, 3, requires_grad=True)
    # %%
    def block(h):
        if not cache.ready:
            h = torch.exp(-h)
            cache.ready = True  # culprit
        return torch.sin(model(h))

    loss = checkpoint(block, x, use_reentrant=False).sum()
    loss.backward()  # raises
    """,
    (("        cache.ready = True\n", ""),),
    raised="CheckpointError",
    kinds=("recomputation differs",),
    message="different number of tensors",
    without_fix=True,
)
program(
    "hook keeps some of the gradients",
    ("w", "model.weight"),
    """
    # %%
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    # %%
    def first_rows(grad):
        return grad[:1]  # culprit

    model.weight.register_hook(first_rows)
    loss = model(x).pow(2).mean()
    loss.backward()  # raises
    """,
    fix("return grad[:1]", "return grad * (grad.new_ones(len(grad)).cumsum(0) == 1).unsqueeze(1)"),
    kinds=("gradient of another shape",),
    message="has changed the size of value",
    without_fix=True,
)
program(
    "gradient for the exponent of a power",
    ("exponent",),
    """
    # %% power.py
    import torch

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, exponent):
            ctx.save_for_backward(x)
            ctx.exponent = exponent
            return x ** exponent

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            slope = grad * ctx.exponent * x ** (ctx.exponent - 1)
            return slope, grad  # culprit
    # %%
    from power import Power
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    # %%
    loss = Power.apply(model(x), 2).sum()
    loss.backward()  # raises
    """,
    (("return slope, grad", "return slope, None"),),
    kinds=("gradient of no tensor",),
    message="different than None at position 2",
)
program(
    "zeta of a learned argument",
    ("order",),
    """
    # %%
    order = torch.tensor([2.5, 3.5], requires_grad=True)
    # %%
    tail = torch.special.zeta(order, torch.ones(2))  # culprit
    loss = tail.sum()
    loss.backward()  # raises
    """,
    fix(
        "tail = torch.special.zeta(order, torch.ones(2))",
        "tail = (torch.arange(1., 2000.)[:, None] ** -order).sum(0)",
    ),
    result="[order.grad]",
    raised="NotImplementedError",
    kinds=("no derivative",),
    message="derivative for 'zeta'",
    without_fix=True,
)
program(
    "gradient kept of detached features",
    ("features",),
    """
    # %% cam.py
    import torch
    from torch import nn

    def features_of(body, x):
        features = body(x).detach()  # culprit
        features.retain_grad()  # raises
        return features
    # %%
    from cam import features_of
    body, head, x = nn.Linear(3, 4), nn.Linear(4, 1), torch.randn(2, 3)
    # %%
    features = features_of(body, x)
    head(features).sum().backward()
    """,
    (("features = body(x).detach()", "features = body(x)"),),
    (("features = body(x).detach()", "features = body(x).detach().requires_grad_()"),),
    result="[features.grad]",
    kinds=("does not require grad",),
    message="can't retain_grad",
)
program(
    "result written to a buffer that was allocated before",
    ("scores",),
    """
    # %% scoring.py
    import torch

    def scored(weight, x):
        scores = torch.empty(len(x), weight.shape[1])
        torch.matmul(x, weight, out=scores)  # raises culprit
        return scores
    # %%
    from scoring import scored
    weight, x = torch.randn(3, 2, requires_grad=True), torch.randn(4, 3)
    # %%
    loss = scored(weight, x).pow(2).sum()
    loss.backward()
    """,
    (("torch.matmul(x, weight, out=scores)", "scores = torch.matmul(x, weight)"),),
    result="[weight.grad]",
    kinds=("out= is not recorded",),
    message="support automatic differentiation",
)
program(
    "samples are scaled by a Python number",
    ("sample",),
    """
    # %%
    from torch.func import vmap
    x = torch.randn(4, 3)
    # %%
    def centred(sample):
        return sample - sample.mean().item()  # raises culprit

    found = vmap(centred)(x)
    """,
    (("sample.mean().item()", "sample.mean()"),),
    result="[found]",
    kinds=("value read under vmap",),
    message="calling .item()",
)
program(
    "one-hot vectors are filled under vmap",
    ("out",),
    """
    # %%
    from torch.func import vmap
    x = torch.randn(4, 3)
    # %%
    def shifted(sample):
        out = torch.zeros(3)  # culprit
        out[1:] = sample[:2]  # raises
        return out * 2

    found = vmap(shifted)(x)
    """,
    (("torch.zeros(3)", "sample.new_zeros(3)"),),
    result="[found]",
    kinds=("write under vmap",),
    message="inplace arithmetic",
)
program(
    "dropout of each sample under vmap",
    (),
    """
    # %%
    from torch.func import vmap
    x = torch.randn(4, 3)
    # %%
    def noisy(sample):
        return (sample + torch.randn(3)).shape[0]  # raises culprit

    found = torch.tensor(vmap(lambda s: torch.full((), float(noisy(s))))(x))
    """,
    fix(
        "vmap(lambda s: torch.full((), float(noisy(s))))",
        'vmap(lambda s: torch.full((), float(noisy(s))), randomness="different")',
    ),
    result="[found]",
    kinds=("random numbers under vmap",),
    message="randomness error mode",
)

program(
    "states of cells are passed along a list of links",
    ("h", "states"),
    """
    # %% links.py
    import torch
    from torch import nn

    class Cells(nn.Module):
        def __init__(self, links):
            super().__init__()
            self.links = links
            self.enter, self.pass_on, self.last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            h = self.enter(x)
            for start, end in self.links:
                h[end] = h[end] + torch.tanh(self.pass_on(h[start]))  # culprit
            return self.last(h).mean()
    # %%
    from links import Cells
    model, x = Cells([(0, 1), (1, 2), (2, 0)]), torch.randn(3, 3)
    # %%
    loss = model(x)
    loss.backward()  # raises
    """,
    fix(
        "h[end] = h[end] + torch.tanh(self.pass_on(h[start]))",
        "h = torch.stack([row + torch.tanh(self.pass_on(h[start])) if n == end else row "
        "for n, row in enumerate(h)])",
    ),
    kinds=("saved tensor written",),
    message="modified by an inplace operation",
)
program(
    "levels of a pyramid are added from the last to the first",
    ("levels",),
    """
    # %%
    model, x = nn.Linear(3, 3), torch.randn(4, 3)
    # %%
    levels = model(x).exp()
    for n in range(3):
        levels[n] += torch.sin(levels[n + 1])  # culprit
    loss = levels.sum()
    loss.backward()  # raises
    """,
    fix(
        "levels[n] += torch.sin(levels[n + 1])",
        "levels = torch.cat([levels[:n], (levels[n] + torch.sin(levels[n + 1]))[None], "
        "levels[n + 1:]])",
    ),
    kinds=("saved tensor written",),
    message="modified by an inplace operation",
)
program(
    "forward hook shrinks an activation in place",
    ("output", "result"),
    """
    # %% shrink.py
    def shrink_by(factor):
        def hook(module, inputs, result):
            result.mul_(factor)  # culprit
        return hook
    # %%
    from shrink import shrink_by
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1)), torch.randn(5, 3)
    handle = model[1].register_forward_hook(shrink_by(0.5))
    # %%
    loss = model(x).pow(2).mean()
    loss.backward()  # raises
    """,
    (("result.mul_(factor)", "return result * factor"),),
    kinds=("saved tensor written",),
    message="modified by an inplace operation",
)
program(
    "forward hook sets some units to zero and counts",
    ("out",),
    """
    # %%
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(5, 3)
    # %%
    class Lesion:
        def __init__(self, unit):
            self.unit, self.count = unit, 0

        def cut(self, module, given, out):
            out[:, self.unit] = 0.0  # culprit
            self.count += 1

    model[1].register_forward_hook(Lesion(2).cut)
    loss = model(x).pow(2).mean()
    loss.backward()  # raises
    """,
    fix("out[:, self.unit] = 0.0", "return out.index_fill(1, torch.tensor(self.unit), 0.0)"),
    kinds=("saved tensor written",),
    message="modified by an inplace operation",
)
program(
    "entropy of probabilities of which some are masked",
    ("p",),
    """
    # %%
    model, x = nn.Linear(3, 4), torch.randn(2, 3)
    mask = torch.tensor([[True, True, False, True], [True, False, True, True]])
    # %%
    with torch.autograd.detect_anomaly():
        p = torch.softmax(model(x).masked_fill(~mask, float("-inf")), dim=1)
        ent = -torch.where(mask, p * p.log(), torch.zeros_like(p)).sum(1)  # culprit
        (-ent.mean()).backward()  # raises
    """,
    (("p.log()", "p.clamp(min=1e-8).log()"),),
    (("p.log()", "torch.where(mask, p, 1).log()"),),
    kinds=("nan in backward",),
    message="returned nan values",
)

program(
    "root of a mean by NumPy in a file without torch",
    (),
    """
    # %% rmse.py
    import numpy as np

    def rmse(prediction, target):
        squared = (prediction - target) ** 2
        return np.sqrt(squared.mean())  # culprit raises
    # %%
    from rmse import rmse
    model, x, y = nn.Linear(3, 2), torch.randn(4, 3), torch.randn(4, 2)
    # %%
    rmse(model(x), y).backward()
    """,
    (("np.sqrt(squared.mean())", "squared.mean().sqrt()"),),
    kinds=("numpy of a tensor that requires grad",),
    message="numpy() on Tensor that requires grad",
)
