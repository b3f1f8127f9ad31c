"""Programs whose backward torch refuses: gradients that do not fit, hooks, Functions, checkpoints.

They join those of ``scenarios.py``, in the same form.
"""

from __future__ import annotations

from tests.analysis.explain.scenarios import ALL, add

__all__ = ["ALL"]

# --- nan ---------------------------------------------------------------------------------------

add(
    "logarithm of a probability that is 0",
    {"p.grad.isfinite()": "torch.tensor([True, True])", "loss": "torch.tensor(-0.0)"},
)("""
p = torch.tensor([0.0, 1.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    loss = -(p * torch.log(p)).sum()  # culprit
    loss.backward()  # noticed
""")
add("distance between a point and itself", {"a.grad": "torch.ones(2, 3)"})("""
a = torch.zeros(2, 3, requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    d = ((a[0] - a[1]) ** 2).sum().sqrt()  # culprit
    (d + a.sum()).backward()  # noticed
""")
add("a branch of where that is not used", {"x.grad": "torch.tensor([0.0, 0.25])"})("""
x = torch.tensor([0.0, 4.0], requires_grad=True)
ok = x > 0
with torch.autograd.set_detect_anomaly(True):
    root = torch.sqrt(x)  # culprit
    y = torch.where(ok, root, 0 * x)
    y.sum().backward()  # noticed
""")
add("mean over a mask that is empty", {"w.grad": "torch.zeros(3)"})("""
w = torch.ones(3, requires_grad=True)
mask = torch.zeros(3)
with torch.autograd.set_detect_anomaly(True):
    mean = (w * mask).sum() / mask.sum()  # culprit
    (mean**2).backward()  # noticed
""")
add(
    "a row that is masked throughout",
    {"s.grad": "torch.zeros(1, 2)", "y": "torch.tensor([[0.5, 0.5]])"},
)("""
s = torch.zeros(1, 2, requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    m = s.masked_fill(torch.tensor([[True, True]]), float("-inf"))
    y = m.softmax(-1)  # culprit
    y.sum().backward()  # noticed
""")

# --- gradients that do not fit -------------------------------------------------------------------

add("a gradient of another dtype is assigned", {"w.grad": "torch.ones(2)"})("""
w = torch.ones(2, requires_grad=True)
g = torch.ones(2, dtype=torch.float64)
w.grad = g  # culprit noticed
""")
add("zeros of another shape are assigned", {"w.grad": "torch.zeros(2, 3)"})("""
w = torch.ones(2, 3, requires_grad=True)
w.grad = torch.zeros(3, 2)  # culprit noticed
""")
add("0 is assigned to clear a gradient", {"w.grad": "torch.tensor([3.0, 3.0])"})("""
w = torch.ones(2, requires_grad=True)
w.grad = 0  # culprit noticed
(w * 3).sum().backward()
""")
add("a tensor as its own gradient", {"w.grad": "torch.ones(2)"})("""
w = torch.ones(2, requires_grad=True)
w.grad = w  # culprit noticed
""")
add("memory of another shape", {"w.grad": "torch.ones(3)"})("""
w = torch.ones(2, requires_grad=True)
w.sum().backward()
w.data = torch.ones(3)  # culprit
w.sum().backward()  # noticed
""")
add("backward starts with a number", {"w.grad": "torch.tensor([6.0, 6.0])"})("""
w = torch.ones(2, requires_grad=True)
y = w * 3
y.backward(2.0)  # culprit noticed
""")
add("a gradient for one of two roots")("""
w = torch.ones(2, requires_grad=True)
y, z = w * 3, w * 2
torch.autograd.backward([y, z], [torch.ones(2)])  # culprit noticed
""")
add("a hook that computes in float64", {"w.grad": "torch.tensor([2.0, 2.0])"})("""
w = torch.ones(2, requires_grad=True)
def up(grad):
    return 2 * grad.double()  # culprit
w.register_hook(up)
w.sum().backward()  # noticed
""")

# --- Functions -----------------------------------------------------------------------------------

add("a number among the saved tensors", {"x.grad": "torch.tensor([12.0, 27.0])"})("""
class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x, n)  # culprit
        return x**n

    @staticmethod
    def backward(ctx, g):
        x, n = ctx.saved_tensors
        return g * n * x ** (n - 1), None

x = torch.tensor([2.0, 3.0], requires_grad=True)
Power.apply(x, 3).sum().backward()  # noticed
""")
add("methods that are not static", {"x.grad": "torch.tensor([4.0, 6.0])"})("""
class Square(torch.autograd.Function):
    def forward(self, x):  # culprit
        self.save_for_backward(x)
        return x * x

    def backward(self, g):
        (x,) = self.saved_tensors
        return 2 * x * g

x = torch.tensor([2.0, 3.0], requires_grad=True)
Square()(x).sum().backward()  # noticed
""")
add("a forward without ctx", {"x.grad": "torch.tensor([2.0, 2.0])"})("""
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(x):  # culprit
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g

x = torch.ones(2, requires_grad=True)
Twice.apply(x).sum().backward()  # noticed
""")
add("gradients in a list", {"y.grad": "torch.tensor([2.0, 2.0])"})("""
class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return [g, 2 * g]  # culprit

x = torch.ones(2, requires_grad=True)
y = torch.ones(2, requires_grad=True)
Add.apply(x, y).sum().backward()  # saved noticed
""")
add("a derivative with another factor")("""
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * g  # culprit

x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Cube.apply, (x,))  # noticed
""")
add(
    "a derivative that is not multiplied",
    {"x.grad": "torch.tensor([2.0, 12.0], dtype=torch.float64)"},
)("""
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x  # culprit

x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Square.apply, (x,))  # noticed
Square.apply(x).backward(torch.tensor([1.0, 3.0]))
""")

# --- hooks, checkpoints, calls -------------------------------------------------------------------

add("a hook of leaves on a result", {"seen[0]": "torch.ones(2)"})("""
w = torch.ones(2, requires_grad=True)
h, seen = w * 2, []
h.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))  # culprit noticed
h.sum().backward()
""")
add("an array for a saved tensor", {"w.grad": "torch.ones(2).exp()"}, only_cpu=True)("""
w = torch.ones(2, requires_grad=True)
def pack(t):
    return t.detach().numpy()
with torch.autograd.graph.saved_tensors_hooks(pack, lambda a: a):  # culprit
    y = (w * 1).exp()
y.sum().backward()  # noticed
""")
add("grad through a reentrant checkpoint", {"g": "x.exp()"})("""
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=True)  # culprit
(g,) = torch.autograd.grad(y.sum(), x)  # noticed
""")
add("saved tensors are read twice", {"x.grad": "torch.tensor([4.0, 6.0])"})("""
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] + ctx.saved_tensors[0])  # culprit

x = torch.tensor([2.0, 3.0], requires_grad=True)
checkpoint(Square.apply, x, use_reentrant=False).sum().backward()  # noticed
""")
add("no parameter requires grad")("""
net = nn.Linear(2, 1)
x = torch.ones(2, requires_grad=True)
chosen = [p for p in net.parameters() if p.dim() > 2]  # culprit
net(x).backward(inputs=chosen)  # noticed
""")
add("backward in a function that grad calls")("""
def loss(x):
    y = (x**2).sum()
    y.backward()  # culprit noticed
    return y
torch.func.grad(loss)(torch.ones(2))
""")
add("backward of a number", {"w.grad": "torch.tensor([2.0, 4.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w**2).sum().item()  # culprit
loss.backward()  # noticed
""")
add("a dual tensor without a level")("""
x = torch.ones(2)
torch.autograd.forward_ad.make_dual(x, x)  # culprit noticed
""")
add(
    "two leaves that a descent binds to new tensors",
    {"a": "torch.tensor(-0.75)", "b": "torch.tensor(1.5)"},
)("""
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
for _ in range(2):
    (a * b).backward()
    a = a - 0.5 * a.grad  # culprit
    b = b - 0.5 * b.grad
    a.grad.zero_(); b.grad.zero_()  # noticed
""")
