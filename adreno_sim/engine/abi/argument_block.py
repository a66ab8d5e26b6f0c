"""The layout of the argument block, and which kind of argument each parameter takes."""

from __future__ import annotations

import functools

from ...base.errors import AdrenoSimError
from ...ir import ir, llvm_types
from .specialization import ArgSpec, BufferArg, ImageArg, LocalArg, SamplerArg, ScalarArg, Specialization

BUFFER_BYTES = 16  # address, length
IMAGE_FIELDS = ("address", "width", "height", "depth_or_layers", "row_pitch", "slice_pitch")


SHADOW_BYTES = 16  # addresses of the valid bytes and of the race cells


def shadow_offset(arg: ArgSpec) -> int:
    """Returns where the addresses of an argument's shadows are in its part of the argument block, in bytes."""
    return BUFFER_BYTES if isinstance(arg, BufferArg) else 8 * len(IMAGE_FIELDS)


def slot_bytes(arg: ArgSpec) -> int:
    """Returns the bytes of the argument block that `arg` takes."""
    if isinstance(arg, (BufferArg, ImageArg)):
        return shadow_offset(arg) + (SHADOW_BYTES if arg.shadow is not None else 0)
    return llvm_types.align_up(arg.nbytes, 128) if isinstance(arg, ScalarArg) else 0


@functools.lru_cache(maxsize=1024)
def slots(args: tuple[ArgSpec, ...]) -> tuple[list[int], int]:
    """Returns the offset of each argument, and the size of the block. Scalars are aligned to 128 bytes for the widest
    vectors."""
    offsets, end = [], 0
    for arg in args:
        end = llvm_types.align_up(end, 128 if isinstance(arg, ScalarArg) else 8)
        offsets.append(end)
        end += slot_bytes(arg)
    return offsets, max(end, 8)


def expected_kind(param: ir.Param) -> type:
    """Returns the class of ArgSpec that a parameter takes."""
    if isinstance(param.type, ir.Image):
        return ImageArg
    if isinstance(param.type, ir.Sampler):
        return SamplerArg
    if isinstance(param.type, ir.Pointer):
        return LocalArg if param.type.space == ir.LOCAL else BufferArg
    return ScalarArg


def check_arguments(kernel: ir.Function, spec: Specialization) -> None:
    """Raises AdrenoSimError if a specialization does not fit the kernel: wrong number, kind or size of arguments."""
    if len(spec.args) != len(kernel.params):
        raise AdrenoSimError(f"kernel {kernel.name}: expected {len(kernel.params)} arguments, got {len(spec.args)}")
    for param, arg in zip(kernel.params, spec.args, strict=True):
        name = f"kernel {kernel.name}, argument {param.index} ({param.name})"
        wanted = expected_kind(param)
        if not isinstance(arg, wanted):
            raise AdrenoSimError(f"{name}: expected {wanted.__name__}, got {type(arg).__name__}")
        if isinstance(arg, ScalarArg) and arg.nbytes != llvm_types.size_of(param.type):
            raise AdrenoSimError(f"{name}: expected {llvm_types.size_of(param.type)} bytes, got {arg.nbytes}")
        if isinstance(arg, ImageArg) and isinstance(param.type, ir.Image) and arg.kind != param.type.kind:
            raise AdrenoSimError(f"{name}: expected {param.type.kind}, got {arg.kind}")
