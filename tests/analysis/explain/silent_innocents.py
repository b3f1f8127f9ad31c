"""Programs that look like a fault and are none: the gradients of all of them are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.analysis.explain.silent_running import TRAINED_IN_PART, program, two_layers


@dataclass(frozen=True)
class Innocent:
    """A program with nothing wrong in it."""

    name: str
    text: str
    before: str = ""
    looks: tuple[str, ...] = ()
    """Kinds of the facts that are worth a look: they are true, and meant."""

    def __str__(self) -> str:
        return self.name


INNOCENTS: Final[list[Innocent]] = []


def add(
    name: str, *looks: str, begin: str = "", end: str = "", before: str = ""
) -> Callable[[str], None]:
    """Takes a program, between a beginning and an end, and puts it in the list."""

    def put(text: str) -> None:
        INNOCENTS.append(Innocent(name, program(begin + text + end), program(before), looks))

    return put


# -------------------------------------------------------------------- loops of training

add("a loop with everything")("""
    model = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 4),
        nn.Dropout(0.5, inplace=True), nn.Linear(4, 1),
    )
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1)
    total = torch.zeros(())
    for _ in range(2):
        x, t = torch.randn(5, 3), torch.randn(5)
        optimizer.zero_grad(set_to_none=False)
        loss = F.mse_loss(model(x).squeeze(1), t)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.detach()
        loss.data.mul_(5)
""")
add("a batch is skipped by clearing its gradients")("""
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for turn in range(4):
        optimizer.zero_grad()
        loss = (model(torch.randn(5, 3)) ** 2).mean()
        loss.backward()
        if turn == 2:
            optimizer.zero_grad()
        optimizer.step()
""")
add(
    "gradients accumulated, recorded from the middle",
    before="""
    model = nn.Linear(3, 1)
    optimizer = optim.Adam(model.parameters(), weight_decay=0.1)
    model(torch.randn(2, 3)).sum().backward()
    """,
)("""
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    optimizer.zero_grad()
    for i in range(4):
        x = torch.randn(2, 3)
        (model(x).pow(2).mean() / 2).backward()
        if i % 2:
            nn.utils.clip_grad_value_(list(model.parameters()), 0.1)
            optimizer.step()
            optimizer.zero_grad()
""")
add("two networks against each other")("""
    G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    opt_g = optim.Adam(G.parameters(), lr=0.1)
    opt_d = optim.Adam(D.parameters(), lr=0.1)
    for _ in range(2):
        fake, real = G(torch.randn(4, 2)), torch.randn(4, 3)
        D.requires_grad_(True)
        opt_d.zero_grad()
        loss_d = F.softplus(D(fake.detach())).mean() + F.softplus(-D(real)).mean()
        loss_d.backward()
        opt_d.step()
        for p in D.parameters():
            p.data.clamp_(-0.1, 0.1)
        D.requires_grad_(False)
        opt_g.zero_grad()
        F.softplus(-D(fake)).mean().backward()
        opt_g.step()
""")
add("gradients of the other network are taken away")("""
    G, D = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g, opt_d = optim.SGD(G.parameters(), lr=0.1), optim.SGD(D.parameters(), lr=0.1)
    for _ in range(2):
        fake = G(torch.randn(4, 2))
        (-D(fake)).mean().backward()
        opt_g.step()
        opt_g.zero_grad()
        opt_d.zero_grad()
        D(fake.detach()).pow(2).mean().backward()
        opt_d.step()
""")
add("gradient penalty")("""
    D = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.Adam(D.parameters())
    x = torch.randn(4, 3, requires_grad=True)
    slope, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    loss = D(x).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""")
add("actor and critic with one optimizer")("""
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    optimizer = optim.Adam([*actor.parameters(), *critic.parameters()])
    x, reward = torch.randn(4, 3), torch.randn(4)
    value = critic(x).squeeze(1)
    advantage = reward - value
    (-(actor(x).log_softmax(1)[:, 0] * advantage)).mean().backward()
    critic.zero_grad()
    (reward - critic(x).squeeze(1)).pow(2).mean().backward()
    optimizer.step()
""")
add("a closure")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.LBFGS([w], max_iter=3)
    def closure():
        optimizer.zero_grad()
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        return loss
    optimizer.step(closure)
""")
add("a step to the sharpest point and back")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    (w ** 4).sum().backward()
    old = w.data.clone()
    w.data.add_(0.05 * w.grad / w.grad.norm())
    optimizer.zero_grad()
    (w ** 4).sum().backward()
    w.data.copy_(old)
    optimizer.step()
""")
add("a bad gradient is skipped")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.5)
    for scale in (1.0, float("inf"), 2.0):
        optimizer.zero_grad()
        (w * scale).pow(2).sum().backward()
        if not w.grad.isfinite().all():
            optimizer.zero_grad()
            continue
        optimizer.step()
""")
add("written by hand")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        loss = (w ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
    for _ in range(2):
        (w ** 2).sum().backward()
        w.data -= 0.1 * w.grad.data
        w.grad = None
""")
add("gradients put together by hand")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0])
    optimizer = optim.SGD([w, v], lr=0.1)
    grads = []
    for power in (2, 3):
        (w ** power).sum().backward()
        grads.append(w.grad.clone())
        optimizer.zero_grad()
    w.grad = sum(grads) / 2
    v.grad = torch.ones(2)
    optimizer.step()
""")
add("a new parameter and a new optimizer")("""
    for size in (2, 3):
        w = torch.ones(size, requires_grad=True)
        optimizer = optim.Adam([w])
        (w ** 2).sum().backward()
        optimizer.step()
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model.bias = nn.Parameter(torch.zeros(1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
""")
add(
    "only the head is trained, and the rest gets gradients",
    "gradient that nothing uses",
    before="model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))",
)("""
    optimizer = optim.SGD(model[1].parameters(), lr=0.1)
    for p in model.parameters():
        p.grad = None
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        optimizer.step()
""")

add("gradients of another network are clipped")("""
    G, D = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer = optim.SGD(G.parameters(), lr=0.1)
    nn.utils.clip_grad_norm_(D.parameters(), 1.0)
    G(torch.ones(1, 2)).sum().backward()
    optimizer.step()
""")
add(
    "one name for each parameter in turn",
    before="""
    net = (lambda module: lambda: module)(nn.Linear(2, 1))
    optimizer = optim.SGD([net().weight], lr=0.1)
    """,
)("""
    for p in net().parameters():
        p.grad = None
    net()(torch.ones(1, 2)).sum().backward()
    optimizer.step()
""")

# ------------------------------------------------------------------------ frozen parts

add("frozen before any gradient", "parameter without a gradient")("""
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1, momentum=0.9)
    for p in model[:2].parameters():
        p.requires_grad = False
    model[1].eval()
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).sum().backward()
        optimizer.step()
""")
add(
    "a teacher that follows",
    before="""
    import copy
    student = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = optim.Adam(student.parameters())
    x = torch.randn(4, 3)
    """,
)("""
    with torch.no_grad():
        wanted = teacher(x)
    loss = F.mse_loss(student(x), wanted)
    loss.backward()
    optimizer.step()
    for old, new in zip(teacher.parameters(), student.parameters()):
        old.data.mul_(0.9).add_(new.data, alpha=0.1)
    for old, new in zip(teacher.buffers(), student.buffers()):
        old.copy_(new)
""")
add("norms without parameters, and one that is used twice")("""
    norm, twice = nn.BatchNorm1d(3, affine=False), nn.BatchNorm1d(3)
    w = torch.ones(3, requires_grad=True)
    x = torch.randn(4, 3)
    loss = twice(norm(x * w)).pow(3).sum() + twice(x * w + 1).pow(3).sum()
    loss.backward()
""")

# ------------------------------------------------------------------- writes in place

add("written when backward is through")("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.exp()
    y.sum().backward()
    y.data.zero_()
    h.detach().numpy()[:] = 7
    with torch.no_grad():
        h.mul_(0)
""")
add("written and put back")("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.exp()
    kept = y.data.clone()
    y.data.mul_(2)
    shown = y.detach().numpy().tolist()
    y.data.copy_(kept)
    y.sum().backward()
""")
add("memory that gets the same again, as fully_shard does for backward")("""
    w, whole, part = torch.ones(2, requires_grad=True), torch.empty(20), torch.arange(20.0)
    whole.copy_(part)
    out = (w.sum() * whole).sum()
    with torch.autograd._unsafe_preserve_version_counter(whole):
        whole.copy_(part)
    out.backward()
""")
add("more than is recorded is written and put back")("""
    a = torch.randn(30, requires_grad=True)
    y = a.exp()
    kept = y.data.clone()
    y.data.mul_(2)
    y.data.copy_(kept)
    y.sum().backward()
""")
add("more than is recorded is written, and every sign stays")("""
    a = torch.randn(30, requires_grad=True)
    y = a.relu()
    loss = y.sum()
    y.data.mul_(0.5)
    loss.backward()
""")
add("written, and every sign stays")("""
    a = torch.tensor([1.0, -2.0], requires_grad=True)
    h = a * 2
    y = h.relu() + h.abs()
    loss = y.sum()
    h.data.mul_(3)
    loss.backward()
""")
add("another part is written")("""
    a = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    h = a * 2
    v = h[:2]
    y = v.exp() * v
    h.data[2:] = 0
    y.sum().backward()
""")
add("a buffer of states")("""
    states = torch.zeros(4, 20)
    w = torch.ones(20, requires_grad=True)
    loss = 0
    for i in range(3):
        loss = loss + (states[i] * w).sum()
        states.data[i + 1] = i
    loss.backward()
""")
add("what is written is not needed")("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = a + 1
    y = c * 2
    c.data.zero_()
    y.sum().backward()
    layer = nn.LayerNorm(2)
    z = layer(a * 1).pow(2).sum()
    layer.bias.data.fill_(3)
    z.backward()
    frozen = nn.Conv1d(1, 1, 2).requires_grad_(False)
    u = a.view(1, 1, 2) * 2
    out = frozen(u).pow(2).sum()
    u.data.fill_(5)
    out.backward()
""")
add("a constant is added, and a mask filled in")("""
    a = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    h = a * 2
    with torch.no_grad():
        h += torch.randn(1, 3)
        h[0, 1] += 4
    h.data.sub_(1)
    h.data.masked_fill_(torch.tensor([[False, False, True]]), -float("inf"))
    loss = (h.softmax(1) * torch.arange(3.0)).sum()
    loss.backward()
""")
add("exp is scaled before it is read")("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (a * 2).exp()
    y.data.mul_(torch.tensor([0.0, 1.5]))
    (y / y.sum()).pow(2).sum().backward()
""")
add("a part is written, another one read")("""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    c = a * 2
    with torch.no_grad():
        c[0] = 9
    c[1:].sum().backward()
    large = torch.ones(20, requires_grad=True) * 2
    large.data[:10] = 0
    large[10:].pow(2).sum().backward()
""")
add("a large mask")("""
    a = torch.randn(4, 4, requires_grad=True)
    scores = a @ a.T
    scores.data.masked_fill_(torch.ones(4, 4).triu(1).bool(), float("-inf"))
    (scores.softmax(1) ** 2).sum().backward()
""")
add("recorded writes")("""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    h += a
    h[0] = 3
    v = h[1:]
    v.mul_(2)
    out = torch.zeros(2)
    out[0] = h.sum()
    F.relu(out, inplace=True)
    (out.sum() + h.sum()).backward()
""")
add("a number that is only shown")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w ** 2).mean()
    shown = loss.detach()
    shown /= 8
    loss.backward()
""")
add("weights are set up")("""
    layer = nn.Linear(3, 2)
    layer.weight.data.normal_(0, 0.1)
    nn.init.zeros_(layer.bias)
    with torch.no_grad():
        layer.weight[0] = 0
        layer.weight.copy_(layer.weight * 2)
    layer(torch.randn(4, 3)).sum().backward()
""")
add("views of a parameter")("""
    w = torch.ones(4, requires_grad=True)
    row = w[:2]
    with torch.no_grad():
        w.mul_(3)
        row.add_(1)
    (row * 2).sum().backward()
""")
add("a value in both directions")("""
    a = torch.tensor([0.4, 1.7], requires_grad=True)
    h = a * 2
    q = h + (h.round() - h).detach()
    (q ** 2).sum().backward()
""")
add("an image that is attacked")("""
    model = nn.Linear(3, 2)
    x = torch.randn(1, 3)
    x.requires_grad_()
    for _ in range(2):
        loss = model(x).log_softmax(1)[0, 0]
        loss.backward()
        x.data = (x.data + 0.1 * x.grad.sign()).clamp(-1, 1)
        x.grad.zero_()
""")

# --------------------------------------------------------------------------- the rest

add("all pairs are meant")("""
    x = torch.randn(4, requires_grad=True)
    y = torch.randn(4)
    distances = (x[:, None] - y).abs().mean()
    column = x.unsqueeze(1)
    own = ((column - x) ** 2).mean()
    kernel = torch.exp(-((x.view(-1, 1) - y) ** 2)).mean()
    linear = (x.reshape(4, 1) - y).mean() + (nn.Linear(2, 1)(torch.randn(4, 2)) - y).mean()
    outer = (column * y).pow(2).sum()
    (distances + own + kernel + linear + outer).backward()
""")
add("computed again in backward")("""
    from torch.utils.checkpoint import checkpoint
    block = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(inplace=True))
    x = torch.randn(4, 3, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    z = checkpoint(block, y, use_reentrant=True)
    z.pow(2).sum().backward()
""")
add("a hidden state that is carried on")("""
    cell = nn.GRUCell(2, 3)
    optimizer = optim.SGD(cell.parameters(), lr=0.1)
    h = torch.zeros(1, 3)
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(2):
            h = cell(torch.randn(1, 2), h)
        h.pow(2).sum().backward()
        optimizer.step()
        h = h.detach()
        h.mul_(0.5)
""")
add("a network that is copied now and then")("""
    online, target = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = optim.Adam(online.parameters(), foreach=True)
    for _ in range(2):
        target.load_state_dict(online.state_dict())
        with torch.no_grad():
            best = target(torch.randn(4, 3)).max(1).values
        chosen = online(torch.randn(4, 3)).gather(1, torch.zeros(4, 1, dtype=torch.long))
        loss = F.smooth_l1_loss(chosen, best.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        for p in online.parameters():
            p.grad.data.clamp_(-1, 1)
        optimizer.step()
""")
add("words with a norm that is kept")("""
    table = nn.Embedding(5, 3, max_norm=1.0)
    table.weight.data[0].zero_()
    w = torch.ones(3, 5, requires_grad=True)
    (table(torch.tensor([1, 2])) @ w).pow(2).sum().backward()
""")

add("a part of a result is scaled where it stands")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    h[0] *= 2
    h.sum().backward()
""")

add("rows of a buffer are filled and scaled")("""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    rows = torch.zeros(2, 2)
    rows[0] += w
    rows[0].mul_(3)
    row = rows[1]
    row -= w * w
    rows.sum().backward()
""")

add("the norm is measured after the step")("""
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
""")

add("gradients add up over two backwards before each step")("""
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for turn in range(6):
        model(torch.ones(3, 2)).sum().backward()
        if turn % 2:
            optimizer.step()
            optimizer.zero_grad()
""")

add("gradients are filled with 0 by hand")("""
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for p in model.parameters():
            if p.grad is not None:
                p.grad.zero_()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
""")

add("gradients are set to None by hand")("""
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for p in model.parameters():
            p.grad = None
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
""")

add("gradients are returned and assigned")("""
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        grads = torch.autograd.grad(model(torch.ones(3, 2)).sum(), list(model.parameters()))
        for p, g in zip(model.parameters(), grads):
            p.grad = g
        optimizer.step()
""")

add("an optimizer of the head alone", "gradient that nothing uses")("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 1)

        def forward(self, x):
            return self.head(self.body(x))

    model = Net()
    optimizer = optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
""")

add("a list of layers that are registered too")("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 1)
            self.layers = [self.a, self.b]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
""")

add("layers in a list that the optimizer has")("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2), nn.Linear(2, 1)]
            self.out = nn.Linear(1, 1)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.out(x)

    model = Net()
    hidden = [p for layer in model.layers for p in layer.parameters()]
    optimizer = optim.SGD([*model.parameters(), *hidden], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
""")

add("a frozen teacher that is hidden in a list")("""
    class Student(nn.Module):
        def __init__(self, teacher):
            super().__init__()
            self.teacher = [teacher.requires_grad_(False)]
            self.net = nn.Linear(2, 2)

        def forward(self, x):
            return (self.net(x) - self.teacher[0](x)).pow(2).mean()

    model = Student(nn.Linear(2, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).backward()
        optimizer.step()
""")

add("a tensor in an attribute that the user updates")("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.tensor(2.0, requires_grad=True)
            self.net = nn.Linear(2, 1)

        def forward(self, x):
            return self.scale * self.net(x)

    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model.scale.grad = None
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        with torch.no_grad():
            model.scale -= 0.1 * model.scale.grad
""")

add("new values are bound to the loop's variable and kept")("""
    model = nn.Linear(2, 1)
    model(torch.ones(3, 2)).sum().backward()
    fast = []
    for p in model.parameters():
        p = p - 0.1 * p.grad
        fast.append(p)
""")

add("new values replace the old ones")("""
    w = torch.ones(2, requires_grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
""")

# ---------------------------------------------------------------- inf that is meant

add("a mask of -inf before softmax")("""
    s = torch.zeros(3, 3, requires_grad=True)
    later = torch.ones(3, 3, dtype=torch.bool).triu(1)
    s.masked_fill(later, float("-inf")).softmax(-1).pow(2).sum().backward()
    (s + torch.full((3, 3), float("-inf")).triu(1)).softmax(-1).pow(2).sum().backward()
""")

add("the best loss so far begins at inf")("""
    w = torch.ones(2, requires_grad=True)
    best = torch.tensor(float("inf"))
    for _ in range(2):
        loss = (w * w).sum()
        loss.backward()
        w.grad = None
        best = torch.minimum(best, loss.detach())
""")

add("a loss that is not finite is left out")("""
    w = torch.ones(2, requires_grad=True)
    for x in torch.tensor([[1.0, 2.0], [1.0, 0.0]]):
        loss = (w / x).sum()
        if torch.isfinite(loss):
            loss.backward()
""")

add("targets that are missing are left out")("""
    w = torch.ones(3, requires_grad=True)
    target = torch.tensor([1.0, float("nan"), 2.0])
    known = ~target.isnan()
    (w[known] - target[known]).pow(2).mean().backward()
""")

add("a branch without a number is not used, and safe in backward")("""
    w = torch.tensor([-1.0, 1.0], requires_grad=True)
    fits = w > 0
    torch.where(fits, torch.where(fits, w, torch.ones_like(w)).log(), w).sum().backward()
""")

add("a scaler that skips steps whose gradients overflow")("""
    w = torch.tensor([3.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
    for _ in range(2):
        opt.zero_grad()
        loss = (w**4).sum() * 1e10
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
""")

add("gradients of results are kept where some passes only evaluate")("""
    w = torch.ones(2, requires_grad=True)
    for step in range(4):
        h = w.exp()
        h.retain_grad()
        h.register_hook(lambda grad: None)
        if step % 2 == 0:
            w.grad = None
            h.sum().backward()
""")

# ------------------------------------------------- what looks like a fault of a step, and is meant

add("micro-batches, whose gradients are added before a step")("""
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    for turn in range(4):
        loss = net(torch.ones(2, 3)).pow(2).mean() / 2
        loss.backward()
        if turn % 2:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
""")
add("a state that is detached between passes, and a total of numbers")("""
    cell, head = nn.RNNCell(2, 3), nn.Linear(3, 1)
    opt = optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    scheduler = optim.lr_scheduler.ExponentialLR(opt, 0.9)
    h, total, losses = torch.zeros(1, 3), 0.0, []
    for _ in range(4):
        h = cell(torch.ones(1, 2), h.detach())
        loss = head(h).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()
        total += loss.item()
        losses.append(loss.detach())
""")
add("a student of a teacher that is detached, with soft targets")("""
    teacher, student = nn.Linear(3, 4), nn.Linear(3, 4)
    opt = optim.SGD(student.parameters(), lr=0.1)
    x, t = torch.ones(5, 3), torch.tensor([0, 1, 2, 3, 0])
    for _ in range(2):
        soft = F.softmax(teacher(x).detach() / 2, dim=1)
        guess = student(x)
        loss = F.kl_div(F.log_softmax(guess / 2, dim=1), soft, reduction="batchmean")
        loss = loss + F.cross_entropy(guess, F.one_hot(t, 4) * 0.9 + 0.025)
        opt.zero_grad()
        loss.backward()
        opt.step()
""")
add("softmax twice, with a temperature, and probabilities in a loss of their own")("""
    net = nn.Linear(3, 4)
    opt = optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        weights = F.softmax(net(torch.ones(5, 3)), dim=1)
        sharp = F.softmax(weights / 0.1, dim=1)
        loss = F.nll_loss(sharp.log(), torch.tensor([0, 1, 2, 3, 0])) + (sharp ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
""")
add("a discriminator with a penalty on its gradient")("""
    maker, judge = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_m, opt_j = optim.SGD(maker.parameters(), lr=0.1), optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        fake = maker(torch.ones(4, 2))
        mixed = (fake.detach() * 0.5).requires_grad_()
        (slope,) = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)
        loss = judge(fake.detach()).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
        opt_j.zero_grad()
        loss.backward()
        opt_j.step()
        opt_m.zero_grad()
        (-judge(fake).mean()).backward()
        opt_m.step()
""")
add("an optimizer that needs no gradients")("""
    class Guess(optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {})

        def step(self):
            for p in self.param_groups[0]["params"]:
                p.data.add_(torch.randn_like(p))

    net = nn.Linear(2, 1)
    opt = Guess(net.parameters())
    for _ in range(2):
        loss = net(torch.ones(4, 2)).pow(2).mean()
        opt.step()
""")
add("a norm that is read after the step")("""
    net = nn.Linear(3, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)
    norms = []
    for _ in range(2):
        opt.zero_grad()
        net(torch.ones(4, 3)).pow(2).mean().backward()
        opt.step()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 1e9))
""")
add("a loss network that is hidden in a list", "parameter not registered")("""
    class Stylist(nn.Module):
        def __init__(self, judge):
            super().__init__()
            self.judge = [judge]
            self.maker = nn.Linear(3, 3)

        def forward(self, x):
            return self.judge[0](self.maker(x)).pow(2).mean()

    net = Stylist(nn.Linear(3, 1))
    opt = optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.ones(4, 3)).backward()
        opt.step()
""")

# ----------------------------------------------------------------- values that left torch

add("a loss is printed, compared, averaged and sets the learning rate")("""
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    seen, best, mean = [], float("inf"), 0.0
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
        mean = 0.9 * mean + 0.1 * float(loss)
        if loss.item() < best:
            best = loss.item()
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + loss.item())
        print(f"{loss.item():.0e}", end="\\r")
    average = sum(seen) / len(seen)
""")
add("values are indices, sizes and masks")("""
    w = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    best = int(w.argmax().item())
    count = int(w.max())
    rows = [int(value) for value in w.tolist()]
    mask = (w > w.mean().item()).float()
    table = nn.Embedding(4, 3)
    loss = w[best] + w.topk(count).values.sum() + (w * mask).sum() / len(rows)
    loss = loss + (table(torch.tensor(rows)) * w).sum() + (w * torch.arange(count)).sum()
    loss.backward()
""")
add("the next step is scaled by the last loss")("""
    w = torch.tensor([3.0, 1.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.01)
    last = 1.0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (w**2).sum() / last
        loss.backward()
        optimizer.step()
        last = loss.item()
""")
add("targets, estimators and normalisers are detached")("""
    w = torch.tensor([3.0, 1.0], requires_grad=True)
    target = (w * 0.9).detach()
    rounded = w + (w.round() - w).detach()
    with torch.no_grad():
        size = w.norm()
    loss = ((w - target) ** 2).sum() + (rounded**2).sum() + (w / size).sum()
    loss.backward()
""")
add("a number is bound again, and a list has others beside it")("""
    p = torch.tensor(2.0, requires_grad=True)
    scale = p.item()
    rows = [3.0]
    rows.append(scale)
    scale = 1.5
    loss = p * scale * rows[0]
    loss.backward()
""")
add("a number of one parameter scales another")("""
    p = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor([3.0, 1.0], requires_grad=True)
    loss = (w * p.item()).sum()
    loss.backward()
""")
add("losses are weighed by gradients of a parameter, and a first-order step is taken")("""
    w = torch.tensor([3.0, 1.0], requires_grad=True)
    near, far = (w**2).sum(), (w - 1).abs().sum()
    (a,) = torch.autograd.grad(near, w, retain_graph=True)
    (b,) = torch.autograd.grad(far, w, retain_graph=True)
    weight = (a.norm() / b.norm()).detach()
    inner = w - 0.1 * torch.autograd.grad((w**2).sum(), w)[0]
    loss = near + weight * far + (inner**2).sum()
    loss.backward()
""")
add(
    "a baseline is a number, as in PyTorch's example of an actor with a critic", "partial gradient"
)("""
    model = nn.Linear(3, 3)
    scores = model(torch.ones(3))
    value = scores[2]
    advantage = 1.0 - value.item()
    loss = -torch.log_softmax(scores[:2], 0)[0] * advantage
    loss = loss + F.smooth_l1_loss(value, torch.tensor(1.0))
    loss.backward()
""")

# ------------------------------------------- gradients of 0, and None from custom Functions

add("straight-through by detach")("""
    class STE(nn.Module):
        def forward(self, x):
            return x + (x.round() - x).detach()
    model = nn.Sequential(nn.Linear(3, 4), STE(), nn.Linear(4, 1))
    opt = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(5, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
""")
add("straight-through Function with a mask and bits")("""
    class Binarize(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask, bits):
            ctx.save_for_backward(mask)
            return x.sign() * mask
        @staticmethod
        def backward(ctx, grad):
            mask, = ctx.saved_tensors
            return grad * mask, None, None
    lin = nn.Linear(3, 4)
    mask = (torch.rand(4) > 0.3).float()
    opt = optim.SGD(lin.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        code = Binarize.apply(lin(torch.randn(5, 3)), mask, 2)
        code.pow(2).add(lin.weight.sum()).mean().backward()
        opt.step()
""")
add("codebook updated by a moving average")("""
    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, book):
            idx = torch.cdist(z, book).argmin(1)
            ctx.mark_non_differentiable(idx)
            return book[idx], idx
        @staticmethod
        def backward(ctx, grad, _):
            return grad, None
    class VQ(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = nn.Linear(4, 2), nn.Linear(2, 4)
            self.book = nn.Parameter(torch.randn(3, 2))
        def forward(self, x):
            z = self.enc(x)
            q, idx = Lookup.apply(z, self.book)
            with torch.no_grad():
                for k in range(3):
                    if (idx == k).any():
                        self.book[k] = 0.9 * self.book[k] + 0.1 * z[idx == k].mean(0)
            return self.dec(q)
    vq = VQ()
    opt = optim.SGD(vq.parameters(), lr=0.1)
    x = torch.randn(8, 4)
    for _ in range(3):
        opt.zero_grad(); F.mse_loss(vq(x), x).backward(); opt.step()
""")
add("codebook with a loss of its own")("""
    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, book):
            return book[torch.cdist(z, book).argmin(1)]
        @staticmethod
        def backward(ctx, grad):
            return grad, None
    enc, dec, book = nn.Linear(4, 2), nn.Linear(2, 4), nn.Parameter(torch.randn(3, 2))
    opt = optim.SGD([*enc.parameters(), *dec.parameters(), book], lr=0.1)
    x = torch.randn(8, 4)
    for _ in range(2):
        z = enc(x)
        q = Lookup.apply(z, book)
        own = book[torch.cdist(z, book).argmin(1).detach()]
        loss = F.mse_loss(dec(q), x) + F.mse_loss(own, z.detach())
        opt.zero_grad(); loss.backward(); opt.step()
""")
add("an adapter with a zero up-projection", "parameter without a gradient")("""
    class LoRA(nn.Module):
        def __init__(self, lin):
            super().__init__()
            self.lin = lin.requires_grad_(False)
            self.a = nn.Parameter(torch.randn(2, 3)); self.b = nn.Parameter(torch.zeros(4, 2))
        def forward(self, x):
            return self.lin(x) + x @ self.a.t() @ self.b.t()
    m = LoRA(nn.Linear(3, 4))
    opt = optim.SGD(m.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad(); m(torch.randn(5, 3)).pow(2).mean().backward(); opt.step()
""")
add("a ReLU that is never active")("""
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        m[0].bias.fill_(-100)
    opt = optim.SGD(m.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad(); m(torch.randn(5, 3)).pow(2).mean().backward(); opt.step()
""")
add("rounded side value in the loss")("""
    m = nn.Linear(3, 1)
    opt = optim.SGD(m.parameters(), lr=0.1)
    for _ in range(2):
        out = m(torch.randn(5, 3))
        loss = out.pow(2).mean() + 0.1 * out.round().abs().mean()
        opt.zero_grad(); loss.backward(); opt.step()
""")
add("policy gradient with sampling")("""
    m = nn.Linear(3, 2)
    opt = optim.Adam(m.parameters())
    for _ in range(2):
        mean = m(torch.randn(5, 3))
        action = torch.normal(mean, 1.0)
        logp = -(action.detach() - mean).pow(2).sum(1)
        loss = -(logp * torch.rand(5)).mean()
        opt.zero_grad(); loss.backward(); opt.step()
""")
add("relaxed rounding with a dead way")("""
    m = nn.Linear(3, 2)
    opt = optim.Adam(m.parameters())
    for _ in range(2):
        h = m(torch.randn(5, 3))
        loss = (F.relu(h - 1000).sum() + h.floor().sum())
        opt.zero_grad(); loss.backward(); opt.step()
""")
add("fake quant Function with calibrated scale", "gradient withheld by a Function")("""
    class FakeQuant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return (x / scale).round().clamp(-8, 7) * scale
        @staticmethod
        def backward(ctx, grad):
            return grad, None
    lin = nn.Linear(3, 4); scale = nn.Parameter(torch.tensor(0.1))
    opt = optim.SGD([*lin.parameters(), scale], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        FakeQuant.apply(lin(torch.randn(5, 3)), scale).pow(2).mean().backward()
        opt.step()
""")
add("a Function that stops gradients on purpose", "gradient withheld by a Function")("""
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, grad):
            return None
    f, d = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = optim.SGD([*f.parameters(), *d.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad(); d(Stop.apply(f(torch.randn(5, 3)))).pow(2).mean().backward(); opt.step()
""")
add("two losses in turn, one rounded")("""
    m = nn.Linear(3, 1)
    opt = optim.SGD(m.parameters(), lr=0.1)
    for turn in range(4):
        out = m(torch.randn(5, 3))
        loss = out.round().mean() if turn % 2 else out.pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
""")
add("a checkpoint with an unused branch")("""
    from torch.utils.checkpoint import checkpoint
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    opt = optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
    def block(x, y):
        return a(x)
    for _ in range(2):
        h = b(torch.randn(4, 3))
        out = checkpoint(block, torch.randn(4, 3).requires_grad_(), h, use_reentrant=True)
        opt.zero_grad(); out.pow(2).mean().backward(); opt.step()
""")
add("saliency through a Function that gives none to the input")("""
    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            return x * w
        @staticmethod
        def backward(ctx, g):
            return None, (g * ctx.saved_tensors[0]).sum(0)
    w = nn.Parameter(torch.ones(3))
    opt = optim.SGD([w], lr=0.1)
    for _ in range(2):
        x = torch.randn(4, 3, requires_grad=True)
        opt.zero_grad(); Norm.apply(x, w).pow(2).sum().backward(); opt.step()
""")
add("inputs of a loop that updates by hand need no gradient")("""
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            return x * w
        @staticmethod
        def backward(ctx, grad):
            return None, (grad * ctx.saved_tensors[0]).sum(0)
    w = torch.rand(3, requires_grad=True)
    for x in [torch.rand(4, 3, requires_grad=True) for _ in range(3)]:
        loss = Scaled.apply(x, w).mean()
        loss.backward()
        w.data -= 0.1 * w.grad
        w.grad = None
""")

add(
    "a straight-through Function gives the values of codes that stay",
    "gradient withheld by a Function",
)("""
    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, q):
            return q.clone()
        @staticmethod
        def backward(ctx, grad):
            return grad, None
    enc, codes, dec = nn.Linear(3, 2), nn.Embedding(6, 2), nn.Linear(2, 3)
    opt = optim.SGD([*enc.parameters(), *codes.parameters(), *dec.parameters()], lr=0.1)
    for _ in range(2):
        x = torch.randn(5, 3)
        z = enc(x)
        q = codes(torch.cdist(z, codes.weight).argmin(1))
        loss = F.mse_loss(dec(Through.apply(z, q)), x) + F.mse_loss(z, q.detach())
        opt.zero_grad(); loss.backward(); opt.step()
""")
add("a Function takes the shape of a parameter", "gradient withheld by a Function")("""
    class Like(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, like):
            return x.expand_as(like) + torch.ones_like(like)
        @staticmethod
        def backward(ctx, grad):
            return grad.sum(0, keepdim=True), None
    lin, like = nn.Linear(3, 2), nn.Parameter(torch.zeros(4, 2))
    opt = optim.SGD([*lin.parameters(), like], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Like.apply(lin(torch.randn(1, 3)), like).pow(2).mean().backward()
        opt.step()
""")
add("a temperature is a setting to its Function", "gradient withheld by a Function")("""
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, t):
            ctx.save_for_backward(t)
            return x / t
        @staticmethod
        def backward(ctx, grad):
            return grad / ctx.saved_tensors[0], None
    lin, t = nn.Linear(3, 2), nn.Parameter(torch.tensor(0.5))
    opt = optim.SGD([*lin.parameters(), t], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Scaled.apply(lin(torch.randn(5, 3)), t).pow(2).mean().backward()
        opt.step()
""")
add("a hash by random directions, among the parameters", "derivative of 0")("""
    directions, out = nn.Linear(3, 8), nn.Linear(8, 2)
    opt = optim.SGD([*directions.parameters(), *out.parameters()], lr=0.1)
    for _ in range(2):
        loss = out(torch.sign(directions(torch.randn(5, 3)))).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
""")

# ------------------------------------------------------------------ frozen by names on purpose

add(
    "a backbone is frozen by its name", begin=two_layers("backbone", "neck"), end=TRAINED_IN_PART
)("""
    model = Model()
    for name, p in model.named_parameters():
        if name.startswith("backbone") or "backbone." in name:
            p.requires_grad = False
""")
add("all numbered norms are frozen", begin=two_layers("bn", "bn1"), end=TRAINED_IN_PART)("""
    model = Model()
    for name, p in model.named_parameters():
        if "bn" in name:
            p.requires_grad_(False)
""")
add(
    "a part of several names, of none in full",
    begin=two_layers("encoder", "text_encoder"),
    end=TRAINED_IN_PART,
)("""
    model = Model()
    for name, p in model.named_parameters():
        if "enc" in name:
            p.requires_grad_(False)
""")
add("only the head stays trainable", begin=two_layers("head_in", "body"), end=TRAINED_IN_PART)("""
    model = Model()
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith(("out", "head"))
""")
add("only biases are trained", begin=two_layers("first", "second"), end=TRAINED_IN_PART)("""
    model = Model()
    for name, p in model.named_parameters():
        p.requires_grad = "bias" in name
""")
add(
    "frozen with others and trained again",
    begin=two_layers("enc", "after_enc"),
    end=TRAINED_IN_PART,
)("""
    model = Model()
    for name, p in model.named_parameters():
        if "enc" in name:
            p.requires_grad = False
    model.after_enc.requires_grad_(True)
""")
add(
    "two models whose loops have the same variables",
    begin=two_layers("enc", "after_enc"),
    end=TRAINED_IN_PART,
)("""
    model, teacher = Model(), Model()
    for name, p in teacher.named_parameters():
        p.requires_grad = False
    for name, p in model.named_parameters():
        if name.startswith("enc."):
            p.requires_grad = False
""")

# --------------------------------------------------------- both sides have a gradient, and rightly

add("a contrastive loss")("""
    encoder, head = nn.Linear(4, 6), nn.Linear(6, 3)
    x = torch.randn(4, 4)
    z = F.normalize(torch.cat([head(encoder(x + 0.1)), head(encoder(x - 0.1))]), dim=1)
    near = F.cosine_similarity(z[:, None], z[None], dim=-1) / 0.5
    near = near.masked_fill(torch.eye(8, dtype=torch.bool), -1e9)
    F.cross_entropy(near, torch.arange(8).roll(4)).backward()
""")
add("a predictor of later codes, with a softmax over all of them")("""
    encoder, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
    later, now = encoder(torch.randn(5, 4)), predictor(encoder(torch.randn(5, 4)))
    near = F.cosine_similarity(now[:, None], later[None], dim=-1)
    F.cross_entropy(near, torch.arange(5)).backward()
""")
add("a predictor that is to be near to one and far from another")("""
    encoder, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
    x, y, other = torch.randn(3, 5, 4)
    p, near, far = predictor(encoder(x)), encoder(y), encoder(other)
    loss = F.cosine_similarity(p, far).mean() - F.cosine_similarity(p, near).mean()
    loss.backward()
""")
add("a similarity beside a task")("""
    encoder, predictor, classes = nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(3, 2)
    x = torch.randn(5, 4)
    z, other = encoder(x), encoder(x + 0.1)
    task = F.cross_entropy(classes(z), torch.tensor([0, 1, 1, 0, 1]))
    loss = task - 0.1 * F.cosine_similarity(predictor(z), other).mean()
    loss.backward()
""")
add("two towers that become similar")("""
    image, text = nn.Linear(4, 3), nn.Linear(5, 3)
    loss = 1 - F.cosine_similarity(image(torch.randn(4, 4)), text(torch.randn(4, 5))).mean()
    loss.backward()
""")
add("a policy over all actions, and its critic")("""
    policy, critic = nn.Linear(3, 2), nn.Linear(3, 2)
    opt_p, opt_c = optim.SGD(policy.parameters(), lr=0.1), optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(2):
        states, target = torch.randn(6, 3), torch.randn(6, 2)
        opt_c.zero_grad()
        F.mse_loss(critic(states), target).backward()
        opt_c.step()
        chosen = F.log_softmax(policy(states), -1)
        with torch.no_grad():
            values = critic(states)
        opt_p.zero_grad()
        (chosen.exp() * (0.1 * chosen - values)).sum(-1).mean().backward()
        opt_p.step()
""")
add("weights of a loss are learned, with a penalty")("""
    net, w = nn.Linear(3, 4), nn.Parameter(torch.ones(6))
    ones = torch.ones(6)
    each = F.cross_entropy(net(torch.randn(6, 3)), torch.randint(4, (6,)), reduction="none")
    loss = (w * each).mean() + (w - ones).pow(2).sum()
    loss.backward()
""")
add("a multiplier and a penalty of the same constraint")("""
    x, multiplier = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    gap = x * 2 - torch.zeros(3)
    loss = x.pow(2).sum() + (multiplier * gap).sum() + 0.5 * gap.pow(2).sum()
    loss.backward()
""")

# --------------------------------------------------- graphs that are kept, for a backward to come

add("losses whose backward is in a later cell", before="net = nn.Linear(3, 1)")("""
    losses = []
    for batch in torch.randn(5, 4, 3):
        losses.append(net(batch).square().mean())
        print(end="" if losses[-1].item() else " ")
""")
add(
    "an episode whose backward is in a later cell",
    before="policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)",
)("""
    chances, values = [], []
    state = torch.ones(4)
    for _ in range(5):
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        chances.append(choice.log_prob(action))
        values.append(critic(state))
        state = torch.ones(4) * action.item()
""")
add(
    "a sequence with its accuracy, whose backward is in a later cell",
    before="""
    cell, head = nn.RNNCell(2, 3), nn.Linear(3, 4)
    x, y = torch.randn(5, 2, 2), torch.randint(4, (5, 2))
    """,
)("""
    h, scores = torch.zeros(2, 3), []
    for step in x:
        h = cell(step, h)
        scores.append(head(h))
    accuracy = (torch.stack(scores).argmax(-1) == y).double().mean()
    loss = F.cross_entropy(torch.stack(scores).flatten(0, 1), y.flatten())
""")
add(
    "a recurrence by hand, looked at, whose backward is in a later cell",
    before="w = torch.ones(3, 3, requires_grad=True)",
)("""
    h, states = torch.zeros(3), []
    for step in range(6):
        h = torch.tanh(w @ h + 0.1)
        states.append(h)
        print(end="" if h.norm().item() else " ")
    drawn = torch.stack(states).detach().numpy()
""")
add("a forward by hand, layer by layer, looked at")("""
    layers, found = nn.ModuleList(nn.Linear(4, 4) for _ in range(6)), []
    x = torch.randn(2, 4)
    for layer in layers:
        x = torch.relu(layer(x))
        found.append(x)
        print(end="" if int(x.argmax()) >= 0 else " ")
""")
add("several heads in one forward")("""
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList(nn.Linear(3, 2) for _ in range(5))
        def forward(self, x):
            found = []
            for head in self.heads:
                found.append(head(x))
            return torch.cat(found, 1)
    scores = Heads().eval()(torch.randn(4, 3))
    classes = scores.argmax(1)
""")
add("predictions of an evaluation without graphs")("""
    net, scores, kept = nn.Linear(3, 2), [], []
    for batch in torch.randn(5, 6, 3):
        kept.append(net(batch).detach())
        with torch.no_grad():
            scores.append(net(batch))
    classes = torch.cat(scores + kept).argmax(1)
""")
add("two backwards before each step")("""
    w = torch.ones(2, requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        w.pow(2).sum().backward()
        w.pow(3).sum().backward()
        opt.step()
""")

# ------------------------------------------------- training loops written by hand, and PPO

add("PPO with old log-probabilities without a graph, some of them clipped")("""
    policy = nn.Linear(2, 3)
    optimizer = optim.SGD(policy.parameters(), lr=0.1)
    x, a = torch.ones(4, 2), torch.tensor([[0], [2], [1], [0]])
    with torch.no_grad():
        old = policy(x).log_softmax(-1).gather(1, a)
    for _ in range(3):
        ratio = (policy(x).log_softmax(-1).gather(1, a) - old).exp()
        loss = -torch.min(ratio, ratio.clamp(0.8, 1.2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""")
add("a ratio of log-probabilities with themselves, detached")("""
    policy = nn.Linear(2, 3)
    optimizer = optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(2):
        new = policy(torch.ones(4, 2)).log_softmax(-1)[:, 0]
        optimizer.zero_grad()
        (-(new - new.detach()).exp().mean()).backward()
        optimizer.step()
""")
add("a regression by hand with a new leaf in each turn")("""
    x = torch.tensor([0.0, 1.0])
    w, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(2):
        (w * x + b - 2).pow(2).sum().backward()
        w = (w - 0.25 * w.grad).detach().requires_grad_()
        with torch.no_grad():
            b = b - 0.25 * b.grad
        b.requires_grad_()
""")
add("a list of weights that are written under no_grad, and one that is made anew")("""
    weights = [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)]
    for _ in range(2):
        (weights[0] * weights[1]).sum().backward()
        with torch.no_grad():
            for w in weights:
                w -= 0.5 * w.grad
                w.grad = None
    (weights[0] * weights[1]).sum().backward()
    weights = [(w - 0.5 * w.grad).detach().requires_grad_() for w in weights]
    (weights[0] * weights[1]).sum().backward()
""")
add("token ids of which the embedded rows get gradients")("""
    embed, head = nn.Embedding(7, 3), nn.Linear(3, 2)
    ids = torch.tensor([1, 4])
    rows = embed(ids).detach().requires_grad_()
    one_hot = F.one_hot(ids, 7).float().requires_grad_()
    head(rows + one_hot @ embed.weight).sum().backward()
    score = rows.grad.abs().sum(-1) + one_hot.grad[torch.arange(2), ids]
""")
add(
    "a Function whose forward writes its input through .data, and whose backward is that of it",
    before="""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.clone())
            return x.data.pow_(2)
        @staticmethod
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            return 2 * x * grad
    """,
)("""
    layer = nn.Linear(3, 2)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        h = layer(torch.randn(4, 3))
        Square.apply(h).sum().backward()
        optimizer.step()
""")
add("an optimizer that is given another parameter in each turn")("""
    layer, extra = nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
    optimizer = optim.SGD([*layer.parameters(), extra], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (layer(torch.randn(4, 3)) + extra).pow(2).mean().backward()
        optimizer.step()
        extra = nn.Parameter(extra.detach().clone())
        optimizer.add_param_group({"params": [extra]})
""")
add("a running mean, of which this batch has a gradient, that is subtracted")("""
    layer, mean = nn.Linear(3, 2), torch.zeros(2)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        h = layer(torch.randn(4, 3))
        mean = 0.9 * mean.detach() + 0.1 * h.mean(0)
        (h - mean).pow(2).mean().backward()
        optimizer.step()
""")
