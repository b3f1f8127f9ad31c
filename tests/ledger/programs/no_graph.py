"""Backward starts from a tensor that has no graph."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "no graph"
MESSAGE = "does not require grad"

bug(
    "losses put into a new tensor",
    FAMILY,
    """
    # %% objective.py
    import torch
    from torch.nn import functional as F


    def batch_loss(model, pairs, margin=1.0):
        losses = []
        for left, right, same in pairs:
            distance = (model(left) - model(right)).norm()
            losses.append(distance if same else F.relu(margin - distance))
        return torch.tensor(losses).mean()  # culprit
    # %%
    from objective import batch_loss
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    pairs = [(torch.randn(3), torch.randn(3), n % 2 == 0) for n in range(4)]
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = batch_loss(model, pairs)
        loss.backward()  # raises
        optimizer.step()
    """,
    (("torch.tensor(losses)", "torch.stack(losses)"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: batch_loss(model, pairs), model.parameters())
        optimizer.step()
    """,
    variables=("losses", "loss", "losses[0]"),
    without_gradient=("bias",),  # it cancels
    message=MESSAGE,
    accepted=("torch.stack(losses)", "torch.stack(losses).mean()"),
)
bug(
    "loss of predicted classes",
    FAMILY,
    """
    # %%
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(4, 5)
            self.fc2 = nn.Linear(5, 3)

        def forward(self, x):
            return self.fc2(F.relu(self.fc1(x)))

        def predict(self, x):
            return self.forward(x).argmax(dim=1)  # culprit


    model = Classifier()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(6, 4), torch.tensor([0, 2, 1, 1, 0, 2])
    # %%
    for epoch in range(2):
        predicted = model.predict(x)
        loss = F.mse_loss(predicted.double(), labels.double())
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "predicted = model.predict(x)",
        "logits = model(x)",
        "F.mse_loss(predicted.double(), labels.double())",
        "F.cross_entropy(logits, labels)",
    ),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), model.parameters())
        optimizer.step()
    """,
    variables=("predicted",),
    message=MESSAGE,
)
bug(
    "helper decorated with no_grad",
    FAMILY,
    """
    # %% siamese.py
    import torch
    from torch import nn


    class Siamese(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

        @torch.no_grad()  # culprit
        def embed(self, x):
            z = self.encoder(x)  # culprit
            return z / z.norm(dim=1, keepdim=True)

        def forward(self, a, b):
            return (self.embed(a) * self.embed(b)).sum(dim=1)
    # %%
    from siamese import Siamese
    model = Siamese()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    a, b, same = torch.randn(4, 3), torch.randn(4, 3), torch.tensor([1.0, 0.0, 1.0, 0.0])
    # %%
    similarity = model(a, b)
    loss = F.mse_loss(similarity, same)
    optimizer.zero_grad()
    loss.backward()  # raises
    optimizer.step()
    """,
    (("    @torch.no_grad()\n", ""),),
    reference="""
    accumulate(lambda: F.mse_loss(model(a, b), same), model.parameters())
    optimizer.step()
    """,
    variables=("z", "similarity"),
    message=MESSAGE,
)
bug(
    "frozen with the head",
    FAMILY,
    """
    # %% transfer.py
    from torch import nn


    class Backbone(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.Linear(4, 5), nn.ReLU())
            self.fc = nn.Linear(5, 10)

        def forward(self, x):
            return self.fc(self.features(x))


    def for_transfer(model, classes):
        model.fc = nn.Linear(model.fc.in_features, classes)
        for p in model.parameters():
            p.requires_grad = False  # culprit
        return model
    # %%
    from transfer import Backbone, for_transfer
    model = for_transfer(Backbone(), classes=3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 2, 2, 1, 0])
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()  # raises
        optimizer.step()
    """,
    (("for p in model.parameters():", "for p in model.features.parameters():"),),
    (("    return model", "    model.fc.requires_grad_(True)\n    return model"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), model.fc.parameters())
        optimizer.step()
    """,
    variables=("model.fc.weight", "fc.weight", "model.fc.bias"),
    message=MESSAGE,
    accepted=("model.fc.weight.requires_grad_()", "model.fc.requires_grad_()"),
    without_gradient=("features.0.weight", "features.0.bias"),
)
bug(
    "criterion returns a number",
    FAMILY,
    """
    # %% metrics.py
    def dice_loss(logits, target, eps=1e-6):
        p = logits.sigmoid()
        overlap = (p * target).sum()
        dice = 2 * overlap / (p.sum() + target.sum() + eps)
        return 1 - dice.item()  # culprit
    # %%
    from metrics import dice_loss
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    x, mask = torch.randn(6, 3), torch.tensor([[1.0], [0.0], [1.0], [1.0], [0.0], [0.0]])
    # %%
    def step():
        optimizer.zero_grad()
        loss = torch.tensor(dice_loss(model(x), mask))  # culprit
        loss.backward()  # raises
        optimizer.step()

    step()
    """,
    fix(
        "1 - dice.item()",
        "1 - dice",
        "torch.tensor(dice_loss(model(x), mask))",
        "dice_loss(model(x), mask)",
    ),
    reference="accumulate(lambda: dice_loss(model(x), mask), model.parameters())\noptimizer.step()",
    variables=("dice", "loss"),
    message=MESSAGE,
    audit=("", "", ""),
)
bug(
    "grad mode left off by an evaluation",
    FAMILY,
    """
    # %% evaluation.py
    import torch


    def accuracy(model, x, labels):
        torch.set_grad_enabled(False)  # culprit
        model.eval()
        correct = (model(x).argmax(1) == labels).sum().item()
        model.train()
        return correct / len(labels)
    # %%
    from evaluation import accuracy
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 1, 0, 0, 1])
    # %%
    try:
        for epoch in range(2):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), labels)
            loss.backward()  # raises
            optimizer.step()
            score = accuracy(model, x, labels)
    finally:
        torch.set_grad_enabled(True)
    """,
    fix(
        "    torch.set_grad_enabled(False)\n",
        "",
        "    correct = (model(x).argmax(1) == labels).sum().item()\n",
        "    with torch.no_grad():\n"
        "        correct = (model(x).argmax(1) == labels).sum().item()\n",
    ),
    (("    model.train()\n", "    model.train()\n    torch.set_grad_enabled(True)\n"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), model.parameters())
        optimizer.step()
    """,
    variables=("loss",),
    message=MESSAGE,
)
bug(
    "through NumPy and back",
    FAMILY,
    """
    # %% spectrum.py
    import numpy as np
    import torch


    def smooth(signal, width=3):
        kernel = np.ones(width) / width
        array = signal.detach().numpy()  # culprit
        rows = [np.convolve(row, kernel, mode="same") for row in array]
        return torch.from_numpy(np.stack(rows))  # culprit


    def spectral_loss(prediction, target):
        return (smooth(prediction) - smooth(target)).abs().mean()
    # %%
    from spectrum import smooth, spectral_loss
    model = nn.Linear(4, 6)
    x, target = torch.randn(3, 4), torch.randn(3, 6)
    # %%
    prediction = model(x)
    loss = spectral_loss(prediction, target)
    loss.backward()  # raises
    """,
    fix(
        "kernel = np.ones(width) / width",
        "kernel = torch.ones(1, 1, width) / width",
        "    array = signal.detach().numpy()\n"
        '    rows = [np.convolve(row, kernel, mode="same") for row in array]\n',
        "",
        "torch.from_numpy(np.stack(rows))",
        "torch.conv1d(signal.unsqueeze(1), kernel, padding=width // 2).squeeze(1)",
    ),
    reference="accumulate(lambda: spectral_loss(model(x), target), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("signal", "prediction"),
    message=MESSAGE,
)
bug(
    "image of an attack does not require grad",
    FAMILY,
    """
    # %% attack.py
    import torch
    from torch.nn import functional as F


    def fgsm(model, image, label, epsilon=0.1):
        for p in model.parameters():
            p.requires_grad_(False)
        adversarial = image.clone()  # culprit
        loss = F.cross_entropy(model(adversarial), label)
        loss.backward()  # raises
        return (adversarial + epsilon * adversarial.grad.sign()).detach()
    # %%
    from attack import fgsm
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    image, label = torch.rand(1, 4), torch.tensor([2])
    # %%
    attacked = fgsm(model, image, label)
    """,
    (("adversarial = image.clone()", "adversarial = image.clone().requires_grad_()"),),
    fix(
        "adversarial = image.clone()\n",
        "adversarial = image.clone()\n    adversarial.requires_grad = True\n",
    ),
    reference="""
    moved = image.clone()
    accumulate(lambda: F.cross_entropy(model(moved), label), [moved])
    attacked = image + 0.1 * moved.grad.sign()
    """,
    result="[attacked]",
    variables=("adversarial", "image"),
    message=MESSAGE,
    accepted=("adversarial.requires_grad_()", "image.requires_grad_()"),
    audit=("", "", ""),
)
bug(
    "teacher's targets and student under one no_grad",
    FAMILY,
    """
    # %% distil.py
    import torch
    from torch import nn
    from torch.nn import functional as F


    class Distiller:
        def __init__(self, teacher, student, temperature=2.0):
            self.teacher, self.student = teacher, student
            self.temperature = temperature
            self.optimizer = torch.optim.SGD(student.parameters(), lr=0.5)

        def loss(self, x):
            with torch.no_grad():  # culprit
                soft = F.softmax(self.teacher(x) / self.temperature, dim=1)
                logits = self.student(x)  # culprit
            return F.kl_div(F.log_softmax(logits / self.temperature, dim=1), soft)

        def step(self, x):
            self.optimizer.zero_grad()
            loss = self.loss(x)
            loss.backward()  # raises
            self.optimizer.step()
    # %%
    from distil import Distiller
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    distiller = Distiller(teacher, student)
    batches = [torch.randn(5, 4) for _ in range(2)]
    # %%
    for x in batches:
        distiller.step(x)
    """,
    (("            logits = self.student(x)\n", "        logits = self.student(x)\n"),),
    reference="""
    for x in batches:
        distiller.optimizer.zero_grad()
        accumulate(lambda: distiller.loss(x), student.parameters())
        distiller.optimizer.step()
    """,
    result="list(student.parameters())",
    variables=("logits",),
    message=MESSAGE,
    audit=("", "", ""),
)
