"""How a graph is drawn: checked where it is made, and the same for good."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from gradviz.model import OptionError
from gradviz.view.graph.card_parts import PARTS
from gradviz.view.graph.options import DEFAULT, DrawOptions


def test_everything_is_drawn_from_top_to_bottom_if_nothing_is_asked_for() -> None:
    assert DrawOptions.of() == DrawOptions() == DEFAULT
    assert (DEFAULT.direction, DEFAULT.engine_arrows, DEFAULT.engine) == ("TB", False, "auto")
    assert DEFAULT.parts == frozenset(PARTS)


def test_what_a_person_cannot_ask_for_is_refused(subtests: pytest.Subtests) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"direction": "RL"}, r"direction='RL' must be 'TB' \(top to bottom\) or 'LR'"),
        (
            {"show": ["colour"]},
            "show='colour' is not a part of a picture; the parts are: saved, val",
        ),
        ({"hide": "colour"}, "hide='colour' is not a part of a picture"),
        ({"show": 3}, r"show=3 must be a list of parts: show=\['saved'\]"),
        ({"hide": {"saved": 1}}, r"hide={'saved': 1} must be a list of parts"),
    ]
    for given, message in refused:
        with subtests.test(given=given, message=message), pytest.raises(OptionError, match=message):
            DrawOptions.of(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"direction": "UP"}, "direction='UP' must be 'TB'"),
        ({"engine": "neato"}, "engine='neato' must be 'auto', 'wasm' or 'dot'"),
        ({"parts": frozenset({"colour"})}, "'colour' is not a part of a picture"),
    ],
)
def test_no_options_exist_that_cannot_be_drawn(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        DrawOptions(**given)


def test_what_was_asked_for_does_not_change_with_the_lists_it_was_given() -> None:
    hidden = ["saved"]
    options = DrawOptions.of(hide=hidden)
    hidden.append("grad")
    assert options.parts == frozenset(PARTS) - {"saved"}
    assert options == DrawOptions.of(hide="saved")
    assert hash(options) == hash(DrawOptions.of(hide="saved"))
    with pytest.raises(FrozenInstanceError):
        options.direction = "LR"  # type: ignore[misc]
