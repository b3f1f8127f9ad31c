"""Small grey pictures of clothes for the lessons: three drawn here, 70,000 in FashionMNIST.

Nothing is downloaded. Whoever has FashionMNIST puts its files where torchvision would:
``data/FashionMNIST/raw/train-images-idx3-ubyte`` and so on below the working folder, which in
Jupyter is that of the notebook, packed with gzip or not.

Examples:
    >>> from gradviz.course import fashion
    >>> fashion.as_text(fashion.drawn("trouser")).splitlines()[2].strip()
    '+##########+'
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import torch
from torch import nn

DATA = Path("data")
FILES = {True: "train", False: "t10k"}
COUNT = {True: 60_000, False: 10_000}
SIDE = 28
LABELS = {"T-shirt": 0, "trouser": 1, "sandal": 5}
GREYS = " .:+#"
"""A sign for each fifth of the way from black to white; a drawn line is two pixels high."""

DRAWINGS = {
    "sandal": """


                  .:++:.
    .:++:.      :##++###:
   :##++##:.   :##.  .+##
  .##:  :+##: :##.    :##
  +##.    :##+##:     .##
 .##########+##+..:::::##:
 :##:....:+###########+##+
 .################++++####
  :####################+##
      ..::+########:.  +##
                       +##
""",
    "T-shirt": """
          ..        ..
       .+##+:.    .:+##+.
     :+#####+++++++######+:
    +######################+
    .######################.
     :+##+##############+##:
       .: +############+ :.
          +############+
          +############+
          +############+
          +############+
          +############+
          :++++++++++++:
""",
    "trouser": """
         .++++++++++.
         +##########+
         ############
        .############.
        .#####++#####.
        :#####..#####:
        :####+  +####:
        +####:  :####+
        +####.  .####+
        +####    ####+
        +####    ####+
        +###+    +###+
        :+++:    :+++:
""",
}


def drawn(name: str) -> torch.Tensor:
    """The picture drawn here under a name of ``LABELS``, as uint8 of shape (28, 28)."""
    lines = DRAWINGS[name].split("\n")[:-1]
    lines += [""] * (SIDE // 2 - len(lines))
    step = 255 // (len(GREYS) - 1)
    rows = [[GREYS.index(sign) * step for sign in line.ljust(SIDE)] for line in lines]
    return torch.tensor(rows, dtype=torch.uint8).repeat_interleave(2, dim=0)


def as_text(image: torch.Tensor) -> str:
    """A picture in ``GREYS``: a line of text for two rows of pixels."""
    rows = image.float().reshape(SIDE // 2, 2, SIDE).mean(1) / 255 * (len(GREYS) - 1)
    return "\n".join("".join(GREYS[round(v)] for v in row).rstrip() for row in rows.tolist())


def as_input(image: torch.Tensor) -> torch.Tensor:
    """A picture as a network gets it: float64 from 0 to 1, a batch of one."""
    return (image.double() / 255).reshape(1, 1, SIDE, SIDE)


def network() -> nn.Sequential:
    """A network for these pictures, with the same weights each time: it sets torch's seed to 1.

    The weights are float64: of float32 the last digits that are shown depend on the processor.

    Examples:
        >>> from gradviz.course import fashion
        >>> fashion.network()(fashion.as_input(fashion.drawn("sandal"))).shape
        torch.Size([1, 10])
    """
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(SIDE * SIDE, 512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    ).double()


def find(root: str | Path = DATA, train: bool = True) -> tuple[torch.Tensor, torch.Tensor] | None:
    """FashionMNIST below ``root``: images (n, 28, 28) and labels (n), or None if it is not there.

    Args:
        root: The folder that torchvision calls ``root``.
        train: The 60,000 pictures to train with, or the 10,000 to test with.

    Raises:
        ValueError: If a file is there and is not what its name says, or its partner is missing.
    """
    folder = Path(root) / "FashionMNIST" / "raw"
    names = [f"{FILES[train]}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1")]
    paths = [_either(folder / name) for name in names]
    if paths == [None, None]:
        return None
    for path, name in zip(paths, names):
        if path is None:
            raise ValueError(f"{folder} has no {name} and no {name}.gz; its partner is there")
    images_path, labels_path = (path for path in paths if path is not None)
    images = read_idx(images_path, (COUNT[train], SIDE, SIDE))
    labels = read_idx(labels_path, (COUNT[train],))
    if int(labels.max()) > 9:
        raise ValueError(f"{labels_path}: a label is {int(labels.max())}; there are 10 classes")
    return images, labels


def _either(path: Path) -> Path | None:
    packed = path.with_name(f"{path.name}.gz")
    return next((p for p in (path, packed) if p.is_file()), None)


def read_idx(path: str | Path, shape: tuple[int, ...]) -> torch.Tensor:
    """The bytes of an IDX file, the format of MNIST, packed with gzip or not.

    Args:
        path: The file; packed if its name ends in ``.gz``.
        shape: What it has to hold.

    Raises:
        ValueError: If the file is damaged, of another format or of another shape.
    """
    path = Path(path)
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not a whole gzip file") from error
    # Two zero bytes, 8 for "unsigned byte", the number of dimensions; then a size for each.
    magic = bytes((0, 0, 8, len(shape)))
    head = 4 + 4 * len(shape)
    if data[:4] != magic or len(data) < head:
        raise ValueError(
            f"{path}: starts with {data[:4].hex(' ') or 'nothing'}; an IDX file of bytes with "
            f"{len(shape)} dimension{'s' if len(shape) > 1 else ''} starts with {magic.hex(' ')}"
        )
    sizes = struct.unpack(f">{len(shape)}I", data[4:head])
    if sizes != shape:
        raise ValueError(f"{path}: says that its shape is {sizes}, not {shape}")
    if len(data) - head != math.prod(shape):
        raise ValueError(f"{path}: holds {len(data) - head:,} values, not {math.prod(shape):,}")
    return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=head).reshape(shape)


class RealSandal(widgets.HTML):
    """Tables of picture 1012 of FashionMNIST if it is there, else where to put its files.

    Its text is the same in both cases, so that the outputs of a lesson can be compared.
    """

    NUMBER = 1012

    def __init__(self, passes: Callable[..., list[list[float]]], root: str | Path = DATA) -> None:
        try:
            found = find(root)
        except ValueError as error:
            super().__init__(f"<b>These files are damaged.</b><br>{escape(str(error))}")
            return
        if found is None:
            where = f"<code>{escape(str(Path(root).resolve() / 'FashionMNIST' / 'raw'))}</code>"
            super().__init__(f"FashionMNIST is not there: nothing in {where}.")
            return
        image, label = (part[self.NUMBER] for part in found)
        tables = {
            how: passes(image, int(label), zero_grad=zero_grad)
            for how, zero_grad in {"with zero_grad": True, "without zero_grad": False}.items()
        }
        lines = [as_text(image)]
        for how, rows in tables.items():
            lines += ["", how, *(" ".join(f"{value:7.4f}" for value in row) for row in rows)]
        super().__init__(f"<pre>{escape(chr(10).join(lines))}</pre>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        text = f"Two tables for picture {self.NUMBER} of FashionMNIST, if its files are there"
        return {**super()._repr_mimebundle_(**kwargs), "text/plain": text}
