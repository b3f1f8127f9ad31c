"""Torch raises nothing, and gradients add up, are of another loss, or graphs are kept alive."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: steps of training"

bug(
    "zero_grad forgotten",
    FAMILY,
    """
    # %% loop.py
    def fit(model, loader, criterion, optimizer, epochs):
        history = []
        for _ in range(epochs):
            for x, y in loader:
                loss = criterion(model(x), y)
                loss.backward()  # culprit
                optimizer.step()  # culprit
                history.append(loss.item())
        return loss
    # %%
    from loop import fit
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(2)]
    # %%
    loss = fit(model, loader, nn.MSELoss(), optimizer, epochs=2)
    """,
    fix(
        "            loss.backward()\n",
        "            optimizer.zero_grad()\n            loss.backward()\n",
    ),
    reference="""
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
            optimizer.step()
    """,
    raised="",
)
bug(
    "zero_grad between backward and step",
    FAMILY,
    """
    # %% trainer.py
    import torch


    class Trainer:
        def __init__(self, model, lr):
            self.model = model
            self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

        def step(self, x, y):
            loss = (self.model(x) - y).abs().mean()
            loss.backward()
            self.optimizer.zero_grad()  # culprit
            self.optimizer.step()
            return loss.detach()
    # %%
    from trainer import Trainer
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    trainer = Trainer(model, 0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(3):
        loss = trainer.step(x, y)
    """,
    fix(
        "        loss.backward()\n        self.optimizer.zero_grad()\n",
        "        self.optimizer.zero_grad()\n        loss.backward()\n",
    ),
    fix(
        "        self.optimizer.zero_grad()\n        self.optimizer.step()\n",
        "        self.optimizer.step()\n        self.optimizer.zero_grad()\n",
    ),
    reference="""
    for epoch in range(3):
        trainer.optimizer.zero_grad()
        accumulate(lambda: (model(x) - y).abs().mean(), model.parameters())
        trainer.optimizer.step()
    """,
    raised="",
    audit=("", "", ""),
)
bug(
    "total of losses keeps every graph",
    FAMILY,
    """
    # %%
    class Meter:
        def __init__(self):
            self.total, self.count = 0.0, 0

        def update(self, value):
            self.total += value  # culprit
            self.count += 1

        def mean(self):
            return self.total / self.count


    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(4)]
    # %%
    meter = Meter()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss)
    """,
    (("self.total += value", "self.total += value.item()"),),
    (("meter.update(loss)", "meter.update(loss.detach())"),),
    reference="""
    for x, y in loader:
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
    shown="torch.is_tensor(meter.total) and meter.total.requires_grad",
)
bug(
    "outputs of an evaluation kept with their graphs",
    FAMILY,
    """
    # %% evaluate.py
    import torch


    def evaluate(model, loader):
        model.eval()
        outputs, labels = [], []
        for x, y in loader:
            outputs.append(model(x))  # culprit
            labels.append(y)
        return torch.cat(outputs), torch.cat(labels)
    # %%
    from evaluate import evaluate
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    loader = [(torch.randn(4, 3), torch.tensor([0, 1, 1, 0])) for _ in range(4)]
    # %%
    outputs, labels = evaluate(model, loader)
    accuracy = (outputs.argmax(1) == labels).double().mean()
    """,
    fix(
        "    model.eval()\n",
        "    model.eval()\n    torch.set_grad_enabled(False)\n",
        "    return torch.cat(outputs), torch.cat(labels)",
        "    torch.set_grad_enabled(True)\n    return torch.cat(outputs), torch.cat(labels)",
    ),
    (("outputs.append(model(x))", "with torch.no_grad():\n            outputs.append(model(x))"),),
    reference="""
    x, labels = (torch.cat(column) for column in zip(*loader))
    accuracy = (model(x).argmax(1) == labels).double().mean()
    """,
    result="[accuracy]",
    raised="",
    shown="outputs.requires_grad",
    audit=("", "", ""),
)
bug(
    "graph retained over the whole sequence",
    FAMILY,
    """
    # %% online.py
    import torch
    from torch import nn


    class OnlineRnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.RNNCell(2, 3)
            self.out = nn.Linear(3, 1)

        def forward(self, x, h):
            h = self.cell(x, h)
            return self.out(h), h
    # %%
    from online import OnlineRnn
    model = OnlineRnn()
    stream = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(4)]
    # %%
    h = torch.zeros(4, 3)
    for x, y in stream:
        prediction, h = model(x, h)
        loss = F.mse_loss(prediction, y)
        model.zero_grad()
        loss.backward(retain_graph=True)  # culprit
    """,
    (("loss.backward(retain_graph=True)", "loss.backward()\n    h = h.detach()"),),
    fix(
        "prediction, h = model(x, h)",
        "prediction, h = model(x, h.detach())",
        "retain_graph=True",
        "",
    ),
    reference="""
    h = torch.zeros(4, 3)
    for x, y in stream:
        before = h
        h = model(x, before)[1].detach()
    accumulate(lambda: F.mse_loss(model(x, before)[0], y), model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    raised="",
    audit=("loss", "model", ""),
)
bug(
    "generator's loss leaves gradients in the discriminator",
    FAMILY,
    """
    # %% gan_step.py
    import torch
    from torch.nn import functional as F


    class GanStep:
        def __init__(self, g, d, lr=0.1):
            self.g, self.d = g, d
            self.opt_g = torch.optim.SGD(g.parameters(), lr=lr)
            self.opt_d = torch.optim.SGD(d.parameters(), lr=lr)

        def generator(self, z):
            self.opt_g.zero_grad()
            loss = F.softplus(-self.d(self.g(z))).mean()
            loss.backward()
            self.opt_g.step()

        def discriminator(self, real, z):
            fake = self.g(z).detach()
            loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake)).mean()
            loss.backward()  # culprit
            self.opt_d.step()  # culprit
            self.opt_d.zero_grad()
    # %%
    from gan_step import GanStep
    step = GanStep(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
    real, z = torch.randn(5, 3), torch.randn(5, 2)
    # %%
    for iteration in range(2):
        step.generator(z)
        step.discriminator(real, z)
    """,
    fix(
        "        fake = self.g(z).detach()\n",
        "        self.opt_d.zero_grad()\n        fake = self.g(z).detach()\n",
    ),
    reference="""
    for iteration in range(2):
        step.opt_g.zero_grad()
        accumulate(lambda: F.softplus(-step.d(step.g(z))).mean(), step.g.parameters())
        step.opt_g.step()
        step.opt_d.zero_grad()
        accumulate(
            lambda: F.softplus(-step.d(real)).mean() + F.softplus(step.d(step.g(z))).mean(),
            step.d.parameters(),
        )
        step.opt_d.step()
    """,
    result="list(step.d.parameters())",
    raised="",
    audit=("", "", ""),
)
bug(
    "gradients clipped before they are computed",
    FAMILY,
    """
    # %% lstm_train.py
    import torch
    from torch import nn


    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(2, 3, batch_first=True)
            self.tag = nn.Linear(3, 2)

        def forward(self, x):
            return self.tag(self.rnn(x)[0])


    def train_step(model, optimizer, x, tags, bound):
        loss = 20 * nn.functional.cross_entropy(model(x).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(model.parameters(), bound)  # culprit
        loss.backward()
        optimizer.step()
    # %%
    from lstm_train import Tagger, train_step
    model = Tagger()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, tags = torch.randn(3, 4, 2), torch.randint(2, (3, 4))
    # %%
    for epoch in range(2):
        train_step(model, optimizer, x, tags, bound=0.5)
    """,
    fix(
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), bound)\n    loss.backward()\n",
        "    loss.backward()\n    torch.nn.utils.clip_grad_norm_(model.parameters(), bound)\n",
    ),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(
            lambda: 20 * F.cross_entropy(model(x).flatten(0, 1), tags.flatten()),
            model.parameters(),
        )
        norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))
        for p in model.parameters():
            p.grad = p.grad * (0.5 / (norm + 1e-6)).clamp(max=1)
        optimizer.step()
    """,
    raised="",
    audit=("", "", ""),
)
bug(
    "prediction and target of different shapes",
    FAMILY,
    """
    # %% regression.py
    import torch
    from torch import nn


    class Regressor(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

        def forward(self, x):
            return self.net(x)  # culprit


    def squared_error(prediction, target):
        return (prediction - target).pow(2).mean()  # culprit
    # %%
    from regression import Regressor, squared_error
    model = Regressor()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(6, 3), torch.randn(6)
    # %%
    for epoch in range(2):
        loss = squared_error(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("return self.net(x)", "return self.net(x).squeeze(-1)"),),
    (("(prediction - target)", "(prediction.squeeze(-1) - target)"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: (model.net(x)[:, 0] - y).pow(2).mean(), model.parameters())
        optimizer.step()
    """,
    raised="",
    accepted=("prediction = prediction.squeeze(1)", "prediction = prediction.squeeze(-1)"),
)
bug(
    "weights normalised through data before backward",
    FAMILY,
    """
    # %% normalised.py
    import torch
    from torch import nn


    class UnitNorm(nn.Linear):
        def renorm(self):
            self.weight.data.div_(self.weight.data.norm(dim=1, keepdim=True))  # culprit


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(3, 4)
            self.fc2 = UnitNorm(4, 2)

        def forward(self, x):
            return self.fc2(torch.tanh(self.fc1(x)))
    # %%
    from normalised import Net
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 2)
    # %%
    for epoch in range(2):
        prediction = model(x)
        loss = F.mse_loss(prediction, y)
        model.fc2.renorm()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "    model.fc2.renorm()\n",
        "",
        "    loss.backward()\n",
        "    loss.backward()\n    model.fc2.renorm()\n",
    ),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        model.fc2.renorm()
        optimizer.step()
    """,
    raised="",
)
bug(
    "target of a Q-network is differentiated",
    FAMILY,
    """
    # %% dqn.py
    import torch
    from torch import nn


    class QNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))

        def forward(self, state):
            return self.net(state)


    def td_loss(q, state, action, reward, following, discount=0.9):
        value = q(state).gather(1, action).squeeze(1)
        target = reward + discount * q(following).max(dim=1).values  # culprit
        return nn.functional.smooth_l1_loss(value, target)
    # %%
    from dqn import QNet, td_loss
    model = QNet()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(6, 3), torch.randint(2, (6, 1)), torch.randn(6), torch.randn(6, 3)
    # %%
    for step in range(2):
        loss = td_loss(model, *batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "target = reward + discount * q(following).max(dim=1).values",
        "target = (reward + discount * q(following).max(dim=1).values).detach()",
    ),
    reference="""
    state, action, reward, following = batch
    for step in range(2):
        optimizer.zero_grad()
        target = (reward + 0.9 * model(following).max(dim=1).values).detach()
        accumulate(
            lambda: F.smooth_l1_loss(model(state).gather(1, action).squeeze(1), target),
            model.parameters(),
        )
        optimizer.step()
    """,
    raised="",
)
bug(
    "model left in eval mode by the validation",
    FAMILY,
    """
    # %% validation.py
    import torch


    @torch.no_grad()
    def validate(model, x, y):
        model.eval()  # culprit
        return torch.nn.functional.mse_loss(model(x), y).item()
    # %%
    from validation import validate
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        score = validate(model, x, y)
    """,
    fix(
        "    return torch.nn.functional.mse_loss(model(x), y).item()",
        "    score = torch.nn.functional.mse_loss(model(x), y).item()\n"
        "    model.train()\n"
        "    return score",
    ),
    fix(
        "    loss = F.mse_loss(model(x), y)\n",
        "    model.train()\n    loss = F.mse_loss(model(x), y)\n",
    ),
    reference="""
    for epoch in range(3):
        optimizer.zero_grad()
        model.train()
        with torch.no_grad():
            model(x)
        model[1].track_running_stats = False
        mean, var = model[1].running_mean, model[1].running_var
        model[1].running_mean = model[1].running_var = None
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        model[1].running_mean, model[1].running_var = mean, var
        model[1].track_running_stats = True
        optimizer.step()
    """,
    raised="",
    without_gradient=("0.bias",),  # batch norm cancels it
)
