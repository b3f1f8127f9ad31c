"""What is said of each program of the tests is what its golden hash says, and each fix helps."""

from __future__ import annotations

from typing import Final
from zlib import crc32

import pytest

from tests.ledger.said import (
    PROGRAMS,
    changed,
    golden,
    hash_of,
    not_mended_by,
    said_of,
    write_golden,
)

SLICES: Final = 16
UPDATE: Final = "pytest -m exhaustive tests/ledger/test_said.py --update-golden"


def slice_of(name: str) -> int:
    return crc32(name.encode()) % SLICES


def test_the_golden_file_has_a_hash_of_each_program_and_no_other() -> None:
    assert sorted(golden()) == sorted(PROGRAMS), f"write it anew: {UPDATE}"


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(SLICES))
def test_the_same_is_said_of_each_program_as_before_and_each_fix_mends_it(
    part: int, request: pytest.FixtureRequest
) -> None:
    hashes = {name: hash_of(said_of(name)) for name in PROGRAMS if slice_of(name) == part}
    if request.config.getoption("--update-golden"):
        others = {name: code for name, code in golden().items() if slice_of(name) != part}
        write_golden(others | hashes)
    assert "".join(map(not_mended_by, hashes)) == ""
    assert changed(hashes) == [], "read `python -m tests.ledger --said FILE` of both versions"
