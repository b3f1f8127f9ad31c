"""Programs that DistributedDataParallel refuses, in a job of one rank."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from gradviz.model.explanation import ErrorKind


@dataclass(frozen=True)
class Replicated:
    """A program; what it must say; how many fixes it has."""

    name: str
    kind: ErrorKind
    text: str
    words: tuple[str, ...]
    fixes: int
    right: str = "True"
    """What holds after a fix."""
    preserves: bool = True
    """Whether DistributedDataParallel leaves the versions of buffers alone, as torch 2.13 does."""

    def __str__(self) -> str:
        return self.name


ALL: list[Replicated] = []
HEAD = """
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.spare = nn.Linear(2, 2)
        self.last = nn.Linear(2, 1)
    def forward(self, x, is_whole=False):
        h = self.first(x)
        return self.last(self.spare(h) if is_whole else h)
x = torch.ones(3, 2)
"""


def add(name: str, kind: ErrorKind, text: str, *words: str, fixes: int = 0, **more: object) -> None:
    text = dedent(HEAD).lstrip("\n") + dedent(text).strip("\n")
    ALL.append(Replicated(name, kind, text, words, fixes, **more))  # type: ignore[arg-type]


add(
    "a layer that is not called",
    "parameter unused under DDP",
    """
    net = Net()
    model = DDP(net)
    for _ in range(3):
        model(x).sum().backward()  # culprit
    """,
    "spare.weight and spare.bias got no gradient in the last backward",
    fixes=1,
    right="net.first.weight.grad.abs().sum() > 0 and net.spare.weight.grad is None",
)
add(
    "gradients that were cleared before the next forward, and a frozen layer",
    "parameter unused under DDP",
    """
    net = Net()
    net.first.requires_grad_(False)
    model = DDP(net, find_unused_parameters=False)
    for _ in range(2):
        net.zero_grad()
        loss = model(x).sum()
        loss.backward()  # culprit
    """,
    "spare.weight and spare.bias got no gradient in the last backward",
    fixes=1,
    right="net.last.weight.grad.abs().sum() > 0",
)
add(
    "parameters frozen after it was wrapped",
    "parameter unused under DDP",
    """
    net = Net()
    model = DDP(net)
    net.first.requires_grad_(False)
    for _ in range(2):
        model(x).sum().backward()  # culprit
    """,
    "4 parameters got no gradient in the last backward",
    "their names; TORCH_DISTRIBUTED_DEBUG=INFO",
    "to the numbers 0, 1, 2, 3",
    fixes=1,
)
add(
    "a backward that raised",
    "parameter unused under DDP",
    """
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, grad):
            raise ValueError("stop")
    class Stopped(Net):
        def forward(self, x):
            return self.last(Stop.apply(self.spare(self.first(x))))
    model = DDP(Stopped())
    for _ in range(2):
        try:
            model(x).sum().backward()  # culprit
        except ValueError:
            pass
    """,
    "first.weight, first.bias, spare.weight and spare.bias got no gradient in the last backward, "
    "which raised an error",
)
add(
    "another graph although it is static",
    "parameter unused under DDP",
    """
    model = DDP(Net(), static_graph=True)
    for turn in range(3):
        model(x, is_whole=turn == 0).sum().backward()  # culprit
    """,
    "static_graph=True says that they are always the same",
)
add(
    "a parameter used outside of forward",
    "parameter ready twice under DDP",
    """
    net = Net()
    model = DDP(net, find_unused_parameters=True)
    loss = model(x).sum() + net.spare.weight.sum()
    loss.backward()
    """,
    "a gradient of spare.weight came after DistributedDataParallel had counted",
    "where it is used outside of the forward",
)
add(
    "shared weights in two checkpoints",
    "parameter ready twice under DDP",
    """
    class Shared(Net):
        def forward(self, x):
            h = checkpoint(self.spare, self.first(x), use_reentrant=True)
            return self.last(checkpoint(self.spare, h, use_reentrant=True))
    net = Shared()
    model = DDP(net)
    model(x).sum().backward()
    """,
    "a gradient of spare.bias came from a checkpoint after",
    fixes=1,
    right="net.spare.weight.grad.abs().sum() > 0",
)
add(
    "a checkpoint in which unused parameters are looked for",
    "parameter ready twice under DDP",
    """
    class Inside(Net):
        def forward(self, x):
            h = self.first(x)
            return self.last(checkpoint(self.spare, h, use_reentrant=True))
    net = Inside()
    model = DDP(net, find_unused_parameters=True)
    model(x).sum().backward()
    """,
    "a gradient of spare.bias came from a checkpoint after",
    fixes=1,
    right="net.spare.weight.grad.abs().sum() > 0",
)
add(
    "a frozen teacher",
    "nothing to reduce under DDP",
    """
    net = Net().requires_grad_(False)
    teacher = DDP(net, broadcast_buffers=False)
    """,
    "a module in which no parameter requires grad",
    fixes=1,
    right="teacher is net",
)
add(
    "statistics of a batch norm that runs twice",
    "saved tensor written",
    """
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
    model = DDP(net)
    real = model(x + torch.eye(3, 2))
    fake = model(x)  # culprit
    (real - fake).sum().backward()
    """,
    "DistributedDataParallel wrote net.1.running_mean: version",
    fixes=1,
    right="net[0].weight.grad is not None",
    preserves=False,
)
