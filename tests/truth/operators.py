"""Compare snapshots with torch for operators and modules of torch's own test databases.

Run as a program in a process of its own: an operator that kills the interpreter then loses only
its batch, and torch's test code, which sets global flags of torch, stays out of other tests.
``python -m tests.truth.operators NAME...`` prints JSON lines; ``--names`` prints all names, and
``--every N`` before names adds each N-th of all.
"""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map

import gradviz
from tests.truth.compare import check
from tests.truth.walk import Note, all_nodes, notes_of, noting_saves, pairs, root_of
from tests.view.graphs import not_once

SAMPLES = 3
"""Samples of each operator and dtype."""
MODULE_PREFIX = "module "


class Tally:
    """What was looked at for one operator."""

    def __init__(self) -> None:
        self.graphs = 0
        self.nodes = 0
        self.classes: set[str] = set()
        self.problems: list[str] = []


def operators() -> dict[str, Any]:
    """Every entry of ``op_db`` that supports autograd, by its full name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.full_name: op for op in op_db if op.supports_autograd}


def modules() -> dict[str, Any]:
    """Every entry of ``module_db``, by names such as ``module Linear``."""
    from torch.testing._internal.common_modules import module_db

    return {MODULE_PREFIX + info.name.removeprefix("nn."): info for info in module_db}


# --- operators ------------------------------------------------------------------------------


def dtypes_of(op: Any) -> list[torch.dtype]:
    known = op.supported_backward_dtypes("cpu") & op.supported_dtypes("cpu")
    wanted = [d for d in (torch.float64, torch.complex128) if d in known]
    others = (torch.float32, torch.complex64, torch.float16, torch.bfloat16)
    return wanted or [d for d in others if d in known][:1]


def look_at_operator(op: Any, tally: Tally) -> None:
    for dtype in dtypes_of(op):
        samples = op.sample_inputs("cpu", dtype, requires_grad=True)
        for i, sample in enumerate(islice(samples, SAMPLES)):
            where = f"{op.full_name} {dtype} sample {i}"
            arguments = (sample.input, sample.args, sample.kwargs)
            look(where, lambda a: op(a[0], *a[1], **a[2]), arguments, tally)
            inplace = op.get_inplace()
            if i == 0 and inplace is not None and not sample.broadcasts_input:
                look(f"{where} in place", on_a_copy(inplace), arguments, tally)


def on_a_copy(inplace: Callable[..., Any]) -> Callable[[Any], Any]:
    def run(arguments: Any) -> Any:
        first, rest, keywords = arguments
        return inplace(tree_map(copied, first), *rest, **keywords)

    return run


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def look(where: str, run: Callable[[Any], Any], arguments: Any, tally: Tally) -> None:
    """Run, and compare before and after backward, and on the graph of the gradients."""
    try:
        used = fresh(arguments)
        outputs = with_graph(run(used))
    except Exception:
        if "in place" in where:
            return  # samples are made for the other variant
        raise
    if not outputs:
        return
    names = {f"input{i}": t for i, t in enumerate(tensors_in(used))}
    try:
        graph = gradviz.snapshot(*outputs, names=names)
        notes = second_run(graph, run, arguments)
        tally_up(tally, graph, check(graph, outputs, names, notes))
        assert not not_once(graph)
        look_at_gradients(outputs, names, tally)
        run_backward(outputs)
        graph = gradviz.snapshot(*outputs, names=names)
        tally_up(tally, graph, check(graph, outputs, names))
    except Exception as error:
        tally.problems.append(f"{where}: {type(error).__name__}: {str(error)[:600]}")


def fresh(arguments: Any) -> Any:
    """Arguments for one run: constants and modules are copied, so that versions start at 0."""

    def again(value: Any) -> Any:
        if isinstance(value, torch.nn.Module):
            return copy.deepcopy(value)
        is_constant = isinstance(value, Tensor) and not value.requires_grad
        return value.clone() if is_constant else value

    return tree_map(again, arguments)


def tally_up(tally: Tally, graph: gradviz.Graph, live: dict[str, Any]) -> None:
    roots = [live[node_id] for node_id, _ in graph.roots]
    assert len(all_nodes(roots)) == len(graph)
    tally.graphs += 1
    tally.nodes += len(graph)
    tally.classes |= {node.name for node in graph.nodes}


def with_graph(value: Any) -> list[Tensor]:
    return [t for t in tensors_in(value) if t.requires_grad]


def tensors_in(value: Any) -> list[Tensor]:
    found = [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, Tensor)]
    return list({id(t): t for t in found}.values())


def second_run(
    graph: gradviz.Graph, run: Callable[[Any], Any], arguments: Any
) -> dict[str, dict[str, Note | None]] | None:
    """Notes of what is saved, if the same graph can be made under hooks."""
    try:
        with noting_saves():
            outputs = with_graph(run(fresh(arguments)))
        live = pairs(graph, [root_of(output) for output in outputs])
    except Exception:
        return None
    return {node_id: notes_of(node) for node_id, node in live.items()}


def look_at_gradients(outputs: Sequence[Tensor], names: dict[str, Tensor], tally: Tally) -> None:
    inputs = [t for t in names.values() if t.requires_grad and t.is_leaf]
    try:
        grads = torch.autograd.grad(
            outputs,
            inputs,
            [ones(t) for t in outputs],
            create_graph=True,
            allow_unused=True,
        )
    except (RuntimeError, NotImplementedError):
        return
    roots = [g for g in grads if g is not None and g.grad_fn is not None]
    if roots:
        graph = gradviz.snapshot(*roots, names=names)
        tally_up(tally, graph, check(graph, roots, names))


def ones(tensor: Tensor) -> Tensor:
    return torch.ones_like(tensor)


def run_backward(outputs: Sequence[Tensor]) -> None:
    # What cannot run to its end has freed what has run until then.
    with contextlib.suppress(RuntimeError, NotImplementedError):
        torch.autograd.backward(outputs, [ones(t) for t in outputs])


# --- modules --------------------------------------------------------------------------------


def look_at_module(info: Any, tally: Tally) -> None:
    dtype = torch.float64 if torch.float64 in info.dtypes else info.dtypes[0]
    for training in sorted({True, False} if info.train_and_eval_differ else {True}):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=True, training=training
        )
        for i, one in enumerate(islice(inputs, SAMPLES)):
            if one.forward_input is None:
                continue
            made = one.constructor_input
            module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
            arguments = (one.forward_input.args, one.forward_input.kwargs, module)
            where = f"{info.name} sample {i} {'training' if training else 'evaluating'}"
            look(where, lambda a: a[2](*a[0], **a[1]), arguments, tally)


def report(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    known = operators()
    if any(name.startswith(MODULE_PREFIX) for name in names):
        known |= modules()
    for name in names:
        yield {"started": name}
        tally = Tally()
        torch.manual_seed(0)
        try:
            if name.startswith(MODULE_PREFIX):
                look_at_module(known[name], tally)
            else:
                look_at_operator(known[name], tally)
        except Exception as error:
            tally.problems.append(f"{name} did not run: {type(error).__name__}: {error}"[:600])
        yield {"name": name, **vars(tally), "classes": sorted(tally.classes)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[1:] == ["--names"]:
        print(json.dumps([*operators(), *modules()]))
    else:
        names: Sequence[str] = sys.argv[1:]
        if names[:1] == ["--every"]:
            names = [*names[2:], *[*operators(), *modules()][:: int(names[1])]]
        for line in report(list(dict.fromkeys(names))):
            print(json.dumps(line), flush=True)
