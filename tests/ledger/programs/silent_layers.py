"""Torch raises nothing, and a layer or tensor that should be trained is out of reach."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: layers out of reach"

bug(
    "experts in a dict of Python",
    FAMILY,
    """
    # %% multitask.py
    import torch
    from torch import nn


    class MultiTask(nn.Module):
        def __init__(self, inputs, tasks):
            super().__init__()
            self.trunk = nn.Linear(inputs, 4)
            self.heads = {name: nn.Linear(4, size) for name, size in tasks.items()}  # culprit

        def forward(self, x):
            h = torch.relu(self.trunk(x))
            return {name: head(h) for name, head in self.heads.items()}


    def total_loss(outputs, targets):
        return sum(nn.functional.mse_loss(outputs[name], targets[name]) for name in outputs)
    # %%
    from multitask import MultiTask, total_loss
    model = MultiTask(3, {"depth": 1, "normal": 2})
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    targets = {"depth": torch.randn(5, 1), "normal": torch.randn(5, 2)}
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = total_loss(model(x), targets)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "{name: nn.Linear(4, size) for name, size in tasks.items()}",
        "nn.ModuleDict({name: nn.Linear(4, size) for name, size in tasks.items()})",
    ),
    reference="""
    heads = [p for head in model.heads.values() for p in head.parameters()]
    optimizer = optim.SGD([*model.trunk.parameters(), *heads], lr=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(
            lambda: total_loss(model(x), targets), [*model.trunk.parameters(), *heads]
        )
        optimizer.step()
    """,
    result="[p for head in model.heads.values() for p in head.parameters()]",
    raised="",
)
bug(
    "projection made anew in each forward",
    FAMILY,
    """
    # %% residual.py
    import torch
    from torch import nn


    class ResidualBlock(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.fc = nn.Linear(inputs, outputs)
            self.inputs, self.outputs = inputs, outputs

        def forward(self, x):
            shortcut = x
            if self.inputs != self.outputs:
                projection = nn.Linear(self.inputs, self.outputs, bias=False)  # culprit
                nn.init.eye_(projection.weight)
                shortcut = projection(x)
            return torch.relu(self.fc(x)) + shortcut
    # %%
    from residual import ResidualBlock
    model = nn.Sequential(ResidualBlock(3, 4), ResidualBlock(4, 4), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "        self.inputs, self.outputs = inputs, outputs\n",
        "        self.inputs, self.outputs = inputs, outputs\n"
        "        if inputs != outputs:\n"
        "            self.project = nn.Parameter(torch.eye(outputs, inputs))\n",
        "            projection = nn.Linear(self.inputs, self.outputs, bias=False)\n"
        "            nn.init.eye_(projection.weight)\n"
        "            shortcut = projection(x)\n",
        "            shortcut = x @ self.project.t()\n",
    ),
    reference="""
    project = torch.eye(4, 3)
    def total():
        first, second, last = model
        h = torch.relu(first.fc(x)) + x @ project.t()
        return F.mse_loss(last(torch.relu(second.fc(h)) + h), y)
    every = [*model.parameters(), project]
    optimizer = optim.SGD(every, lr=0.05)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(total, every)
        optimizer.step()
    """,
    result="[model[0].fc.weight, model[1].fc.weight, model[2].weight]",
    raised="",
)
bug(
    "parameter turned into a product at once",
    FAMILY,
    """
    # %% prompt.py
    import torch
    from torch import nn


    class PromptTuned(nn.Module):
        def __init__(self, backbone, length, width):
            super().__init__()
            self.backbone = backbone.requires_grad_(False)
            self.prompt = nn.Parameter(torch.randn(length, width)) * 0.1  # culprit
            self.head = nn.Linear(width, 2)

        def forward(self, x):
            prompt = self.prompt.expand(len(x), -1, -1)
            h = self.backbone(torch.cat([prompt, x], 1))
            return self.head(torch.tanh(h).mean(1))
    # %%
    from prompt import PromptTuned
    backbone = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    model = PromptTuned(backbone, 2, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    x, labels = torch.randn(4, 2, 3), torch.tensor([0, 1, 1, 0])
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward(retain_graph=True)
        optimizer.step()
    """,
    fix(
        "nn.Parameter(torch.randn(length, width)) * 0.1",
        "nn.Parameter(torch.randn(length, width) * 0.1)",
        "loss.backward(retain_graph=True)",
        "loss.backward()",
    ),
    reference="""
    model.prompt = model.prompt.detach()
    every = [model.prompt, *model.head.parameters()]
    optimizer = optim.SGD(every, lr=0.5)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), every)
        optimizer.step()
    """,
    result="[model.prompt, *model.head.parameters()]",
    raised="",
    without_gradient=("backbone.0.weight", "backbone.0.bias"),
)
bug(
    "learned temperature converted to another dtype",
    FAMILY,
    """
    # %% contrastive.py
    import math

    import torch
    from torch import nn


    class Contrastive(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.image = nn.Linear(4, width)
            self.text = nn.Linear(3, width)
            start = torch.tensor(math.log(1 / 0.07), dtype=torch.float32)
            self.log_scale = nn.Parameter(start).to(torch.float64)  # culprit

        def forward(self, image, text):
            a = nn.functional.normalize(self.image(image), dim=1)
            b = nn.functional.normalize(self.text(text), dim=1)
            logits = self.log_scale.exp() * a @ b.t()
            labels = torch.arange(len(a))
            cross_entropy = nn.functional.cross_entropy
            return (cross_entropy(logits, labels) + cross_entropy(logits.t(), labels)) / 2
    # %%
    from contrastive import Contrastive
    model = Contrastive(3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    images, texts = torch.randn(4, 4), torch.randn(4, 3)
    # %%
    for epoch in range(3):
        loss = model(images, texts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("nn.Parameter(start).to(torch.float64)", "nn.Parameter(start.to(torch.float64))"),),
    reference="""
    model.log_scale = model.log_scale.detach()
    every = [*model.parameters(), model.log_scale]
    optimizer = optim.SGD(every, lr=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: model(images, texts), every)
        optimizer.step()
    """,
    result="[*model.image.parameters(), *model.text.parameters(), model.log_scale]",
    raised="",
)
bug(
    "discriminator stays frozen",
    FAMILY,
    """
    # %% gan_phases.py
    import torch
    from torch.nn import functional as F


    class Phases:
        def __init__(self, generator, discriminator, lr):
            self.g, self.d = generator, discriminator
            self.opt_g = torch.optim.SGD(generator.parameters(), lr=lr)
            self.opt_d = torch.optim.SGD(discriminator.parameters(), lr=lr)

        def generator_step(self, z):
            self.d.requires_grad_(False)  # culprit
            loss = F.softplus(-self.d(self.g(z))).mean()
            self.opt_g.zero_grad()
            loss.backward()
            self.opt_g.step()

        def discriminator_step(self, real, z):
            scores = torch.cat([-self.d(real), self.d(self.g(z))])
            loss = F.softplus(scores).mean()
            self.opt_d.zero_grad()
            loss.backward()
            self.opt_d.step()
    # %%
    from gan_phases import Phases
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    phases = Phases(generator, discriminator, lr=0.2)
    real, z = torch.randn(5, 3), torch.randn(5, 2)
    # %%
    for iteration in range(3):
        phases.discriminator_step(real, z)
        phases.generator_step(z)
    """,
    (("self.opt_g.step()\n", "self.opt_g.step()\n        self.d.requires_grad_(True)\n"),),
    reference="""
    for iteration in range(3):
        phases.opt_d.zero_grad()
        def critic():
            return F.softplus(torch.cat([-phases.d(real), phases.d(phases.g(z))])).mean()
        accumulate(critic, phases.d.parameters())
        phases.opt_d.step()
        phases.opt_g.zero_grad()
        accumulate(lambda: F.softplus(-phases.d(phases.g(z))).mean(), phases.g.parameters())
        phases.opt_g.step()
    """,
    result="list(phases.d.parameters())",
    raised="",
    audit=("", "", ""),
)
bug(
    "adapters frozen with the model around them",
    FAMILY,
    """
    # %% peft_like.py
    import torch
    from torch import nn


    class Adapted(nn.Module):
        def __init__(self, layer, rank):
            super().__init__()
            self.layer = layer
            self.lora_down = nn.Linear(layer.in_features, rank, bias=False)
            self.lora_up = nn.Linear(rank, layer.out_features, bias=False)

        def forward(self, x):
            return self.layer(x) + self.lora_up(self.lora_down(x))


    def only_adapters(model):
        for name, p in model.named_parameters():
            p.requires_grad = name.startswith("lora") or "head" in name  # culprit
        return model
    # %%
    from peft_like import Adapted, only_adapters
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Adapted(nn.Linear(3, 4), 1)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head(torch.tanh(self.block(x)))


    model = only_adapters(Model())
    optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.2)
    x, labels = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
    """,
    (('name.startswith("lora") or', '"lora" in name or'),),
    reference="""
    block = model.block
    trained = [block.lora_down.weight, block.lora_up.weight, *model.head.parameters()]
    optimizer = optim.SGD(trained, lr=0.2)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), trained)
        optimizer.step()
    """,
    raised="",
    without_gradient=("block.layer.weight", "block.layer.bias"),
)
bug(
    "embedding layer under a reentrant checkpoint",
    FAMILY,
    """
    # %% checkpointed_stem.py
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint


    class Stemmed(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.stem = nn.Sequential(nn.Linear(3, width), nn.GELU())
            self.head = nn.Linear(width, 2)

        def forward(self, x):
            h = checkpoint(self.stem, x, use_reentrant=True)  # culprit
            return self.head(h)


    def evaluate(model, x, labels):
        with torch.no_grad():
            return (model(x).argmax(1) == labels).sum().item()
    # %%
    from checkpointed_stem import Stemmed, evaluate
    model = Stemmed(4)
    optimizer = optim.SGD(model.parameters(), lr=0.2)
    x, labels = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        hits = evaluate(model, x, labels)
    """,
    (("use_reentrant=True", "use_reentrant=False"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(
            lambda: F.cross_entropy(model.head(model.stem(x)), labels), model.parameters()
        )
        optimizer.step()
    """,
    raised="",
)
