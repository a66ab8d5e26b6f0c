"""Draws the picture of a memory plan as pixels, with Pillow."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from ...base.installed.extras import require
from ...base.output_file import write_bytes
from ...base.text.spelling import shorten, spell_line
from .picture import Line, Picture, Rect, Scene, Text, scene_of

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

LONGEST = 300
"""Characters of a text that are drawn: more are wider than the picture."""

SCALE = 2
"""Pixels of the file per unit of the scene: sharp on dense screens, and smooth lines."""


def write_png(path: str | os.PathLike[str], picture: Picture) -> None:
    """Write the picture of a plan. MissingPackageError without Pillow, AdrenoSimError if the file cannot be written."""
    write_bytes(path, png(scene_of(picture)))


def png(scene: Scene) -> bytes:
    """The scene as a PNG file."""
    require("PIL")
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (scene.width * SCALE, scene.height * SCALE), "white")
    draw = ImageDraw.Draw(canvas, "RGBA")
    for shape in scene.shapes:
        if isinstance(shape, Rect):
            _rect(draw, shape)
        elif isinstance(shape, Line):
            _line(draw, shape)
        else:
            _text(canvas, draw, shape)
    out = io.BytesIO()
    canvas.quantize(128).save(out, "PNG", optimize=True)
    return out.getvalue()


def _rgba(colour: str, opacity: float) -> tuple[int, int, int, int]:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue, round(255 * opacity)


def _rect(draw: ImageDraw, shape: Rect) -> None:
    box = [shape.x * SCALE, shape.y * SCALE, (shape.x + shape.width) * SCALE - 1, (shape.y + shape.height) * SCALE - 1]
    if box[2] < box[0] or box[3] < box[1]:
        return
    draw.rectangle(box, fill=_rgba(shape.fill, shape.opacity), outline=_rgba(shape.outline, 1) if shape.outline else None)


def _line(draw: ImageDraw, shape: Line) -> None:
    points = [(x * SCALE, y * SCALE) for x, y in shape.points]
    width = max(round(shape.width * SCALE), 1)
    if not shape.dashes:
        draw.line(points, fill=shape.colour, width=width)
        return
    (x, y), (end, _) = points  # dashed lines are horizontal
    place, number = x, 0
    while place < end:
        length = shape.dashes[number % len(shape.dashes)] * SCALE
        if number % 2 == 0:
            draw.line([(place, y), (min(place + length, end), y)], fill=shape.colour, width=width)
        place, number = place + length, number + 1


def _text(canvas: Any, draw: ImageDraw, shape: Text) -> None:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(shape.size * SCALE)
    text = shorten(spell_line(shape.text), LONGEST)
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[shape.anchor]
    if not shape.upwards:
        weight = 1 if shape.bold else 0
        place = (shape.x * SCALE, shape.y * SCALE)
        draw.text(place, text, fill=shape.colour, font=font, anchor=anchor, stroke_width=weight, stroke_fill=shape.colour)
        return
    length, height = round(font.getlength(text)) + 8, shape.size * SCALE * 2
    strip = Image.new("RGBA", (length, height), (255, 255, 255, 0))
    ImageDraw.Draw(strip).text((length / 2, height * 0.7), text, fill=shape.colour, font=font, anchor="ms")
    turned = strip.rotate(90, expand=True)
    canvas.paste(turned, (round(shape.x * SCALE - height * 0.7), round(shape.y * SCALE - length / 2)), turned)
