"""Programs whose backward torch refuses: gradients that do not fit, hooks, Functions, checkpoints.

They join those of ``scenarios.py``, in the same form.
"""

from __future__ import annotations

from tests.analysis.explain.scenarios import ALL, add

__all__ = ["ALL"]

# --- nan ---------------------------------------------------------------------------------------

add(
    "logarithm of a probability that is 0",
    "nan in backward",
    """
p = torch.tensor([0.0, 1.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    loss = -(p * torch.log(p)).sum()  # culprit
    loss.backward()  # noticed
""",
    variables=("p",),
    node="LogBackward0",
    right=({"p.grad.isfinite()": "torch.tensor([True, True])", "loss": "torch.tensor(-0.0)"},),
    fixes=1,
    words=("log in line 5 returned the first inf from p = [0.0, 1.0]", "mul made nan of the inf"),
)
add(
    "distance between a point and itself",
    "nan in backward",
    """
a = torch.zeros(2, 3, requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    d = ((a[0] - a[1]) ** 2).sum().sqrt()  # culprit
    (d + a.sum()).backward()  # noticed
""",
    variables=("d",),
    node="SqrtBackward0",
    right=({"a.grad": "torch.ones(2, 3)"},),
    fixes=1,
    words=("got finite gradients and returned the first inf; d = 0.0",),
)
add(
    "a branch of where that is not used",
    "nan in backward",
    """
x = torch.tensor([0.0, 4.0], requires_grad=True)
ok = x > 0
with torch.autograd.set_detect_anomaly(True):
    root = torch.sqrt(x)  # culprit
    y = torch.where(ok, root, 0 * x)
    y.sum().backward()  # noticed
""",
    variables=("x", "root"),
    node="SqrtBackward0",
    right=({"x.grad": "torch.tensor([0.0, 0.25])"},),
    words=("torch.sqrt(torch.where(ok, x, torch.ones_like(x)))",),
)
add(
    "mean over a mask that is empty",
    "nan in backward",
    """
w = torch.ones(3, requires_grad=True)
mask = torch.zeros(3)
with torch.autograd.set_detect_anomaly(True):
    mean = (w * mask).sum() / mask.sum()  # culprit
    (mean**2).backward()  # noticed
""",
    variables=("w", "mask"),
    node="DivBackward0",
    right=({"w.grad": "torch.zeros(3)"},),
    fixes=1,
    words=("returned the first nan from (w * mask).sum(): 0.0 and mask.sum() = 0.0",),
)
add(
    "a row that is masked throughout",
    "nan in backward",
    """
s = torch.zeros(1, 2, requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    m = s.masked_fill(torch.tensor([[True, True]]), float("-inf"))
    y = m.softmax(-1)  # culprit
    y.sum().backward()  # noticed
""",
    variables=("m",),
    node="SoftmaxBackward0",
    right=({"s.grad": "torch.zeros(1, 2)", "y": "torch.tensor([[0.5, 0.5]])"},),
    fixes=1,
    words=("masked_fill filled in the inf",),
)

# --- gradients that do not fit -------------------------------------------------------------------

add(
    "a gradient of another dtype is assigned",
    "gradient of another dtype or device",
    """
w = torch.ones(2, requires_grad=True)
g = torch.ones(2, dtype=torch.float64)
w.grad = g  # culprit noticed
""",
    variables=("w", "g"),
    right=({"w.grad": "torch.ones(2)"},),
    fixes=1,
    words=("w.grad = g.to(w)",),
)
add(
    "zeros of another shape are assigned",
    "gradient of another shape",
    """
w = torch.ones(2, 3, requires_grad=True)
w.grad = torch.zeros(3, 2)  # culprit noticed
""",
    variables=("w",),
    right=({"w.grad": "torch.zeros(2, 3)"},),
    fixes=1,
)
add(
    "0 is assigned to clear a gradient",
    "gradient of no tensor",
    """
w = torch.ones(2, requires_grad=True)
w.grad = 0  # culprit noticed
(w * 3).sum().backward()
""",
    variables=("w",),
    right=({"w.grad": "torch.tensor([3.0, 3.0])"},),
    raised="TypeError",
)
add(
    "a tensor as its own gradient",
    "tensor as its own gradient",
    """
w = torch.ones(2, requires_grad=True)
w.grad = w  # culprit noticed
""",
    variables=("w",),
    right=({"w.grad": "torch.ones(2)"},),
    fixes=1,
)
add(
    "memory of another shape",
    "gradient of another shape",
    """
w = torch.ones(2, requires_grad=True)
w.sum().backward()
w.data = torch.ones(3)  # culprit
w.sum().backward()  # noticed
""",
    variables=("w",),
    node="AccumulateGrad",
    right=({"w.grad": "torch.ones(3)"},),
    fixes=1,
)
add(
    "backward starts with a number",
    "gradient of no tensor",
    """
w = torch.ones(2, requires_grad=True)
y = w * 3
y.backward(2.0)  # culprit noticed
""",
    variables=("y",),
    right=({"w.grad": "torch.tensor([6.0, 6.0])"},),
    fixes=1,
    raised="TypeError",
)
add(
    "a gradient for one of two roots",
    "wrong number of gradients",
    """
w = torch.ones(2, requires_grad=True)
y, z = w * 3, w * 2
torch.autograd.backward([y, z], [torch.ones(2)])  # culprit noticed
""",
    variables=(),
    fixes=0,
    words=("1 gradient was given for 2 roots",),
)
add(
    "a hook that computes in float64",
    "gradient of another dtype or device",
    """
w = torch.ones(2, requires_grad=True)
def up(grad):
    return 2 * grad.double()  # culprit
w.register_hook(up)
w.sum().backward()  # noticed
""",
    variables=("grad",),
    right=({"w.grad": "torch.tensor([2.0, 2.0])"},),
    fixes=1,
    words=("the hook up got a gradient of float32 and returned one of float64",),
)

# --- Functions -----------------------------------------------------------------------------------

add(
    "a number among the saved tensors",
    "invalid custom Function",
    """
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
""",
    variables=("Power",),
    right=({"x.grad": "torch.tensor([12.0, 27.0])"},),
    fixes=1,
    raised="TypeError",
)
add(
    "methods that are not static",
    "invalid custom Function",
    """
class Square(torch.autograd.Function):
    def forward(self, x):  # culprit
        self.save_for_backward(x)
        return x * x

    def backward(self, g):
        (x,) = self.saved_tensors
        return 2 * x * g

x = torch.tensor([2.0, 3.0], requires_grad=True)
Square()(x).sum().backward()  # noticed
""",
    variables=("Square",),
    right=({"x.grad": "torch.tensor([4.0, 6.0])"},),
    fixes=1,
)
add(
    "a forward without ctx",
    "wrong number of arguments",
    """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(x):  # culprit
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g

x = torch.ones(2, requires_grad=True)
Twice.apply(x).sum().backward()  # noticed
""",
    variables=("Twice",),
    right=({"x.grad": "torch.tensor([2.0, 2.0])"},),
    fixes=1,
    raised="TypeError",
)
add(
    "gradients in a list",
    "wrong number of gradients",
    """
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
""",
    variables=("g",),
    node="AddBackward",
    right=({"y.grad": "torch.tensor([2.0, 2.0])"},),
    fixes=1,
)
add(
    "a derivative with another factor",
    "gradcheck failed",
    """
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
""",
    variables=("x", "Cube"),
    fixes=0,
    raised="GradcheckError",
    words=("entry 1 of x", "backward gives 8.0 and differences give 12.0", "0.6667 times"),
)
add(
    "a derivative that is not multiplied",
    "gradcheck failed",
    """
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
""",
    variables=("x", "Square"),
    right=({"x.grad": "torch.tensor([2.0, 12.0], dtype=torch.float64)"},),
    fixes=1,
    raised="GradcheckError",
)

# --- hooks, checkpoints, calls -------------------------------------------------------------------

add(
    "a hook of leaves on a result",
    "hook cannot be registered",
    """
w = torch.ones(2, requires_grad=True)
h, seen = w * 2, []
h.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))  # culprit noticed
h.sum().backward()
""",
    variables=("h",),
    right=({"seen[0]": "torch.ones(2)"},),
    fixes=1,
)
add(
    "an array for a saved tensor",
    "hook of saved tensors",
    """
w = torch.ones(2, requires_grad=True)
def pack(t):
    return t.detach().numpy()
with torch.autograd.graph.saved_tensors_hooks(pack, lambda a: a):  # culprit
    y = (w * 1).exp()
y.sum().backward()  # noticed
""",
    node="ExpBackward0",
    right=({"w.grad": "torch.ones(2).exp()"},),
    fixes=1,
    raised="TypeError",
    only_cpu=True,
)
add(
    "grad through a reentrant checkpoint",
    "reentrant checkpoint",
    """
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=True)  # culprit
(g,) = torch.autograd.grad(y.sum(), x)  # noticed
""",
    node="CheckpointFunctionBackward",
    right=({"g": "x.exp()"},),
    fixes=1,
)
add(
    "saved tensors are read twice",
    "saved tensors unpacked twice",
    """
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
""",
    node="SquareBackward",
    right=({"x.grad": "torch.tensor([4.0, 6.0])"},),
    fixes=1,
    raised="CheckpointError",
)
add(
    "no parameter requires grad",
    "no inputs",
    """
net = nn.Linear(2, 1)
x = torch.ones(2, requires_grad=True)
chosen = [p for p in net.parameters() if p.dim() > 2]  # culprit
net(x).backward(inputs=chosen)  # noticed
""",
    variables=("chosen",),
    fixes=0,
)
add(
    "backward in a function that grad calls",
    "backward under torch.func",
    """
def loss(x):
    y = (x**2).sum()
    y.backward()  # culprit noticed
    return y
torch.func.grad(loss)(torch.ones(2))
""",
    fixes=0,
)
add(
    "backward of a number",
    "number has no graph",
    """
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w**2).sum().item()  # culprit
loss.backward()  # noticed
""",
    variables=("loss",),
    right=({"w.grad": "torch.tensor([2.0, 4.0])"},),
    fixes=1,
    raised="AttributeError",
    words=("loss is a number of type float",),
)
add(
    "a dual tensor without a level",
    "outside a dual level",
    """
x = torch.ones(2)
torch.autograd.forward_ad.make_dual(x, x)  # culprit noticed
""",
    fixes=0,
)
add(
    "two leaves that a descent binds to new tensors",
    "grad is None",
    """
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
for _ in range(2):
    (a * b).backward()
    a = a - 0.5 * a.grad  # culprit
    b = b - 0.5 * b.grad
    a.grad.zero_(); b.grad.zero_()  # noticed
""",
    variables=("a",),
    node="SubBackward0",
    right=({"a": "torch.tensor(-0.75)", "b": "torch.tensor(1.5)"},),
    fixes=1,
    raised="AttributeError",
)
