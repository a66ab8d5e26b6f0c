"""Target names: shorthands, TVM's tags, and the limits of a device profile written into TVM's target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, UnsupportedError
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.target import Target

TAGS = {
    "texture": "qcom/adreno-opencl-texture",
    "buffer": "qcom/adreno-opencl",
    "clml": "qcom/adreno-opencl-clml",
}
"""Shorthand -> TVM target tag."""

BOTH = "clml-texture"
"""What OpenCL ML does not take as kernels on textures: TVM has no tag for it, but a target may have both keys."""

LIMIT_ATTRIBUTES = {
    "IMAGE2D_MAX_WIDTH": "texture_spatial_limit",
    "IMAGE_MAX_ARRAY_SIZE": "texture_depth_limit",
    "IMAGE_BASE_ADDRESS_ALIGNMENT": "image_base_address_alignment",
}
"""OpenCL limit (without CL_DEVICE_) -> attribute of TVM's opencl target that its Adreno passes and planner read."""


def shorthand(name: str) -> str:
    """ "texture", "buffer", "clml" or "clml-texture" for a shorthand or a tag. AdrenoSimError for anything else."""
    if name == BOTH:
        return name
    for short, tag in TAGS.items():
        if name in (short, tag):
            return short
    raise AdrenoSimError(f"target {name!r}: expected one of {', '.join(TAGS)}, {BOTH} or {', '.join(TAGS.values())}")


def make_target(name: str | Target, limits: Mapping[str, Any] | None = None) -> Target:
    """TVM's target for a shorthand, a tag, or a Target (which is taken as it is).

    `limits` are a device's (`DeviceInfo.limits`): those TVM's target knows replace its defaults. The thread limit is
    not among them: TVM's 256 is what its schedules are written for, and every Adreno allows it.
    Raises AdrenoSimError for another name, UnsupportedError for a Target that is not OpenCL's, as TVM's tags for Vulkan.
    """
    tvm = import_tvm()
    if isinstance(name, tvm.target.Target):
        if name.kind.name != "opencl":
            raise UnsupportedError(f"unsupported: a target of kind {name.kind.name}: expected opencl, which devices here run")
        return name
    short = shorthand(name)
    target = tvm.target.Target(TAGS["clml" if short == BOTH else short])
    if short == BOTH:
        target = tvm.target.Target({**dict(target.export()), "keys": [*target.keys, "texture"]})
    given = {attr: int(limits[limit]) for limit, attr in LIMIT_ATTRIBUTES.items() if limits and limits.get(limit)}
    return tvm.target.Target({**dict(target.export()), **given}) if given else target
