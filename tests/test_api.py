from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.view.documents.digest import MIME as DIGEST
from gradviz.view.documents.graph import expand
from gradviz.view.widgets.picture import Picture


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


def test_a_wrong_option_is_an_error_that_lists_the_right_ones(
    loss: torch.Tensor, subtests: pytest.Subtests
) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
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
    ]
    for options, message in refused:
        with (
            subtests.test(options=options, message=message),
            pytest.raises(gradviz.OptionError, match=message),
        ):
            gradviz.show(loss, **options)


def test_names_cannot_be_given_to_a_graph(loss: torch.Tensor) -> None:
    with pytest.raises(gradviz.OptionError, match="names= cannot change a Graph"):
        gradviz.show(gradviz.snapshot(loss), names={})


def test_what_is_a_widget_already_is_not_shown_again() -> None:
    model = torch.nn.Linear(2, 1)
    report = gradviz.audit(model(torch.ones(1, 2)).sum(), model)
    with pytest.raises(gradviz.OptionError, match="ReportWidget, which is shown by itself"):
        gradviz.show(report)


def test_hiding_a_part_changes_the_picture(loss: torch.Tensor, subtests: pytest.Subtests) -> None:
    for part in ["saved", "values", "grad", "formula", "versions"]:
        with subtests.test(part=part):
            loss.backward(retain_graph=True)
            whole, less = (gradviz.show(loss, hide=hide).wire["pictures"] for hide in ([], [part]))
            assert less["full"] != whole["full"]


def test_the_output_of_a_cell_has_widget_image_svg_and_outline(loss: torch.Tensor) -> None:
    data, _ = gradviz.show(loss)._repr_mimebundle_()
    assert set(data) == {
        "application/vnd.jupyter.widget-view+json",
        "text/html",
        "image/svg+xml",
        DIGEST,
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


def deep(layers: int = 6) -> tuple[torch.nn.Module, torch.Tensor]:
    """A model of equal layers, of which no variable of the test is the module."""
    torch.manual_seed(0)

    def layer() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))

    model = torch.nn.Sequential(*[layer() for _ in range(layers)])
    return model, model(torch.ones(2, 3)).sum()


def folded(picture: Picture) -> dict[str, Any]:
    found: dict[str, Any] = picture.wire["fold"]
    return found


def test_a_large_graph_is_folded_and_a_small_one_is_not(loss: torch.Tensor) -> None:
    _, total = deep(12)
    assert "fold" in gradviz.show(total).wire
    assert "fold" not in gradviz.show(total, fold=False).wire
    assert "fold" not in gradviz.show(loss).wire
    assert folded(gradviz.show(loss, fold=1))["opened"] == ["f0"]


def test_folding_changes_nothing_of_the_graph() -> None:
    _, total = deep(12)
    assert gradviz.show(total).graph == gradviz.show(total, fold=False).graph
    assert str(gradviz.show(total)) == str(gradviz.show(total, fold=False))


def test_model_names_the_modules_and_adds_no_parameters() -> None:
    owner = [deep(12)]
    unused = torch.nn.Linear(2, 2)
    picture = gradviz.show(owner[0][1], model=torch.nn.ModuleList([owner[0][0], unused]))
    paths = {fold["path"] for fold in folded(picture)["folds"]}
    assert any(path.endswith("0.11") for path in paths)
    shapes = [tensor.shape for tensor in picture.graph.tensors]
    assert (2, 2) not in shapes
    assert folded(picture)["note"] == ""


def test_fold_is_a_depth_a_list_or_a_function() -> None:
    net, total = deep(12)
    whole = gradviz.show(total, fold=0, model=net)
    assert folded(whole)["opened"] == []
    every = folded(gradviz.show(total, fold=99, model=net))
    assert len(every["opened"]) == len(every["folds"])
    path = next(fold["path"] for fold in every["folds"] if fold["kind"] == "module")
    listed = folded(gradviz.show(total, fold=[path], model=net))
    closed = {fold["id"] for fold in listed["folds"]} - set(listed["opened"])
    assert {fold["path"] for fold in listed["folds"] if fold["id"] in closed} >= {path}
    asked = folded(gradviz.show(total, fold=lambda fold: fold.nodes < 9, model=net))
    sizes = {fold["id"]: fold["nodes"] for fold in asked["folds"]}
    assert all(sizes[key] >= 9 for key in asked["opened"])


def test_a_function_that_raises_is_named_and_the_folds_are_the_usual_ones() -> None:
    _, total = deep(12)

    def wrong(fold: object) -> bool:
        raise ValueError(f"no {type(fold).__name__}")

    found, usual = folded(gradviz.show(total, fold=wrong)), folded(gradviz.show(total))
    assert "wrong raised ValueError: no Fold" in found["note"]
    assert found["folds"] == usual["folds"]


def test_a_wrong_fold_says_what_it_may_be(subtests: pytest.Subtests) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"fold": "model"}, r"fold='model' must be a list: fold=\['model'\]"),
        ({"fold": 1.5}, r"fold= cannot be of type float: it may be a number of levels"),
        ({"fold": -1}, r"fold=-1 is less than 0"),
        ({"fold": ["modle.h"]}, r"no fold of this graph is of that module"),
        ({"fold": [3]}, r"fold= has 3 in it"),
        ({"model": "gpt"}, r"model= must be an nn.Module, but is a str"),
    ]
    for options, message in refused:
        with subtests.test(options=options, message=message):
            _, total = deep(12)
            with pytest.raises(gradviz.OptionError, match=message):
                gradviz.show(total, **options)


def test_a_graph_has_its_modules_and_a_recording_folds_by_itself() -> None:
    net, total = deep(2)
    with pytest.raises(gradviz.OptionError, match="model= cannot change a Graph"):
        gradviz.show(gradviz.snapshot(total), model=net)
    with gradviz.record() as recording:
        deep(1)
    for options in ({"fold": 1}, {"model": net}):
        with pytest.raises(gradviz.OptionError, match="apply to tensors and graphs; a recording"):
            gradviz.show(recording, **options)


def test_a_folded_picture_is_saved_folded(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for ending in ["svg", "png", "html", "dot", "json"]:
        with subtests.test(ending=ending):
            _, total = deep(12)
            picture = gradviz.show(total)
            file = tmp_path / f"loss.{ending}"
            picture.save(file)
            first = file.read_bytes()
            picture.save(file)
            assert file.read_bytes() == first
            if ending in ("svg", "dot"):
                assert "×12" in first.decode()
            if ending == "html":
                sent = re.search(r'"deflate":\s*"([^"]+)"', first.decode())
                assert sent is not None
                assert expand({"deflate": sent[1]})["fold"]["insides"]["compact"]


def test_in_dot_an_open_fold_is_a_cluster_and_no_edge_is_lost(tmp_path: Path) -> None:
    net, total = deep(3)
    picture = gradviz.show(total, fold=99, model=net)
    picture.save(tmp_path / "loss.dot")
    text = (tmp_path / "loss.dot").read_text()
    assert "subgraph cluster_f1" in text
    assert sum("->" in line for line in text.splitlines()) == len(picture.graph.edges)
