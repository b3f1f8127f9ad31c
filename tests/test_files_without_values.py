"""``save(values=False)``: files for reports of bugs, in which no number of a tensor is."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model.events import Raised
from gradviz.model.without_values import explanation_without_values, scrubbed

MARKS = (b"9173", b"6481", b"7319", b"5283")
"""First digits of the numbers below, which no line of code has: they are made when it runs."""


def marked(digits: float, size: int = 3) -> torch.Tensor:
    """Numbers that begin with the digits."""
    return torch.arange(size) * 0.01 + (digits + 0.25)


def number(which: int) -> float:
    return float(int(MARKS[which]))


def decoded(data: bytes, depth: int = 3) -> Iterator[bytes]:
    """Bytes, and what is inside them in base64, compressed or both."""
    yield data
    if not depth:
        return
    for found in re.findall(rb"[A-Za-z0-9+/]{24,}={0,2}", data):
        raw = base64.b64decode(found[: len(found) // 4 * 4])
        for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS, zlib.MAX_WBITS | 16):
            try:
                yield from decoded(zlib.decompressobj(bits).decompress(raw), depth - 1)
            except zlib.error:
                continue
        if raw.isascii():
            yield from decoded(raw, depth - 1)


def marks_in(path: Path) -> set[bytes]:
    return {mark for data in decoded(path.read_bytes()) for mark in MARKS if mark in data}


def graph_picture() -> Any:
    w = marked(9173).requires_grad_()
    wide = marked(6481, 12).requires_grad_()
    scale = marked(7319, 1).item()
    cache = {number(3): w * scale}
    loss = cache[number(3)].sum() * 2 + wide.mul(w.detach()[0]).sum()
    loss.backward(retain_graph=True)
    names = {f"cache[{number(3)}]": w, "loss": loss}
    return gradviz.show(loss, names=names, values=True, show=["values", "saved", "grad"])


def failed_player() -> Any:
    label = f"run of {marked(5283)}"
    with gradviz.record(label=label) as recording:
        w = marked(number(0)).requires_grad_()
        wide = marked(number(1), 12).requires_grad_()
        for factor in (number(2), 2.0):
            out = w * factor + wide.mean()
        out.sum().backward()
        with suppress(RuntimeError):
            out.sum().backward()
        with suppress(ValueError):
            raise ValueError(f"bad {w} and {int(number(3))} or x{number(3)}")
    return gradviz.show(recording)


def explained() -> Any:
    w = marked(9173).requires_grad_()
    h = w.exp()
    k = h * marked(6481)
    h.add_(marked(7319))
    with pytest.raises(RuntimeError) as error:
        k.sum().backward()
    found = gradviz.explain(error.value)
    return gradviz.show(found)


def folded() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(16)])
    with torch.no_grad():
        for digits, parameter in zip((9173, 6481), model.parameters()):
            parameter.copy_(marked(digits, parameter.numel()).reshape(parameter.shape))
    return gradviz.show(model(marked(5283)).sum(), values=True)


@pytest.mark.parametrize(
    "make", [graph_picture, pytest.param(folded, marks=pytest.mark.exhaustive)]
)
def test_a_file_of_a_graph_has_no_number_of_a_tensor(
    tmp_path: Path, subtests: pytest.Subtests, make: Any
) -> None:
    picture = make()
    for ending in (".json", ".html", ".svg", ".dot", ".mmd"):
        with subtests.test(ending):
            picture.save(tmp_path / f"with{ending}")
            picture.save(tmp_path / f"without{ending}", values=False)
            assert marks_in(tmp_path / f"without{ending}") == set()
            text = (tmp_path / f"without{ending}").read_text("utf-8").lower()
            said = "values_left_out" if ending == ".json" else "values are left out"
            assert said in text
            if make is graph_picture:
                assert marks_in(tmp_path / f"with{ending}")


@pytest.mark.parametrize("ending", [".json", ".html", ".svg"])
def test_a_file_of_a_recording_has_no_number_of_a_tensor(tmp_path: Path, ending: str) -> None:
    player = failed_player()
    player.save(tmp_path / f"with{ending}")
    player.save(tmp_path / f"without{ending}", values=False)
    player.save(tmp_path / f"again{ending}", values=False)
    assert marks_in(tmp_path / f"with{ending}") or ending == ".svg"
    assert marks_in(tmp_path / f"without{ending}") == set()
    without = (tmp_path / f"without{ending}").read_bytes()
    assert without == (tmp_path / f"again{ending}").read_bytes()
    text = without.decode().lower()
    assert "values_left_out" in text if ending == ".json" else "values are left out" in text


def test_a_recording_without_values_is_explained_as_before(tmp_path: Path) -> None:
    player = failed_player()
    player.save(tmp_path / "x.json", values=False)
    again = gradviz.Recording.from_json((tmp_path / "x.json").read_text("utf-8"))
    assert again.values_left_out
    assert again.codes == player.recording.codes
    assert [one.kind for one in again.explanations] == [
        one.kind for one in player.recording.explanations
    ]
    messages = [
        event.message
        for record in again.records
        for event in record.events
        if isinstance(event, Raised)
    ]
    assert "Trying to backward through the graph a second time" in messages[0]
    assert messages[1] == "bad tensor(…) and … or x…"
    assert again.label == "run of tensor(…)"


def test_an_animation_without_values_has_none(tmp_path: Path) -> None:
    player = failed_player()
    player.save(tmp_path / "x.svg", animated=True, values=False)
    assert marks_in(tmp_path / "x.svg") == set()


@pytest.mark.parametrize("ending", [".html", ".svg", ".json"])
def test_the_picture_of_an_explained_error_has_no_number(tmp_path: Path, ending: str) -> None:
    picture = explained()
    picture.save(tmp_path / f"without{ending}", values=False)
    assert marks_in(tmp_path / f"without{ending}") == set()
    if ending == ".html":
        assert "modified" in (tmp_path / f"without{ending}").read_text("utf-8")


def test_an_explanation_is_read_again_without_values() -> None:
    w = marked(9173).requires_grad_()
    (w * 2).sum().backward()
    h = w.exp()
    loss = (h * w).sum()
    h.add_(1)
    with gradviz.expect_error() as error:
        loss.backward()
    found = explanation_without_values(error)
    assert found.kind == error.kind == "saved tensor written"
    assert not re.search("9173", str(found))


def test_saving_without_values_changes_nothing_of_the_picture(tmp_path: Path) -> None:
    picture = graph_picture()
    before = picture.graph
    picture.save(tmp_path / "x.json", values=False)
    assert picture.graph is before
    bare = gradviz.Graph.from_json((tmp_path / "x.json").read_text("utf-8"))
    assert bare.values_left_out
    assert not before.values_left_out
    assert bare.to_json() == (tmp_path / "x.json").read_text("utf-8").strip()
    assert [node.name for node in bare.nodes] == [node.name for node in before.nodes]
    assert list(bare.order) == list(before.order)
    assert str(bare).splitlines()[0].endswith("values are left out; on cpu")


def test_fractions_and_arrays_are_left_out_of_texts(subtests: pytest.Subtests) -> None:
    for text, bare in [
        ("net.0.1.weight", "net.0.1.weight"),
        ("d[0.5][-1e-07]", "d[…][-…]"),
        ("array([1.5, 2.5])", "array(…)"),
        ("tensor(nan) at 3", "tensor(nan) at 3"),
        ("tensor([[1.5], [f(2)]], device='cpu') x", "tensor(…) x"),
    ]:
        with subtests.test(text=text, bare=bare):
            assert scrubbed(text, whole=False) == bare


def test_an_image_without_values_is_drawn_from_a_picture_without_them(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    picture = graph_picture()
    picture.save(tmp_path / "bare.json", values=False)
    graph = gradviz.Graph.from_json((tmp_path / "bare.json").read_text("utf-8"))
    bare = gradviz.show(graph, show=["values", "saved", "grad"])
    picture.density = bare.density = "normal"
    picture.save(tmp_path / "a.png", values=False)
    bare.save(tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_an_exploration_is_saved_without_values_as_a_picture_and_not_as_a_page(
    tmp_path: Path,
) -> None:
    def times(a: float = 2.0) -> torch.Tensor:
        return torch.as_tensor(a) * marked(9173).requires_grad_().sum()

    explored = gradviz.explore(times)
    explored.save(tmp_path / "x.json", values=False)
    assert marks_in(tmp_path / "x.json") == set()
    with pytest.raises(gradviz.OptionError, match="the page of explore"):
        explored.save(tmp_path / "x.html", values=False)
