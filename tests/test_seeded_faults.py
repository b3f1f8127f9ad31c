"""The table of ``python -m tests.seeded_faults`` fits the product as it is."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.seeded_faults.copied_tree import fault_in
from tests.seeded_faults.fault import ROOMS, SeededFault
from tests.seeded_faults.table import FAULTS

ROOT = Path(__file__).resolve().parents[1]
FEWEST = 60


def misfits(fault: SeededFault) -> list[str]:
    """Why a fault cannot be written into its file, or asks for tests that are not there."""
    text = (ROOT / fault.file).read_text("utf-8")
    found = []
    if text.count(fault.old) != 1:
        found.append(f"the old text is {text.count(fault.old)} times in it")
    if fault.old == fault.new:
        found.append("the new text is the old one")
    if fault.file.endswith(".py"):
        try:
            ast.parse(text.replace(fault.old, fault.new))
        except SyntaxError as error:
            found.append(f"it does not compile any more: {error}")
    found += [f"there is no {path}" for path in fault.where if not (ROOT / path).exists()]
    return found if fault.where else [*found, "no test ought to notice it"]


def test_each_fault_can_be_written_into_its_file_and_asks_for_tests_that_exist() -> None:
    found = {f"{one.file}: {one.shows}": misfits(one) for one in FAULTS}
    assert {fault: why for fault, why in found.items() if why} == {}


def test_there_are_faults_of_every_room() -> None:
    assert len(FAULTS) >= FEWEST
    assert {fault.room for fault in FAULTS} == set(ROOMS)
    assert [path for paths in ROOMS.values() for path in paths if not (ROOT / path).exists()] == []


def test_no_fault_comes_twice() -> None:
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)
    assert len({fault.shows for fault in FAULTS}) == len(FAULTS)


def test_a_fault_is_in_the_copy_only_while_it_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "counts.py"
    file.write_text("def following(count: int) -> int:\n    return count + 1\n", "utf-8")
    before = file.read_text("utf-8"), file.stat().st_mtime_ns
    fault = SeededFault(
        room="model",
        file="counts.py",
        old="count + 1",
        new="count",
        shows="a count that stays",
        where=("tests/model",),
    )
    with fault_in(tmp_path, fault):
        assert file.read_text("utf-8").endswith("return count\n")
    assert (file.read_text("utf-8"), file.stat().st_mtime_ns) == before
