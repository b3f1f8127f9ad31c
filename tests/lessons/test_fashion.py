from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
import torch

from gradviz.course import fashion

LABELS = bytes(n % 10 for n in range(10_000))
IMAGES = bytes(28 * 28) * 10_000


def idx(shape: tuple[int, ...], data: bytes, kind: int = 8) -> bytes:
    return bytes((0, 0, kind, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + data


def write(
    root: Path, images: bytes | None = None, labels: bytes | None = None, packed: bool = False
) -> None:
    folder = root / "FashionMNIST" / "raw"
    folder.mkdir(parents=True)
    for name, data in (("images-idx3", images), ("labels-idx1", labels)):
        if data is None:
            continue
        path = folder / f"t10k-{name}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(data, 1) if packed else data)


@pytest.mark.parametrize("name", fashion.LABELS)
def test_a_drawing_is_a_grey_picture_of_28_by_28(name: str) -> None:
    image = fashion.drawn(name)
    assert image.shape == (28, 28)
    assert image.dtype == torch.uint8
    assert int(image.max()) > 200
    assert torch.equal(image, fashion.drawn(name))


def test_no_two_drawings_are_alike() -> None:
    images = [fashion.drawn(name).float() for name in fashion.LABELS]
    for place, image in enumerate(images):
        for other in images[place + 1 :]:
            assert (image - other).abs().mean() > 30


def test_a_drawing_as_text_is_what_was_drawn() -> None:
    for name, drawing in fashion.DRAWINGS.items():
        text = fashion.as_text(fashion.drawn(name))
        assert text.rstrip("\n") == drawing.rstrip("\n")
        assert text.count("\n") == 13


def test_a_network_gets_numbers_from_0_to_1() -> None:
    image = torch.zeros(28, 28, dtype=torch.uint8)
    image[0, 0] = 255
    x = fashion.as_input(image)
    assert x.shape == (1, 1, 28, 28)
    assert x[0, 0, 0, :2].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_found_where_torchvision_puts_them(tmp_path: Path, packed: bool) -> None:
    picture = bytes(range(256)) * 3 + bytes(16)
    data = picture + IMAGES[len(picture) :]
    write(tmp_path, idx((10_000, 28, 28), data), idx((10_000,), LABELS), packed)
    found = fashion.find(tmp_path, train=False)
    assert found is not None
    images, labels = found
    assert images.shape == (10_000, 28, 28)
    assert bytes(images[0].flatten().tolist()) == picture
    assert labels[:12].tolist() == [*range(10), 0, 1]


def test_no_files_means_none(tmp_path: Path) -> None:
    assert fashion.find(tmp_path) is None
    assert fashion.find(tmp_path / "not there", train=False) is None


def test_one_file_without_the_other_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, labels=idx((10_000,), LABELS))
    with pytest.raises(ValueError, match=r"has no t10k-images-idx3-ubyte and no .*\.gz"):
        fashion.find(tmp_path, train=False)


def test_a_label_that_is_no_class_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, idx((10_000, 28, 28), IMAGES), idx((10_000,), LABELS[:-1] + b"\x0a"))
    with pytest.raises(ValueError, match="a label is 10; there are 10 classes"):
        fashion.find(tmp_path, train=False)


def test_a_file_that_is_not_what_it_says_is_named(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for data, message in [
        (b"", "starts with nothing; an IDX file of bytes with 1 dimension starts with 00 00 08 01"),
        (b"<!DOCTYPE html>", "starts with 3c 21 44 4f; an IDX file"),
        (idx((3,), b"abc", kind=13), "starts with 00 00 0d 01; an IDX file"),
        (idx((3, 1), b"abc"), "starts with 00 00 08 02; an IDX file"),
        (idx((3,), b"")[:6], "starts with 00 00 08 01; an IDX file"),
        (idx((4,), b"abcd"), r"says that its shape is \(4,\), not \(3,\)"),
        (idx((3,), b"ab"), "holds 2 values, not 3"),
        (idx((3,), b"abcd"), "holds 4 values, not 3"),
    ]:
        with subtests.test(data=data, message=message):
            path = tmp_path / "labels"
            path.write_bytes(data)
            with pytest.raises(ValueError, match=f"{path}: .*{message}" if data else message):
                fashion.read_idx(path, (3,))


def test_a_file_of_the_right_form_is_read(tmp_path: Path) -> None:
    (tmp_path / "labels").write_bytes(idx((3,), b"\x00\x05\xff"))
    assert fashion.read_idx(tmp_path / "labels", (3,)).tolist() == [0, 5, 255]


@pytest.mark.parametrize("broken", ["half", "plain", "flipped"])
def test_a_damaged_gzip_file_is_named(tmp_path: Path, broken: str) -> None:
    whole = gzip.compress(idx((300,), bytes(range(150)) * 2))
    flipped = whole[:20] + bytes([whole[20] ^ 255]) + whole[21:]
    data = {"half": whole[: len(whole) // 2], "plain": b"no gzip at all", "flipped": flipped}
    path = tmp_path / "labels.gz"
    path.write_bytes(data[broken])
    with pytest.raises(ValueError, match=r"labels\.gz: not a whole gzip file"):
        fashion.read_idx(path, (300,))


def never(*_: object, **__: object) -> list[list[float]]:
    raise AssertionError("there is nothing to train on")


def test_the_widget_says_where_the_files_belong(tmp_path: Path) -> None:
    widget = fashion.RealSandal(never, tmp_path)
    assert "FashionMNIST is not there" in widget.value
    assert str(tmp_path / "FashionMNIST" / "raw") in widget.value


def test_the_widget_says_which_file_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "FashionMNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(b"<b>")
    (folder / "train-labels-idx1-ubyte").write_bytes(b"")
    widget = fashion.RealSandal(never, tmp_path)
    assert "train-images-idx3-ubyte: starts with 3c 62 3e" in widget.value


def test_the_widget_has_one_text_with_and_without_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = torch.zeros(1013, 28, 28, dtype=torch.uint8)
    images[1012] = fashion.drawn("sandal")
    without = fashion.RealSandal(never, tmp_path)
    monkeypatch.setattr(fashion, "find", lambda root: (images, torch.full((1013,), 5)))
    seen = []

    def passes(image: torch.Tensor, label: int, zero_grad: bool) -> list[list[float]]:
        seen.append((torch.equal(image, images[1012]), label, zero_grad))
        return [[0.5, -0.25]]

    there = fashion.RealSandal(passes, tmp_path)
    assert seen == [(True, 5, True), (True, 5, False)]
    assert " 0.5000 -0.2500" in there.value
    assert without._repr_mimebundle_()["text/plain"] == there._repr_mimebundle_()["text/plain"]
