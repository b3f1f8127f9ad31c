"""Torch raises nothing, and a parameter is not trained, or not as it should be."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: parameters"

bug(
    "layers in a list of Python",
    FAMILY,
    """
    # %% deep.py
    import torch
    from torch import nn


    class Deep(nn.Module):
        def __init__(self, width, depth):
            super().__init__()
            self.hidden = [nn.Linear(width, width) for _ in range(depth)]  # culprit
            self.out = nn.Linear(width, 1)

        def forward(self, x):
            for layer in self.hidden:
                x = torch.tanh(layer(x))
            return self.out(x)
    # %%
    from deep import Deep
    model = Deep(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "[nn.Linear(width, width) for _ in range(depth)]",
        "nn.ModuleList(nn.Linear(width, width) for _ in range(depth))",
    ),
    reference="""
    every = [*model.out.parameters()] + [p for layer in model.hidden for p in layer.parameters()]
    for epoch in range(2):
        for p in every:
            p.grad = None
        accumulate(lambda: F.mse_loss(model(x), y), every)
        with torch.no_grad():
            for p in every:
                p -= 0.1 * p.grad
    """,
    result="[p for layer in model.hidden for p in layer.parameters()]",
    raised="",
)
bug(
    "head replaced after the optimizer was made",
    FAMILY,
    """
    # %% classifier.py
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.features = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
            self.fc = nn.Linear(3, classes)

        def forward(self, x):
            return self.fc(self.features(x))

        def with_classes(self, classes):
            self.fc = nn.Linear(self.fc.in_features, classes)
            return self
    # %%
    from classifier import Classifier
    model = Classifier(10)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    # %%
    torch.manual_seed(1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)  # culprit
    model.with_classes(3)  # culprit
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "optimizer = optim.SGD(model.parameters(), lr=0.1)\nmodel.with_classes(3)\n",
        "model.with_classes(3)\noptimizer = optim.SGD(model.parameters(), lr=0.1)\n",
    ),
    reference="""
    torch.manual_seed(1)
    model.with_classes(3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "tensor in place of a parameter",
    FAMILY,
    """
    # %% scaled.py
    import torch
    from torch import nn


    class ScaledCosine(nn.Module):
        def __init__(self, width, classes):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(classes, width))
            self.scale = torch.tensor(5.0, requires_grad=True)  # culprit

        def forward(self, x):
            x = nn.functional.normalize(x)
            return self.scale * x @ nn.functional.normalize(self.weight).t()
    # %%
    from scaled import ScaledCosine
    model = nn.Sequential(nn.Linear(4, 3), ScaledCosine(3, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 1, 0, 1, 0])
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
    """,
    (("torch.tensor(5.0, requires_grad=True)", "nn.Parameter(torch.tensor(5.0))"),),
    reference="""
    every = [*model.parameters(), model[1].scale]
    optimizer = optim.SGD(every, lr=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), every)
        optimizer.step()
    """,
    result="[model[0].weight, model[0].bias, model[1].weight, model[1].scale]",
    raised="",
)
bug(
    "optimizer of the head only",
    FAMILY,
    """
    # %% make_optimizer.py
    import torch


    def make_optimizer(model, lr, finetune_all):
        groups = [{"params": model[1].parameters(), "lr": lr}]
        if finetune_all:
            for module in model[:0]:  # culprit
                groups.append({"params": module.parameters(), "lr": lr / 10})
        return torch.optim.SGD(groups, lr=lr)
    # %%
    from make_optimizer import make_optimizer
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    optimizer = make_optimizer(model, 0.1, finetune_all=True)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 1, 0, 1, 0])
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(torch.tanh(model(x)), labels)
        loss.backward()
        optimizer.step()
    """,
    (("model[:0]", "model[:1]"),),
    reference="""
    groups = [{"params": model[n].parameters(), "lr": lr} for n, lr in ((1, 0.1), (0, 0.01))]
    optimizer = optim.SGD(groups)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(torch.tanh(model(x)), labels), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "frozen by a part of a name",
    FAMILY,
    """
    # %% freezing.py
    def freeze(model, names):
        for name, p in model.named_parameters():
            if any(part in name for part in names):  # culprit
                p.requires_grad = False  # culprit
    # %%
    from freezing import freeze
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Linear(4, 3)
            self.bottleneck = nn.Linear(3, 3)
            self.bottleneck_enc_norm = nn.LayerNorm(3)
            self.out = nn.Linear(3, 1)

        def forward(self, x):
            h = self.bottleneck(torch.tanh(self.enc(x)))
            return self.out(torch.tanh(self.bottleneck_enc_norm(h)))


    model = Model()
    freeze(model, ["enc"])
    optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    x, y = torch.randn(6, 4), torch.randn(6, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    (("if any(part in name for part in names):", 'if name.split(".")[0] in names:'),),
    reference="""
    trained = [p for name, p in model.named_parameters() if not name.startswith("enc.")]
    optimizer = optim.SGD(trained, lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), trained)
        optimizer.step()
    """,
    raised="",
    without_gradient=("enc.weight", "enc.bias"),
)
bug(
    "weights pruned into a new parameter",
    FAMILY,
    """
    # %% pruning.py
    import torch
    from torch import nn


    def prune(layer, fraction):
        threshold = layer.weight.abs().flatten().quantile(fraction)
        mask = (layer.weight.abs() > threshold).double()
        layer.weight = nn.Parameter(layer.weight.detach() * mask)  # culprit
        return mask
    # %%
    from pruning import prune
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(6, 4), torch.randn(6, 1)
    # %%
    prune(model[0], 0.3)
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "layer.weight = nn.Parameter(layer.weight.detach() * mask)", "layer.weight.data.mul_(mask)"
    ),
    reference="""
    prune(model[0], 0.3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "update assigned to the loop's variable",
    FAMILY,
    """
    # %% descent.py
    import torch


    def sgd_step(parameters, lr):
        with torch.no_grad():
            for p in parameters:
                p = p - lr * p.grad  # culprit


    def zero(parameters):
        for p in parameters:
            p.grad = None
    # %%
    from descent import sgd_step, zero
    model = nn.Linear(3, 1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(3):
        zero(model.parameters())
        loss = F.mse_loss(model(x), y)
        loss.backward()
        sgd_step(model.parameters(), 0.1)
    """,
    (("p = p - lr * p.grad", "p -= lr * p.grad"),),
    (("p = p - lr * p.grad", "p.copy_(p - lr * p.grad)"),),
    reference="""
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "output of a head is not part of the loss",
    FAMILY,
    """
    # %% detector.py
    from torch import nn


    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 5)
            self.box = nn.Linear(5, 2)
            self.label = nn.Linear(5, 3)

        def forward(self, x):
            h = self.body(x).relu()
            return {"box": self.box(h), "label": self.label(h)}


    def detection_loss(output, target):
        losses = {
            "box": nn.functional.l1_loss(output["box"], target["box"]),
            "label": nn.functional.cross_entropy(output["label"], target["label"]),
        }
        return sum(value for name, value in losses.items() if name == "box")  # culprit
    # %%
    from detector import Detector, detection_loss
    model = Detector()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(4, 4)
    target = {"box": torch.rand(4, 2), "label": torch.tensor([0, 2, 1, 1])}
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = detection_loss(model(x), target)
        loss.backward()
        optimizer.step()
    """,
    (('sum(value for name, value in losses.items() if name == "box")', "sum(losses.values())"),),
    reference="""
    def total():
        out = model(x)
        return F.l1_loss(out["box"], target["box"]) + F.cross_entropy(out["label"], target["label"])
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "model converted to a copy after the optimizer was made",
    FAMILY,
    """
    # %% setup_model.py
    import copy

    import torch
    from torch import nn


    def build(width):
        model = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1)).float()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # culprit
        return model, optimizer


    def to_double(model):
        return copy.deepcopy(model).to(torch.float64)  # culprit
    # %%
    from setup_model import build, to_double
    model, optimizer = build(4)
    model = to_double(model)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "model = to_double(model)\n",
        "model = to_double(model)\noptimizer = optim.SGD(model.parameters(), lr=0.1)\n",
    ),
    reference="""
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
)
