"""The size of gradviz falls, and is held where it has come to: see `tests/size.py`."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.size import FILE, ROOT, TESTS, ceilings, measured, table


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("the history comes from git, and this is not a git checkout")
    return done.stdout


def rises(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return [name for name, number in after.items() if number > before.get(name, number)]


def test_nothing_is_larger_than_what_had_been_reached_and_what_fell_is_written_down() -> None:
    now, reached = measured(), ceilings()
    differing = {name: number for name, number in now.items() if number != reached.get(name)}
    assert not differing, (
        f"\n{table(differing, reached)}\n"
        "What fell is written down by `python -m tests.size --lower`. What rose is made smaller, "
        "or raised in tests/size.json by a commit of its own that names what needs it."
    )


def test_no_more_tests_are_collected_than_had_been_reached(request: pytest.FixtureRequest) -> None:
    config = request.config
    names = [str(config.rootpath / name) for name in config.getini("testpaths")]
    arguments = [str(config.rootpath / name) for name in config.args]
    if sorted(arguments) != sorted(names) or config.option.keyword or config.getoption("part"):
        pytest.skip("only a part of the tests was asked for")
    assert len(request.session.items) <= ceilings()[TESTS]


def test_a_number_rises_in_a_commit_of_its_own_that_says_what_needs_it() -> None:
    path = FILE.relative_to(ROOT).as_posix()
    for commit in git("log", "--format=%H", "--no-merges", "--", path).split():
        parent = subprocess.run(
            ["git", "show", f"{commit}^:{path}"], cwd=ROOT, capture_output=True, text=True
        )
        if parent.returncode:
            continue  # the first one, or a clone that ends here
        after = json.loads(git("show", f"{commit}:{path}"))
        rising = rises(json.loads(parent.stdout), after)
        if rising:
            changed = git("show", "--name-only", "--format=", commit).split()
            message = git("show", "--no-patch", "--format=%s", commit)
            assert changed == [path], f"{commit[:9]} raises {rising} beside other changes"
            assert message.startswith("Size rises"), (
                f"{commit[:9]} does not say what needs {rising}"
            )
