"""A view is written in place that torch does not let anyone write."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "view written"
MESSAGE = "is being modified inplace"

bug(
    "patches cut under no_grad are gated in place",
    FAMILY,
    """
    # %% patches.py
    import torch
    from torch import nn


    @torch.no_grad()  # culprit
    def crop(images, start, size):
        return images[:, start:start + size]  # culprit


    class PatchGate(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.gate = nn.Parameter(torch.ones(size))
            self.out = nn.Linear(size, 1)

        def forward(self, images):
            patch = crop(images, 1, 3)
            patch *= torch.sigmoid(self.gate)  # culprit raises
            return self.out(patch)
    # %%
    from patches import PatchGate
    model = PatchGate(3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    images, y = torch.rand(4, 6), torch.randn(4, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(images), y)
        loss.backward()
        optimizer.step()
    """,
    (("patch *= torch.sigmoid(self.gate)", "patch = patch * torch.sigmoid(self.gate)"),),
    (("return images[:, start:start + size]", "return images[:, start:start + size].clone()"),),
    reference="""
    def total():
        return F.mse_loss(model.out(images[:, 1:4] * model.gate.sigmoid()), y)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    variables=("patch",),
    message="A view was created in no_grad mode and is being modified inplace",
)
bug(
    "frames of a video centred in place",
    FAMILY,
    """
    # %% video.py
    import torch
    from torch import nn


    class FrameEncoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(1, 2, 3, padding=1)
            self.head = nn.Linear(8, 2)

        def forward(self, video):
            n, frames, width = video.shape
            h = self.conv(video.reshape(n * frames, 1, width)).view(n, frames, -1)
            for frame in h.unbind(1):  # culprit
                frame -= frame.mean(1, keepdim=True)  # culprit raises
            return self.head(torch.relu(h).amax(1))
    # %%
    from video import FrameEncoder
    model = FrameEncoder()
    video, labels = torch.randn(3, 2, 4), torch.tensor([0, 1, 1])
    # %%
    loss = F.cross_entropy(model(video), labels)
    loss.backward()
    """,
    fix(
        "        for frame in h.unbind(1):\n            frame -= frame.mean(1, keepdim=True)\n",
        "        h = torch.stack([f - f.mean(1, keepdim=True) for f in h.unbind(1)], 1)\n",
    ),
    fix(
        "        for frame in h.unbind(1):\n            frame -= frame.mean(1, keepdim=True)\n",
        "        h = h - h.mean(2, keepdim=True)\n",
    ),
    reference="""
    def total():
        h = model.conv(video.reshape(6, 1, 4)).view(3, 2, -1)
        return F.cross_entropy(model.head((h - h.mean(2, keepdim=True)).relu().amax(1)), labels)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("frame", "h"),
    message=MESSAGE,
    without_gradient=(),
)
bug(
    "residual added to the output of a Function",
    FAMILY,
    """
    # %% scaling.py
    import torch
    from torch import nn


    class ScaleGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x.view_as(x)  # culprit

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None


    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, width), nn.GELU())

        def forward(self, x):
            h = ScaleGradient.apply(self.mlp(self.norm(x)), 0.5)
            h += x  # culprit raises
            return h
    # %%
    from scaling import Block
    model = nn.Sequential(Block(4), Block(4), nn.Linear(4, 2))
    x, labels = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])
    # %%
    loss = F.cross_entropy(model(x), labels)
    loss.backward()
    """,
    (("h += x", "h = h + x"),),
    (("return x.view_as(x)", "return x.clone()"),),
    reference="""
    kept = []
    def total(first=False):
        h = x
        for n, block in enumerate(model[:2]):
            out = block.mlp(block.norm(h))
            if first:
                kept.append(out.detach().clone())
            h = kept[n] + 0.5 * (out - kept[n]) + h
        return F.cross_entropy(model[2](h), labels)
    with torch.no_grad():
        total(first=True)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("h",),
    message="This view was created inside a custom Function",
)
bug(
    "activation in place after a module with a backward hook",
    FAMILY,
    """
    # %% gradcam.py
    import torch
    from torch import nn


    class SmallNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(1, 3, 3)
            self.relu = nn.ReLU(inplace=True)  # culprit
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            return self.fc(self.relu(self.conv(x)).mean(2))  # culprit raises


    class GradCam:
        def __init__(self, layer):
            layer.register_full_backward_hook(self.save)  # culprit

        def save(self, module, grad_input, grad_output):
            self.weights = grad_output[0].mean(2)
    # %%
    from gradcam import GradCam, SmallNet
    model = SmallNet()
    cam = GradCam(model.conv)
    x = torch.randn(2, 1, 5)
    # %%
    score = model(x)[:, 1].sum()
    score.backward()
    """,
    (("nn.ReLU(inplace=True)", "nn.ReLU()"),),
    reference="""
    h = model.conv(x).detach()
    accumulate(lambda: model.fc(torch.relu(h).mean(2))[:, 1].sum(), [h])
    cam.weights = h.grad.mean(2)
    """,
    result="[cam.weights]",
    variables=("input", "x", "self.conv(x)"),
    message=MESSAGE,
    accepted=("self.relu = nn.ReLU()", "nn.ReLU()", "inplace=False"),
    audit=("", "", ""),
)
