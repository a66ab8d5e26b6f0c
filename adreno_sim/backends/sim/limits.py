"""The profile's limits; each is reported with the error code of the OpenCL call that would report it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...base.errors import DeviceError, ViewTooLargeError
from ...base.specs import BufferSpec, ImageSpec, Local
from ...image import Layout, find_refusal
from ...ir import ir
from ...ir.layout import size_of
from ...memory.heap import Heap
from ...memory.storage import DeviceMemory, Storage, StorageView
from ...profiles.profile import Profile
from .program import SimKernel

Size = tuple[int, int, int]

_MOST_ITEMS = 1 << 40  # of one launch: keeps every count of the engine inside 64 bits


def memory_of(profile: Profile, seed: int, record: bool, heap: Heap | None) -> DeviceMemory:
    """The device's memory. A refusal says where a limit is one of several that phones have."""
    notes = profile.range_text("GLOBAL_MEM_SIZE"), profile.range_text("MAX_MEM_ALLOC_SIZE")
    return DeviceMemory(profile["GLOBAL_MEM_SIZE"], profile["MAX_MEM_ALLOC_SIZE"], seed, record, heap, notes=notes)


def check_image(spec: ImageSpec, profile: Profile) -> None:
    """Checks an image's extents against the device (clCreateImage: CL_INVALID_IMAGE_SIZE)."""
    for name, extent, limit in _extents(spec):
        if extent > profile[limit]:
            raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{spec}: {name} {extent}, {limit} = {profile[limit]}")


def _extents(spec: ImageSpec) -> list[tuple[str, int, str]]:
    if spec.kind == "image1d_buffer":
        return [("width", spec.width, "IMAGE_MAX_BUFFER_SIZE")]
    dimension = "IMAGE3D" if spec.kind == "image3d" else "IMAGE2D"
    found = [("width", spec.width, f"{dimension}_MAX_WIDTH"), ("height", spec.height, f"{dimension}_MAX_HEIGHT")]
    if spec.kind == "image3d":
        found.append(("depth", spec.depth_or_layers, "IMAGE3D_MAX_DEPTH"))
    elif spec.kind.endswith("_array"):
        found.append(("layers", spec.depth_or_layers, "IMAGE_MAX_ARRAY_SIZE"))
    return found


def check_alignment(spec: ImageSpec, layout: Layout, offset: int, profile: Profile) -> None:
    """Checks pitches and base of an image over a buffer (clCreateImage: CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)."""
    refused = find_refusal(layout, spec.kind, offset, profile, profile["pitch_rule"])
    if refused:
        raise DeviceError("CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", refused)


def check_resources(kernel: SimKernel, args: Sequence[object], profile: Profile) -> None:
    """Checks local memory, images, samplers, constants and argument bytes (clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES).

    A `sub_group_uniform` argument is read from memory: kernels for Adreno give it weights of any size.
    """
    for what, used, limit in _resources(kernel, args):
        if used > profile[limit]:
            raise DeviceError("CL_OUT_OF_RESOURCES", f"kernel {kernel.name}: {used} {what}, {limit} = {profile[limit]}")


def _resources(kernel: SimKernel, args: Sequence[object]) -> list[tuple[str, int, str]]:
    params = kernel.function.params
    images = [p.type.access for p in params if isinstance(p.type, ir.Image)]
    local = kernel.local_bytes + sum(arg.nbytes for arg in args if isinstance(arg, Local))
    in_constant_memory = [
        arg.nbytes
        for param, arg in zip(params, args, strict=True)
        if _is_constant(param) and isinstance(arg, StorageView) and "sub_group_uniform" not in param.qualifiers
    ]
    largest = max(in_constant_memory, default=0)
    return [
        ("bytes of local memory", local, "LOCAL_MEM_SIZE"),
        ("read-only image arguments", images.count("read_only"), "MAX_READ_IMAGE_ARGS"),
        ("write-only image arguments", images.count("write_only"), "MAX_WRITE_IMAGE_ARGS"),
        ("read-write image arguments", images.count("read_write"), "MAX_READ_WRITE_IMAGE_ARGS"),
        ("sampler arguments", sum(isinstance(p.type, ir.Sampler) for p in params), "MAX_SAMPLERS"),
        ("__constant arguments", sum(map(_is_constant, params)), "MAX_CONSTANT_ARGS"),
        ("bytes in a __constant argument", largest, "MAX_CONSTANT_BUFFER_SIZE"),
        ("bytes of __constant data", kernel.constant_bytes, "MAX_CONSTANT_BUFFER_SIZE"),
        ("bytes of arguments", sum(map(_argument_bytes, params)), "MAX_PARAMETER_SIZE"),
    ]


def _is_constant(param: ir.Param) -> bool:
    return isinstance(param.type, ir.Pointer) and param.type.space == ir.CONSTANT


def _argument_bytes(param: ir.Param) -> int:
    """Returns the bytes that an argument takes; handles and pointers take 8."""
    return 8 if isinstance(param.type, (ir.Image, ir.Sampler, ir.Pointer)) else size_of(param.type)


def work_size(
    kernel: SimKernel, global_size: Sequence[int], local_size: Sequence[int] | None, profile: Profile
) -> tuple[Size, Size]:
    """Returns the checked global and local size as (x, y, z); a local size of None is chosen (clEnqueueNDRangeKernel).

    From OpenCL 2.1 on a global size may be 0: nothing runs then.
    """
    total = _three(kernel, "global", global_size, least=0 if profile["opencl"] > "2.0" else 1)
    if local_size is None:
        group = kernel.function.required_work_group_size or choose_local(total, profile)
    else:
        group = _three(kernel, "local", local_size, least=1)
        if len(local_size) != len(global_size):
            _group_error(kernel, group, f"expected as many dimensions as global size {tuple(global_size)}")
    _check_group(kernel, group, profile)
    _check_edges(kernel, total, group, profile)
    return total, group


def global_offset(kernel: SimKernel, global_size: Sequence[int], offset: Sequence[int] | None) -> Size:
    """Returns the checked global offset as (x, y, z) (clEnqueueNDRangeKernel: CL_INVALID_GLOBAL_OFFSET)."""
    if offset is None:
        return 0, 0, 0
    if len(offset) != len(global_size) or any(int(n) != n or not 0 <= n <= _MOST_ITEMS for n in offset):
        expected = f"{len(global_size)} whole numbers from 0 to {_MOST_ITEMS}, as global size {tuple(global_size)}"
        raise DeviceError("CL_INVALID_GLOBAL_OFFSET", f"kernel {kernel.name}: global offset {tuple(offset)}: expected {expected}")
    x, y, z = (*map(int, offset), *[0] * (3 - len(offset)))
    return x, y, z


def _three(kernel: SimKernel, which: str, size: Sequence[int], least: int) -> Size:
    def wrong(code: str, expected: str) -> DeviceError:
        return DeviceError(code, f"kernel {kernel.name}: {which} size {tuple(size)}: expected {expected}")

    if not 1 <= len(size) <= 3:
        raise wrong("CL_INVALID_WORK_DIMENSION", "1 to 3 dimensions")
    code = "CL_INVALID_GLOBAL_WORK_SIZE" if which == "global" else "CL_INVALID_WORK_GROUP_SIZE"
    if any(int(n) != n or n < least for n in size):
        raise wrong(code, f"whole numbers of {least} or more")
    x, y, z = (*map(int, size), *[1] * (3 - len(size)))
    if max(x, y, z) > _MOST_ITEMS or x * y * z > _MOST_ITEMS:
        raise wrong(code, f"at most {_MOST_ITEMS} work-items")
    return x, y, z


def _check_group(kernel: SimKernel, group: Size, profile: Profile) -> None:
    required = kernel.function.required_work_group_size
    if required and group != required:
        _group_error(kernel, group, f"reqd_work_group_size asks for {required}")
    for axis, (size, limit) in enumerate(zip(group, profile["MAX_WORK_ITEM_SIZES"], strict=True)):
        if size > limit:
            _group_error(kernel, group, f"MAX_WORK_ITEM_SIZES[{axis}] = {limit}", "CL_INVALID_WORK_ITEM_SIZE")
    if math.prod(group) > profile["MAX_WORK_GROUP_SIZE"]:
        _group_error(kernel, group, f"{math.prod(group)} work-items, MAX_WORK_GROUP_SIZE = {profile['MAX_WORK_GROUP_SIZE']}")
    if math.prod(group) > profile.largest_group:
        why = f"{math.prod(group)} work-items, CL_KERNEL_WORK_GROUP_SIZE = {profile.largest_group} (kernel_group_limit)"
        _group_error(kernel, group, why)


def _check_edges(kernel: SimKernel, total: Size, group: Size, profile: Profile) -> None:
    """Raises if groups do not divide the global size, unless device and build allow smaller groups at the edge."""
    if not any(whole % part for whole, part in zip(total, group, strict=True)):
        return
    if not profile["non_uniform_work_groups"]:
        _group_error(kernel, group, f"global size {total} is not a multiple of it, and the device has no non-uniform work-groups")
    if not kernel.non_uniform:
        _group_error(
            kernel,
            group,
            f"global size {total} is not a multiple of it, which needs -cl-std=CL2.0 or CL3.0 and no -cl-uniform-work-group-size",
        )


def _group_error(kernel: SimKernel, group: Size, why: str, code: str = "CL_INVALID_WORK_GROUP_SIZE") -> None:
    raise DeviceError(code, f"kernel {kernel.name}: local size {group}: {why}")


def choose_local(total: Size, profile: Profile) -> Size:
    """Returns the local size for a caller that gives none: along x, y, then z the largest divisor that keeps a group in one
    wave."""
    return fill_group(total, min(profile["wave_sizes"][0], profile.largest_group), profile)


def fill_group(total: Size, room: int, profile: Profile) -> Size:
    """Returns a group of at most `room` work-items: along x, y, then z the largest divisor of the NDRange."""
    chosen = []
    for size, limit in zip(total, profile["MAX_WORK_ITEM_SIZES"], strict=True):
        part = max((n for n in range(1, min(size, limit, room) + 1) if size % n == 0), default=1)
        chosen.append(part)
        room //= part
    x, y, z = chosen
    return x, y, z


def check_buffer(spec: BufferSpec, offset: int, storage: Storage, profile: Profile) -> None:
    """Checks region and alignment of a buffer view (clCreateSubBuffer). On-chip memory has none of these: a buffer is made at its
    offset there, for which no public text asks an alignment."""
    if spec.nbytes < 0 or offset < 0 or offset + spec.nbytes > storage.nbytes:
        raise ViewTooLargeError(
            "CL_INVALID_VALUE", f"buffer of {spec.nbytes} bytes at offset {offset}: the storage has {storage.nbytes} bytes"
        )
    if not storage.on_chip:
        check_offset(offset, profile)


def check_offset(offset: int, profile: Profile) -> None:
    """Checks the alignment of a sub-buffer (CL_MISALIGNED_SUB_BUFFER_OFFSET)."""
    alignment = profile["MEM_BASE_ADDR_ALIGN"] // 8
    if offset % (alignment or 1):
        raise DeviceError(
            "CL_MISALIGNED_SUB_BUFFER_OFFSET",
            f"offset {offset}: expected a multiple of {alignment} bytes (MEM_BASE_ADDR_ALIGN = {alignment * 8} bits)",
        )
