"""Trees of ``gradviz.model.derivatives`` computed by torch, and compared with torch's own backward.

The tree is the one that the text of a card is made from. Saved tensors and gradients are those of
the live node; each operation is one of torch's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import torch
from torch import Tensor

import gradviz
from gradviz.model.derivatives import gradient_of
from gradviz.model.derivatives.arithmetic import Numbers, numbers_of
from gradviz.model.derivatives.expression import Expression
from gradviz.model.records import Node
from tests.truth.walk import pairs, root_of


def computed(tree: Expression, leaf: Callable[[Expression], Any]) -> Any:
    """The tree with torch's operations; ``leaf`` has the gradients and saved tensors."""
    if tree.operator in ("grad", "saved"):
        return leaf(tree)
    if tree.operator == "number":
        return tree.options[0]
    operands = [computed(part, leaf) for part in tree.operands]
    return OPERATIONS[tree.operator](operands, *tree.options)


def placed(value: Tensor, shape: Sequence[int], dim: int, index: Any) -> Tensor:
    zeros = value.new_zeros(shape)
    chosen = slice(*index) if isinstance(index, tuple) else index
    zeros[(slice(None),) * dim + (chosen,)] = value
    return zeros


def part(value: Tensor, ndim: int, dim: int, index: Any) -> Tensor:
    chosen = slice(*index) if isinstance(index, tuple) else index
    return value[(slice(None),) * dim + (chosen,)]


def with_dims(value: Tensor, *dims: int) -> Tensor:
    ndim = value.dim() + len(dims)
    for dim in sorted(d % ndim for d in dims):
        value = value.unsqueeze(dim)
    return value


def expanded(value: Any, sizes: Any, dims: Any, keep: bool) -> Tensor:
    value = torch.as_tensor(value)
    return (value if keep else with_dims(value, *dims)).expand(sizes)


def summed_to(value: Tensor, shape: Sequence[int]) -> Tensor:
    return value.sum_to_size(tuple(shape))


def on_diagonal(value: Tensor, shape: Sequence[int], offset: int, one: int, other: int) -> Tensor:
    zeros = value.new_zeros(shape)
    zeros.diagonal(offset, one, other).copy_(value)
    return zeros


def scattered(value: Tensor, index: Tensor, dim: int, shape: Sequence[int]) -> Tensor:
    zeros = value.new_zeros(shape)
    return zeros.scatter_add(dim, index, value.expand(index.shape)) if shape else value


def added_at(value: Tensor, index: Tensor, dim: int, shape: Sequence[int]) -> Tensor:
    if not shape:
        return value.reshape(())
    flat = value.flatten(dim, dim + index.dim() - 1) if index.dim() else value.unsqueeze(dim)
    return value.new_zeros(shape).index_add(dim, index.reshape(-1), flat)


def of_target(value: Tensor, target: Tensor, kind: str, ignored: int, shape: Any = ()) -> Tensor:
    kept = target != ignored
    index = target.where(kept, 0)
    if kind == "row":
        return value[index].where(kept, 0)
    value = torch.as_tensor(value).expand(target.shape).where(kept, 0)
    dim = 0 if len(shape) == 1 else 1
    return value.new_zeros(shape).scatter(dim, index.unsqueeze(dim), value.unsqueeze(dim))


def product_of_others(value: Tensor, dims: Sequence[int]) -> Tensor:
    flat = value.movedim(dims[0], -1) if dims else value.reshape(-1)
    same = torch.eye(flat.shape[-1], dtype=torch.bool)
    others = flat.unsqueeze(-2).expand(*flat.shape[:-1], *same.shape).masked_fill(same, 1).prod(-1)
    return others.movedim(-1, dims[0]) if dims else others.reshape(value.shape)


def reduced(name: str) -> Callable[..., Tensor]:
    def run(operands: list[Tensor], dims: tuple[int, ...], keep: bool = False) -> Tensor:
        value = operands[0].double() if operands[0].dtype == torch.bool else operands[0]
        result: Tensor = getattr(value, name)(dims or tuple(range(value.dim())), keepdim=keep)
        return result

    return run


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **{name: getattr(torch, name) for name in ("exp", "log", "sin", "cos", "sinh", "cosh")},
    **{name: getattr(torch, name) for name in ("sqrt", "sign", "abs", "sigmoid")},
    "cdf": torch.special.ndtr,
    "pdf": lambda x: torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
}

OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x[0],
    "add": lambda x: x[0] + x[1],
    "sub": lambda x: x[0] - x[1],
    "mul": lambda x: x[0] * x[1],
    "div": lambda x: x[0] / x[1],
    "pow": lambda x: x[0] ** x[1],
    "maximum": lambda x: x[0].clamp(min=x[1]),
    "greater": lambda x: x[0] > x[1],
    "less": lambda x: x[0] < x[1],
    "over limit": lambda x: x[0] > x[1],
    "under limit": lambda x: x[0] < x[1],
    "at least": lambda x: x[0] >= x[1],
    "at most": lambda x: x[0] <= x[1],
    "equal": lambda x: x[0] == x[1],
    "and": lambda x: x[0] & x[1],
    "not": lambda x: ~x[0],
    "where": lambda x: torch.where(x[0].bool(), x[1], x[2]),
    "function": lambda x, name: FUNCTIONS[name](torch.as_tensor(x[0])),
    "matmul": lambda x: x[0] @ x[1],
    "transposed": lambda x: x[0].mT if x[0].dim() > 1 else x[0],
    "outer": lambda x: torch.outer(*x),
    "sum": reduced("sum"),
    "mean": reduced("mean"),
    "count": reduced("sum"),
    "product of others": lambda x, dims: product_of_others(x[0], dims),
    "sum onward": lambda x, dim: x[0].flip(dim).cumsum(dim).flip(dim),
    "summed to": lambda x, shape: summed_to(x[0], shape),
    "expanded": lambda x, *options: expanded(x[0], *options),
    "reshaped": lambda x, shape: x[0].reshape(shape),
    "permuted": lambda x, *dims: x[0].permute(dims),
    "swapped": lambda x, one, other: x[0].transpose(one, other),
    "with dims": lambda x, *dims: with_dims(x[0], *dims),
    "flipped": lambda x, *dims: x[0].flip(dims),
    "rolled": lambda x, shifts, dims: x[0].roll(shifts, dims),
    "lower": lambda x, start: x[0].tril(start),
    "upper": lambda x, start: x[0].triu(start),
    "part": lambda x, *options: part(x[0], *options),
    "placed": lambda x, *options: placed(x[0], *options),
    "on diagonal": lambda x, *options: on_diagonal(x[0], *options),
    "gathered": lambda x, dim: x[0].gather(dim, x[1]),
    "scattered": lambda x, dim, shape: scattered(x[0], x[1], dim, shape),
    "added at": lambda x, dim, shape: added_at(x[0], x[1], dim, shape),
    "of target": lambda x, *options: of_target(x[0], x[1], *options),
    "joined": lambda x, dim: torch.cat(x, dim),
    "stacked": lambda x, dim: torch.stack(x, dim),
    "let": lambda x, name: x[0],
}
"""Each operation of a tree as torch does it."""


@dataclass
class Seen:
    """What a look at graphs has found."""

    trees: dict[str, int] = field(default_factory=dict)
    """How often the tree of an argument was computed and agreed: ``"Mul.self"``."""
    words: dict[str, str] = field(default_factory=dict)
    """What is said of an argument without a tree."""
    calculated: dict[str, int] = field(default_factory=dict)
    """How often its numbers were computed without torch too."""
    texts: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def compare_with_backward(outputs: Sequence[Tensor], seen: Seen) -> None:
    """Run backward, and compute the tree of each argument of each node while it runs."""
    graph = gradviz.snapshot(*outputs)
    live = pairs(graph, [root_of(output) for output in outputs])
    handles = []
    for node in graph.nodes:
        shapes = shapes_behind(node, graph)
        if node.next_functions:
            hook = comparing(node, live[node.id], shapes, seen)
            handles.append(live[node.id].register_hook(hook))
    try:
        start = [torch.rand_like(output) + 0.5 for output in outputs]
        torch.autograd.backward(outputs, start, retain_graph=True)
    finally:
        for handle in handles:
            handle.remove()


def shapes_behind(node: Node, graph: gradviz.Graph) -> list[tuple[int, ...] | None]:
    found: list[tuple[int, ...] | None] = []
    for entry in node.next_functions:
        shapes = () if entry is None else graph[entry[0]].output_shapes
        found.append(shapes[entry[1]] if entry and entry[1] < len(shapes) else None)
    return found


def comparing(node: Node, live: Any, shapes: Any, seen: Seen) -> Callable[[Any, Any], None]:
    def compare(grad_inputs: Sequence[Any], grad_outputs: Sequence[Any]) -> None:
        for place, entry in enumerate(node.next_functions):
            if entry is None:
                continue
            name = (
                f"{node.name}.{(node.arguments + (None,) * 9)[place] if node.arguments else place}"
            )
            name = name.split("[")[0]
            found = gradient_of(node, place, shapes)
            seen.texts.add(f"{name}: {found.words}")
            if found.tree is None:
                seen.words[name] = found.words
                continue
            problem = difference(found.tree, live, node, grad_inputs[place], grad_outputs)
            if problem is None:
                seen.trees[name] = seen.trees.get(name, 0) + 1
                problem = wrong_numbers(
                    found.tree, live, grad_inputs[place], grad_outputs, name, seen
                )
                seen.problems += [f"{name}: {found.words}: {problem}"] if problem else []
            else:
                about = f"{found.words} of {node.output_shapes} {shapes} {node.attributes}"
                seen.problems.append(f"{name}: {about}: {problem}")

    return compare


def difference(
    tree: Expression, live: Any, node: Node, expected: Any, grad_outputs: Sequence[Any]
) -> str | None:
    """How the tree differs from the gradient that torch has computed; ``None`` if it does not."""

    def leaf(part: Expression) -> Any:
        if part.operator == "saved":
            return getattr(live, f"_saved_{part.options[0]}")
        number: Any = part.options[0] if part.options else 0
        grad = grad_outputs[number]
        shape = node.output_shapes[number]
        return torch.zeros(shape or (), dtype=expected.dtype) if grad is None else grad

    if expected is None:
        return None
    with torch.no_grad():
        try:
            found = torch.as_tensor(computed(tree, leaf), dtype=expected.dtype)
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]
        if tree.operator == "number":
            found = found.expand(expected.shape)
        if found.shape != expected.shape:
            return f"shape {tuple(found.shape)}, expected {tuple(expected.shape)}"
        # Comparisons with nan are false, in a tree and in torch, but not the same ones.
        unknown = expected.isnan() | at_a_limit(tree, leaf)
        close = unknown | torch.isclose(found, expected, *TOLERANCE[expected.dtype], equal_nan=True)
        if not close.all():
            return f"{found[~close][:3].tolist()}, expected {expected[~close][:3].tolist()}"
    return None


def at_a_limit(tree: Expression, leaf: Callable[[Expression], Any]) -> Any:
    """Where a tree says nothing, since it differs between releases of torch."""
    if tree.operator in ("over limit", "under limit"):
        one, limit = (computed(part, leaf) for part in tree.operands)
        return torch.as_tensor(one == limit)
    masks = [at_a_limit(part, leaf) for part in tree.operands]
    return reduce(operator.or_, masks, torch.tensor(False))


def wrong_numbers(
    tree: Expression, live: Any, expected: Any, grads: Sequence[Any], name: str, seen: Seen
) -> str | None:
    """How the numbers that a caption would compute differ from torch's; ``None`` if they agree."""

    def leaf(part: Expression) -> Numbers | None:
        number: Any = part.options[0] if part.options else 0
        is_grad = part.operator == "grad"
        value = grads[number] if is_grad else getattr(live, f"_saved_{part.options[0]}")
        if value is None or value.numel() > 8 or value.is_complex():
            return None
        return Numbers(tuple(map(float, value.reshape(-1).tolist())), tuple(value.shape))

    if expected is None or expected.numel() > 8 or expected.is_complex() or expected.isnan().any():
        return None
    found = numbers_of(tree, leaf)
    if found is None:
        return None
    seen.calculated[name] = seen.calculated.get(name, 0) + 1
    if tree.operator != "number" and found.shape != tuple(expected.shape):
        return f"calculated shape {found.shape}, expected {tuple(expected.shape)}"
    values = torch.tensor(found.values, dtype=torch.float64).reshape(found.shape)
    close = torch.isclose(values, expected.double(), *TOLERANCE[expected.dtype])
    return None if close.all() else f"calculated {found.values}, expected {expected.tolist()}"


TOLERANCE = {
    torch.float64: (1e-7, 1e-11),  # torch's sixth in hardsigmoid has single precision
    torch.float32: (1e-4, 1e-5),
    torch.float16: (2e-2, 2e-2),
    torch.bfloat16: (5e-2, 5e-2),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-9, 1e-11),
}
