"""What a device lacks for a compiled model, found before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...base.errors import UnsupportedError
from ...base.specs import ImageSpec, TensorSpec
from ...device.protocol import DeviceInfo
from ...profiles.ml import why_no_graphs
from ..artifact.model import CompiledModel, KernelCode

NEEDS = (
    (re.compile(r"\bcl_khr_fp16\b"), ("cl_khr_fp16",), "arithmetic in half"),
    (re.compile(r"\bcl_khr_fp64\b"), ("cl_khr_fp64",), "arithmetic in double"),
    (re.compile(r"\bsub_group_\w+\s*\("), ("cl_khr_subgroups", "cl_intel_subgroups"), "sub-groups"),
)
"""What in a source needs one of which extensions, and what for."""

IMAGE = re.compile(r"\bimage[123]d_\w*t\b")

SIDES = (("width", "IMAGE2D_MAX_WIDTH"), ("height", "IMAGE2D_MAX_HEIGHT"), ("depth_or_layers", "IMAGE_MAX_ARRAY_SIZE"))


def kernel_lacks(code: KernelCode, info: DeviceInfo) -> str:
    """Why the device cannot run a kernel, "" where nothing speaks against it."""
    for pattern, extensions, what in NEEDS:
        if pattern.search(code.source) and not info.extensions.intersection(extensions):
            return f"asks for {what}: {info.name} has no {' or '.join(extensions)}"
    if IMAGE.search(code.source) and info.limits.get("IMAGE_SUPPORT", 1) == 0:
        return f"needs images: {info.name} has none"
    return ""


def refused_kernels(model: CompiledModel, info: DeviceInfo) -> dict[str, UnsupportedError]:
    """The kernels that the device cannot run, by name."""
    reasons = {name: kernel_lacks(code, info) for name, code in model.kernels.items()}
    return {name: UnsupportedError(f"kernel {name}: unsupported: {reason}") for name, reason in reasons.items() if reason}


def require_graphs(model: CompiledModel, info: DeviceInfo) -> None:
    """Raise UnsupportedError where the model has subgraphs for OpenCL ML and the device runs none."""
    if model.graphs and info.ml is None:
        raise UnsupportedError(f"unsupported: {why_no_graphs(info.name, info.extensions)}")


def require_images(model: CompiledModel, info: DeviceInfo) -> None:
    """Raise UnsupportedError naming every texture of the model's plan that is larger than the device's images."""
    found = list(_too_large(model, info))
    if found:
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        raise UnsupportedError(f"unsupported: {'; '.join(found[:3])}{more}")


def _too_large(model: CompiledModel, info: DeviceInfo) -> Iterator[str]:
    tensors = model.plan.tensors if model.plan is not None else ()
    for tensor in tensors:
        if not tensor.scope.startswith("global.texture"):
            continue
        view = TensorSpec(tensor.shape, tensor.dtype, tensor.scope).lower()
        assert isinstance(view, ImageSpec)
        for side, limit in SIDES:
            most = info.limits.get(limit)
            if most and getattr(view, side) > most:
                yield f"texture {tensor.id} is {view}: {info.name} has {limit} = {most}"
