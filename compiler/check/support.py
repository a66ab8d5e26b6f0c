"""What a device lacks for a compiled model, found before anything runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ...base.errors import UnsupportedError
from ...base.specs import ImageSpec, TensorSpec
from ...device.protocol import DeviceInfo
from ...findings import Finding, Kind
from ...profiles.ml import why_no_graphs
from ..artifact.host_function import Const
from ..artifact.model import CompiledModel, KernelCode

NEEDS = (
    (re.compile(r"\bcl_khr_fp16\b"), ("cl_khr_fp16",), "arithmetic in half"),
    (re.compile(r"\bcl_khr_fp64\b"), ("cl_khr_fp64",), "arithmetic in double"),
    (re.compile(r"\bsub_group_\w+\s*\("), ("cl_khr_subgroups", "cl_intel_subgroups"), "sub-groups"),
)
"""The parts of a source that need an extension, the extensions, and what for."""

IMAGE = re.compile(r"\bimage[123]d_\w*t\b")

SIDES = (("width", "IMAGE2D_MAX_WIDTH"), ("height", "IMAGE2D_MAX_HEIGHT"), ("depth_or_layers", "IMAGE_MAX_ARRAY_SIZE"))


def kernel_lacks(code: KernelCode, info: DeviceInfo) -> str:
    """Why the device cannot run a kernel, "" if nothing speaks against it."""
    for pattern, extensions, what in NEEDS:
        if not info.extensions.intersection(extensions) and pattern.search(code.source):
            return f"asks for {what}: {info.name} has no {' or '.join(extensions)}"
    if info.limits.get("IMAGE_SUPPORT", 1) == 0 and IMAGE.search(code.source):
        return f"needs images: {info.name} has none"
    return ""


def refused_kernels(model: CompiledModel, info: DeviceInfo) -> dict[str, UnsupportedError]:
    """The kernels that the device cannot run, by name."""
    reasons = {name: kernel_lacks(code, info) for name, code in model.kernels.items()}
    return {name: UnsupportedError(f"kernel {name}: unsupported: {reason}") for name, reason in reasons.items() if reason}


def unfit_parameters(model: CompiledModel) -> Iterator[Finding]:
    """A finding for every texture scope that parameters of the model are annotated with and no texture holds them in."""
    reasons: dict[str, dict[str, str]] = {}
    for info in model.inputs:
        shape = tuple(4 if isinstance(size, str) else size for size in info.shape)
        if reason := TensorSpec(shape, info.dtype, info.scope).why_no_texture():
            reasons.setdefault(info.scope, {})[info.name] = reason
    for scope, found in reasons.items():
        first, reason = next(iter(found.items()))
        others = ", ".join([*found][1:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
        message = f"parameter {first} of main is annotated {scope!r}, and no texture holds it ({reason}): it is given as a buffer"
        yield Finding(Kind.WRONG_ARGUMENT, message + (f"; so are {others}" if others else ""), tensor=first, count=len(found))


def oversized_groups(model: CompiledModel, most: int) -> Iterator[Finding]:
    """A finding for every kernel that is launched in groups of more work-items than the target has as max_num_threads, which the
    schedules of TVM keep to."""
    for host in model.host_functions.values():
        for launch in host.launches():
            sizes = [int(extent.value) for extent in launch.local if isinstance(extent, Const)]
            items = math.prod(sizes)
            if items > most:
                yield Finding(
                    Kind.GROUP_MAY_BE_REFUSED,
                    f"{' x '.join(map(str, sizes))} = {items} threads, where max_num_threads of the target is {most}: a phone "
                    "may have no registers for so many",
                    kernel=launch.kernel,
                    detail={"items": items, "max_num_threads": most},
                )


def require_graphs(model: CompiledModel, info: DeviceInfo) -> None:
    """Raise UnsupportedError if the model has subgraphs for OpenCL ML and the device runs none."""
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
