"""Arguments and options of a launch as tables of a launch file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..base.run_options import RunOptions
from ..base.specs import BufferSpec, ImageSpec, View

_DEPTH = {"image3d": "depth", "image2d_array": "layers", "image1d_array": "layers"}


def describe_view(view: View, dtype: str) -> dict[str, Any]:
    """The [[argument]] table of a buffer, of elements of `dtype`, or an image: all but its name, data and storage."""
    spec = view.spec
    if isinstance(spec, BufferSpec):
        return {"kind": "buffer", "dtype": dtype, "count": spec.nbytes // np.dtype(dtype).itemsize}
    return _describe_image(spec)


def _describe_image(spec: ImageSpec) -> dict[str, Any]:
    table: dict[str, Any] = {"kind": spec.kind, "width": spec.width}
    if spec.kind in ("image2d", "image2d_array", "image3d"):
        table["height"] = spec.height
    if spec.kind in _DEPTH:
        table[_DEPTH[spec.kind]] = spec.depth_or_layers
    table |= {"order": spec.order, "channel_type": spec.channel_type}
    return table | {key: pitch for key in ("row_pitch", "slice_pitch") if (pitch := getattr(spec, key)) is not None}


def describe_options(options: RunOptions) -> dict[str, Any]:
    """The [run] table: options that are not their defaults."""
    given = {item.name: getattr(options, item.name) for item in fields(options)}
    return {name: value for name, value in given.items() if value != getattr(RunOptions(), name) and value is not None}
