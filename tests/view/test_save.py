"""All objects that can be saved refuse an animation where there is nothing to play."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model import OptionError
from gradviz.view.widgets.player import Player
from tests.view.recordings import product


def picture() -> Any:
    x = torch.ones(2, requires_grad=True)
    return gradviz.show((x * x).sum())


def explained() -> Any:
    w = torch.ones(2, requires_grad=True)
    with gradviz.expect_error(record=False) as error:
        h = w.exp()
        h.add_(1)
        h.sum().backward()
    return gradviz.show(error)


def report() -> Any:
    w = torch.ones(2, requires_grad=True)
    return gradviz.audit((w * w).sum(), {"w": w})


def explorer() -> Any:
    return gradviz.explore(lambda a=2.0: (a * a).sum(), a=2.0)


SAVED: dict[str, Callable[[], Any]] = {
    **{made.__name__: made for made in (picture, explained, report, explorer)},
    "filmstrip": lambda: Player(product()).filmstrip([1]),
}


def test_an_animation_of_what_is_no_recording_is_refused_with_what_to_type(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("x.svg", {"animated": True}),
        ("x.svg", {"stops": [1]}),
        ("x.svg", {"seconds": 2}),
        ("x.gif", {}),
        ("x.apng", {}),
    ]
    for file, options in asked:
        for name in SAVED:
            with subtests.test(file=file, options=options, name=name):
                with pytest.raises(
                    OptionError, match=r"gradviz\.record\(\).*save\('steps\.svg', animated=T"
                ):
                    SAVED[name]().save(tmp_path / file, **options)
                assert not (tmp_path / file).exists()


def test_a_picture_that_does_not_move_is_saved_with_animated_false(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for name in SAVED:
        with subtests.test(name=name):
            SAVED[name]().save(tmp_path / "x.svg", animated=False)
            assert "<svg" in (tmp_path / "x.svg").read_text()
