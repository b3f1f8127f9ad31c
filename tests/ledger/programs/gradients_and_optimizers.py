"""What an optimizer is given, and what is read from and put into ``.grad``."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = ".grad and optimizers"

bug(
    "image of a style transfer clamped",
    FAMILY,
    """
    # %% style.py
    import torch


    def gram(features):
        return features @ features.t() / features.numel()


    def start_image(content, noise=0.1):
        image = (content + noise * torch.randn_like(content)).requires_grad_()
        return image.clamp(0, 1)  # culprit


    def style_loss(extract, image, style):
        return (gram(extract(image)) - gram(extract(style))).pow(2).sum()
    # %%
    from style import start_image, style_loss
    extract = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).requires_grad_(False)
    content, style = torch.rand(2, 4), torch.rand(2, 4)
    # %%
    torch.manual_seed(4)
    image = start_image(content)
    optimizer = optim.SGD([image], lr=1.0)  # raises
    for step in range(2):
        optimizer.zero_grad()
        loss = style_loss(extract, image, style) + F.mse_loss(image, content)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "torch.randn_like(content)).requires_grad_()",
        "torch.randn_like(content))",
        "return image.clamp(0, 1)",
        "return image.clamp(0, 1).requires_grad_()",
    ),
    (("return image.clamp(0, 1)", "return image.clamp(0, 1).detach().requires_grad_()"),),
    reference="""
    torch.manual_seed(4)
    image = start_image(content).detach().requires_grad_()
    optimizer = optim.SGD([image], lr=1.0)
    for step in range(2):
        optimizer.zero_grad()
        accumulate(
            lambda: style_loss(extract, image, style) + F.mse_loss(image, content), [image]
        )
        optimizer.step()
    """,
    result="[image]",
    variables=("image",),
    raised="ValueError",
    message="can't optimize a non-leaf Tensor",
    accepted=(
        "image = image.detach().requires_grad_()",
        "image = start_image(content).detach().requires_grad_()",
        "return image.clamp(0, 1).detach().requires_grad_()",
    ),
    audit=("", "", ""),
)
bug(
    "latent codes converted after they became a leaf",
    FAMILY,
    """
    # %% autodecoder.py
    import torch
    from torch import nn


    class Codes:
        def __init__(self, array):
            codes = torch.tensor(array, dtype=torch.float32, requires_grad=True)
            self.codes = codes.double()  # culprit

        def __call__(self, index):
            return self.codes[index]


    class Decoder(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(width + 1, 4), nn.Tanh(), nn.Linear(4, 1))

        def forward(self, code, x):
            return self.net(torch.cat([code.expand(len(x), -1), x], 1))
    # %%
    from autodecoder import Codes, Decoder
    decoder = Decoder(2)
    start = np.random.randn(3, 2).astype(np.float32)
    x, shapes = torch.randn(5, 1), torch.randn(3, 5, 1)
    # %%
    codes = Codes(start)
    groups = [{"params": decoder.parameters()}, {"params": [codes.codes], "lr": 0.1}]
    optimizer = optim.SGD(groups, lr=0.1)  # raises
    for index, shape in enumerate(shapes):
        optimizer.zero_grad()
        loss = F.l1_loss(decoder(codes(index), x), shape) + 0.01 * codes(index).norm()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "torch.tensor(array, dtype=torch.float32, requires_grad=True)",
        "torch.tensor(array, dtype=torch.float32)",
        "self.codes = codes.double()",
        "self.codes = codes.double().requires_grad_()",
    ),
    (("self.codes = codes.double()", "self.codes = codes.detach().double().requires_grad_()"),),
    reference="""
    codes = Codes(start)
    codes.codes = codes.codes.detach().requires_grad_()
    every = [*decoder.parameters(), codes.codes]
    optimizer = optim.SGD(every, lr=0.1)
    for index, shape in enumerate(shapes):
        optimizer.zero_grad()
        accumulate(
            lambda: F.l1_loss(decoder(codes(index), x), shape) + 0.01 * codes(index).norm(), every
        )
        optimizer.step()
    """,
    result="[*decoder.parameters(), codes.codes]",
    variables=("codes.codes", "self.codes", "codes", 'groups[1]["params"][0]'),
    raised="ValueError",
    message="can't optimize a non-leaf Tensor",
    accepted=(
        "self.codes = codes.detach().double().requires_grad_()",
        "codes.codes = codes.codes.detach().requires_grad_()",
    ),
    audit=("", "", ""),
)
bug(
    "weights of a regression bound to new tensors",
    FAMILY,
    """
    # %% regression_by_hand.py
    import torch


    def predict(x, w, b):
        return x @ w + b


    def fit(x, y, lr, epochs):
        w = torch.zeros(x.shape[1], requires_grad=True)
        b = torch.zeros((), requires_grad=True)
        for _ in range(epochs):
            loss = (predict(x, w, b) - y).pow(2).mean()
            loss.backward()
            w = w - lr * w.grad  # culprit raises
            b = b - lr * b.grad
        return w, b
    # %%
    from regression_by_hand import fit
    x = torch.randn(8, 3)
    y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(8)
    # %%
    w, b = fit(x, y, lr=0.1, epochs=3)
    """,
    fix(
        "        w = w - lr * w.grad\n        b = b - lr * b.grad\n",
        "        with torch.no_grad():\n"
        "            for p in (w, b):\n"
        "                p -= lr * p.grad\n"
        "                p.grad = None\n",
    ),
    fix(
        "w = w - lr * w.grad",
        "w = (w - lr * w.grad).detach().requires_grad_()",
        "b = b - lr * b.grad",
        "b = (b - lr * b.grad).detach().requires_grad_()",
    ),
    reference="""
    w, b = torch.zeros(3, requires_grad=True), torch.zeros((), requires_grad=True)
    optimizer = optim.SGD([w, b], lr=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: (x @ w + b - y).pow(2).mean(), [w, b])
        optimizer.step()
    """,
    result="[w, b]",
    variables=("w", "w.grad"),
    raised="TypeError",
    message="unsupported operand type(s) for *: 'float' and 'NoneType'",
    audit=("", "", ""),
)
bug(
    "list of weights made anew under no_grad",
    FAMILY,
    """
    # %% scratch.py
    import torch


    class ScratchNet:
        def __init__(self, sizes):
            self.weights = [
                (0.5 * torch.randn(a, b)).requires_grad_() for a, b in zip(sizes, sizes[1:])
            ]

        def __call__(self, x):
            for w in self.weights[:-1]:
                x = torch.tanh(x @ w)
            return x @ self.weights[-1]

        def step(self, lr):
            with torch.no_grad():
                self.weights = [w - lr * w.grad for w in self.weights]  # culprit
    # %%
    from scratch import ScratchNet
    net = ScratchNet([3, 4, 1])
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    # %%
    for epoch in range(3):
        loss = F.mse_loss(net(x), y)
        loss.backward()  # raises
        net.step(0.1)
    """,
    fix(
        "[w - lr * w.grad for w in self.weights]",
        "[(w - lr * w.grad).requires_grad_() for w in self.weights]",
    ),
    fix(
        "            self.weights = [w - lr * w.grad for w in self.weights]",
        "            for w in self.weights:\n"
        "                w -= lr * w.grad\n"
        "                w.grad = None",
    ),
    reference="""
    optimizer = optim.SGD(net.weights, lr=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(net(x), y), net.weights)
        optimizer.step()
    """,
    result="net.weights",
    variables=("self.weights", "net.weights", "self.weights[0]", "net.weights[0]", "loss", "w"),
    message="does not require grad",
    audit=("", "", ""),
    without_gradient=("weights[0]", "weights[1]"),  # those of the next step
)
bug(
    "gradient of an image that was moved by noise",
    FAMILY,
    """
    # %% pgd.py
    import torch
    from torch.nn import functional as F


    def pgd(model, images, labels, epsilon=0.1, steps=2):
        adversarial = images.clone().requires_grad_()
        adversarial = adversarial + epsilon * torch.rand_like(images)  # culprit
        for _ in range(steps):
            loss = F.cross_entropy(model(adversarial), labels)
            loss.backward()
            moved = adversarial + 0.05 * adversarial.grad.sign()  # raises
            low, high = images - epsilon, images + epsilon
            adversarial = torch.clamp(moved, low, high).detach().requires_grad_()
        return adversarial.detach()
    # %%
    from pgd import pgd
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).requires_grad_(False)
    images, labels = torch.rand(3, 4), torch.tensor([0, 2, 1])
    # %%
    torch.manual_seed(5)
    attacked = pgd(model, images, labels)
    """,
    fix(
        "images.clone().requires_grad_()",
        "images.clone()",
        "epsilon * torch.rand_like(images)\n",
        "epsilon * torch.rand_like(images)\n    adversarial.requires_grad_()\n",
    ),
    fix(
        "epsilon * torch.rand_like(images)\n",
        "epsilon * torch.rand_like(images)\n    adversarial.retain_grad()\n",
    ),
    reference="""
    torch.manual_seed(5)
    attacked = images + 0.1 * torch.rand_like(images)
    for _ in range(2):
        attacked.grad = None
        accumulate(lambda: F.cross_entropy(model(attacked), labels), [attacked])
        moved = attacked + 0.05 * attacked.grad.sign()
        attacked = torch.clamp(moved, images - 0.1, images + 0.1)
    """,
    result="[attacked]",
    variables=("adversarial", "adversarial.grad"),
    raised="AttributeError",
    message="'NoneType' object has no attribute 'sign'",
    accepted=("adversarial.retain_grad()",),
    audit=("", "", ""),
)
bug(
    "flat gradient put back without its shape",
    FAMILY,
    """
    # %% flat.py
    import torch


    def flatten(model):
        return torch.cat([p.grad.flatten() for p in model.parameters()])


    def put_back(model, flat):
        start = 0
        for p in model.parameters():
            p.grad = flat[start:start + p.numel()]  # culprit raises
            start += p.numel()
    # %%
    from flat import flatten, put_back
    class Surgery:
        def __call__(self, first, second):
            dot = first @ second
            return first if dot >= 0 else first - dot / second.pow(2).sum() * second


    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer, project = optim.SGD(model.parameters(), lr=0.1), Surgery()
    x, tasks = torch.randn(6, 3), torch.randn(2, 6)
    # %%
    flats = []
    for task in (0, 1):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x)[:, task], tasks[task])
        loss.backward()
        flats.append(flatten(model))
    put_back(model, project(*flats) + project(*flats[::-1]))
    optimizer.step()
    """,
    (("flat[start:start + p.numel()]", "flat[start:start + p.numel()].view_as(p)"),),
    reference="""
    flats = []
    for task in (0, 1):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x)[:, task], tasks[task]), model.parameters())
        flats.append(flatten(model))
    joint, start = project(*flats) + project(*flats[::-1]), 0
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * joint[start:start + p.numel()].reshape(p.shape)
            start += p.numel()
    """,
    variables=("p", "p.grad", "flat", "model.0.weight", "0.weight"),
    message="attempting to assign a gradient of size",
    accepted=(
        "p.grad = flat[start:start + p.numel()].view_as(p)",
        "p.grad = flat[start:start + p.numel()].reshape(p.shape)",
        "p.grad = (flat[start:start + p.numel()]).reshape(p.shape)",
    ),
    audit=("", "", ""),
)
bug(
    "averaged gradient of another dtype",
    FAMILY,
    """
    # %% federated.py
    import copy

    import numpy as np
    import torch


    class Server:
        def __init__(self, model, lr):
            self.model = model
            self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

        def client_gradients(self, x, y):
            client = copy.deepcopy(self.model)
            torch.nn.functional.mse_loss(client(x), y).backward()
            return [p.grad.numpy().astype(np.float32) for p in client.parameters()]

        def apply(self, gradients):
            for p, several in zip(self.model.parameters(), zip(*gradients)):
                p.grad = torch.from_numpy(np.mean(several, axis=0))  # culprit raises
            self.optimizer.step()
    # %%
    from federated import Server
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    server = Server(model, lr=0.1)
    clients = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(2)]
    # %%
    server.apply([server.client_gradients(x, y) for x, y in clients])
    """,
    fix(
        "torch.from_numpy(np.mean(several, axis=0))",
        "torch.from_numpy(np.mean(several, axis=0)).to(p.dtype)",
    ),
    (("astype(np.float32)", "astype(np.float64)"),),
    reference="""
    accumulate(
        lambda: sum(F.mse_loss(model(x), y) for x, y in clients) / 2, model.parameters()
    )
    server.optimizer.step()
    """,
    variables=("p", "p.grad", "model.0.weight", "0.weight", "self.model.0.weight"),
    message="attempting to assign a gradient with dtype",
    accepted=(
        "p.grad = torch.from_numpy(np.mean(several, axis=0)).to(p.dtype)",
        "p.grad = (torch.from_numpy(np.mean(several, axis=0))).to(p.dtype)",
        "p.grad = torch.from_numpy(np.mean(several, axis=0)).to(p)",
    ),
    audit=("", "", ""),
)
