from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradviz.magic.options import read_options
from gradviz.view.widgets.player import Player
from tests.lessons.lesson_files import LESSONS, code_cells, stored
from tests.lessons.lesson_shell import Ran, lesson_shell

FIRST, LAST = 3, 12
RECORDED = [lesson for lesson in LESSONS if FIRST <= int(lesson[:2]) <= LAST]
LIMIT = 400_000
"""Bytes of a recording saved as a page."""
ADDRESS = re.compile(r"(?:[a-z]+:)?//[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
FETCHED = re.compile(r"(?:src|href)\s*=|url\(|@import")
PROGRAM = re.compile(r'<script type="application/json" id="gradviz-code">.*?</script>', re.DOTALL)
SHOWS = re.compile(
    r"^%%gradviz(?P<magic>.*)|gradviz\.show\((?:recording|error)(?P<call>.*)\)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A recorded cell of a lesson, run."""

    name: str
    source: str
    ran: Ran

    @property
    def player(self) -> Player:
        (player,) = (one for one in self.ran.objects if isinstance(one, Player))
        return player

    @property
    def asked(self) -> tuple[int | str | None, list[int | str]]:
        """The step and the stops that the cell names."""
        found = SHOWS.search(self.source)
        assert found is not None
        if found["magic"] is not None:
            look = read_options(found["magic"].strip()).look
        else:
            look = eval(f"dict({found['call'].lstrip(', ')})", {})
        return look.get("step"), list(look.get("stops") or ())


@pytest.fixture(scope="module", params=RECORDED)
def lesson(request: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Shown]:
    """The recorded cells of a lesson, which has been run once."""
    cells = code_cells(stored(request.param))
    with lesson_shell(tmp_path_factory.mktemp("ipython")) as shell:
        ran = [Shown(cell.id, cell.source, shell.run(cell.source)) for cell in cells]
    return [cell for cell in ran if SHOWS.search(cell.source)]


def test_every_recorded_cell_shows_one_recording_and_complains_of_nothing(
    lesson: list[Shown],
) -> None:
    assert lesson
    for cell in lesson:
        assert cell.ran.complaints == "", cell.name
        assert len(cell.player.recording) > 1, cell.name


def test_it_opens_on_the_step_that_the_cell_names(lesson: list[Shown]) -> None:
    for cell in lesson:
        recording, (step, stops) = cell.player.recording, cell.asked
        if step is None:
            step = "error" if recording.at_error else 1
        assert cell.player.step == recording[step].number, cell.name
        assert cell.player.wire["stops"] == [recording[stop].index for stop in stops], cell.name


def test_it_opens_on_a_step_that_is_seen_without_sub_steps(lesson: list[Shown]) -> None:
    for cell in lesson:
        for step in (cell.player.step, *cell.asked[1]):
            assert isinstance(cell.player.recording[step].number, int), (cell.name, step)


def test_saved_as_a_page_it_is_small_and_needs_no_network(
    lesson: list[Shown], tmp_path: Path
) -> None:
    for cell in lesson:
        file = tmp_path / f"{cell.name}.html"
        cell.player.save(file)
        assert file.stat().st_size <= LIMIT, cell.name
        page = file.read_text("utf-8")
        # What is compressed in the page, and what Python and the widget wrote, as they are.
        everything = page + json.dumps(cell.player.wire)
        assert set(ADDRESS.findall(everything)) <= {"http://www.w3.org"}, cell.name
        assert not FETCHED.search(PROGRAM.sub("", page)), cell.name
