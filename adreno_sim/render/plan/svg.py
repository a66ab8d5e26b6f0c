"""Draws the picture of a memory plan as SVG."""

from __future__ import annotations

import os

from ...base.output_file import write_text
from ..page import escape
from .picture import Line, Picture, Rect, Scene, Text, scene_of

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def write_svg(path: str | os.PathLike[str], picture: Picture) -> None:
    """Write the picture of a plan; hovering shows what a tensor is. AdrenoSimError if the file cannot be written."""
    write_text(path, svg(scene_of(picture)))


def svg(scene: Scene) -> str:
    """The scene as one SVG document."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {scene.width} {scene.height}" width="{scene.width}" '
        f'height="{scene.height}" font-family="{FONT}">\n<title>{escape(scene.title)}</title>\n'
    )
    return head + "\n".join(map(_shape, scene.shapes)) + "\n</svg>\n"


def _shape(shape: Rect | Line | Text) -> str:
    if isinstance(shape, Rect):
        return _rect(shape)
    return _line(shape) if isinstance(shape, Line) else _text(shape)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _rect(shape: Rect) -> str:
    place = " ".join(f'{key}="{_number(getattr(shape, key))}"' for key in ("x", "y", "width", "height"))
    opacity = f' fill-opacity="{shape.opacity:g}"' if shape.opacity != 1 else ""
    outline = f' stroke="{shape.outline}" stroke-width="0.6"' if shape.outline else ""
    title = f"><title>{escape(shape.title)}</title></rect>" if shape.title else "/>"
    return f'<rect {place} fill="{shape.fill}"{opacity}{outline}{title}'


def _line(shape: Line) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
    dashes = f' stroke-dasharray="{" ".join(map(str, shape.dashes))}"' if shape.dashes else ""
    style = f'fill="none" pointer-events="none" stroke="{shape.colour}" stroke-width="{shape.width:g}"'
    return f'<polyline points="{points}" {style}{dashes}/>'


def _text(shape: Text) -> str:
    turned = f' transform="rotate(-90 {_number(shape.x)} {_number(shape.y)})"' if shape.upwards else ""
    bold = ' font-weight="600"' if shape.bold else ""
    anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
    return (
        f'<text x="{_number(shape.x)}" y="{_number(shape.y)}" font-size="{shape.size}" fill="{shape.colour}"{anchor}{bold}'
        f'{turned} pointer-events="none">{escape(shape.text)}</text>'
    )
