from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

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


@pytest.mark.parametrize("lesson", RECORDED)
def test_every_recorded_cell_shows_one_recording_as_it_asks_and_is_a_small_page(
    lesson: str, tmp_path: Path
) -> None:
    cells = code_cells(stored(lesson))
    with lesson_shell(tmp_path) as shell:
        ran = [Shown(cell.id, cell.source, shell.run(cell.source)) for cell in cells]
    recorded = [cell for cell in ran if SHOWS.search(cell.source)]
    assert recorded
    for cell in recorded:
        assert cell.ran.complaints == "", cell.name
        assert len(cell.player.recording) > 1, cell.name
        assert_opens_on_what_it_names(cell)
        assert_is_small_and_needs_no_network(cell, tmp_path / f"{cell.name}.html")


def assert_opens_on_what_it_names(cell: Shown) -> None:
    """On a step that is seen without sub-steps."""
    recording, (step, stops) = cell.player.recording, cell.asked
    if step is None:
        step = "error" if recording.at_error else 1
    assert cell.player.step == recording[step].number, cell.name
    assert cell.player.wire["stops"] == [recording[stop].index for stop in stops], cell.name
    for seen in (cell.player.step, *stops):
        assert isinstance(recording[seen].number, int), (cell.name, seen)


def assert_is_small_and_needs_no_network(cell: Shown, file: Path) -> None:
    cell.player.save(file)
    assert file.stat().st_size <= LIMIT, cell.name
    page = file.read_text("utf-8")
    # What is compressed in the page, and what Python and the widget wrote, as they are.
    everything = page + json.dumps(cell.player.wire)
    assert set(ADDRESS.findall(everything)) <= {"http://www.w3.org"}, cell.name
    assert not FETCHED.search(PROGRAM.sub("", page)), cell.name
