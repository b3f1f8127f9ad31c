"""Hooks where torch takes none, recomputation by checkpoints, and edges of graphs."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "hooks, checkpoints, edges"

bug(
    "hook on features of a frozen backbone",
    FAMILY,
    """
    # %% cam.py
    import torch
    from torch import nn


    class CamNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(nn.Conv1d(1, 3, 3), nn.ReLU())
            self.head = nn.Linear(3, 2)
            self.backbone.requires_grad_(False)  # culprit
            self.slopes = None

        def save(self, grad):
            self.slopes = grad

        def forward(self, x):
            features = self.backbone(x)
            features.register_hook(self.save)  # culprit raises
            return self.head(features.mean(2)), features
    # %%
    from cam import CamNet
    model = CamNet().eval()
    image = torch.rand(1, 1, 6)
    # %%
    scores, features = model(image)
    scores[0, scores.argmax()].backward()
    cam = (model.slopes.mean(2, keepdim=True) * features).sum(1).relu()
    """,
    (("features = self.backbone(x)\n", "features = self.backbone(x).requires_grad_()\n"),),
    (("image = torch.rand(1, 1, 6)", "image = torch.rand(1, 1, 6).requires_grad_()"),),
    reference="""
    features = model.backbone(image)
    weights = model.head.weight[(model.head(features.mean(2))).argmax()] / features.shape[2]
    cam = (weights[:, None] * features[0]).sum(0, keepdim=True).relu().detach()
    """,
    result="[cam]",
    variables=("features",),
    message="cannot register a hook on a tensor that doesn't require gradient",
    accepted=(
        "features.requires_grad_()",
        "features = features.requires_grad_()",
        "image.requires_grad_()",
        "x.requires_grad_()",
    ),
    audit=("", "", ""),
)
bug(
    "activation retained under no_grad",
    FAMILY,
    """
    # %% attribution.py
    import torch
    from torch import nn


    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 3)
            self.out = nn.Linear(3, 2)

        def forward(self, tokens):
            self.embedded = self.embed(tokens)
            self.embedded.retain_grad()  # raises
            return self.out(torch.tanh(self.embedded).mean(1))


    def attribute(model, tokens, label):
        model.eval()
        with torch.no_grad():  # culprit
            logits = model(tokens)  # culprit
        logits[:, label].sum().backward()
        return (model.embedded.grad * model.embedded).sum(-1)
    # %%
    from attribution import Encoder, attribute
    model = Encoder()
    tokens = torch.tensor([[0, 3, 2], [5, 1, 1]])
    # %%
    scores = attribute(model, tokens, 1).detach()
    """,
    fix(
        "    with torch.no_grad():\n        logits = model(tokens)\n",
        "    logits = model(tokens)\n",
    ),
    reference="""
    h = model.embed(tokens).detach()
    slope = (1 - torch.tanh(h) ** 2) * model.out.weight[1] / 3
    scores = (slope * h).sum(-1).detach()
    """,
    result="[scores]",
    variables=("self.embedded", "model.embedded", "embedded"),
    message="can't retain_grad on Tensor that has requires_grad=False",
    audit=("", "", ""),
)
bug(
    "update in backward hooked to a scaled weight",
    FAMILY,
    """
    # %% fused_update.py
    import torch


    class ScaledLayer(torch.nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.v = torch.nn.Parameter(torch.randn(outputs, inputs))

        def weight(self):
            return self.v / self.v.shape[1] ** 0.5

        def forward(self, x):
            return x @ self.weight().t()


    def update_in_backward(layer, lr):
        def update(p):
            with torch.no_grad():
                p -= lr * p.grad
            p.grad = None

        layer.weight().register_post_accumulate_grad_hook(update)  # culprit raises
    # %%
    from fused_update import ScaledLayer, update_in_backward
    model = nn.Sequential(ScaledLayer(3, 4), nn.Tanh(), ScaledLayer(4, 1))
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for layer in (model[0], model[2]):
        update_in_backward(layer, 0.1)
    for epoch in range(2):
        loss = F.mse_loss(model(x), y)
        loss.backward()
    """,
    fix(
        "layer.weight().register_post_accumulate_grad_hook(update)",
        "layer.v.register_post_accumulate_grad_hook(update)",
    ),
    reference="""
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    variables=("layer.weight()", "self.v", "layer.v", "model.0.v", "0.v", "weight"),
    message="post accumulate grad hooks cannot be registered on non-leaf tensors",
    audit=("", "", ""),
)
bug(
    "layer skipped at random inside a checkpoint",
    FAMILY,
    """
    # %% stochastic_depth.py
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint


    class Block(nn.Module):
        def __init__(self, width, keep):
            super().__init__()
            self.fc = nn.Linear(width, width)
            self.keep = keep

        def forward(self, x):
            if np.random.rand() > self.keep:  # culprit
                return x * 1.0
            return x + torch.tanh(self.fc(x)) / self.keep


    class Deep(nn.Module):
        def __init__(self, width, depth):
            super().__init__()
            self.blocks = nn.ModuleList(Block(width, 0.6) for _ in range(depth))

        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)  # culprit
            return x.mean(1)
    # %%
    from stochastic_depth import Deep
    model = Deep(3, 3)
    x, y = torch.randn(5, 3), torch.randn(5)
    # %%
    np.random.seed(3)
    loss = F.mse_loss(model(x), y)
    loss.backward()  # raises
    """,
    fix(
        "    def forward(self, x):\n        if np.random.rand() > self.keep:\n",
        "    def forward(self, x, draw):\n        if draw > self.keep:\n",
        "checkpoint(block, x, use_reentrant=False)",
        "checkpoint(block, x, np.random.rand(), use_reentrant=False)",
    ),
    (("checkpoint(block, x, use_reentrant=False)", "block(x)"),),
    reference="""
    def total():
        np.random.seed(3)
        h = x
        for block in model.blocks:
            keep = np.random.rand() <= block.keep
            h = h + torch.tanh(block.fc(h)) / block.keep if keep else h
        return F.mse_loss(h.mean(1), y)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("block", "x", "checkpoint", "self.blocks"),
    raised="CheckpointError",
    message="torch.utils.checkpoint",
    without_gradient=tuple(
        f"blocks.{n}.fc.{kind}" for n in range(3) for kind in ("weight", "bias")
    ),
)
bug(
    "table of a block is kept by the first forward",
    FAMILY,
    """
    # %% rotary.py
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint


    class Positions(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.frequency = nn.Parameter(torch.rand(width))
            self.table = None

        def forward(self, x):
            if self.table is None:  # culprit
                steps = torch.arange(x.shape[1]).unsqueeze(1)
                self.table = torch.sin(steps * self.frequency)  # culprit
            return x * self.table


    class Model(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.positions = Positions(width)
            self.out = nn.Linear(width, 1)

        def forward(self, x):
            h = checkpoint(self.positions, x, use_reentrant=False)  # culprit
            return self.out(h.mean(1))
    # %%
    from rotary import Model
    model = Model(3)
    x, y = torch.randn(4, 2, 3), torch.randn(4, 1)
    # %%
    loss = F.mse_loss(model(x), y)
    loss.backward()  # raises
    """,
    fix(
        "        if self.table is None:\n"
        "            steps = torch.arange(x.shape[1]).unsqueeze(1)\n"
        "            self.table = torch.sin(steps * self.frequency)\n"
        "        return x * self.table\n",
        "        steps = torch.arange(x.shape[1]).unsqueeze(1)\n"
        "        return x * torch.sin(steps * self.frequency)\n",
    ),
    reference="""
    def total():
        model.positions.table = None
        return F.mse_loss(model(x), y)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("self.table", "x", "self.positions", "model.positions.table", "self.frequency"),
    raised="CheckpointError",
    message="A different number of tensors was saved",
)
bug(
    "first block under a reentrant checkpoint",
    FAMILY,
    """
    # %% long_sequence.py
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint


    class LongNet(nn.Module):
        def __init__(self, width, depth):
            super().__init__()
            blocks = [nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(depth)]
            self.blocks = nn.Sequential(*blocks)

        def forward(self, x):
            h = x
            for block in self.blocks:
                h = checkpoint(block, h, use_reentrant=True)  # culprit
            return h


    def finetune(model, x, y, optimizer):
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()  # raises
        optimizer.step()
    # %%
    from long_sequence import LongNet, finetune
    model = LongNet(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 3)
    # %%
    for epoch in range(2):
        finetune(model, x, y, optimizer)
    """,
    (("use_reentrant=True", "use_reentrant=False"),),
    (("        h = x\n", "        h = x.detach().requires_grad_()\n"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: (model.blocks(x) - y).pow(2).mean(), model.parameters())
        optimizer.step()
    """,
    variables=("h", "x"),
    message="does not require grad",
    accepted=(
        "h = checkpoint(block, h, use_reentrant=False)",
        "x.requires_grad_()",
        "h.requires_grad_()",
    ),
    audit=("", "", ""),
)
bug(
    "gradient of an input through a reentrant checkpoint",
    FAMILY,
    """
    # %% forces.py
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint


    class Energy(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 4), nn.Tanh())
            self.outer = nn.Linear(4, 1)

        def forward(self, positions):
            h = checkpoint(self.inner, positions, use_reentrant=True)  # culprit
            return self.outer(h).sum()


    def forces(model, positions):
        positions = positions.clone().requires_grad_()
        energy = model(positions)
        return -torch.autograd.grad(energy, positions)[0]  # culprit raises
    # %%
    from forces import Energy, forces
    model = Energy()
    positions = torch.randn(3, 2)
    # %%
    for step in range(2):
        positions = positions + 0.1 * forces(model, positions)
    """,
    (("use_reentrant=True", "use_reentrant=False"),),
    (("checkpoint(self.inner, positions, use_reentrant=True)", "self.inner(positions)"),),
    reference="""
    for step in range(2):
        t = torch.tanh(model.inner[0](positions)).detach()
        slope = ((1 - t * t) * model.outer.weight) @ model.inner[0].weight
        positions = positions - 0.1 * slope.detach()
    """,
    result="[positions]",
    variables=("positions", "energy", "h"),
    message="When use_reentrant=True, torch.utils.checkpoint is incompatible",
    accepted=("h = checkpoint(self.inner, positions, use_reentrant=False)",),
    audit=("", "", ""),
)
bug(
    "gradient sent to a stage has lost its batch",
    FAMILY,
    """
    # %% pipeline.py
    import torch
    from torch import nn
    from torch.autograd.graph import get_gradient_edge


    class Stage:
        def __init__(self, module):
            self.module, self.edge, self.received = module, None, None

        def forward(self, x):
            self.received = x.detach().requires_grad_()
            out = self.module(self.received)
            self.edge = get_gradient_edge(out)
            return out.detach()

        def backward(self, grad):
            torch.autograd.backward(self.edge, grad)  # raises
            return self.received.grad.mean(0)  # culprit


    def loss_gradient(prediction, y):
        return 2 * (prediction - y) / prediction.numel()
    # %%
    from pipeline import Stage, loss_gradient
    model = nn.ModuleList([nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 1)])
    stages = [Stage(module) for module in model]
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    out = x
    for stage in stages:
        out = stage.forward(out)
    grad = loss_gradient(out, y)
    for stage in reversed(stages):
        grad = stage.backward(grad)
    """,
    (("return self.received.grad.mean(0)", "return self.received.grad"),),
    reference="accumulate(lambda: F.mse_loss(model[1](model[0](x)), y), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("grad", "self.edge", "out"),
    message="Mismatch in shape: grad_output[0] has a shape of",
    audit=("", "", ""),
)
