"""A model with chosen layers in other types and layouts, as options say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...base.errors import AdrenoSimError, OptionError
from .layout_config import DEFAULT, LayoutConfig, convert_layout
from .numbering import CONV2D, count_layers, function_of, layers, skipped_layers
from .recast import recast

PACKED = "NCHW4c"
"""What the texture pipeline packs convolutions in by itself."""


def change_layers(mod: Any, types: str | None, layout: str | None, skip_layers: Sequence[int]) -> Any:
    """The module with its conv2d layers, but those of `skip_layers`, in other types and another layout.

    types: "TYPE" or "TYPE:RESULT", as "int8:int32"; None = unchanged. layout: of the data, or "DATA:KERNEL", as "NHWC" or
    "NHWC:OHWI"; None, "default" and "NCHW4c" change nothing here (see `layout_scope`). Raises AdrenoSimError, UnsupportedError.
    """
    skipped_layers(count_layers(mod), skip_layers)
    if converts_here(layout):
        assert layout is not None
        data, _, kernel = layout.partition(":")
        mod = _convert(mod, data, kernel or DEFAULT, layout, skip_layers)
    if types is None:
        return mod
    dtype, _, out_dtype = types.partition(":")
    return recast(mod, dtype, out_dtype or None, skip_layers=skip_layers)


def converts_here(layout: str | None) -> bool:
    """Whether a layout is made of the model before TVM's pipeline runs."""
    return layout not in (None, DEFAULT, PACKED)


def layout_scope(
    mod: Any, types: str | None, layout: str | None, skip_layers: Sequence[int], textures: bool
) -> AbstractContextManager[Any]:
    """The scope in which a module of `change_layers` is lowered: what the texture pipeline's ConvertLayout leaves alone.

    Those of `skip_layers`; and every layer with layout "default", another one than NCHW4c, or types that no texel holds: then
    those that are not skipped were dealt with before. OptionError if the target has no textures and the options ask for what
    only these have.
    """
    nothing: AbstractContextManager[Any] = nullcontext()
    if not textures:
        if layout == PACKED:
            raise OptionError("layout", f"{PACKED}: is for texture targets")
        if skip_layers and types is None and layout is None:
            raise OptionError("skip_layers", "is for recast, for layout and for texture targets, and none of these is given")
        return nothing
    if layout not in (None, PACKED) or not fits_texel(types):
        return LayoutConfig(None) if count_layers(mod) else nothing
    return LayoutConfig(skip_layers) if skip_layers else nothing


def fits_texel(types: str | None) -> bool:
    """Whether layers of these types can be packed: what computes on elements that no texel holds stays plain."""
    return types is None or re.sub("[^0-9]", "", types.partition(":")[0]) in ("16", "32")


def _convert(mod: Any, data: str, kernel: str, layout: str, skip_layers: Sequence[int]) -> Any:
    """TVM's ConvertLayout, which leaves alone what it does not understand."""
    refused = AdrenoSimError(
        f"layout {layout!r}: TVM's ConvertLayout takes no such layout of convolutions; as NHWC, NHWC:OHWI, HWNC"
    )
    wanted = convert_layout({CONV2D: [data, kernel]})
    count = count_layers(mod)
    skip = skipped_layers(count, skip_layers)
    try:
        with LayoutConfig(skip_layers):
            made = wanted(mod)
    except Exception as error:  # TVM raises whatever its C++ layers raise for letters that are not a layout
        raise refused from error
    found = [str(binding.value.attrs.data_layout) for binding in layers(function_of(made, "main"), (CONV2D,))]
    if len(skip) < count and data not in {layout for number, layout in enumerate(found) if number not in skip}:
        raise refused
    return made
