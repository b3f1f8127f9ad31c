"""Frames as GIF and as APNG, animated images that every program shows."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from gradviz.model.errors import GradvizError
from gradviz.view.export.animated.drawing import FrameDrawing
from gradviz.view.export.animated.frames import Frames
from gradviz.view.export.files import svg_to_png

SCALE: Final = 1.5
"""Pixels of a frame per pixel of its drawing."""
COLOURS: Final = 256
"""Of a GIF."""
ALIKE: Final = 8
"""Colours that differ by less are one; Pillow takes them for each other anyway."""
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def apng(drawing: FrameDrawing, frames: Frames) -> bytes:
    """All frames in one PNG; a program that knows no APNG shows the first.

    Raises:
        GradvizError: If the package ``resvg-py`` is not installed.
    """
    # The compressed rows of a PNG are the frame of an APNG as they are: nothing is decoded.
    pictures = [list(_chunks(png)) for png in _pngs(drawing, frames)]
    found, number = [SIGNATURE, _chunk(b"IHDR", pictures[0][0][1])], 0
    found.append(_chunk(b"acTL", struct.pack(">II", len(pictures), 0)))
    width, height = struct.unpack(">II", pictures[0][0][1][:8])
    for i, (chunks, seconds) in enumerate(zip(pictures, frames.seconds, strict=True)):
        size = (number, width, height, 0, 0, round(seconds * 1000), 1000, 0, 0)
        found.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", *size)))
        number += 1
        for data in (data for kind, data in chunks if kind == b"IDAT"):
            if not i:
                found.append(_chunk(b"IDAT", data))
                continue
            found.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
            number += 1
    return b"".join((*found, _chunk(b"IEND", b"")))


def gif(drawing: FrameDrawing, frames: Frames) -> bytes:
    """All frames in one GIF, with the 256 colours that the frames have most.

    Raises:
        GradvizError: If the package Pillow or ``resvg-py`` is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise GradvizError(
            "GIF needs the package Pillow: pip install pillow. An .apng, and an .svg with "
            "animated=True, need nothing more."
        ) from error
    pictures = [Image.open(BytesIO(png)).convert("RGB") for png in _pngs(drawing, frames)]
    # Grounds and letters keep their exact colours; what is between takes the nearest of these.
    counts: Counter[Any] = Counter()
    for picture in pictures:
        found: Any = picture.getcolors(picture.width * picture.height)
        counts.update({colour: number for number, colour in found})
    few = _palette(counts)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in few for part in colour])
    first, *others = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    written = BytesIO()
    first.save(
        written,
        "GIF",
        save_all=True,
        append_images=others,
        duration=[round(seconds * 1000) for seconds in frames.seconds],
        loop=0,
    )
    return written.getvalue()


def _palette(counts: Counter[Any]) -> list[Any]:
    """The colours that are used most, of those that are alike the first."""
    found: dict[tuple[int, ...], Any] = {}
    for colour in sorted(counts, key=lambda colour: (-counts[colour], colour)):
        found.setdefault(tuple(part // ALIKE for part in colour), colour)
    return list(found.values())[:COLOURS]


def _pngs(drawing: FrameDrawing, frames: Frames) -> Iterator[bytes]:
    return (svg_to_png(drawing.svg(i), SCALE) for i in range(len(frames)))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and data of each chunk of a PNG."""
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)
