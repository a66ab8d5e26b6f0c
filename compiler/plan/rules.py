"""What a device asks of a memory plan: sizes under its pitch rule, alignments of addresses, limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.pitch_rules import DEFAULT_ALIGNMENT, PitchRule, find_pitch_rule
from ...base.specs import BufferSpec, ImageSpec, TensorSpec
from ...device.on_chip import why_none, why_not_asked
from ...device.protocol import Device
from ...image import layout_under
from ...profiles.ml import MLCapabilities
from ...profiles.profile import Profile
from ...records import dataclass
from ..run.texture_views import row_pitch, texel_bytes, with_runtime_pitch
from .problem import Item, Problem, from_plan

if TYPE_CHECKING:
    from ..artifact.memory_plan import MemoryPlan

TEXTURE = "image2d_array"
"""The kind of every texture of TVM's."""

IMAGE_LIMITS = {"width": "IMAGE2D_MAX_WIDTH", "height": "IMAGE2D_MAX_HEIGHT", "depth_or_layers": "IMAGE_MAX_ARRAY_SIZE"}
"""Extent of an image2d_array -> the device limit on it."""


@dataclass(frozen=True)
class DeviceRules:
    """Memory rules of `device` under `pitch_rule` (see `base.pitch_rules`).

    image_views: an image2d_array can be a view of a buffer's bytes; else each texture is a separate image, and only
    its dense texels are in the storage. limits: OpenCL names without CL_DEVICE_.
    """

    device: str
    pitch_rule: str
    image_views: bool
    limits: Mapping[str, Any]
    page: int = 4096
    profile: Profile | None = None

    @staticmethod
    def of_profile(profile: Profile, pitch_rule: str | None = None) -> DeviceRules:
        """Rules of a simulated device; a pitch rule given goes before its own."""
        if pitch_rule is not None:
            profile = profile.with_values({"pitch_rule": pitch_rule})
        views = profile.images_over_buffers("image2d_array")
        return DeviceRules(profile.name, profile["pitch_rule"], views, profile.limits, profile["page_size"], profile)

    @staticmethod
    def of_device(device: Device) -> DeviceRules:
        """Rules of an open device, whose views take as many bytes as `view_size` says."""
        if device.info.profile is not None:
            return DeviceRules.of_profile(device.info.profile)
        views = "image2d_array" in device.info.image_views
        return DeviceRules(device.info.name, device.info.pitch_rule, views, device.info.limits)

    @property
    def text(self) -> str:
        """The rule in words."""
        texels = f"; it takes multiples of {self.pitch} texels" if self.rule.takes_texels else ""
        layers = f", layers of {self.rule.layer} bytes" if self.rule.layer > 1 else ""
        return f"{self.device}, texture rows of {self.pitch} bytes{texels}{layers}"

    @property
    def rule(self) -> PitchRule:
        """The pitch rule. Raises DeviceError if there is none of this name."""
        return find_pitch_rule(self.pitch_rule)

    @property
    def pitch(self) -> int:
        """IMAGE_PITCH_ALIGNMENT; 64 where the device reports none."""
        return int(self.limits.get("IMAGE_PITCH_ALIGNMENT") or DEFAULT_ALIGNMENT)

    @property
    def max_allocation(self) -> int | None:
        return int(self.limits.get("MAX_MEM_ALLOC_SIZE") or 0) or None

    def range_text(self, key: str) -> str:
        """What to say after a limit that vendors choose: that it is the smallest seen."""
        return self.profile.range_text(key) if self.profile is not None else ""

    def size(self, spec: TensorSpec) -> int:
        """Bytes of a tensor, padding of the row pitch that TVM's runtime passes included.

        UnsupportedError or DeviceError for what no texture can be.
        """
        view = with_runtime_pitch(spec.lower(), (TEXTURE,), self.limits)
        return view.nbytes if isinstance(view, BufferSpec) else layout_under(view, self.pitch_rule, self.pitch).nbytes

    def view_size(self, spec: TensorSpec) -> int:
        """Bytes of storage that a view of the tensor takes on this device: the dense texels under a separate image."""
        return self.size(spec) if self.image_views or not _is_texture(spec) else spec.nbytes

    def alignment(self, spec: TensorSpec) -> int:
        """Bytes its address in a storage is a multiple of: sub-buffers and image bases have their own rules, both hold."""
        sub_buffer = max(int(self.limits.get("MEM_BASE_ADDR_ALIGN") or 8) // 8, 1)
        view = spec.lower()
        if not isinstance(view, ImageSpec):
            return math.lcm(sub_buffer, np.dtype(spec.dtype).itemsize)
        base = int(self.limits.get("IMAGE_BASE_ADDRESS_ALIGNMENT") or DEFAULT_ALIGNMENT)
        return math.lcm(sub_buffer, self.rule.required_multiple(base, texel_bytes(view)))

    def refused_pitch(self, spec: TensorSpec) -> str:
        """Why clCreateImage refuses the row pitch that TVM's runtime passes for a texture over a buffer; "" if it does not."""
        view = spec.lower()
        if not isinstance(view, ImageSpec) or not self.image_views:
            return ""
        alignment, given = int(self.limits.get("IMAGE_PITCH_ALIGNMENT") or 0), row_pitch(view, self.limits)
        needed = self.rule.required_multiple(alignment, texel_bytes(view))
        if not needed or given % needed == 0:
            return ""
        texels = f", {alignment} texels" if self.rule.takes_texels else ""
        return f"row pitch {given:,}: expected a multiple of {needed:,} bytes{texels}"

    def over_limit(self, spec: TensorSpec) -> str:
        """Why no view of the tensor can be made on this device; "" if one can."""
        view = spec.lower()
        if isinstance(view, ImageSpec):
            for extent, name in IMAGE_LIMITS.items():
                limit = self.limits.get(name)
                if limit and getattr(view, extent) > limit:
                    return f"{extent.partition('_')[0]} {getattr(view, extent)}: {name} is {limit}"
        most, size = self.max_allocation, self.size(spec)
        if most is None or size <= most:
            return ""
        return f"{size} bytes: MAX_MEM_ALLOC_SIZE is {most}{self.range_text('MAX_MEM_ALLOC_SIZE')}"

    @property
    def on_chip(self) -> int:
        """Bytes of on-chip memory that a plan may use; 0 where `why_no_chip` says why."""
        return 0 if self.why_no_chip else int(self.limits["ONCHIP_GLOBAL_MEM_SIZE"])

    @property
    def ml(self) -> MLCapabilities | None:
        """OpenCL ML of a simulated device; None if it has none."""
        return self.profile.ml if self.profile is not None else None

    @property
    def why_no_chip(self) -> str:
        """Why a plan may use no on-chip memory of the device; "" if it may."""
        if self.profile is None:
            return why_not_asked(self.device)
        return why_none(self.device, self.profile.extensions, int(self.profile["ONCHIP_GLOBAL_MEM_SIZE"]))

    def problem(self, plan: MemoryPlan, chip: bool = False) -> Problem:
        """What the planner had to place, in `plan`, as a problem on this device. chip: with what is on the chip, or may."""
        on_chip = self.on_chip if chip else None
        problem = from_plan(plan, self.size, max_allocation=self.max_allocation, on_chip=on_chip)
        return replace(problem, items=tuple(replace(item, alignment=self.alignment(spec_of(item))) for item in problem.items))


def spec_of(item: Item) -> TensorSpec:
    """The tensor spec of an item of a plan."""
    return TensorSpec(item.shape, item.dtype, item.scope)


def _is_texture(spec: TensorSpec) -> bool:
    return isinstance(spec.lower(), ImageSpec)
