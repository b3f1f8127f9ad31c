"""Other errors of autograd: NumPy, custom Functions, unused inputs, inference mode, flags."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "other errors"

bug(
    "metric takes NumPy of an output",
    FAMILY,
    """
    # %% tracking.py
    import numpy as np


    class Tracker:
        def __init__(self):
            self.errors = []

        def update(self, prediction, target):
            difference = prediction.numpy() - target.numpy()  # culprit raises
            self.errors.append(np.abs(difference).mean())

        def mean(self):
            return float(np.mean(self.errors))
    # %%
    from tracking import Tracker
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(2)]
    tracker = Tracker()
    # %%
    for x, y in loader:
        prediction = model(x)
        loss = F.mse_loss(prediction, y)
        tracker.update(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("prediction.numpy()", "prediction.detach().numpy()"),),
    (("tracker.update(prediction, y)", "tracker.update(prediction.detach(), y)"),),
    reference="""
    for x, y in loader:
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    variables=("prediction",),
    message="Can't call numpy() on Tensor that requires grad",
    accepted=("prediction.detach().numpy()",),
)
bug(
    "custom Function returns too few gradients",
    FAMILY,
    """
    # %% quantize.py
    import torch


    class RoundSTE(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, levels):
            ctx.levels = levels
            return torch.round(x * levels) / levels

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output  # culprit


    def quantize(x, levels=4):
        return RoundSTE.apply(x, levels)
    # %%
    from quantize import quantize
    class QuantizedNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(3, 4)
            self.fc2 = nn.Linear(4, 1)

        def forward(self, x):
            return self.fc2(quantize(torch.tanh(self.fc1(x))))


    model = QuantizedNet()
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    loss = F.mse_loss(model(x), y)
    loss.backward()  # raises
    """,
    (("return grad_output", "return grad_output, None"),),
    reference="""
    h = torch.tanh(model.fc1(x)).detach()
    rounded = torch.round(h * 4) / 4
    accumulate(
        lambda: F.mse_loss(model.fc2(torch.tanh(model.fc1(x)) - h + rounded), y),
        model.parameters(),
    )
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("levels", "grad_output", "x"),
    message="returned an incorrect number of gradients",
    accepted=("return grad_output, None",),
)
bug(
    "custom Function returns a gradient of another shape",
    FAMILY,
    """
    # %% linear.py
    import torch


    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(x, weight)
            return x @ weight.t() + bias

        @staticmethod
        def backward(ctx, grad):
            x, weight = ctx.saved_tensors
            grad_x = grad @ weight
            grad_weight = x.t() @ grad  # culprit
            grad_bias = grad.sum(0)
            return grad_x, grad_weight, grad_bias
    # %%
    from linear import LinearFunction
    class Linear(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(outputs, inputs))
            self.bias = nn.Parameter(torch.zeros(outputs))

        def forward(self, x):
            return LinearFunction.apply(x, self.weight, self.bias)


    model = nn.Sequential(Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    # %%
    loss = F.mse_loss(model(x), y)
    loss.backward()  # raises
    """,
    (("x.t() @ grad", "grad.t() @ x"),),
    reference="accumulate(lambda: F.mse_loss(model(x), y), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("model.0.weight", "weight", "self.weight", "grad_weight"),
    message="returned an invalid gradient",
    accepted=("grad_weight = grad.t() @ x",),
)
bug(
    "inner loop asks for the gradient of an unused head",
    FAMILY,
    """
    # %% maml.py
    import torch
    from torch import nn


    class TwoTask(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(3, 4)
            self.heads = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])

        def forward(self, x, task):
            return self.heads[task](torch.tanh(self.trunk(x)))


    def adapted(model, loss, lr=0.1):
        weights = dict(model.named_parameters())  # culprit
        every = list(weights.values())  # culprit
        grads = torch.autograd.grad(loss, every, create_graph=True)  # culprit raises
        return {name: w - lr * g for (name, w), g in zip(weights.items(), grads)}
    # %%
    from maml import TwoTask, adapted
    model = TwoTask()
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    inner = F.mse_loss(model(x, 0), y)
    fast = adapted(model, inner)
    prediction = torch.func.functional_call(model, fast, (x, 0))
    loss = F.mse_loss(prediction, y)
    loss.backward()
    """,
    fix(
        "create_graph=True)\n"
        "    return {name: w - lr * g for (name, w), g in zip(weights.items(), grads)}",
        "create_graph=True, allow_unused=True)\n"
        "    return {\n"
        "        name: w if g is None else w - lr * g\n"
        "        for (name, w), g in zip(weights.items(), grads)\n"
        "    }",
    ),
    (("create_graph=True)", "create_graph=True, materialize_grads=True)"),),
    reference="""
    def outer():
        with torch.enable_grad():
            weights = {n: w for n, w in model.named_parameters() if "heads.1" not in n}
            grads = torch.autograd.grad(F.mse_loss(model(x, 0), y), list(weights.values()))
        fast = {n: w - 0.1 * g for (n, w), g in zip(weights.items(), grads)}
        return F.mse_loss(torch.func.functional_call(model, fast, (x, 0)), y)
    accumulate(outer, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("heads.1.weight", "model.heads.1.weight", "weights['heads.1.weight']"),
    message="appears to not have been used in the graph",
    without_gradient=("heads.1.weight", "heads.1.bias"),
)
bug(
    "a loss per example goes backward",
    FAMILY,
    """
    # %% weighting.py
    from torch import nn


    class WeightedLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.CrossEntropyLoss(reduction="none")

        def forward(self, logits, labels, weights):
            return weights * self.base(logits, labels)  # culprit
    # %%
    from weighting import WeightedLoss
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    criterion = WeightedLoss()
    x, labels, weights = torch.randn(4, 3), torch.tensor([0, 2, 1, 1]), torch.rand(4)
    # %%
    optimizer.zero_grad()
    loss = criterion(model(x), labels, weights)
    loss.backward()  # culprit raises
    optimizer.step()
    """,
    fix(
        "return weights * self.base(logits, labels)",
        "return (weights * self.base(logits, labels)).mean()",
    ),
    (("loss.backward()", "loss.mean().backward()"),),
    reference="""
    accumulate(lambda: criterion(model(x), labels, weights).mean(), model.parameters())
    optimizer.step()
    """,
    variables=("loss",),
    message="grad can be implicitly created only for scalar outputs",
    also_right=((("loss.backward()", "loss.sum().backward()"),),),
)
bug(
    "features extracted in inference mode",
    FAMILY,
    """
    # %% features.py
    import torch


    class FrozenExtractor:
        def __init__(self, backbone):
            self.backbone = backbone.eval()

        @torch.inference_mode()  # culprit
        def __call__(self, x):
            return self.backbone(x)  # culprit
    # %%
    from features import FrozenExtractor
    extract = FrozenExtractor(nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])
    # %%
    features = extract(x)
    for epoch in range(2):
        optimizer.zero_grad()
        logits = model(features)  # raises
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
    """,
    (("@torch.inference_mode()", "@torch.no_grad()"),),
    (("features = extract(x)\n", "features = extract(x).clone()\n"),),
    reference="""
    with torch.no_grad():
        features = extract.backbone(x)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(features), labels), model.parameters())
        optimizer.step()
    """,
    variables=("features",),
    message="Inference tensors cannot be saved for backward",
    accepted=("with torch.no_grad():", "@torch.no_grad()"),
    without_gradient=("backbone.0.weight", "backbone.0.bias"),
)
bug(
    "gradients clamped by hand, one is None",
    FAMILY,
    """
    # %% clipping.py
    def clamp_gradients(model, bound):
        for p in model.parameters():
            p.grad.clamp_(-bound, bound)  # culprit raises
    # %%
    from clipping import clamp_gradients
    class DuelingNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 4)
            self.value = nn.Linear(4, 1)
            self.advantage = nn.Linear(4, 2)

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.advantage(h)


    model = DuelingNet()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    states, targets = torch.randn(5, 3), torch.randn(5, 2)
    # %%
    loss = F.smooth_l1_loss(model(states), targets)
    optimizer.zero_grad()
    loss.backward()
    clamp_gradients(model, 0.05)
    optimizer.step()
    """,
    fix(
        "        p.grad.clamp_(-bound, bound)",
        "        if p.grad is not None:\n            p.grad.clamp_(-bound, bound)",
    ),
    reference="""
    used = [*model.body.parameters(), *model.advantage.parameters()]
    accumulate(lambda: F.smooth_l1_loss(model(states), targets), used)
    for p in used:
        p.grad = p.grad.clamp(-0.05, 0.05)
    optimizer.step()
    """,
    variables=("p", "model.value.weight", "value.weight", "p.grad", "model.value.weight.grad"),
    raised="AttributeError",
    without_gradient=("value.weight", "value.bias"),
)
bug(
    "features frozen by their flag",
    FAMILY,
    """
    # %% finetune.py
    from torch import nn


    class FineTuner(nn.Module):
        def __init__(self, backbone, classes, freeze):
            super().__init__()
            self.backbone = backbone
            self.head = nn.Linear(3, classes)
            self.freeze = freeze

        def forward(self, x):
            features = self.backbone(x)
            if self.freeze:
                features.requires_grad = False  # culprit raises
            return self.head(features)
    # %%
    from finetune import FineTuner
    model = FineTuner(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), classes=2, freeze=True)
    x, labels = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])
    # %%
    logits = model(x)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    """,
    (("features.requires_grad = False", "features = features.detach()"),),
    reference="""
    features = model.backbone(x).detach()
    accumulate(lambda: F.cross_entropy(model.head(features), labels), model.head.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("features",),
    message="you can only change requires_grad flags of leaf variables",
    accepted=("features = features.detach()", "features.detach()"),
    without_gradient=("backbone.0.weight", "backbone.0.bias"),
)
bug(
    "model with a kept activation is copied",
    FAMILY,
    """
    # %% ema.py
    import copy


    class Ema:
        def __init__(self, model, decay=0.9):
            self.model = copy.deepcopy(model)  # culprit raises
            self.decay = decay

        def update(self, model):
            for mine, theirs in zip(self.model.parameters(), model.parameters()):
                mine.data.lerp_(theirs.data, 1 - self.decay)
    # %%
    from ema import Ema
    class Probe(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(3, 4)
            self.fc2 = nn.Linear(4, 1)
            self.activation = None

        def forward(self, x):
            self.activation = torch.tanh(self.fc1(x))  # culprit
            return self.fc2(self.activation)


    model = Probe()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    loss = F.mse_loss(model(x), y)
    ema = Ema(model)
    loss.backward()
    optimizer.step()
    ema.update(model)
    """,
    fix(
        "        self.activation = torch.tanh(self.fc1(x))\n"
        "        return self.fc2(self.activation)\n",
        "        activation = torch.tanh(self.fc1(x))\n"
        "        self.activation = activation.detach()\n"
        "        return self.fc2(activation)\n",
    ),
    reference="accumulate(lambda: F.mse_loss(model(x), y), model.parameters())\noptimizer.step()",
    variables=("model.activation", "self.activation", "activation"),
    message="graph leaves",
    without_gradient=tuple(
        f"ema.model.fc{n}.{kind}" for n in (1, 2) for kind in ("weight", "bias")
    ),
)
bug(
    "scaled weights given to the optimizer",
    FAMILY,
    """
    # %% mixture.py
    import torch


    class Mixture:
        def __init__(self, components, width):
            self.means = torch.randn(components, width, requires_grad=True) * 0.5  # culprit
            self.logits = torch.zeros(components, requires_grad=True)

        def tensors(self):
            return [self.means, self.logits]

        def negative_log_likelihood(self, x):
            distance = (x.unsqueeze(1) - self.means).pow(2).sum(-1)
            return -torch.logsumexp(torch.log_softmax(self.logits, 0) - distance / 2, 1).mean()
    # %%
    from mixture import Mixture
    x = torch.randn(8, 2)
    # %%
    torch.manual_seed(3)
    mixture = Mixture(3, 2)
    optimizer = optim.SGD(mixture.tensors(), lr=0.1)  # raises
    for epoch in range(2):
        optimizer.zero_grad()
        loss = mixture.negative_log_likelihood(x)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "torch.randn(components, width, requires_grad=True) * 0.5",
        "(torch.randn(components, width) * 0.5).requires_grad_()",
    ),
    reference="""
    torch.manual_seed(3)
    mixture = Mixture(3, 2)
    mixture.means = mixture.means.detach().requires_grad_()
    optimizer = optim.SGD(mixture.tensors(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: mixture.negative_log_likelihood(x), mixture.tensors())
        optimizer.step()
    """,
    result="mixture.tensors()",
    variables=("mixture.means", "self.means", "means"),
    raised="ValueError",
    message="can't optimize a non-leaf Tensor",
    accepted=("self.means = (torch.randn(components, width) * 0.5).requires_grad_()",),
    audit=("loss", "mixture.tensors()", "optimizer"),
)
bug(
    "gates of an LSTM activated in place after chunk",
    FAMILY,
    """
    # %% lstm.py
    import torch
    from torch import nn


    class LstmCell(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.ih = nn.Linear(inputs, 4 * hidden)
            self.hh = nn.Linear(hidden, 4 * hidden)

        def forward(self, x, state):
            h, c = state
            i, f, g, o = (self.ih(x) + self.hh(h)).chunk(4, dim=1)
            i.sigmoid_()  # culprit raises
            f.sigmoid_()  # culprit
            o.sigmoid_()  # culprit
            c = f * c + i * torch.tanh(g)
            return o * torch.tanh(c), c
    # %%
    from lstm import LstmCell
    model = LstmCell(2, 3)
    steps, target = torch.randn(3, 4, 2), torch.randn(4, 3)
    # %%
    state = torch.zeros(4, 3), torch.zeros(4, 3)
    for x in steps:
        state = model(x, state)
    loss = F.mse_loss(state[0], target)
    loss.backward()
    """,
    fix(
        "i.sigmoid_()",
        "i = i.sigmoid()",
        "f.sigmoid_()",
        "f = f.sigmoid()",
        "o.sigmoid_()",
        "o = o.sigmoid()",
    ),
    reference="""
    def unrolled():
        h = c = torch.zeros(4, 3)
        for x in steps:
            i, f, g, o = (model.ih(x) + model.hh(h)).split(3, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return F.mse_loss(h, target)
    accumulate(unrolled, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("i",),
    message="is a view and is being modified inplace",
)
bug(
    "mask of integers as a parameter",
    FAMILY,
    """
    # %% masked.py
    import torch
    from torch import nn


    class MaskedLinear(nn.Linear):
        def __init__(self, inputs, outputs, degree):
            super().__init__(inputs, outputs)
            mask = (torch.arange(outputs).unsqueeze(1) + degree >= torch.arange(inputs)).long()
            self.mask = nn.Parameter(mask)  # culprit raises

        def forward(self, x):
            return nn.functional.linear(x, self.weight * self.mask, self.bias)
    # %%
    from masked import MaskedLinear
    class Made(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first = MaskedLinear(width, width, degree=0)
            self.second = MaskedLinear(width, width, degree=-1)

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))


    x = torch.rand(5, 3)
    # %%
    torch.manual_seed(2)
    model = Made(3)
    loss = F.binary_cross_entropy_with_logits(model(x), x)
    loss.backward()
    """,
    (("self.mask = nn.Parameter(mask)", 'self.register_buffer("mask", mask)'),),
    (("self.mask = nn.Parameter(mask)", "self.mask = nn.Parameter(mask, requires_grad=False)"),),
    reference="""
    torch.manual_seed(2)
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    model = nn.ModuleList([first, second])
    def total():
        h = torch.relu(F.linear(x, first.weight.tril(0), first.bias))
        out = F.linear(h, second.weight.tril(-1), second.bias)
        return F.binary_cross_entropy_with_logits(out, x)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters() if p.requires_grad]",
    variables=("mask", "self.mask"),
    message="Only Tensors of floating point and complex dtype can require gradients",
    accepted=('self.register_buffer("mask", mask)',),
    without_gradient=("first.mask", "second.mask"),
)
