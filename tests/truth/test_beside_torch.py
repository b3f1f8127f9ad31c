"""torch's own installed databases and common tools give the same beside a recording.

``python -m tests.truth.test_beside_torch NAME...`` runs some of them in a process of its own, since
torch's test code and compilers set global flags of torch, and prints what differs as JSON.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from tests.truth import recorded, tools
from tests.truth.operators import modules
from tests.truth.recorded import Seen, Story
from tests.truth.test_recording_operators import operator_stories
from tests.truth.test_recording_operators import stories as module_stories

OPTIMIZER_PREFIX = "optimizer "
CUSTOM_PREFIX = "custom op "
HIGHER_ORDER_PREFIX = "higher-order op "
PART = 24
"""One of so many entries of the databases is run on every push, but no higher-order operator."""


# --- tools ----------------------------------------------------------------------------------


def story_of(run: Callable[[], Any]) -> Story:
    def story(block: Any, seen: Seen) -> None:
        with block:
            found = run()
        seen["outcome"] = described(found)

    return story


def described(value: Any) -> Any:
    """Values bit for bit, flags and versions."""
    return tree_map(lambda one: recorded.facts(one) if isinstance(one, Tensor) else one, value)


@pytest.mark.parametrize("name", tools.TOOLS)
def test_a_tool_of_torch_gives_the_same_beside_a_recording(name: str) -> None:
    recorded.assert_same(story_of(tools.TOOLS[name]), values=[True])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", tools.HEAVY)
def test_a_tool_that_starts_processes_or_compiles_gives_the_same(name: str) -> None:
    found = run(name)
    assert found["problems"] == []
    assert found["runs"] == 1


@pytest.mark.exhaustive
def test_processes_that_learn_in_parallel_learn_the_same() -> None:
    assert run("parallel") == {"problems": [], "runs": 1}


# --- databases ------------------------------------------------------------------------------


def optimizer_stories(info: Any) -> Iterator[Story]:
    for given in info.optim_inputs_func(device="cpu"):
        if given.params is None:
            yield optimizer_story(info, given.kwargs)


def optimizer_story(info: Any, settings: dict[str, Any]) -> Story:
    def story(block: Any, seen: Seen) -> None:
        # Muon takes matrices only.
        net = nn.Sequential(*[nn.Linear(3, 3, bias=False) for _ in range(2)])
        x = torch.linspace(-1, 1, 6).reshape(2, 3)
        optimizer = info.optim_cls(net.parameters(), **tree_map(fresh, settings))

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss: Tensor = net(x).square().sum()
            loss.backward()
            if info.only_supports_sparse_grads:
                for parameter in net.parameters():
                    assert parameter.grad is not None
                    parameter.grad = parameter.grad.to_sparse()
            return loss

        with block:
            for _ in range(3):
                if info.step_requires_closure:
                    optimizer.step(closure)
                else:
                    closure()
                    optimizer.step()
        seen["parameters"] = described(list(net.parameters()))
        seen["state"] = described(optimizer.state_dict())

    return story


def fresh(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def database_stories() -> dict[str, Callable[[], Iterator[Story]]]:
    """All entries of torch's databases that no other test runs.

    Left out are entries that put a hook on their inputs: each run leaves one more.
    """
    from torch.testing._internal.common_optimizers import optim_db
    from torch.testing._internal.custom_op_db import custom_op_db
    from torch.testing._internal.hop_db import hop_db

    found: dict[str, Callable[[], Iterator[Story]]] = {}
    for name in modules():
        found[name] = partial(module_stories, name)
    for info in optim_db:
        found[f"{OPTIMIZER_PREFIX}{vars(info)['optim_cls'].__name__}"] = partial(
            optimizer_stories, info
        )
    for prefix, ops in ((CUSTOM_PREFIX, custom_op_db), (HIGHER_ORDER_PREFIX, hop_db)):
        for op in ops:
            if "register_hook" not in op.full_name:
                found[prefix + op.full_name] = partial(operator_stories, op, torch.float32)
    return found


def run(*arguments: str) -> Any:
    return recorded.run_alone("tests.truth.test_beside_torch", *arguments)


@pytest.mark.slow
def test_a_part_of_torchs_databases_runs_the_same_beside_a_recording() -> None:
    found = run("--part")
    assert found["problems"] == []
    assert found["runs"] > 10


@pytest.mark.exhaustive
def test_torchs_databases_run_the_same_beside_a_recording() -> None:
    found = run("--all")
    assert found["problems"] == []
    assert found["runs"] > 300


def main(names: Sequence[str]) -> dict[str, Any]:
    if names == ["parallel"]:
        same = tools.parallel_outcomes(False) == tools.parallel_outcomes(True)
        return {"problems": [] if same else ["parallel: other gradients"], "runs": 1}
    if names in (["--all"], ["--part"]):
        database = database_stories()
        chosen = list(database)
        if names == ["--part"]:
            chosen = [name for name in chosen if not name.startswith(HIGHER_ORDER_PREFIX)][::PART]
        found = [(name, story) for name in chosen for story in database[name]()]
    else:
        found = [(name, story_of(tools.HEAVY[name])) for name in names]
    problems: list[str] = []
    runs = 0
    for name, story in found:
        torch.manual_seed(0)
        # Some entries of databases need what this machine has not.
        if recorded.error_of(story, recorded.plain(), {}) is None:
            runs += 1
            problems += recorded.problems_of(name, story)
    return {"problems": problems, "runs": runs}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps(main(sys.argv[1:])))
