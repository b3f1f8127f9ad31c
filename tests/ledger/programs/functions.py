"""Custom Functions: what backward returns, gradcheck, and methods of an old form."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "custom Functions"

bug(
    "binary layer returns a number as a gradient",
    FAMILY,
    """
    # %% binary.py
    import torch
    from torch import nn


    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w, scale):
            ctx.save_for_backward(w, scale)
            return scale * w.sign()

        @staticmethod
        def backward(ctx, grad):
            w, scale = ctx.saved_tensors
            inside = (w.abs() <= 1).to(grad.dtype)
            grad_scale = (grad * w.sign()).sum().item()  # culprit
            return grad * scale * inside, grad_scale  # culprit


    class BinaryLinear(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(outputs, inputs))
            self.scale = nn.Parameter(torch.tensor(0.5))

        def forward(self, x):
            return nn.functional.linear(x, Sign.apply(self.weight, self.scale))
    # %%
    from binary import BinaryLinear
    model = nn.Sequential(BinaryLinear(3, 4), nn.Tanh(), BinaryLinear(4, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    # %%
    loss = F.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()  # raises
    optimizer.step()
    """,
    (("(grad * w.sign()).sum().item()", "(grad * w.sign()).sum()"),),
    reference="""
    first = {layer: layer.weight.detach().clone() for layer in (model[0], model[2])}
    def binary(layer, x):
        was = first[layer]
        w = layer.weight.clamp(-1, 1) - was.clamp(-1, 1) + was.sign()
        return F.linear(x, layer.scale * w)
    accumulate(
        lambda: F.cross_entropy(binary(model[2], torch.tanh(binary(model[0], x))), labels),
        model.parameters(),
    )
    optimizer.step()
    """,
    variables=("scale", "self.scale", "grad_scale", "model.2.scale", "2.scale"),
    message="expected Variable or None",
    accepted=("grad_scale = (grad * w.sign()).sum()",),
)
bug(
    "filter of NumPy returns an array as a gradient",
    FAMILY,
    """
    # %% smoothing.py
    import numpy as np
    import torch

    KERNEL = np.array([0.25, 0.5, 0.25])


    def smoothed(array):
        return np.stack([np.convolve(row, KERNEL, mode="same") for row in array])


    class Smooth(torch.autograd.Function):
        @staticmethod
        def forward(ctx, signal):
            return torch.from_numpy(smoothed(signal.numpy()))

        @staticmethod
        def backward(ctx, grad_output):
            return smoothed(grad_output.numpy())  # culprit
    # %%
    from smoothing import Smooth
    class Denoiser(nn.Module):
        def __init__(self, length):
            super().__init__()
            self.inner = nn.Linear(length, length)
            self.outer = nn.Linear(length, length)

        def forward(self, x):
            return self.outer(Smooth.apply(torch.tanh(self.inner(x))))


    model = Denoiser(4)
    noisy, clean = torch.randn(5, 4), torch.randn(5, 4)
    # %%
    loss = F.l1_loss(model(noisy), clean)
    loss.backward()  # raises
    """,
    fix(
        "return smoothed(grad_output.numpy())",
        "return torch.from_numpy(smoothed(grad_output.numpy()))",
    ),
    reference="accumulate(lambda: F.l1_loss(model(noisy), clean), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("signal", "grad_output"),
    message="expected Variable or None",
    accepted=("return torch.from_numpy(smoothed(grad_output.numpy()))",),
)
bug(
    "linear Function without bias returns three gradients",
    FAMILY,
    """
    # %% fused.py
    import torch
    from torch import nn


    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias=None):
            ctx.save_for_backward(x, weight)
            out = x @ weight.t()
            return out if bias is None else out + bias

        @staticmethod
        def backward(ctx, grad):
            x, weight = ctx.saved_tensors
            return grad @ weight, grad.t() @ x, grad.sum(0)  # culprit


    class Linear(nn.Linear):
        def forward(self, x):
            if self.bias is None:
                return LinearFunction.apply(x, self.weight)  # culprit
            return LinearFunction.apply(x, self.weight, self.bias)
    # %%
    from fused import Linear
    model = nn.Sequential(Linear(3, 4), nn.ReLU(), Linear(4, 2, bias=False))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(6, 3), torch.tensor([0, 1, 1, 0, 1, 0])
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "return LinearFunction.apply(x, self.weight)\n",
        "return LinearFunction.apply(x, self.weight, None)\n",
        "grad.sum(0)",
        "grad.sum(0) if ctx.needs_input_grad[2] else None",
    ),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.cross_entropy(model(x), labels), model.parameters())
        optimizer.step()
    """,
    variables=("x", "weight", "self.weight", "model.2.weight", "bias"),
    message="returned an incorrect number of gradients",
)
bug(
    "gradcheck of a wrong derivative",
    FAMILY,
    """
    # %% mish.py
    import torch
    from torch.nn import functional as F


    class Mish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.tanh(F.softplus(x))

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            t = torch.tanh(F.softplus(x))
            return grad * (t + x * (1 - t * t))  # culprit


    def test_mish(shape=(2, 3)):
        x = torch.randn(shape, requires_grad=True)
        assert torch.autograd.gradcheck(Mish.apply, (x,))  # raises
    # %%
    from mish import Mish, test_mish
    inner, outer = nn.Linear(3, 4), nn.Linear(4, 1)
    model = nn.ModuleList([inner, outer])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    test_mish()
    loss = F.mse_loss(outer(Mish.apply(inner(x))), y)
    loss.backward()
    optimizer.step()
    """,
    (("(1 - t * t))", "(1 - t * t) * torch.sigmoid(x))"),),
    reference="""
    accumulate(lambda: F.mse_loss(outer(F.mish(inner(x))), y), model.parameters())
    optimizer.step()
    """,
    variables=("x", "Mish", "MishBackward"),
    raised="GradcheckError",
    message="Jacobian mismatch for output 0",
)
bug(
    "gradcheck in single precision",
    FAMILY,
    """
    # %% verify.py
    import torch


    class SoftThreshold(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, amount):
            ctx.save_for_backward(x)
            ctx.amount = amount
            return x.sign() * (x.abs() - amount).clamp_min(0)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() > ctx.amount), None


    def verify(function, *shape):
        x = torch.randn(*shape, dtype=torch.float32, requires_grad=True)  # culprit
        return torch.autograd.gradcheck(lambda v: function(v, 0.1), (x,))  # raises
    # %%
    from verify import SoftThreshold, verify
    def shrink(codes, amount=0.1):
        return SoftThreshold.apply(codes, amount)


    codes = torch.randn(4, 3, requires_grad=True)
    # %%
    torch.manual_seed(0)
    passed = torch.tensor(verify(SoftThreshold.apply, 3, 4))
    loss = shrink(codes).pow(2).sum()
    loss.backward()
    """,
    (("dtype=torch.float32", "dtype=torch.float64"),),
    (("dtype=torch.float32, ", ""),),
    reference="""
    passed = torch.tensor(True)
    accumulate(lambda: (codes.abs() - 0.1).clamp_min(0).pow(2).sum(), [codes])
    """,
    result="[passed, codes.grad]",
    variables=("x",),
    raised="GradcheckError",
    message="Jacobian mismatch for output 0",
    audit=("", "", ""),
)
bug(
    "gradient reversal of the old form",
    FAMILY,
    """
    # %% reversal.py
    import torch
    from torch import nn


    class ReverseGradient(torch.autograd.Function):
        def __init__(self, strength):
            self.strength = strength

        def forward(self, x):  # culprit
            return x.view_as(x)

        def backward(self, grad):  # culprit
            return -self.strength * grad


    class DomainNet(nn.Module):
        def __init__(self, strength=0.5):
            super().__init__()
            self.features = nn.Linear(3, 4)
            self.domain = nn.Linear(4, 2)
            self.strength = strength

        def forward(self, x):
            h = torch.tanh(self.features(x))
            return self.domain(ReverseGradient(self.strength)(h))  # culprit raises
    # %%
    from reversal import DomainNet
    model = DomainNet()
    x, domains = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    # %%
    loss = F.cross_entropy(model(x), domains)
    loss.backward()
    """,
    fix(
        "    def __init__(self, strength):\n        self.strength = strength\n\n"
        "    def forward(self, x):\n        return",
        "    @staticmethod\n    def forward(ctx, x, strength):\n"
        "        ctx.strength = strength\n        return",
        "    def backward(self, grad):\n        return -self.strength * grad",
        "    @staticmethod\n    def backward(ctx, grad):\n"
        "        return -ctx.strength * grad, None",
        "ReverseGradient(self.strength)(h)",
        "ReverseGradient.apply(h, self.strength)",
    ),
    reference="""
    was = torch.tanh(model.features(x)).detach()
    def total():
        h = was - 0.5 * (torch.tanh(model.features(x)) - was)
        return F.cross_entropy(model.domain(h), domains)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("h", "x"),
    message="Legacy autograd function with non-static forward method",
)
