"""Ordinary programs, most of whose lines call nothing of torch: pure Python, and an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset


def tokenizer(size: int) -> int:
    """Loops over texts, a function for each word."""
    known = {"": 0}
    found = []
    for number in range(size // 8):
        text = f"Some words, number {number % 97}"
        for word in text.split():
            found.append(_number_of(word, known))
    return len(found)


def _number_of(word: str, known: dict[str, int]) -> int:
    word = word.strip(",.").lower()
    if word not in known:
        known[word] = len(known)
    return known[word]


class _Body:
    def __init__(self, place: float, speed: float) -> None:
        self.place, self.speed = place, speed

    def move(self, seconds: float) -> None:
        self.place += self.speed * seconds
        if not 0 < self.place < 10:
            self.speed = -self.speed


def simulation(size: int) -> float:
    """Objects of a class of one's own, a method each."""
    bodies = [_Body(number % 7, 1 + number % 3) for number in range(20)]
    for _ in range(size // 80):
        for body in bodies:
            body.move(0.01)
    return sum(body.place for body in bodies)


def containers(size: int) -> int:
    """Dictionaries and lists."""
    counts: dict[int, int] = {}
    for number in range(size // 3):
        key = number % 97
        counts[key] = counts.get(key, 0) + 1
    return len(sorted(counts))


def recursion(size: int) -> int:
    """Calls of itself, each with few lines."""

    def count(left: int) -> int:
        if left < 2:
            return 1
        half = left // 2
        return count(half) + count(left - half)

    return count(size // 6)


def generators(size: int) -> int:
    """A generator that is resumed for each number."""

    def squares(count: int) -> Iterator[int]:
        number = 0
        while number < count:
            yield number * number
            number += 1

    total = 0
    for square in squares(size // 5):
        total += square
    return total


def comprehensions(size: int) -> int:
    """Lists made from lists."""
    total = 0
    for _ in range(size // 50):
        total += len([number * 2 for number in range(48)])
    return total


def errors(size: int) -> int:
    """Exceptions that the program itself catches."""
    known, missing = {number: number for number in range(50)}, 0
    for number in range(size // 4):
        try:
            missing -= known[number % 100]
        except KeyError:
            missing += 1
    return missing


def arrays(size: int) -> float:
    """numpy, one number at a time."""
    import numpy as np

    found = np.zeros(100)
    for number in range(size // 2):
        found[number % 100] += number
    return float(found.sum())


FAMILIES: dict[str, Callable[[int], float]] = {
    one.__name__: one
    for one in (
        tokenizer,
        simulation,
        containers,
        recursion,
        generators,
        comprehensions,
        errors,
        arrays,
    )
}


class _Texts(Dataset[tuple[Tensor, int]]):
    def __init__(self, count: int) -> None:
        words = ["a", "graph", "of", "nodes", "that", "backward", "runs", "and", "each", "leaf"]
        self.texts = [" ".join(words[number % 5 :] * 6) for number in range(count)]
        self.known: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        numbers = []
        for word in self.texts[place].split():
            numbers.append(_number_of(word, self.known))
        while len(numbers) < 64:
            numbers.append(0)
        return torch.tensor(numbers[:64]), place % 2


class _Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(64, 32)
        self.hidden = nn.Linear(32, 64)
        self.last = nn.Linear(64, 2)

    def forward(self, numbers: Tensor) -> Tensor:
        h = self.table(numbers).mean(1)
        h = self.hidden(h).relu()
        out: Tensor = self.last(h)
        return out


class _Meter:
    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def update(self, value: float, count: int) -> None:
        self.total += value * count
        self.count += count

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)


def epoch(texts: int) -> Callable[[], Any]:
    """Batches of 16 texts of a Dataset of one's own, Adam, meters."""
    torch.manual_seed(0)
    model, loader = _Classifier(), DataLoader(_Texts(texts), batch_size=16)
    optimizer = torch.optim.Adam(model.parameters())

    def one() -> float:
        losses, right = _Meter(), _Meter()
        for numbers, labels in loader:
            out = model(numbers)
            loss = cross_entropy(out, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.update(loss.item(), len(labels))
            right.update((out.argmax(1) == labels).float().mean().item(), len(labels))
        return losses.mean + right.mean

    return one
