"""What a cell has of a recording, and what follows after it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model import Recording, UnknownNodeError
from gradviz.view.widgets import after_cell
from gradviz.view.widgets.base import GraphWidget
from gradviz.view.widgets.player import Player
from tests.view.explanations import FREED, SILENT, explained
from tests.view.recordings import ALL, product
from tests.view.test_folded_recordings import RECORDINGS
from tests.view.test_recording_document import at_every_step

OTHERS = {"folded": RECORDINGS[2], "explained": explained(SILENT, FREED)}
NAMES = [*ALL, *OTHERS]


def recording_of(name: str) -> Recording:
    return ALL.get(name) or OTHERS[name]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GraphWidget, "is_answered", True)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run it in a loop of its own, and so in a thread: in that of the tests one may go on."""
    alone(lambda: asyncio.run(work()))


def alone(work: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


async def ended(player: Player) -> None:
    """Wait until all has followed."""
    while player._rest is not None:
        await asyncio.sleep(0)


def steps_in(value: Any) -> Iterator[int | None]:
    """All places of steps that views name."""
    if isinstance(value, dict):
        yield from (one for key, one in value.items() if key in ("step", "culprit_step"))
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, (dict, list)):
            yield from steps_in(one)


def plain(wire: Any) -> Any:
    return json.loads(json.dumps(wire))


@pytest.mark.usefixtures("answered")
def test_a_cell_has_the_opening_steps_and_the_rest_follows(subtests: pytest.Subtests) -> None:
    async def work(name: str) -> None:
        whole = Player(recording_of(name))
        player = Player(recording_of(name))
        player._repr_mimebundle_()
        first = player.wire
        numbers = [tuple(view["number"]) for view in first["views"]]
        paths = recording_of(name).numbers.paths
        assert first["of"] == {"steps": len(paths), "last": len(recording_of(name))}
        assert len(numbers) < len(paths)
        assert numbers[first["open"]] == paths[player._first]
        assert all(step is None or step < len(numbers) for step in steps_in(first["views"]))
        await ended(player)
        assert "of" not in player.wire
        assert plain(player.wire) == plain(whole.wire)
        for part in ("items", "tensors", "rows"):
            every = at_every_step(whole.wire, part)
            known = [every[paths.index(number)] for number in numbers]
            assert plain(at_every_step(first, part)) == plain(known)

    for name in NAMES:
        with subtests.test(name=name):
            run(partial(work, name))


def test_an_output_has_the_same_bytes_whether_or_not_a_front_end_answers(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    async def work(name: str, bundles: list[Any]) -> None:
        data, _ = Player(recording_of(name))._repr_mimebundle_()
        bundles.append({**data, "application/vnd.jupyter.widget-view+json": None})

    for name in NAMES:
        bundles: list[Any] = []
        for is_answered in (False, True):
            monkeypatch.setattr(GraphWidget, "is_answered", is_answered)
            run(partial(work, name, bundles))
        with subtests.test(name=name):
            assert bundles[0] == bundles[1]


def test_where_no_front_end_has_answered_an_output_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GraphWidget, "is_answered", False)

    async def work() -> None:
        player = Player(product())
        player._repr_mimebundle_()
        assert "of" not in player.wire
        assert player._rest is None

    run(work)


@pytest.mark.usefixtures("answered")
def test_without_a_loop_that_goes_on_an_output_is_whole() -> None:
    player = Player(product())
    alone(player._repr_mimebundle_)
    assert "of" not in player.wire


def test_a_message_of_a_widget_says_that_there_is_a_front_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GraphWidget, "is_answered", False)
    a = torch.tensor(2.0, requires_grad=True)
    gradviz.show(a * a)._answer(None, {"shown": True}, [])
    assert GraphWidget.is_answered


@pytest.mark.usefixtures("answered")
def test_the_rest_is_made_in_pieces_between_which_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(after_cell, "PIECE", 0.0)
    turns = 0

    async def work() -> None:
        nonlocal turns
        player = Player(RECORDINGS[2])
        player._repr_mimebundle_()
        while player._rest is not None:
            turns += 1
            await asyncio.sleep(0)
        assert "of" not in player.wire

    monkeypatch.setattr(after_cell, "PAUSE", 0.0)
    run(work)
    assert turns > len(RECORDINGS[2].records)


@pytest.mark.usefixtures("answered")
def test_what_is_asked_for_before_the_rest_has_come_comes_whole(tmp_path: Path) -> None:
    async def work() -> None:
        player = Player(RECORDINGS[2])
        player._repr_mimebundle_()
        closed = next(
            one["id"]
            for one in player.wire["fold"]["folds"]
            if one["id"] not in player.wire["fold"]["opened"]
        )
        answer = json.loads(player._answer_to({"inside": [closed]}) or b"")
        assert [*answer["insides"]["compact"]] == [closed]
        assert "of" not in player.wire
        again = Player(RECORDINGS[2])
        again._repr_mimebundle_()
        again.save(tmp_path / "page.html")
        assert "of" not in again.wire

    run(work)


@pytest.mark.usefixtures("answered")
def test_what_was_interrupted_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    async def work() -> None:
        asking, saving = Player(product()), Player(product())
        for player in (asking, saving):
            player._repr_mimebundle_()
            assert player._rest is not None
            assert player._answer_to("rest") is None
            assert "of" in player.wire
            player._rest._work.close()  # as after a Ctrl-C in it
        asking._answer_to("rest")
        saving.save(tmp_path / "page.html")
        assert "of" not in asking.wire
        assert "of" not in saving.wire

    run(work)


@pytest.mark.usefixtures("answered")
def test_a_player_that_is_closed_makes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_cell, "PAUSE", 0.0)

    async def work() -> None:
        player = Player(product())
        player._repr_mimebundle_()
        player.close()
        for _ in range(100):
            await asyncio.sleep(0)
        assert [*player.wire] == ["text"]

    run(work)


@pytest.mark.usefixtures("answered")
def test_each_step_can_be_chosen_before_it_has_come() -> None:
    async def work() -> None:
        player = Player(product())
        player._repr_mimebundle_()
        player.step = 1
        player.selected = "n1"
        await ended(player)
        assert (player.step, player.selected) == (1, "n1")

    run(work)


def test_a_fold_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownNodeError):
        Player(RECORDINGS[2])._answer_to({"inside": ["f999"]})


@pytest.mark.usefixtures("answered")
def test_a_recording_opens_where_fewer_cards_are_than_at_other_steps() -> None:
    x = torch.ones(1, requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        y = x
        for _ in range(9):
            y = y.sin()
        del y
        z = x.exp()
        z.backward()
        z.backward()
    assert Player(recording).wire["density"] == "compact"
