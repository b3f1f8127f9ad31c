from __future__ import annotations

from typing import Any

import pytest
import torch

import gradviz


@pytest.fixture
def loss() -> torch.Tensor:
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    return a * b + 1


def test_show_draws_what_snapshot_reads(loss: torch.Tensor) -> None:
    picture = gradviz.show(loss)
    assert picture.graph == gradviz.snapshot(loss)
    assert str(picture) == str(picture.graph)


def test_show_takes_a_graph(loss: torch.Tensor) -> None:
    graph = gradviz.snapshot(loss)
    assert gradviz.show(graph).graph is graph


def test_show_takes_a_module_with_its_loss() -> None:
    model = torch.nn.Linear(2, 1)
    unused = torch.nn.Linear(1, 1)
    names = {tensor.name for tensor in gradviz.show(model(torch.ones(2)), unused).graph.tensors}
    assert {"model.weight", "model.bias", "unused.weight", "unused.bias"} <= names


def test_show_finds_names_in_the_callers_frame() -> None:
    speed = torch.ones(1, requires_grad=True)
    assert gradviz.show(speed * 2).graph.leaves[0].name == "speed"


def test_the_same_program_gives_the_same_bytes() -> None:
    def build() -> tuple[str, str, str]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        total = model(torch.randn(2, 3)).sum()
        picture = gradviz.show(total)
        return "".join(picture.wire["pictures"].values()), str(picture), picture.graph.to_json()

    assert build() == build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"colour": "red"},
            r"no option 'colour'; its options are names, values, direction, engine_arrows",
        ),
        ({"direction": "down"}, "TB"),
        ({"density": "dense"}, r"density='dense' must be 'auto', 'compact', 'normal' or 'full'"),
        ({"hide": ["colours"]}, "saved"),
        ({"show": ["everything"]}, "saved"),
        ({"height": -1}, "number of pixels"),
        ({"height": "tall"}, "number of pixels"),
    ],
)
def test_a_wrong_option_is_an_error_that_lists_the_right_ones(
    loss: torch.Tensor, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(gradviz.OptionError, match=message):
        gradviz.show(loss, **options)


def test_names_cannot_be_given_to_a_graph(loss: torch.Tensor) -> None:
    with pytest.raises(gradviz.OptionError, match="names= cannot change a Graph"):
        gradviz.show(gradviz.snapshot(loss), names={})


@pytest.mark.parametrize("part", ["saved", "values", "grad", "formula", "versions"])
def test_hiding_a_part_changes_the_picture(loss: torch.Tensor, part: str) -> None:
    loss.backward(retain_graph=True)
    whole, less = (gradviz.show(loss, hide=hide).wire["pictures"] for hide in ([], [part]))
    assert less["full"] != whole["full"]


def test_the_output_of_a_cell_has_widget_image_svg_and_outline(loss: torch.Tensor) -> None:
    data, _ = gradviz.show(loss)._repr_mimebundle_()
    assert set(data) == {
        "application/vnd.jupyter.widget-view+json",
        "text/html",
        "image/svg+xml",
        "text/plain",
    }
    assert data["text/html"].startswith("<img ")
    assert "data:image/svg+xml;base64," in data["text/html"]
    assert data["text/plain"].startswith("autograd graph of")


def test_another_graph_can_be_shown_in_the_same_picture(loss: torch.Tensor) -> None:
    picture = gradviz.show(loss)
    picture.selected = "n0"
    loss.backward()
    picture.display_graph(gradviz.snapshot(loss))
    assert "freed" in str(picture)
    assert picture.selected == "n0"
    picture.display_graph(gradviz.snapshot(torch.ones(1, requires_grad=True)))
    with pytest.raises(gradviz.UnknownNodeError, match="to select"):
        picture.selected = "n5"
