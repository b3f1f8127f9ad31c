"""What was typed wrongly is said, with what to type instead: no error of Python's own comes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz import _MODULES
from tests.each import each

LOSS = (torch.ones(2, requires_grad=True) ** 2).sum()
GIVEN: Any = gradviz  # as a person calls it, whose arguments no type checker sees


with gradviz.record() as RECORDING:
    _ = LOSS * 1
PICTURE = GIVEN.show(LOSS)


class WrongType:
    pass


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
    "no name of a file": (lambda: PICTURE.save("a\0.svg"), "save('graph.svg')"),
    "bytes as the name of a file": (lambda: PICTURE.save(b"x.svg"), "path=b'x.svg'"),
    "a height that is none": (lambda: setattr(PICTURE, "height", "x"), ".height = 0"),
    "a step that is not there": (lambda: RECORDING.graph_at(99), "indices 0 to"),
    "a folder that is not there": (
        lambda: GIVEN.show(LOSS).save("no such folder/x.svg"),
        "there is no folder 'no such folder'. Make it first",
    ),
    **{
        f"None to {name}": (partial(getattr(GIVEN, name), None), f"gradviz.{name}(loss)")
        for name in ("make_dot", "memory", "show", "snapshot")
    },
}


ANYTHING = ("close", "place_of", "uses_outside", "with_modules", "id_at", "nearest")
"""Methods that take anything, and those of graphs that views alone call."""


def public() -> dict[str, Callable[..., Any]]:
    """Every public function and method; those of ``check`` have tests of their own."""
    functions = {name: getattr(GIVEN, name) for name in _MODULES if name != "hint"}
    functions["predict"] = functions["predict"].__call__
    for shown in (PICTURE, PICTURE.graph, RECORDING, GIVEN.show(RECORDING), GIVEN.memory(LOSS)):
        for name, one in vars(type(shown)).items():
            if inspect.isfunction(one) and name[0] != "_" and name not in ANYTHING:
                functions[f"{type(shown).__name__}.{name}"] = getattr(shown, name)
    return functions


PUBLIC = public()
GIVEN_TOO: dict[str, Any] = {
    **dict.fromkeys(("loss", "var", "before", "after", "what", "outputs"), LOSS),
    "model": nn.Linear(1, 1),
    "recording": RECORDING,
    "function": program,
    "path": "x.html",
    "node_id": "n0",
    "count": 1,
    "question": "?",
    "typed": "a.grad",
    "exercise": "",
    "goal": "?",
    "solution": program,
}


@each("name", PUBLIC)
def test_a_wrong_type_is_said_of_every_argument_of_every_public_function(name: str) -> None:
    function = PUBLIC[name]
    parameters = inspect.signature(function).parameters
    for wrong in parameters.values():
        args, named = list[Any](), dict[str, Any]()
        for one in parameters.values():
            value = WrongType() if one is wrong else GIVEN_TOO.get(one.name)
            if one is wrong or one.name in GIVEN_TOO:
                if one.kind in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL):
                    args.append(value)
                else:
                    named[one.name] = value
        with pytest.raises(gradviz.GradvizError) as raised:
            function(*args, **named)
        said = str(raised.value)
        assert wrong.name.rpartition("_")[2] in said or "WrongType" in said, (wrong.name, said)


@each("name", WRONG)
def test_it_is_said_with_what_to_type(name: str) -> None:
    call, said = WRONG[name]
    with pytest.raises(gradviz.GradvizError) as raised:
        call()
    assert said in str(raised.value)
