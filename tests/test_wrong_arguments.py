"""What was typed wrongly is said, with what to type instead: no error of Python's own comes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz

LOSS = (torch.ones(2, requires_grad=True) ** 2).sum()
GIVEN: Any = gradviz  # as a person calls it, whose arguments no type checker sees


def program(a: Any = 1.0) -> Any:
    return a


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "predict without a question": (
        lambda: GIVEN.predict(program),
        '@gradviz.predict("What is `a.grad`?", typed="a.grad")',
    ),
    "repair without an exercise": (
        lambda: GIVEN.repair(program),
        '@gradviz.repair("add-in-place")',
    ),
    "a solution that is no function": (
        lambda: GIVEN.repair(solution=3),
        "solution=3 must be a function",
    ),
    "a number as a document": (lambda: GIVEN.Recording.from_json(3), "recording.to_json() writes"),
    "bytes as a document": (lambda: GIVEN.Graph.from_json(b"{}"), "graph.to_json() writes"),
    "a path as a document": (lambda: GIVEN.Graph.from_json(Path("x")), ".read_text())"),
    "a text that is no JSON": (lambda: GIVEN.Graph.from_json("["), "this is not JSON"),
    "a document of others": (lambda: GIVEN.Recording.from_json("{}"), "Its format is null"),
    "names that are no names": (
        lambda: GIVEN.make_dot(LOSS, params=3),
        "params=dict(model.named_parameters())",
    ),
    "nothing to record into": (lambda: GIVEN.record(LOSS), "into=[my_function]"),
    "values of a graph": (lambda: GIVEN.show(LOSS, values="yes"), "must be True, False or None"),
    "values of a recording": (lambda: GIVEN.record(values="yes"), "must be True or False"),
    "a folder that is not there": (
        lambda: GIVEN.show(LOSS).save("no such folder/x.svg"),
        "there is no folder 'no such folder'. Make it first",
    ),
    **{
        f"None to {name}": (partial(getattr(GIVEN, name), None), f"gradviz.{name}(loss)")
        for name in ("make_dot", "memory", "show", "snapshot")
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_said_with_what_to_type(name: str) -> None:
    call, said = WRONG[name]
    with pytest.raises(gradviz.GradvizError) as raised:
        call()
    assert said in str(raised.value)
