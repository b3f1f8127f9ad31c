"""Programs that torch refuses, and what the explanation of each error must say.

A program runs in a block of a function. The lines that an explanation must name are marked in its
text: ``# culprit`` (the first cause), ``# saved`` (the node that refused was made here) and
``# noticed``. What must hold once a fix is applied is said in Python, with right values that are
written down without the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Scenario:
    """A program with one fault."""

    name: str
    text: str
    right: tuple[dict[str, str], ...]
    """Per fix: what is equal afterwards, as expressions; the last counts for all that follow."""
    only_cpu: bool = False
    inside: bool = False
    """Whether it is raised by code of the user's that runs inside backward."""
    before: str = ""
    """Code that runs before the recording begins."""

    def __str__(self) -> str:
        return self.name


ALL: list[Scenario] = []


def add(
    name: str, *right: dict[str, str], only_cpu: bool = False, inside: bool = False
) -> Callable[[str], None]:
    """Takes the program of a scenario and puts it in the list."""

    def put(text: str) -> None:
        ALL.append(Scenario(name, text.strip("\n") + "\n", right, only_cpu, inside))

    return put


def named(name: str) -> Scenario:
    return next(scenario for scenario in ALL if scenario.name == name)


# --- a saved tensor was written ----------------------------------------------------------------

add("input of pow", {"w.grad": "8 * w + 2"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w * 2
y = h.pow(2)  # saved
h.add_(1)  # culprit
loss = (y + h).sum()
loss.backward()  # noticed
""")
add("result of exp", {"w.grad": "3 * w.exp()"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w.exp()  # saved
h *= 2 + 1  # culprit
h.sum().backward()  # noticed
""")
add("result of relu", {"w.grad": "torch.tensor([0.0, 2.0, 2.0])"})("""
w = torch.tensor([-1.0, 2.0, 3.0], requires_grad=True)
y = F.relu(w * 2)  # saved
y += 1  # culprit
y.sum().backward()  # noticed
""")
add("result of sigmoid", {"w.grad": "2 * torch.sigmoid(w) * (1 - torch.sigmoid(w))"})("""
w = torch.tensor([-1.0, 0.0, 3.0], requires_grad=True)
y = torch.sigmoid(w)  # saved
y.mul_(2)  # culprit
y.sum().backward()  # noticed
""")
add("saved by the write itself", {"w.grad": "8 * w"})("""
w = torch.tensor([-1.0, 0.0, 3.0], requires_grad=True)
y = w * 2
y.mul_(y)  # culprit saved
y.sum().backward()  # noticed
""")
add("written twice", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
h.add_(1)  # culprit
h.mul_(2)
h.sum().backward()  # noticed
""")
add("written before the save too", {"w.grad": "2 * (2 * w + 2).cos() + 2"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 1
h.add_(1)
h.mul_(2)
y = h.sin()  # saved
h.sub_(5)  # culprit
(y + h).sum().backward()  # noticed
""")
add("in one line", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w.exp().add_(1)  # culprit saved
y.sum().backward()  # noticed
""")
add("a part assigned", {"w.grad": "w.exp() * torch.tensor([0.0, 1.0, 1.0])"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w.exp()  # saved
h[0] = 5  # culprit
h.sum().backward()  # noticed
""")
add("a part added to", {"w.grad": "w.exp() * torch.tensor([1.0, 4.0, 4.0])"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w.exp()  # saved
h[1:] *= 4  # culprit
h.sum().backward()  # noticed
""")
add("through a view", {"w.grad": "w.exp() * torch.tensor([3.0, 1.0, 1.0])"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w.exp()  # saved
row = h[0]
row.mul_(3)  # culprit
h.sum().backward()  # noticed
""")
add("through a view made before the save", {"w.grad": "8 * w + torch.tensor([6.0, 2.0, 2.0])"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w * 2
row = h[0]
y = h.pow(2)  # saved
row.mul_(3)  # culprit
(y + h).sum().backward()  # noticed
""")
add("a row that another view shows", {"w.grad": "2 * w.exp() + 4 * w.exp() ** 2"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w.exp()
flat = h.view(-1)
y = h * h  # saved
row = h[0]
row.add_(1)  # culprit
(2 * y.sum() + flat.sum() + h.sum()).backward()  # noticed
""")
add("through detach", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w.exp()  # saved
c = h.detach()
c.zero_()  # culprit
h.sum().backward()  # noticed
""")
add("a write through .data is not the one that torch noticed", {"w.grad": "8 * w"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = w * 2
y = h.pow(2)  # saved
d = h.data
d.mul_(1)
h.add_(1)  # culprit
y.sum().backward()  # noticed
""")
add("of a tensor that requires no grad", {"w.grad": "torch.tensor([3.0, 4.0, 5.0])"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = torch.tensor([3.0, 4.0, 5.0])
y = w * x  # saved
x.fill_(7.0)  # culprit
(y + x).sum().backward()  # noticed
""")
add(
    "inplace of a module",
    {"model[0].bias.grad": "2 * (s := torch.sigmoid(model[0](x)))[0] * (1 - s[0])"},
)("""
model = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
x = torch.ones(2, 3)
model(x).sum().backward()  # culprit saved noticed
""")
add("inplace=True of a function", {"w.grad": "1 - torch.tanh(w) ** 2"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = torch.tanh(w)  # saved
F.relu(h, inplace=True)  # culprit
h.sum().backward()  # noticed
""")
add("relu_", {"w.grad": "1 - torch.tanh(w) ** 2"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = torch.tanh(w)  # saved
F.relu_(h)  # culprit
h.sum().backward()  # noticed
""")
add("in a loop", {"w.grad": "w.exp() + 2 * (2 * w).exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = torch.zeros(2)
for factor in (1.0, 2.0):
    h = (w * factor).exp()  # saved
    h += 1  # culprit
    total = total + h
total.sum().backward()  # noticed
""")
add("step between two backwards", {"model[2].bias.grad": "torch.tensor([2.0])"})("""
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(4, 2)
loss = model(x).mean()  # saved
loss.backward(retain_graph=True)
opt.step()  # culprit
loss.backward()  # noticed
""")
add(
    "step before the only backward, with gradients of before",
    {"net[1].bias.grad": "torch.full((1,), 4.0)"},
)("""
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for p in net.parameters():
    p.grad = torch.ones_like(p)
y = net(torch.ones(3, 2)).sum()  # saved
opt.step()  # culprit
y.backward()  # noticed
""")
add(
    "GAN: the generator's loss is older than the discriminator's step",
    {"make.bias.grad": "-judge.weight.detach()[0]"},
)("""
make, judge = nn.Linear(2, 3), nn.Linear(3, 1)
of_make = torch.optim.SGD(make.parameters(), lr=0.1)
of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
for _ in range(2):
    fake = make(torch.ones(4, 2))
    score = judge(fake)  # saved
    judge_loss = score.mean()
    make_loss = -score.mean()
    of_judge.zero_grad()
    judge_loss.backward(retain_graph=True)
    of_judge.step()  # culprit
    of_make.zero_grad()
    make_loss.backward()  # noticed
    of_make.step()
""")
add(
    "actor and critic with a shared trunk",
    {"actor.bias.grad": "(1 - critic(torch.tanh(trunk(seen)))).mean().reshape(1)"},
)("""
trunk, actor, critic = nn.Linear(2, 3), nn.Linear(3, 1), nn.Linear(3, 1)
of_critic = torch.optim.SGD([*trunk.parameters(), *critic.parameters()], lr=0.1)
of_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
seen = torch.ones(4, 2)
hidden = torch.tanh(trunk(seen))
value = critic(hidden)  # saved
advantage = 1 - value  # not detached
actor_loss = (actor(hidden) * advantage).mean()
critic_loss = (value - 1).pow(2).mean()
critic_loss.backward(retain_graph=True)
of_critic.step()  # culprit
actor_loss.backward()  # noticed
of_actor.step()
""")
add("weights updated by hand", {"w.grad": "2 * w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = w.pow(2).sum()  # saved
loss.backward(retain_graph=True)
with torch.no_grad():
    w -= 0.25 * w.grad  # culprit
    w.grad = None
loss.backward()  # noticed
""")
add("fused cells: a buffer that is used again", {"w.grad": "torch.tensor([3.0, 3.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
buffer = torch.zeros(2)
total = torch.zeros(())
for x in (1.0, 2.0):
    buffer.copy_(torch.full((2,), x))  # culprit
    total = total + (w * buffer).sum()  # saved
total.backward()  # noticed
""")
add("tensors of a custom Function", {"w.grad": "2 * w + 1"}, inside=True)("""
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 1
y = Square.apply(h)  # saved
h.add_(1)  # culprit
(y + h).sum().backward()  # noticed
""")
add(
    "what was reached before the error keeps its gradient",
    {"w.grad": "w.exp()", "v.grad": "torch.ones(2)"},
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
h = w.exp()  # saved
h.add_(1)  # culprit
d = v * 1
loss = h.sum() + d.sum()
loss.backward()  # noticed
""")
add("a hook writes while backward runs", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
y = h * 2
y.register_hook(lambda g: print(end=str(h.detach().zero_())[:0]))
y.sum().backward()  # culprit noticed
""")

add(
    "two writes of one sort, each of what was saved",
    {"w.grad": "2 * (1 + (2 * w).cos()) * (1 - (2 * w + (2 * w).sin()).sin())"},
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = w * 2
x += x.sin()
x += x.cos()  # culprit saved
x.sum().backward()  # noticed
""")
add(
    "saved by two operations", {"w.grad": "(2 * w.sigmoid() + 1) * w.sigmoid() * (1 - w.sigmoid())"}
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
s = w.sigmoid()
y = s * s  # saved
z = F.relu(s, inplace=True)  # culprit
(y + z).sum().backward()  # noticed
""")
add("several tensors written by one call", {"w.grad": "26 * w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
hs = [w * 2, w * 3]
ys = [h * h for h in hs]  # saved
torch._foreach_add_(hs, 1.0)  # culprit
sum(y.sum() for y in ys).backward()  # noticed
""")
add(
    "a step in a loop that carries a state and keeps its graph",
    {"h.requires_grad": "False", "cell.bias_hh.grad is not None": "True"},
)("""
cell = nn.RNNCell(2, 3)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 3)
for _ in range(3):
    h = cell(torch.ones(1, 2), h)  # saved
    loss = h.pow(2).sum()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # noticed
    opt.step()  # culprit
""")
add("written inside a function, for who called it", {"w.grad": "2 * w.exp()"})("""
def change(t):
    t.add_(1)  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
change(h)
(h * 2).sum().backward()  # noticed
""")

add("written under another name than the one that is read", {"w.grad": "3 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
g = h
g += 1  # culprit
g *= 3
h.sum().backward()  # noticed
""")
add("written while a list keeps it", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
kept = []
h = w.exp()  # saved
kept.append(h)
h += 1  # culprit
(kept[0] * 2).sum().backward()  # noticed
""")
add(
    "written inside a function that returns it, to who keeps the old name",
    {"w.grad": "2 * (w.exp() + 1) * w.exp()"},
)("""
def change(h):
    h.add_(1)  # culprit
    return h

w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
change(h)
(h * h).sum().backward()  # noticed
""")
add("written by a call whose result has another name, and read", {"w.grad": "8 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
z = h.mul_(2)  # culprit
(z + 3 * h).sum().backward()  # noticed
""")
add(
    "written inside a module, by the name that the result has there",
    {
        "net.layer.bias.grad": "(lambda s: (s * (1 - s)).sum(0))("
        "torch.sigmoid(net.layer(torch.ones(3, 2))))"
    },
)("""
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        g = torch.sigmoid(self.layer(x))  # saved
        g *= x  # culprit
        return g
net = Gate()
y = net(torch.ones(3, 2))
y.sum().backward()  # noticed
""")
add(
    "a module that writes its state",
    {"m.layer.bias.grad": "torch.full((2,), 3.0)", "m.mem": "torch.full((2,), 2.0)"},
)("""
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mem", torch.ones(2))
    def forward(self, x):
        y = self.layer(x) * self.mem  # saved
        self.mem.add_(1)  # culprit
        return y
m = Memory()
m(torch.ones(3, 2)).sum().backward()  # noticed
""")

# --- several calls in one line -----------------------------------------------------------------

add("two writes in a line", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
h.add_(1); h.mul_(2)  # culprit
h.sum().backward()  # noticed
""")
add(
    "the second of two writes in a line", {"w.grad": "2 * (w.exp() + 1) + (2 * w + 1) * w.exp()"}
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h, g = w * 2, w.exp()  # saved
h.add_(1); g.add_(1)  # culprit
(h * g).sum().backward()  # noticed
""")
add(
    "two tensors written in one expression",
    {"w.grad": "2 * w.exp() + w.sigmoid() * (1 - w.sigmoid())"},
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()
g = w.sigmoid()  # saved
y = h.add_(1).sum() + g.add_(1).sum()  # culprit
(y + h.sum()).backward()  # noticed
""")
add("one of two tensors written in one expression", {"w.grad": "w.exp() + 2"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
g = w * 2
y = h.add_(1).sum() + g.add_(1).sum()  # culprit
y.backward()  # noticed
""")
add("two writes of a method call over several lines", {"w.grad": "w.exp() + 2"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
g = w * 2
y = (h  # culprit
    .add_(1)
    .sum() + g
    .add_(1)
    .sum())
y.backward()  # noticed
""")
add(
    "the second call that one expression makes",
    {"w.grad": "2 + 2 * w.sigmoid() * (1 - w.sigmoid())"},
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h, g = w * 2, w.sigmoid()  # saved
a, b = map(torch.relu_, [h, g])  # culprit
(a + b + g).sum().backward()  # noticed
""")
add(
    "written in a comprehension, time after time",
    {
        "w.grad": "3 * w.exp()",
        "torch.stack(values)": "(h - 3) @ torch.ones(2) * "
        "torch.tensor([1.0, 2.0]) + torch.tensor([2.0, 12.0])",
    },
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
values = [h.add_(n).sum() * n for n in (1, 2)]  # culprit
sum(values).backward()  # noticed
""")
add(
    "written in a comprehension over a list", {"w.grad": "6 + 3 * w.sigmoid() * (1 - w.sigmoid())"}
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
hs = [w * 2, w.sigmoid()]  # saved
total = sum(h.mul_(3).sum() for h in hs)  # culprit
total.backward()  # noticed
""")
add("names that are not Latin", {"가중치.grad": "5 * 가중치.exp()"})("""
가중치 = torch.tensor([1.0, 2.0], requires_grad=True)
은닉 = 가중치.exp()  # saved
출력 = (은닉 * 3).sum(); 은닉.add_(1); 은닉.mul_(2)  # culprit
(출력 + 은닉.sum()).backward()  # noticed
""")
add("the second of two backwards in a line", {"w.grad": "torch.tensor([5.0, 5.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.sum().backward(); (w * 3).backward()  # culprit noticed
""")
add("two backwards of a shared trunk in a line", {"w.grad": "3 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
trunk = w.exp()  # saved
trunk.sum().backward(); (trunk * 2).sum().backward()  # culprit noticed
""")
add("the second of two arrays in a line", {"torch.from_numpy(b)": "w.detach()"}, only_cpu=True)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
a, b = torch.ones(2).numpy(), w.numpy()  # culprit noticed
""")
add(
    "the second of two writes in a line is refused",
    {"w.grad": "torch.tensor([[16.0, 16.0], [0.0, 0.0]])"},
)("""
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
s = w * 2
a, b = s.unbind()
y = (a * 2).mul_(3).sum() + a.mul_(2).sum()  # culprit noticed
y.backward()
""")

# --- a graph was freed -------------------------------------------------------------------------

add("backward twice", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = w.exp().sum()
loss.backward()  # culprit
loss.backward()  # noticed
""")
add("backward twice in a loop", {"w.grad": "3 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = w.exp().sum()
for _ in range(3):
    loss.backward()  # culprit noticed
""")
add(
    "a failed backward leaves gradients",
    {"a.grad": "torch.tensor(6.0)", "c.grad": "torch.tensor(2.0)"},
)("""
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(1.0, requires_grad=True)
out1 = a * b
out2 = out1 + c
out1.retain_grad()
out2.backward()  # culprit
out2.backward()  # noticed
""")
add("a shared trunk", {"w.grad": "w.exp() * (w.exp().cos() - w.exp().sin())"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
trunk = w.exp()  # saved
one = trunk.sin().sum()
two = trunk.cos().sum()
one.backward()  # culprit
two.backward()  # noticed
""")
add(
    "a state carried from pass to pass", {"w.grad is not None": "True", "h.requires_grad": "False"}
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = torch.zeros(2)
for _ in range(3):
    h = torch.tanh(w * h + 1)  # culprit
    loss = h.sum()
    loss.backward()  # noticed
""")
add(
    "a state that a module carries",
    {"m.mem.requires_grad": "False", "m.layer.bias.grad is not None": "True"},
    {"m.layer.bias.grad is not None": "True"},
)("""
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mem", torch.zeros(2))
    def forward(self, x):
        self.mem = self.layer(x).mean(0) * (self.mem + 1)  # culprit
        return self.mem
m = Memory()
for _ in range(3):
    loss = m(torch.ones(3, 2)).sum()
    loss.backward()  # noticed
""")
add(
    "computed once before a loop that trains what made it",
    {"bool(emb.weight.grad.abs().sum() > 0)": "True"},
)("""
emb = nn.Embedding(3, 2)
head = nn.Linear(2, 1)
opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1)
h = emb(torch.tensor([0, 1])).tanh()  # culprit
for _ in range(3):
    loss = head(h).sum()
    opt.zero_grad()
    loss.backward()  # noticed
    opt.step()
""")
add("a list comprehension that writes")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
hs = [w.exp() for _ in range(3)]  # saved
[h.add_(1) for h in hs]  # culprit
sum(h.sum() for h in hs).backward()  # noticed
""")
add(
    "truncated backpropagation through an LSTM",
    {"cell.weight_hh_l0.grad is not None": "True", "state[0].requires_grad": "False"},
    only_cpu=True,
)("""
cell = nn.LSTM(2, 3)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
state = None
for _ in range(3):
    out, state = cell(torch.ones(4, 1, 2), state)  # culprit
    loss = out.sum()
    opt.zero_grad()
    loss.backward()  # noticed
    opt.step()
""")
add("two gradients by grad()", {"dw": "v", "dv": "w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
y = (w * v).sum()
(dw,) = torch.autograd.grad(y, w)  # culprit
(dv,) = torch.autograd.grad(y, v)  # noticed
""")
add("a checkpoint run twice", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = checkpoint(lambda t: t.exp(), w, use_reentrant=False)
loss = (y + 1).sum()
loss.backward()  # culprit
loss.backward()  # noticed
""")
add("three backwards through a trunk", {"w.grad": "6 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
trunk = w.exp()  # saved
one, two, three = trunk.sum(), 2 * trunk.sum(), 3 * trunk.sum()
one.backward()  # culprit
two.backward()  # noticed
three.backward()
""")
add("a trunk that is older than the loop, and trained in it", {"v.grad": "trunk"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
opt = torch.optim.SGD([w, v], lr=0.1)
trunk = w.exp()  # culprit
for _ in range(3):
    loss = (trunk * v).sum()
    opt.zero_grad()
    loss.backward()  # noticed
    opt.step()
""")
add(
    "two states, carried", {"c.requires_grad": "False", "h.requires_grad": "False"}, only_cpu=True
)("""
cell = nn.LSTMCell(2, 3)
h = c = torch.zeros(1, 3)
for _ in range(3):
    h, c = cell(torch.ones(1, 2), (h, c))  # culprit
    loss = h.sum() + c.sum()
    loss.backward()  # noticed
""")
add("a state handed on under another name", {"h.requires_grad": "False"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = torch.zeros(2)
for _ in range(3):
    new = torch.tanh(w * h + 1)  # culprit
    new.sum().backward()  # noticed
    h = new
""")
add("a state with two names")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
states = []
h = w * 1
for place in range(2):
    states.append(h.exp())  # culprit
    h = states[place]
    h.sum().backward()  # noticed
""")
add(
    "a saved tensor read through a node that was kept", {"kept": "w.exp()", "w.grad": "w.exp()"}
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w.exp()
node = y.grad_fn
y.sum().backward()  # culprit
kept = node._saved_result  # noticed
""")
add("a saved tensor read after backward", {"kept": "w.exp()", "w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w.exp()
y.sum().backward()  # culprit
kept = y.grad_fn._saved_result  # noticed
""")

# --- writes that are refused -------------------------------------------------------------------

add("a leaf", {"w.grad": "w.exp()", "w": "torch.tensor([2.0, 3.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.add_(1)  # culprit noticed
w.exp().sum().backward()
""")
add(
    "a leaf, augmented",
    {"layer.weight.grad": "torch.ones(1, 2)", "layer.weight": "torch.zeros(1, 2)"},
)("""
layer = nn.Linear(2, 1)
layer.weight *= 0.0  # culprit noticed
layer(torch.ones(1, 2)).sum().backward()
""")
add("a part of a leaf", {"w.grad": "w.exp()", "w": "torch.tensor([5.0, 2.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
w[0] = 5  # culprit noticed
w.exp().sum().backward()
""")
add("a view of a leaf", {"w.grad": "w.exp()", "w": "torch.tensor([3.0, 2.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
first = w[:1]
first.mul_(3)  # culprit noticed
w.exp().sum().backward()
""")
add("a leaf that a node has saved")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * w).sum()
w += 1  # culprit noticed
y.backward()
""")
add("rows of a tensor that is used later", {"w.grad": "torch.full((2,), 4.0)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
for row in h.unbind(0):
    row.mul_(2)  # culprit noticed
h.sum().backward()
""")
add("halves of a tensor that is used later")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
low, high = h.split(1)
low.mul_(2)  # culprit noticed
h.sum().backward()
""")
add("one of several views", {"w.grad": "torch.cat([4 * w[2:], 4 * w[:2] + 2])"})("""
w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
h = w * 2
low, high = h.split(2)
low.add_(1)  # culprit noticed
(low * high).sum().backward()
""")
add(
    "an activation in place behind a full backward hook",
    {"model[0].bias.grad": "(model[0](x) > 0).float()[0]"},
)("""
model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
model[0].register_full_backward_hook(lambda *_: None)
x = torch.ones(1, 2)
model(x).sum().backward()  # culprit noticed
""")
add(
    "written by hand behind a full backward hook",
    {"layer.bias.grad": "(layer(torch.ones(1, 2)) > 0).float()[0]"},
)("""
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda *_: None)
y = layer(torch.ones(1, 2))
y.relu_()  # culprit noticed
y.sum().backward()
""")
add("a tensor of inference mode", {"w.grad": "torch.tensor([3.0, 4.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():  # culprit
    x = torch.tensor([3.0, 4.0])
y = w * x  # noticed
y.sum().backward()
""")

# --- calls that are refused --------------------------------------------------------------------

add("backward of several numbers", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = w.exp()
y.backward()  # culprit noticed
""")
add("backward of several numbers without a name", {"w.grad": "torch.full((3,), 2.0)"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(w * 2 + 1).backward()  # culprit noticed
""")
add("backward of two roots, one of several numbers")("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
one = w.sum()
more = w * 2
torch.autograd.backward([one, more])  # culprit noticed
""")
add("backward of a complex number", {"w.grad": "2 * w"})("""
w = torch.tensor([1.0 + 0j, 2.0], requires_grad=True)
y = (w * w).sum()
y.backward()  # culprit noticed
""")
add("grad of several numbers", {"g": "w.exp()"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = w.exp()
(g,) = torch.autograd.grad(y, w)  # culprit noticed
""")
add("integers, made", {"x.grad": "2 * x"})("""
x = torch.tensor([1, 2, 3], requires_grad=True)  # culprit noticed
(x * x).sum().backward()
""")
add("integers, asked", {"x.grad": "2 * x"})("""
x = torch.tensor([1, 2, 3])  # culprit
x.requires_grad_()  # noticed
(x * x).sum().backward()
""")
add("integers, set", {"x.grad": "2 * x"})("""
x = torch.arange(3)  # culprit
x.requires_grad = True  # noticed
(x * x).sum().backward()
""")
add("integers as a parameter", {"p.grad": "2 * p"})("""
p = nn.Parameter(torch.tensor([1, 2]))  # culprit noticed
(p * p).sum().backward()
""")
add("flag of a result", {"w.grad": "2 * w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.requires_grad_(False)  # culprit noticed
(w * h).sum().backward()
""")
add("flag of a result, set", {"w.grad": "2 * w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.requires_grad = False  # culprit noticed
(w * h).sum().backward()
""")
add("flag of a result, set to what it is", {"w.grad": "torch.full((2,), 2.0)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.requires_grad = True  # culprit noticed
h.sum().backward()
""")
add("an array", {"array.tolist()": "[2.0, 4.0]"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
array = h.numpy()  # culprit noticed
""")
add("an array, by numpy", {"array.tolist()": "[2.0, 4.0]"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
array = np.asarray(w) * 2  # culprit noticed
""")
add(
    "a deep copy",
    {"w.grad": "torch.full((2,), 2.0)", "kept": "2 * w", "kept.requires_grad": "False"},
    {"w.grad": "torch.full((2,), 2.0)", "kept": "2 * w", "kept.requires_grad": "True"},
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2  # culprit
kept = copy.deepcopy(h)  # noticed
h.sum().backward()
""")
add(
    "a deep copy of a module that keeps a result",
    {"kept.weight": "layer.weight", "kept.last": "layer(torch.ones(1, 2))"},
)("""
layer = nn.Linear(2, 1)
layer.last = layer(torch.ones(1, 2))  # culprit
kept = copy.deepcopy(layer)  # noticed
""")
add("a gradient that is too short", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = w.exp()
y.backward(torch.ones(2))  # culprit noticed
""")
add(
    "a gradient that lies the other way",
    {"w.grad": "torch.tensor([[2.0], [20.0]])"},
    {"w.grad": "torch.full((2, 1), 2.0)"},
)("""
w = torch.tensor([[1.0], [2.0]], requires_grad=True)
g = torch.tensor([1.0, 10.0])
y = w * 2
y.backward(g)  # culprit noticed
""")
add("an input that is not used", {"dw": "w.exp()", "dz": "torch.zeros(2)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([3.0, 4.0], requires_grad=True)  # culprit
loss = w.exp().sum()
dw, dz = torch.autograd.grad(loss, [w, z])  # noticed
""")
add("an input that was cut off", {"dz": "w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([3.0, 4.0], requires_grad=True)
loss = (w * z.detach()).sum()  # culprit
(dz,) = torch.autograd.grad(loss, z)  # noticed
""")
add(
    "an input that is not used, where None is handled", {"new[0]": "w - w.exp()", "new[1]": "z"}
)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([3.0, 4.0], requires_grad=True)  # culprit
loss = w.exp().sum()
grads = torch.autograd.grad(loss, [w, z])  # noticed
new = [p if g is None else p - g for p, g in zip([w, z], grads)]
""")
add("the only input is not used")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([3.0, 4.0], requires_grad=True)  # culprit
loss = w.exp().sum()
(dz,) = torch.autograd.grad(loss, [z])  # noticed
""")
add("a Function that gives too few gradients", {"w.grad": "torch.full((2,), 3.0)"})("""
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = Scale.apply(w, 3.0)  # saved
y.sum().backward()  # noticed
""")
add(
    "a Function that forgets the gradient of its last argument, and gives one that is not needed"
)("""
class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, bias):
        ctx.save_for_backward(x, w)
        return x @ w + bias

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g  # culprit

w, bias = torch.ones(3, 2, requires_grad=True), torch.zeros(2, requires_grad=True)
y = Affine.apply(torch.ones(4, 3), w, bias)  # saved
y.sum().backward()  # noticed
""")
add("a Function that gives too many gradients", {"w.grad": "torch.full((2,), 2.0)"})("""
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2, g  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = Twice.apply(w)  # saved
y.sum().backward()  # noticed
""")
add(
    "a Function whose last argument has a default",
    {"w.grad": "torch.full((2,), 4.0)", "b.grad": "torch.full((2,), 2.0)"},
)("""
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias=None):
        return x * 2 if bias is None else x * 2 + bias

    @staticmethod
    def backward(ctx, g):
        return g * 2, g  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
y = Scale.apply(Scale.apply(w, b))  # saved
y.sum().backward()  # noticed
""")
add("a Function that leaves a gradient out")("""
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
y = Product.apply(w, v)  # saved
y.sum().backward()  # noticed
""")
add("a Function whose first argument is a number", {"w.grad": "torch.full((2,), 3.0)"})("""
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, factor, x):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = Scale.apply(3.0, w)  # saved
y.sum().backward()  # noticed
""")
add("a Function with a target that needs no gradient", {"w.grad": "torch.tensor([-2.0, -3.0])"})("""
class SquaredError(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, target, weight):
        ctx.save_for_backward(x - target)
        ctx.weight = weight
        return weight * (x - target).pow(2).sum()

    @staticmethod
    def backward(ctx, grad):
        (difference,) = ctx.saved_tensors
        if ctx.weight == 0:
            return None, None, None
        return (2 * ctx.weight * difference * grad, None)  # culprit

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = SquaredError.apply(w, torch.tensor([3.0, 5.0]), 0.5)  # saved
loss.backward()  # noticed
""")
add(
    "a Function that gives a transposed gradient", {"w.grad": "2 * (x @ w.detach().t()).t() @ x"}
)("""
class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, x.t() @ grad  # culprit

x = torch.tensor([[1.0, 2.0, 3.0]])
w = torch.tensor([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]], requires_grad=True)
y = Linear.apply(x, w)  # saved
(y * y).sum().backward()  # noticed
""")
add("a Function that leaves out a dimension of size 1", {"w.grad": "x.sum(1, keepdim=True)"})("""
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        of_scale = (grad * x).sum(1)  # culprit
        return None, of_scale

x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
w = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
Scaled.apply(x, w).sum().backward()  # noticed saved
""")
add("a Function whose gradient is of a shape that means nothing here")("""
class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mean(0)

    @staticmethod
    def backward(ctx, grad):
        return torch.cat([grad, grad])  # culprit

w = torch.ones(3, 2, requires_grad=True)
Mean.apply(w).sum().backward()  # noticed saved
""")
add("a result given to an optimizer", {"w": "torch.tensor([-0.5, -1.0])"})("""
torch.manual_seed(0)
w = torch.tensor([1.0, 2.0], requires_grad=True) * 0.5  # culprit
optimizer = torch.optim.SGD([w], lr=1.0)  # noticed
(w * w).sum().backward()
optimizer.step()
""")
add(
    "a converted leaf given to an optimizer",
    {"params['params'][0]": "torch.tensor([-1.0, -2.0], dtype=torch.float64)"},
)("""
def made(values):
    return torch.tensor(values, requires_grad=True).double()  # culprit
params = {"params": [made([1.0, 2.0])]}
optimizer = torch.optim.SGD([params], lr=1.0)  # noticed
(params["params"][0] ** 2).sum().backward()
optimizer.step()
""")
add("a mask as a parameter", {"model.w.grad": "torch.tensor([1.0, 0.0])"})("""
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        keep = torch.tensor([1.0, -1.0]) > 0
        self.keep = nn.Parameter(keep)  # culprit noticed
        self.w = nn.Parameter(torch.tensor([3.0, 4.0]))

model = Masked()
(model.w * model.keep).sum().backward()
""")
add(
    "a loop over gradients of which one is None",
    {"model[0].weight.grad": "torch.full((1, 1), 2.0)", "model[1].bias.grad is None": "True"},
)("""
model = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
model[0](torch.ones(1, 1)).sum().backward()
for p in model.parameters():
    p.grad.mul_(2)  # noticed
""")
add("a norm over gradients of which one is None", {"norm": "torch.tensor(2.0).sqrt()"})("""
model = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
model[0](torch.ones(1, 1)).sum().backward()
norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5  # noticed
""")
add(
    "a step by hand over gradients of which one is None", {"model[0].weight": "torch.zeros(1, 1)"}
)("""
model = nn.ModuleList([nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)])
with torch.no_grad():
    model[0].weight.fill_(1.0)
model[0](torch.ones(1, 1)).sum().backward()
with torch.no_grad():
    for name, p in model.named_parameters():
        change = p.grad.clone()  # noticed
        p -= change
""")
add("a loss per example of a model", {"model.bias.grad": "right.mean(0)"})("""
model = nn.Linear(2, 1)
x, y = torch.ones(3, 2), torch.zeros(3, 1)
loss = nn.functional.mse_loss(model(x), y, reduction="none")  # culprit
loss.backward()  # noticed
right = 2 * model(x).detach()
""")
add(
    "a loss per example that is read again",
    {"model.bias.grad": "right.mean(0)", "loss.shape": "(3, 1)"},
)("""
model = nn.Linear(2, 1)
x, y = torch.ones(3, 2), torch.zeros(3, 1)
loss = nn.functional.mse_loss(model(x), y, reduction="none")  # culprit
loss.backward()  # noticed
worst = loss.detach().argmax()
right = 2 * model(x).detach()
""")
add(
    "a module with a result that it keeps is copied",
    {"copied.fc.weight": "model.fc.weight", "model.fc.weight.grad is None": "False"},
)("""
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        self.seen = self.fc(x)  # culprit
        return self.seen.relu()

model = Probe()
y = model(torch.ones(1, 2))
copied = copy.deepcopy(model)  # noticed
y.sum().backward()
""")

# --- calls of forward, optimizers and conversions that are refused -------------------------------

add(
    "a view of a leaf, made under no_grad",
    {"w": "torch.tensor([2.0, 3.0, 3.0])", "w.grad": "2 * w"},
)("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with torch.no_grad():
    head = w[:2]
head += 1.0  # culprit noticed
(w * w).sum().backward()
""")
add("a view of a buffer, made under no_grad", {"w.grad": "torch.tensor([3.0, 3.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
buffer = torch.zeros(4)
with torch.no_grad():
    left = buffer[:2]
left.copy_(w * 3)  # culprit noticed
buffer.sum().backward()
""")
add("a view of a result, made in inference mode", {"w.grad": "torch.tensor([10.0, 2.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
with torch.inference_mode():
    first = h[:1]
first.mul_(5)  # culprit noticed
h.sum().backward()
""")
add("a view of a leaf, made under no_grad, that would learn")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
with torch.no_grad():
    rows = b.view(2, 1)
rows.add_(w.view(2, 1))  # culprit noticed
b.sum().backward()
""")
add("a view from a Function", {"w.grad": "torch.tensor([[30.0], [30.0]])"})("""
class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return 10 * grad.view(2, 1)

w = torch.tensor([[1.0], [2.0]], requires_grad=True)
flat = Flat.apply(w * 1)
flat *= 3  # culprit noticed
flat.sum().backward()
""")
add("a view from a Function whose base is read")("""
class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(2, 1)

w = torch.tensor([[1.0], [2.0]], requires_grad=True)
h = w * 1
flat = Flat.apply(h)
flat *= 3  # culprit noticed
(flat.sum() + h.sum()).backward()
""")
add(
    "views before their base is written", {"w.grad": "torch.tensor([[12.0, 16.0], [4.0, 8.0]])"}
)("""
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
h = w * 1
a, b = h.unbind(0)
h.mul_(2)  # culprit
loss = (a * b).sum()  # noticed
loss.backward()
""")
add("a bias that was expanded", {"w.grad": "torch.tensor([6.0])"})("""
w = torch.tensor([1.0], requires_grad=True)
rows = (w * 2).expand(3)
rows += 1  # culprit noticed
rows.sum().backward()
""")
add("a result gets another shape", {"w.grad": "torch.tensor([2.0, 2.0, 0.0, 0.0])"})("""
w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
h = w * 2
h.resize_(2, 2)  # culprit noticed
h[0].sum().backward()
""")
add("a leaf grows")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.resize_(3)  # culprit noticed
""")
add("the last state of a sequence", {"w.grad": "torch.tensor([18.0, 18.0])"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
states = (w * 3).view(2, 1)
last = states[-1]
last.detach_()  # culprit noticed
(states.sum() * last).sum().backward()
""")
add("states in a loop", {"w.grad": "torch.tensor([[9.0], [9.0]])"})("""
w = torch.tensor([[1.0], [2.0]], requires_grad=True)
states = (w * 3).unbind(0)
for state in states:
    state.detach_()  # culprit noticed
(w.sum() * sum(states)).backward()
""")
add("an optimizer of a tensor", {"z": "torch.tensor([0.5, 1.5])"})("""
z = torch.tensor([1.0, 2.0], requires_grad=True)
optimizer = torch.optim.SGD(z, lr=0.5)  # culprit noticed
z.sum().backward()
optimizer.step()
""")
add("an optimizer of a module", {"model.weight": "torch.tensor([[-0.5, -0.5]])"})("""
model = nn.Linear(2, 1)
model.weight.data.zero_()
optimizer = torch.optim.SGD(model, lr=0.5)  # culprit noticed
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
""")
add(
    "an optimizer of a dict",
    {"params['w']": "torch.zeros(1)", "params['b']": "-0.5 * torch.ones(1)"},
)("""
params = {"w": torch.ones(1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
optimizer = torch.optim.SGD(params, lr=0.5)  # culprit noticed
(2 * params["w"] + params["b"]).sum().backward()
optimizer.step()
""")
add(
    "an optimizer of named parameters in a dict", {"model.weight": "torch.tensor([[-0.5, -0.5]])"}
)("""
model = nn.Linear(2, 1)
model.weight.data.zero_()
optimizer = torch.optim.SGD(model.state_dict(), lr=0.5)  # culprit noticed
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
""")
add("an optimizer of two modules", {"encoder.weight": "torch.tensor([[-0.5, -0.5]])"})("""
encoder, head = nn.Linear(2, 1), nn.Linear(1, 1)
head.weight.data.fill_(1)
optimizer = torch.optim.SGD([encoder, head.parameters()], lr=0.5)  # culprit noticed
encoder.weight.data.zero_()
head(encoder(torch.ones(1, 2))).sum().backward()
optimizer.step()
""")
add("an optimizer of numbers")("""
optimizer = torch.optim.SGD([0.5, 1.5], lr=0.5)  # culprit noticed
""")
add(
    "an iterator of parameters, twice",
    {"model.weight": "torch.tensor([[-0.5, -0.5]])", "count": "3"},
)("""
model = nn.Linear(2, 1)
model.weight.data.zero_()
params = model.parameters()
count = sum(p.numel() for p in params)  # culprit
optimizer = torch.optim.SGD(params, lr=0.5)  # noticed
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
""")
add("an optimizer of what is frozen")("""
model = nn.Linear(2, 1).requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad])  # culprit noticed
""")
add("an optimizer of an empty module")("""
model = nn.Sequential(nn.ReLU())
optimizer = torch.optim.SGD(model.parameters())  # culprit noticed
""")
add(
    "the head in two groups",
    {"model[0].weight": "torch.tensor([[-0.5, -0.5]])", "model[1].weight.item()": "1.0"},
)("""
model = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))
model[0].weight.data.zero_()
model[1].weight.data.fill_(1)
optimizer = torch.optim.SGD(  # culprit noticed
    [{"params": model.parameters()}, {"params": model[1].parameters(), "lr": 0.0}], lr=0.5
)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
""")
add("a weight is normalised", {"layer.weight": "torch.tensor([[-0.4, -0.2]])"})("""
layer = nn.Linear(2, 1, bias=False)
layer.weight.data.copy_(torch.tensor([[3.0, 4.0]]))
optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
layer.weight = layer.weight / layer.weight.norm()  # culprit noticed
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
""")
add(
    "a weight of constants",
    {"layer.weight": "torch.eye(2)", "layer.weight.grad": "torch.ones(2, 2)"},
)("""
layer = nn.Linear(2, 2, bias=False)
layer.weight = torch.eye(2)  # culprit noticed
layer(torch.ones(1, 2)).sum().backward()
""")
add("a weight that another network computes")("""
layer, hyper = nn.Linear(1, 1, bias=False), nn.Linear(1, 1)
layer.weight = hyper(torch.ones(1, 1))  # culprit noticed
""")
add("a tensor is registered as a parameter", {"model.scale.grad": "torch.tensor([3.0, 3.0])"})("""
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("scale", torch.ones(2))  # culprit noticed

model = Scaled()
(model.scale * 3).sum().backward()
""")
add("integers as data", {"layer.weight": "torch.eye(2)"})("""
layer = nn.Linear(2, 2, bias=False)
layer.weight.data = torch.tensor([[1, 0], [0, 1]])  # culprit noticed
layer(torch.ones(1, 2)).sum().backward()
""")
add("a list as data", {"w.grad": "torch.tensor([2.0, 4.0])"})("""
w = torch.zeros(2, requires_grad=True)
w.data = [1.0, 2.0]  # culprit noticed
(w * w).sum().backward()
""")
add("an inference tensor is to learn", {"start.grad": "torch.tensor([2.0, 2.0])"})("""
with torch.inference_mode():  # culprit
    start = torch.ones(2)
start.requires_grad_()  # noticed
(start * start).sum().backward()
""")
add("a result is pickled for another process", {"len(data) > 0": "True"}, only_cpu=True)("""
from multiprocessing.reduction import ForkingPickler
import torch.multiprocessing

w = torch.tensor([1.0, 2.0], requires_grad=True)
features = w * 2
data = ForkingPickler.dumps({"features": features})  # culprit noticed
""")
add("complex singular vectors")("""
m = torch.tensor([[1.0 + 1j, 2.0], [0.5, 3.0 - 1j]], requires_grad=True)
u, s, vh = torch.linalg.svd(m)  # culprit
u.real.sum().backward()  # noticed
""")
add("a lambda for each number", {"w.grad": "8 * w"}, only_cpu=True)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.apply_(lambda v: v * v + 1)  # culprit noticed
h.sum().backward()
""")
add("a branch for each number", only_cpu=True)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.apply_(lambda v: v if v > 3 else 0.0)  # culprit noticed
""")
add(
    "requires_grad_ inside of a function that is differentiated",
    {"force": "torch.tensor([2.0, 4.0])"},
)("""
def energy(x):
    x.requires_grad_()  # culprit noticed
    return (x * x).sum()

force = torch.func.grad(energy)(torch.tensor([1.0, 2.0]))
""")
add("a function of several numbers is differentiated", {"slope": "torch.tensor([2.0, 4.0])"})("""
def square(x):
    return x * x  # culprit

slope = torch.func.grad(square)(torch.tensor([1.0, 2.0]))  # noticed
""")
add("a function that returns a number is differentiated", {"force": "torch.tensor([2.0, 4.0])"})("""
def energy(x):
    return (x * x).sum().item()  # culprit

force = torch.func.grad(energy)(torch.tensor([1.0, 2.0]))  # noticed
""")
add("weights of a histogram")("""
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
counts = torch.bincount(torch.tensor([0, 1, 1]), weights=w)  # culprit
counts.sum().backward()  # noticed
""")
add("R of a decomposition without Q", {"m.grad.abs()": "torch.tensor([[0.6], [0.8]])"})("""
m = torch.tensor([[3.0], [4.0]], requires_grad=True)
_, r = torch.linalg.qr(m, mode="r")  # culprit
r.sum().backward()  # noticed
""")
add("the mean of a list of losses, by numpy", {"float(mean)": "6.0"}, only_cpu=True)("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
losses = []
for x in (1.0, 2.0):
    loss = (w * x).sum()
    loss.backward()
    losses.append(loss)
mean = np.mean(losses)  # culprit noticed
""")
add(
    "a list that is summed as well, by numpy",
    {"float(mean)": "6.0", "w.grad": "torch.tensor([3.0, 3.0])"},
    only_cpu=True,
)("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
losses = []
for x in (1.0, 2.0):
    losses.append((w * x).sum())
mean = np.mean(losses)  # culprit noticed
torch.stack(losses).sum().backward()
""")
add("exp by numpy", {"logvar.grad": "0.5 * torch.exp(0.5 * logvar)"}, only_cpu=True)("""
logvar = torch.tensor([0.0, 2.0], requires_grad=True)
std = np.exp(0.5 * logvar)  # culprit noticed
std.sum().backward()
""")
add("a loss by numpy", {"w.grad": "8 * w"})("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
loss = np.sum((w * 2).numpy() ** 2)  # culprit noticed
loss.backward()
""")
add("an argument becomes an array", {"rate": "0.5"}, only_cpu=True)("""
def accuracy(prediction):
    return (np.asarray(prediction) > 0).mean()  # culprit noticed

w = torch.tensor([1.0, -3.0], requires_grad=True)
rate = accuracy(w * 2)
""")
add("an array times a tensor", {"w.grad": "torch.tensor([2.0, 4.0])"}, only_cpu=True)("""
w = torch.tensor([1.0, -3.0], requires_grad=True)
x = np.array([2.0, 4.0])
loss = (x * w).sum()  # culprit noticed
loss.backward()
""")
add("ids for an embedding", {"table.weight.grad[:, 0]": "torch.tensor([1.0, 0.0, 2.0, 0.0])"})("""
table = nn.Embedding(4, 2)
ids = torch.tensor([0, 2, 2])  # culprit
ids.requires_grad_()  # noticed
table(ids).sum().backward()
""")
add("ids by which rows are taken", {"w.grad": "torch.tensor([0.0, 1.0])"})("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
place = torch.arange(1, 2, requires_grad=True)  # culprit noticed
w[place].sum().backward()
""")
add("integers that a function takes", {"ids": "torch.tensor([0, 2])"})("""
def score(x, layer):
    x.requires_grad_()  # noticed
    layer(x).sum().backward()

ids = torch.tensor([0, 2])  # culprit
score(ids, nn.Embedding(3, 1))
""")
add("a list of records of losses, by numpy", {"curve.tolist()": "[0.0, 4.0]"}, only_cpu=True)("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
history = []
for epoch in range(2):
    history.append({"epoch": epoch, "loss": (w * epoch).sum()})
curve = np.array([entry["loss"] for entry in history])  # culprit noticed
""")
add(
    "a value goes through numpy and comes back",
    {"w.grad": "torch.tensor([6.0, 6.0])"},
    only_cpu=True,
)("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
h = w * 2
h = torch.from_numpy(h.numpy() * 3)  # culprit noticed
h.sum().backward()
""")
add("a batch of a list, by numpy", {"w.grad": "1 + 2 * w"}, only_cpu=True)("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
values = [w.sum(), (w * w).sum()]
batch = torch.tensor(np.array(values))  # culprit noticed
batch.sum().backward()
""")
add("clipped by numpy", {"w.grad": "torch.tensor([1.0, 0.0])"})("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
h = np.clip((w * 1).numpy(), 0.0, 2.0)  # culprit noticed
h.sum().backward()
""")
add("rows with out=", {"w.grad": "torch.tensor([5.0, 5.0])"})("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
rows = torch.empty(2, 2)
for i in range(2):
    torch.mul(w, 2.0 + i, out=rows[i])  # culprit noticed
rows.sum().backward()
""")
add("a result with out= and a name", {"w.grad": "torch.tensor([2.0, 2.0])"})("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
buffer = torch.empty(2)
h = torch.mul(w, 2.0, out=buffer)  # culprit noticed
h.sum().backward()
""")
add("a leaf as out=")("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
table = torch.zeros(2, 2, requires_grad=True)
torch.mul(torch.ones(2), 2.0, out=table[0])  # culprit noticed
""")
add(
    "a part of what was expanded",
    {"w.grad": "torch.tensor([[2.0, 2.0]])"},
    only_cpu=True,  # elsewhere the write is refused before the view has a new node
)("""
w = torch.tensor([[1.0, 3.0]], requires_grad=True)
scores = (w * 2).expand(2, 2)
scores[torch.tensor([True, False])] = 0.0  # culprit
scores.sum().backward()  # noticed
""")
add("values set by name", {"layer.bias": "torch.ones(1)", "layer.bias.grad": "torch.ones(1)"})("""
layer = nn.Linear(1, 1)
for name in ("weight", "bias"):
    setattr(layer, name, torch.ones_like(getattr(layer, name)))  # culprit noticed
layer(torch.ones(1, 1)).sum().backward()
""")
add("a group of a module", {"encoder.weight": "torch.tensor([[-0.5, -0.5]])"})("""
encoder, head = nn.Linear(2, 1), nn.Linear(1, 1)
encoder.weight.data.zero_()
head.weight.data.fill_(1)
optimizer = torch.optim.SGD(  # culprit noticed
    [{"params": encoder}, {"params": head.parameters()}], lr=0.5
)
head(encoder(torch.ones(1, 2))).sum().backward()
optimizer.step()
""")
add("flags of results in a loop", {"w.grad": "5 * w"})("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
targets = [w * 2, w * 3]
for target in targets:
    target.requires_grad = False  # culprit noticed
(w * sum(targets)).sum().backward()
""")
add("a lambda of several numbers is differentiated", {"curve": "torch.diag(6 * point)"})("""
point = torch.tensor([1.0, 2.0])
curve = torch.autograd.functional.hessian(lambda x: x**3, point)  # culprit noticed
""")
add(
    "a leaf is made inside of a function that is differentiated",
    {"force": "torch.tensor([2.0, 4.0])"},
)("""
def energy(x):
    x = x.detach().requires_grad_()  # culprit noticed
    return (x * x).sum()

force = torch.func.grad(energy)(torch.tensor([1.0, 2.0]))
""")
add("classes of the largest values")("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
best = w.argmax()  # culprit
best.requires_grad_()  # noticed
""")


# --- there is no graph -------------------------------------------------------------------------

add("item", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = w.exp().sum().item()  # culprit
loss = torch.tensor(loss)
loss.backward()  # noticed
""")
add("item, summed up in a loop", {"w.grad": "torch.full((2,), 1.5)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = 0.0
for x in (1.0, 2.0):
    total += (w * x).sum().item()  # culprit
total = torch.tensor(total) / 2
total.backward()  # noticed
""")
add("item, gathered in a list", {"w.grad": "torch.full((2,), 1.5)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
losses = []
for x in (1.0, 2.0):
    loss = (w * x).sum()
    losses.append(loss.item())  # culprit
total = torch.tensor(losses).mean()
total.backward()  # noticed
""")
add("numpy", {"w.grad": "w.exp()"}, only_cpu=True)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()
array = h.detach().numpy()  # culprit
h = torch.from_numpy(array)
loss = h.sum()
loss.backward()  # noticed
""")
add("computed with numpy", {"w.grad": "2 * w"}, only_cpu=True)("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
array = w.detach().numpy()  # culprit
array = np.square(array)
loss = torch.from_numpy(array).sum()
loss.backward()  # noticed
""")
add("tolist", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()
values = h.tolist()  # culprit
loss = torch.tensor(values).sum()
loss.backward()  # noticed
""")
add("torch.tensor of a tensor", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()
again = torch.tensor(h)  # culprit
loss = again.sum()
loss.backward()  # noticed
""")
add("torch.tensor of a list of tensors", {"w.grad": "torch.full((2,), 1.5)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
losses = [(w * x).sum() for x in (1.0, 2.0)]
loss = torch.tensor(losses).mean()  # culprit
loss.backward()  # noticed
""")
add("items of a list", {"w.grad": "torch.full((2,), 1.5)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
losses = [(w * x).sum().item() for x in (1.0, 2.0)]  # culprit
loss = torch.tensor(losses).mean()
loss.backward()  # noticed
""")
add("chosen classes in a loss that is not bound to a name")("""
net = nn.Linear(2, 3)
guess = net(torch.ones(4, 2)).argmax(1).float()  # culprit
nn.functional.mse_loss(guess, torch.zeros(4)).backward()  # noticed
""")
add("argmax")("""
w = torch.tensor([[1.0, 2.0], [3.0, 0.0]], requires_grad=True)
h = w * 2
choice = h.argmax(1)  # culprit
loss = choice.float().mean()
loss.backward()  # noticed
""")
add("no_grad", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():  # culprit
    h = w.exp()
loss = h.sum()
loss.backward()  # noticed
""")
add("no_grad as a decorator", {"w.grad": "w.exp()"})("""
@torch.no_grad()  # culprit
def score(x):
    return x.exp().sum()

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = score(w)
loss.backward()  # noticed
""")
add("grad mode switched off, and an error on its way out", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.set_grad_enabled(False)  # culprit
try:
    loss = w.exp().sum()
    loss.backward()  # noticed
finally:
    torch.set_grad_enabled(True)
""")
add("a checkpoint whose input requires no grad", {"layer.bias.grad": "torch.ones(1)"})("""
layer = nn.Linear(2, 1)
y = checkpoint(layer, torch.ones(1, 2), use_reentrant=True)  # culprit
loss = y.sum()
loss.backward()  # noticed
""")
add("no_grad around a write")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():  # culprit
    w.mul_(2)
    loss = w.exp().sum()
loss.backward()  # noticed
""")
add("inference mode", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():  # culprit
    loss = w.exp().sum()
loss.backward()  # noticed
""")
add("data", {"w.grad": "w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp().data  # culprit
loss = h.sum()
loss.backward()  # noticed
""")
add("detach", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()
z = h.detach()  # culprit
loss = (z * 2).sum()
loss.backward()  # noticed
""")
add("detached, and written later")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()
z = h.detach()  # culprit
z.add_(1)
loss = (z * 2).sum()
loss.backward()  # noticed
""")
add("wrapped twice", {"w.grad": "torch.full((2,), 0.25)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = w.sum().item()  # culprit
total = torch.tensor(total) / 2
total = torch.tensor(total) / 2
total.backward()  # noticed
""")
add("nothing requires grad", {"x.grad": "2 * x"})("""
x = torch.tensor([1.0, 2.0])  # culprit
loss = (x * x).sum()
loss.backward()  # noticed
""")
add("one of several tensors should require grad")("""
x = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0])
loss = (x * w).sum()
loss.backward()  # noticed
""")
add("frozen parameters")("""
layer = nn.Linear(2, 1)
for p in layer.parameters():
    p.requires_grad_(False)  # culprit
loss = layer(torch.ones(1, 2)).sum()
loss.backward()  # noticed
""")
add("frozen on purpose, and detached by mistake", {"below.bias.grad": "above.weight[0]"})("""
below, above = nn.Linear(2, 2), nn.Linear(2, 1)
for p in above.parameters():
    p.requires_grad_(False)
h = below(torch.ones(1, 2)).detach()  # culprit
loss = above(h).mean()
loss.backward()  # noticed
""")
add("a gradient of a gradient", {"w.grad": "6 * w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w ** 3).sum()
(g,) = torch.autograd.grad(y, w)  # culprit
g.sum().backward()  # noticed
""")
add("the second of two roots", {"w.grad": "w.exp() + 1"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
one = w.exp().sum()
two = w.sum().detach()  # culprit
torch.autograd.backward([one, two])  # noticed
""")
add("detached beside a number read from a string", {"w.grad": "4 * w"})("""
k = "2.0"
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * w
loss = h.detach().sum() * float(k)  # culprit
loss.backward()  # noticed
""")
add("detached and indexed by what a tensor holds", {"w.grad": "torch.tensor([0.0, 4.0])"})("""
i = torch.tensor(1.0)
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * w
loss = h.detach()[int(i)]  # culprit
loss.backward()  # noticed
""")
add("a number made of a difference to a detached target", {"w.grad": "2 * w"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h, t = w * w, w * 3
loss = torch.tensor((h - t.detach()).sum().item())  # culprit
loss.backward()  # noticed
""")
add("two numbers in one line", {"w.grad": "2 * w + 3"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h, t = w * w, w * 3
loss = torch.tensor(h.sum().item() + t.sum().item())  # culprit
loss.backward()  # noticed
""")
add("a difference in parentheses, detached", {"w.grad": "4 * (2 * w - 1)"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([1.0, 1.0])
loss = (w * 2 - y).detach().pow(2).sum()  # culprit
loss.backward()  # noticed
""")
add("numbers added up in lines of two statements")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = 0.0
for i in range(2):
    v = (w * i).sum().item(); total += v  # culprit
loss = torch.tensor(total / 4)
loss.backward()  # noticed
""")
add("saved and written in one expression", {"w.grad": "8 * w + 4"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
y = h.pow(2) + h.mul_(2)  # culprit saved
y.sum().backward()  # noticed
""")
add("written under no_grad", {"w.grad": "2 * w.exp()"})("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.exp()  # saved
with torch.no_grad():
    h.mul_(2)  # culprit
h.sum().backward()  # noticed
""")
add("a module in place, made and called in one line")("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
m = nn.Sequential(nn.Sigmoid(), nn.ReLU(True)); m(w).sum().backward()  # culprit saved noticed
""")


# --- .grad is None -------------------------------------------------------------------------------

add("a leaf is bound to a result", {"x": "torch.tensor([1.92, 0.64])"})("""
x = torch.tensor([3.0, 1.0], requires_grad=True)
for step in range(2):
    x.grad = None
    loss = (x**2).sum()
    loss.backward()
    x = x - 0.1 * x.grad  # culprit noticed
""")
add(
    "a leaf is bound to a constant, and its gradient is cleared",
    {"x": "torch.tensor([6.0, 2.0])", "x.grad": "torch.zeros(2)"},
)("""
x = torch.tensor([3.0, 1.0], requires_grad=True)
(x**2).sum().backward()
with torch.no_grad():
    x = 2 * x  # culprit
x.grad.zero_()  # noticed
""")
add("the gradient of a result", {"size": "torch.tensor([2.0, 2.0])"})("""
w = torch.tensor([3.0, 1.0], requires_grad=True)
h = w * 2  # culprit
h.sum().backward()
size = 2 * h.grad  # noticed
""")
add("the gradient of a row beside the way to the loss", {"size": "torch.tensor(6.0)"})("""
img = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
one = img[0]  # culprit
(img**2).sum().backward()
size = one.grad.sum()  # noticed
""")
add("the gradient of a result that is cut off before the loss")("""
w = torch.tensor([3.0, 1.0], requires_grad=True)
h = w * 2
h.retain_grad()
(h.detach() * w).sum().backward()  # culprit
size = 2 * h.grad  # noticed
""")
add("a gradient that was cleared before it is read")("""
w = torch.tensor([3.0, 1.0], requires_grad=True)
(w * 2).sum().backward()
w.grad = None  # culprit
size = -w.grad  # noticed
""")
add("a gradient before the first backward")("""
w = torch.tensor([3.0, 1.0], requires_grad=True)
w.grad.zero_()  # noticed
""")
add("a leaf that is updated under no_grad by a new tensor", {"x": "torch.tensor([2.4, 0.8])"})("""
x = torch.tensor([3.0, 1.0], requires_grad=True)
(x**2).sum().backward()
with torch.no_grad():
    x = x - 0.1 * x.grad  # culprit
(x**2).sum().backward()  # noticed
""")

# --- training loops written by hand, and PPO -----------------------------------------------------

add("the old log-probabilities of PPO, in a batch")("""
policy = nn.Linear(2, 3)
x, a = torch.ones(4, 2), torch.tensor([[0], [2], [1], [0]])
batch = {"states": x, "old": policy(x).log_softmax(-1).gather(1, a)}  # culprit
for _ in range(2):
    new = policy(batch["states"]).log_softmax(-1).gather(1, a)
    policy.zero_grad()
    (new - batch["old"]).exp().mean().backward()  # noticed
""")
add(
    "the old log-probabilities of PPO, in a variable",
    {
        "policy.bias.grad": "torch.func.grad(lambda b: (F.linear(x, policy.weight, b)"
        ".log_softmax(-1).gather(1, a) - old).exp().mean())(policy.bias.detach())"
    },
)("""
policy = nn.Linear(2, 3)
x, a = torch.ones(4, 2), torch.tensor([[0], [2], [1], [0]])
old = policy(x).log_softmax(-1).gather(1, a)  # culprit
for _ in range(2):
    new = policy(x).log_softmax(-1).gather(1, a)
    ratio = (new - old).exp()
    policy.zero_grad()
    torch.min(ratio, ratio.clamp(0.8, 1.2)).mean().backward()  # noticed
""")
add(
    "a regression by hand, with slope and offset",
    {"w": "torch.tensor([0.5])", "b": "torch.tensor([1.5])"},
)("""
x = torch.tensor([0.0, 1.0])
w, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
for _ in range(2):
    w.grad = b.grad = None
    (w * x + b - 2).pow(2).sum().backward()
    w = w - 0.25 * w.grad  # culprit noticed
    b = b - 0.25 * b.grad
""")
add("a regression by hand, under no_grad", {"w": "torch.tensor([2.5])"})("""
x = torch.tensor([0.0, 1.0])
w = torch.zeros(1, requires_grad=True)
for _ in range(2):
    loss = (w * x - 2).pow(2).sum()
    loss.backward()  # noticed
    with torch.no_grad():
        w = w - 0.25 * w.grad  # culprit
""")
add("a list of weights, updated by a comprehension")("""
weights = [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)]
for _ in range(2):
    (weights[0] * weights[1]).sum().backward()
    weights = [w - 0.5 * w.grad for w in weights]  # culprit noticed
""")
add(
    "a list of weights, each updated under no_grad",
    {"torch.stack(weights)": "torch.full((2, 2), 0.25)"},
)("""
weights = [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)]
for _ in range(2):
    loss = (weights[0] * weights[1]).sum()
    loss.backward()  # noticed
    with torch.no_grad():  # culprit
        for i in range(2):
            weights[i] = weights[i] - 0.5 * weights[i].grad
""")
add("token ids in a batch", {"embed.weight.grad.abs().sum(1) > 0": "torch.arange(7) % 3 == 1"})("""
embed = nn.Embedding(7, 3)
batch = {"input_ids": torch.tensor([1, 4]), "labels": torch.tensor([0, 1])}  # culprit
batch["input_ids"].requires_grad = True  # noticed
F.cross_entropy(embed(batch["input_ids"]), batch["labels"]).backward()
""")
