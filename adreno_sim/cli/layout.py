"""`adreno-sim layout`: where an image's texels are in memory on a device."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from ..base.pitch_rules import PITCH_RULES
from .output import declare, write_data

if TYPE_CHECKING:
    from ..base.specs import ImageSpec

_AXES = {
    "image1d": ("width",), "image1d_buffer": ("width",), "image1d_array": ("width", "depth_or_layers"),
    "image2d": ("width", "height"), "image2d_array": ("width", "height", "depth_or_layers"),
    "image3d": ("width", "height", "depth_or_layers"),
}  # fmt: skip

DETAILS = """\
KIND is image1d, image1d_buffer, image1d_array, image2d, image2d_array or image3d; SIZE is WIDTH, WIDTHxLAYERS,
WIDTHxHEIGHT or WIDTHxHEIGHTxLAYERS, as the kind has extents.

The driver chooses the layout of an image with its own memory; over a buffer the host may give the row pitch.

    adreno-sim layout image2d_array 28x40x9 --type HALF_FLOAT --at 27,39,8 --byte 4096 --svg layout.svg
    adreno-sim layout image2d 28x40 --row-pitch 448        # which rules take it
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "layout",
        help="show where an image's texels lie in memory",
        description="Row and slice pitch, bytes and padding of an image under each pitch rule, the byte of a texel and the "
        "texel at a byte, and a drawing.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", metavar="KIND", choices=_AXES, help="kind of image")
    parser.add_argument("size", metavar="SIZE", help="extents in texels, as 28x40x9")
    parser.add_argument("--order", default="RGBA", metavar="ORDER", help="channel order (default: RGBA)")
    parser.add_argument("--type", default="FLOAT", metavar="TYPE", help="channel type (default: FLOAT)")
    parser.add_argument("--profile", metavar="NAME", help="as of devices (default: adreno-740)")
    parser.add_argument("--rule", choices=PITCH_RULES, help="pitch rule (default: the profile's for such an image)")
    parser.add_argument("--over-buffer", action="store_true", help="an image over a buffer (default: with its own memory)")
    parser.add_argument("--row-pitch", type=int, metavar="BYTES", help="row pitch that the host gives an image over a buffer")
    parser.add_argument("--at", action="append", default=[], metavar="X[,Y][,LAYER]", help="the byte at which this texel begins")
    parser.add_argument("--byte", action="append", default=[], type=int, metavar="OFFSET", help="the texel this byte is part of")
    parser.add_argument("--svg", metavar="FILE", help="draw rows, padding and layers; the texels of --at and --byte are marked")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON (- = standard output)")
    declare(parser, ("--json", "--svg"), ("--profile",))
    parser.set_defaults(run=_layout)


def image_spec(kind: str, size: str, order: str, channel_type: str, row_pitch: int | None = None) -> ImageSpec:
    """The image that the command's arguments name. Raises AdrenoSimError for a size that does not fit the kind."""
    from ..base.specs import ImageSpec

    extents = _numbers(size, "x", len(_AXES[kind]), f"size {size!r} of an {kind}", "x".join(axis.upper() for axis in _AXES[kind]))
    named: Any = dict(zip(_AXES[kind], extents, strict=True))
    return ImageSpec(kind, order=order, channel_type=channel_type, row_pitch=row_pitch, **{"height": 1, **named})


def _numbers(text: str, separator: str, count: int, what: str, form: str) -> list[int]:
    from ..base.errors import AdrenoSimError

    parts = text.split(separator)
    if len(parts) != count or not all(re.fullmatch(r"-?[0-9]{1,18}", part) for part in parts):
        raise AdrenoSimError(f"{what}: expected {count} whole number{'s' if count > 1 else ''}: {form}".replace("DEPTH_OR_", ""))
    return [int(part) for part in parts]


def _layout(args: argparse.Namespace) -> int:
    from ..base import output_file
    from ..image.drawing import layout_svg
    from ..render.layout import text as layout_text
    from .devices import load_profile

    spec = image_spec(args.kind, args.size, args.order, args.type, args.row_pitch)
    profile = load_profile(args.profile)
    coordinates = [_coordinate(spec, text) for text in args.at]
    over_buffer = args.over_buffer or args.row_pitch is not None
    shown = layout_text.LayoutReport.of(spec, profile, args.rule, over_buffer, coordinates, args.byte)
    if args.json != "-":
        layout_text.show(shown, sys.stdout)
    write_data(args, lambda: layout_text.to_json(shown))
    if args.svg:
        title = f"{spec.kind} {spec.order} {spec.channel_type} on {profile.name} ({shown.rule})"
        output_file.write_text(args.svg, layout_svg(shown.layouts[shown.rule], title, shown.marked))
    return 0


def _coordinate(spec: ImageSpec, text: str) -> tuple[int, int, int]:
    """x, y and layer, zero where the kind has none. Raises AdrenoSimError for a texel that is not in the image."""
    from ..base.errors import AdrenoSimError

    axes = _AXES[spec.kind]
    given = dict(
        zip(
            axes,
            _numbers(
                text, ",", len(axes), f"--at {text}", "X" + ",Y" * ("height" in axes) + ",LAYER" * ("depth_or_layers" in axes)
            ),
            strict=True,
        )
    )
    extents = (spec.width, spec.height, spec.depth_or_layers)
    found = given["width"], given.get("height", 0), given.get("depth_or_layers", 0)
    if not all(0 <= at < extent for at, extent in zip(found, extents, strict=True)):
        last = ",".join(str(getattr(spec, axis) - 1) for axis in axes)
        raise AdrenoSimError(f"--at {text}: outside the image, whose texels are {','.join('0' for _ in axes)} to {last}")
    return found
