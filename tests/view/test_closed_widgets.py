from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
import torch
from ipywidgets.widgets import widget as registry

import gradviz
from gradviz.teach.explorer import Explorer


def loss() -> torch.Tensor:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).sum()


def linear() -> tuple[torch.Tensor, torch.nn.Module]:
    model = torch.nn.Linear(2, 1)
    return model(torch.ones(2)).sum(), model


def recorded() -> gradviz.Recording:
    with gradviz.record() as recording:
        loss().backward()
    return recording


def explained() -> Any:
    once = loss()
    once.backward()
    with gradviz.expect_error() as error:
        once.backward()
    return gradviz.show(error)


SHOWN: dict[str, Callable[[], Any]] = {
    "picture": lambda: gradviz.show(loss()),
    "player": lambda: gradviz.show(recorded()),
    "explanation": explained,
    "audit": lambda: gradviz.audit(*linear()),
    "memory": lambda: gradviz.memory(loss()),
    "compare": lambda: gradviz.compare(gradviz.snapshot(loss()), gradviz.snapshot(loss() * 2)),
    "explore": lambda: gradviz.explore(lambda a: a * a, a=2.0),
}


def test_a_closed_widget_leaves_nothing_behind() -> None:
    before = set(registry._instances)
    for make in SHOWN.values():
        make().close()
    assert set(registry._instances) == before


def test_a_closed_widget_says_so_and_nothing_keeps_it(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for name, make in SHOWN.items():
        with subtests.test(name):
            shown = make()
            found = weakref.ref(shown)
            shown.close()
            assert_says_so(shown, tmp_path / "x.svg")
            del shown
            gc.collect()
            assert found() is None


def assert_says_so(shown: Any, file: Path) -> None:
    shown.close()
    assert str(shown).endswith("(closed)")
    with pytest.raises(gradviz.GradvizError, match=r"was closed.* again"):
        shown.reset() if isinstance(shown, Explorer) else shown.save(file)


def test_a_closed_widget_that_is_still_named_holds_no_document() -> None:
    for shown in (SHOWN["picture"](), SHOWN["player"](), SHOWN["audit"]()):
        shown.close()
        assert len(str(shown.wire)) < 100


def test_what_a_closed_widget_showed_is_freed_though_the_widget_is_named() -> None:
    player = SHOWN["player"]()
    animation = weakref.ref(player._opening)
    player.close()
    gc.collect()
    assert animation() is None
    with pytest.raises(gradviz.GradvizError, match=r"was closed.*gradviz\.show"):
        _ = player.recording


def test_the_recording_of_a_closed_player_can_be_shown_again() -> None:
    recording = recorded()
    gradviz.show(recording).close()
    assert str(gradviz.show(recording)) == recording.outline(full=True)


def test_all_widgets_of_a_notebook_are_closed_at_once() -> None:
    many = [make() for make in SHOWN.values()]
    for one in many:
        one._repr_mimebundle_()
    ipywidgets.Widget.close_all()
    assert all(str(one).endswith("(closed)") for one in many)
