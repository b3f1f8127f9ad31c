"""Programs that look like a fault and are none: the gradients of all of them are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.analysis.explain.silent_running import program


@dataclass(frozen=True)
class Innocent:
    """A program with nothing wrong in it."""

    name: str
    text: str
    before: str = ""

    def __str__(self) -> str:
        return self.name


INNOCENTS: Final[list[Innocent]] = []


def add(name: str, text: str, before: str = "") -> None:
    """Put a program in the list."""
    INNOCENTS.append(Innocent(name, program(text), program(before)))


# -------------------------------------------------------------------- loops of training

add(
    "a loop with everything",
    """
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
    """,
)
add(
    "a batch is skipped by clearing its gradients",
    """
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for turn in range(4):
        optimizer.zero_grad()
        loss = (model(torch.randn(5, 3)) ** 2).mean()
        loss.backward()
        if turn == 2:
            optimizer.zero_grad()
        optimizer.step()
    """,
)
add(
    "gradients accumulated, recorded from the middle",
    """
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
    """,
    before="""
    model = nn.Linear(3, 1)
    optimizer = optim.Adam(model.parameters(), weight_decay=0.1)
    model(torch.randn(2, 3)).sum().backward()
    """,
)
add(
    "two networks against each other",
    """
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
    """,
)
add(
    "gradients of the other network are taken away",
    """
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
    """,
)
add(
    "gradient penalty",
    """
    D = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.Adam(D.parameters())
    x = torch.randn(4, 3, requires_grad=True)
    slope, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    loss = D(x).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    """,
)
add(
    "actor and critic with one optimizer",
    """
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    optimizer = optim.Adam([*actor.parameters(), *critic.parameters()])
    x, reward = torch.randn(4, 3), torch.randn(4)
    value = critic(x).squeeze(1)
    advantage = reward - value
    (-(actor(x).log_softmax(1)[:, 0] * advantage)).mean().backward()
    critic.zero_grad()
    (reward - critic(x).squeeze(1)).pow(2).mean().backward()
    optimizer.step()
    """,
)
add(
    "a closure",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.LBFGS([w], max_iter=3)
    def closure():
        optimizer.zero_grad()
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        return loss
    optimizer.step(closure)
    """,
)
add(
    "a step to the sharpest point and back",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    (w ** 4).sum().backward()
    old = w.data.clone()
    w.data.add_(0.05 * w.grad / w.grad.norm())
    optimizer.zero_grad()
    (w ** 4).sum().backward()
    w.data.copy_(old)
    optimizer.step()
    """,
)
add(
    "a bad gradient is skipped",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.5)
    for scale in (1.0, float("inf"), 2.0):
        optimizer.zero_grad()
        (w * scale).pow(2).sum().backward()
        if not w.grad.isfinite().all():
            optimizer.zero_grad()
            continue
        optimizer.step()
    """,
)
add(
    "written by hand",
    """
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
    """,
)
add(
    "gradients put together by hand",
    """
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
    """,
)
add(
    "a new parameter and a new optimizer",
    """
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
    """,
)
add(
    "only the head is trained, and the rest gets gradients",
    """
    optimizer = optim.SGD(model[1].parameters(), lr=0.1)
    for p in model.parameters():
        p.grad = None
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        optimizer.step()
    """,
    before="model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))",
)

add(
    "gradients of another network are clipped",
    """
    G, D = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer = optim.SGD(G.parameters(), lr=0.1)
    nn.utils.clip_grad_norm_(D.parameters(), 1.0)
    G(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    """,
)
add(
    "one name for each parameter in turn",
    """
    for p in net().parameters():
        p.grad = None
    net()(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    """,
    before="""
    net = (lambda module: lambda: module)(nn.Linear(2, 1))
    optimizer = optim.SGD([net().weight], lr=0.1)
    """,
)

# ------------------------------------------------------------------------ frozen parts

add(
    "frozen before any gradient",
    """
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1, momentum=0.9)
    for p in model[:2].parameters():
        p.requires_grad = False
    model[1].eval()
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).sum().backward()
        optimizer.step()
    """,
)
add(
    "a teacher that follows",
    """
    with torch.no_grad():
        wanted = teacher(x)
    loss = F.mse_loss(student(x), wanted)
    loss.backward()
    optimizer.step()
    for old, new in zip(teacher.parameters(), student.parameters()):
        old.data.mul_(0.9).add_(new.data, alpha=0.1)
    for old, new in zip(teacher.buffers(), student.buffers()):
        old.copy_(new)
    """,
    before="""
    import copy
    student = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = optim.Adam(student.parameters())
    x = torch.randn(4, 3)
    """,
)
add(
    "norms without parameters, and one that is used twice",
    """
    norm, twice = nn.BatchNorm1d(3, affine=False), nn.BatchNorm1d(3)
    w = torch.ones(3, requires_grad=True)
    x = torch.randn(4, 3)
    loss = twice(norm(x * w)).pow(3).sum() + twice(x * w + 1).pow(3).sum()
    loss.backward()
    """,
)

# ------------------------------------------------------------------- writes in place

add(
    "written when backward is through",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.exp()
    y.sum().backward()
    y.data.zero_()
    h.detach().numpy()[:] = 7
    with torch.no_grad():
        h.mul_(0)
    """,
)
add(
    "written and put back",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a * 2
    y = h.exp()
    kept = y.data.clone()
    y.data.mul_(2)
    shown = y.detach().numpy().tolist()
    y.data.copy_(kept)
    y.sum().backward()
    """,
)
add(
    "more than is recorded is written and put back",
    """
    a = torch.randn(30, requires_grad=True)
    y = a.exp()
    kept = y.data.clone()
    y.data.mul_(2)
    y.data.copy_(kept)
    y.sum().backward()
    """,
)
add(
    "more than is recorded is written, and every sign stays",
    """
    a = torch.randn(30, requires_grad=True)
    y = a.relu()
    loss = y.sum()
    y.data.mul_(0.5)
    loss.backward()
    """,
)
add(
    "written, and every sign stays",
    """
    a = torch.tensor([1.0, -2.0], requires_grad=True)
    h = a * 2
    y = h.relu() + h.abs()
    loss = y.sum()
    h.data.mul_(3)
    loss.backward()
    """,
)
add(
    "another part is written",
    """
    a = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    h = a * 2
    v = h[:2]
    y = v.exp() * v
    h.data[2:] = 0
    y.sum().backward()
    """,
)
add(
    "a buffer of states",
    """
    states = torch.zeros(4, 20)
    w = torch.ones(20, requires_grad=True)
    loss = 0
    for i in range(3):
        loss = loss + (states[i] * w).sum()
        states.data[i + 1] = i
    loss.backward()
    """,
)
add(
    "what is written is not needed",
    """
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
    """,
)
add(
    "a constant is added, and a mask filled in",
    """
    a = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    h = a * 2
    with torch.no_grad():
        h += torch.randn(1, 3)
        h[0, 1] += 4
    h.data.sub_(1)
    h.data.masked_fill_(torch.tensor([[False, False, True]]), -float("inf"))
    loss = (h.softmax(1) * torch.arange(3.0)).sum()
    loss.backward()
    """,
)
add(
    "exp is scaled before it is read",
    """
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (a * 2).exp()
    y.data.mul_(torch.tensor([0.0, 1.5]))
    (y / y.sum()).pow(2).sum().backward()
    """,
)
add(
    "a part is written, another one read",
    """
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    c = a * 2
    with torch.no_grad():
        c[0] = 9
    c[1:].sum().backward()
    large = torch.ones(20, requires_grad=True) * 2
    large.data[:10] = 0
    large[10:].pow(2).sum().backward()
    """,
)
add(
    "a large mask",
    """
    a = torch.randn(4, 4, requires_grad=True)
    scores = a @ a.T
    scores.data.masked_fill_(torch.ones(4, 4).triu(1).bool(), float("-inf"))
    (scores.softmax(1) ** 2).sum().backward()
    """,
)
add(
    "recorded writes",
    """
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
    """,
)
add(
    "a number that is only shown",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w ** 2).mean()
    shown = loss.detach()
    shown /= 8
    loss.backward()
    """,
)
add(
    "weights are set up",
    """
    layer = nn.Linear(3, 2)
    layer.weight.data.normal_(0, 0.1)
    nn.init.zeros_(layer.bias)
    with torch.no_grad():
        layer.weight[0] = 0
        layer.weight.copy_(layer.weight * 2)
    layer(torch.randn(4, 3)).sum().backward()
    """,
)
add(
    "views of a parameter",
    """
    w = torch.ones(4, requires_grad=True)
    row = w[:2]
    with torch.no_grad():
        w.mul_(3)
        row.add_(1)
    (row * 2).sum().backward()
    """,
)
add(
    "a value in both directions",
    """
    a = torch.tensor([0.4, 1.7], requires_grad=True)
    h = a * 2
    q = h + (h.round() - h).detach()
    (q ** 2).sum().backward()
    """,
)
add(
    "an image that is attacked",
    """
    model = nn.Linear(3, 2)
    x = torch.randn(1, 3)
    x.requires_grad_()
    for _ in range(2):
        loss = model(x).log_softmax(1)[0, 0]
        loss.backward()
        x.data = (x.data + 0.1 * x.grad.sign()).clamp(-1, 1)
        x.grad.zero_()
    """,
)

# --------------------------------------------------------------------------- the rest

add(
    "all pairs are meant",
    """
    x = torch.randn(4, requires_grad=True)
    y = torch.randn(4)
    distances = (x[:, None] - y).abs().mean()
    column = x.unsqueeze(1)
    own = ((column - x) ** 2).mean()
    kernel = torch.exp(-((x.view(-1, 1) - y) ** 2)).mean()
    linear = (x.reshape(4, 1) - y).mean() + (nn.Linear(2, 1)(torch.randn(4, 2)) - y).mean()
    outer = (column * y).pow(2).sum()
    (distances + own + kernel + linear + outer).backward()
    """,
)
add(
    "computed again in backward",
    """
    from torch.utils.checkpoint import checkpoint
    block = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(inplace=True))
    x = torch.randn(4, 3, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    z = checkpoint(block, y, use_reentrant=True)
    z.pow(2).sum().backward()
    """,
)
add(
    "a hidden state that is carried on",
    """
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
    """,
)
add(
    "a network that is copied now and then",
    """
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
    """,
)
add(
    "words with a norm that is kept",
    """
    table = nn.Embedding(5, 3, max_norm=1.0)
    table.weight.data[0].zero_()
    w = torch.ones(3, 5, requires_grad=True)
    (table(torch.tensor([1, 2])) @ w).pow(2).sum().backward()
    """,
)

add(
    "a part of a result is scaled where it stands",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    h[0] *= 2
    h.sum().backward()
    """,
)

add(
    "rows of a buffer are filled and scaled",
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    rows = torch.zeros(2, 2)
    rows[0] += w
    rows[0].mul_(3)
    row = rows[1]
    row -= w * w
    rows.sum().backward()
    """,
)

add(
    "the norm is measured after the step",
    """
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    """,
)

add(
    "gradients add up over two backwards before each step",
    """
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for turn in range(6):
        model(torch.ones(3, 2)).sum().backward()
        if turn % 2:
            optimizer.step()
            optimizer.zero_grad()
    """,
)

add(
    "gradients are filled with 0 by hand",
    """
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for p in model.parameters():
            if p.grad is not None:
                p.grad.zero_()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
    """,
)

add(
    "gradients are set to None by hand",
    """
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for p in model.parameters():
            p.grad = None
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
    """,
)

add(
    "gradients are returned and assigned",
    """
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        grads = torch.autograd.grad(model(torch.ones(3, 2)).sum(), list(model.parameters()))
        for p, g in zip(model.parameters(), grads):
            p.grad = g
        optimizer.step()
    """,
)

add(
    "an optimizer of the head alone",
    """
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
    """,
)

add(
    "a list of layers that are registered too",
    """
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
    """,
)

add(
    "layers in a list that the optimizer has",
    """
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
    """,
)

add(
    "a frozen teacher that is hidden in a list",
    """
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
    """,
)

add(
    "a tensor in an attribute that the user updates",
    """
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
    """,
)

add(
    "new values are bound to the loop's variable and kept",
    """
    model = nn.Linear(2, 1)
    model(torch.ones(3, 2)).sum().backward()
    fast = []
    for p in model.parameters():
        p = p - 0.1 * p.grad
        fast.append(p)
    """,
)

add(
    "new values replace the old ones",
    """
    w = torch.ones(2, requires_grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
    """,
)
