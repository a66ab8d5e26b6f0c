"""What the platform and the device say of themselves: the answers of clGetPlatformInfo and clGetDeviceInfo as bytes, by query.

The rows are those of OpenCL 3.0, sections 4.1 and 4.2. Queries that hold handles and counts (CL_DEVICE_PLATFORM,
CL_DEVICE_PARENT_DEVICE, CL_DEVICE_REFERENCE_COUNT) are the shim's.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..image.formats import CHANNEL_TYPES, ORDERS, combined_with
from ..profiles.bounds import ATOMIC_ALIGNMENTS, FP_FLAGS, SVM_FLAGS, WIDTHS
from ..profiles.profile import Profile
from .protocol import KINDS

Answers = dict[int, bytes]

_PRINTF_BYTES = 1 << 20

_PLATFORM_EXTENSION = "cl_khr_icd"
"""All that platforms of 3.0 list; those of 2.0 list nothing, and have it here for loaders that ask for it."""

EXTENSIONS = frozenset((
    "cl_ext_image_from_buffer", "cl_ext_image_requirements_info", "cl_khr_3d_image_writes", "cl_khr_byte_addressable_store",
    "cl_khr_extended_bit_ops",
    "cl_khr_fp16", "cl_khr_fp64", "cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
    "cl_khr_image2d_from_buffer", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_integer_dot_product",
    "cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics", "cl_khr_srgb_image_writes", "cl_khr_subgroups",
    "cl_khr_subgroup_ballot", "cl_khr_subgroup_shuffle", "cl_qcom_dot_product8", "cl_qcom_extra_vector_types",
    "cl_qcom_large_buffer", "cl_qcom_reqd_sub_group_size", "cl_qcom_subgroup_constant_load", "cl_qcom_subgroup_shuffle",
    "cl_qcom_subgroup_uniform_load",
))  # fmt: skip
"""Extensions that this driver has, where a profile lists them: those of the kernel language that the engine runs, and images over
buffers. What needs functions of the API that the driver lacks is not listed, whatever the device has."""

_FEATURES = (
    "3d_image_writes", "atomic_order_acq_rel", "atomic_order_seq_cst", "atomic_scope_all_devices", "atomic_scope_device",
    "generic_address_space", "images", "int64", "read_write_images", "subgroups", "work_group_collective_functions",
)  # fmt: skip

CHANNEL_ORDER = {
    "R": 0x10B0, "A": 0x10B1, "RG": 0x10B2, "RA": 0x10B3, "RGBA": 0x10B5, "BGRA": 0x10B6, "ARGB": 0x10B7, "INTENSITY": 0x10B8,
    "LUMINANCE": 0x10B9, "sRGB": 0x10BF, "sRGBx": 0x10C0, "sRGBA": 0x10C1, "sBGRA": 0x10C2, "ABGR": 0x10C3,
}  # fmt: skip
"""cl_channel_order by name."""
CHANNEL_TYPE = {
    "SNORM_INT8": 0x10D0, "SNORM_INT16": 0x10D1, "UNORM_INT8": 0x10D2, "UNORM_INT16": 0x10D3, "SIGNED_INT8": 0x10D7,
    "SIGNED_INT16": 0x10D8, "SIGNED_INT32": 0x10D9, "UNSIGNED_INT8": 0x10DA, "UNSIGNED_INT16": 0x10DB, "UNSIGNED_INT32": 0x10DC,
    "HALF_FLOAT": 0x10DD, "FLOAT": 0x10DE,
}  # fmt: skip
"""cl_channel_type by name."""


def platform_answers(profile: Profile) -> Answers:
    """clGetPlatformInfo."""
    version = platform_opencl(profile)
    answers = {
        0x900: _text("FULL_PROFILE"),
        0x901: _text(profile["platform_version"]),
        0x902: _text(profile["platform_name"]),
        0x903: _text(profile["vendor"]),
        0x904: _text(_PLATFORM_EXTENSION),
        0x920: _text("QCOM"),
    }
    if version >= "3.0":
        answers |= {0x905: _u64(0), 0x906: _u32(_version(version)), 0x907: _named((_PLATFORM_EXTENSION,))}
    return answers


def platform_opencl(profile: Profile) -> str:
    """The version of OpenCL that the platform has: newer drivers have 3.0 over devices of 2.0."""
    found = re.match(r"OpenCL (\d\.\d)", profile["platform_version"])
    return found[1] if found else str(profile["opencl"])


def device_answers(profile: Profile) -> Answers:
    """clGetDeviceInfo."""
    answers: Answers = {}
    for number, encode, value in (*_limits(profile), *_facts(profile), *_texts(profile), *_absent(profile)):
        answers[number] = encode(value)
    if _has_version_3(profile):
        answers |= {number: encode(value) for number, encode, value in _version_3(profile)}
    if "cl_khr_integer_dot_product" in profile.extensions:  # packed, and vectors of four; nothing is said of their speed
        answers |= {0x1073: _u64(3), 0x1074: bytes(24), 0x1075: bytes(24)}
    return answers


def image_formats() -> list[tuple[int, int, int]]:
    """(order, type, mask of KINDS) of each supported image format."""
    every = (1 << len(KINDS)) - 1
    not_over_buffers = every & ~(1 << KINDS.index("image1d_buffer"))
    return [
        (CHANNEL_ORDER[order], CHANNEL_TYPE[type], not_over_buffers if order.startswith("s") else every)
        for order in ORDERS
        for type in combined_with(order)
        if type in CHANNEL_TYPES
    ]


_Row = tuple[int, Callable[[Any], bytes], Any]


def _limits(profile: Profile) -> Iterator[_Row]:
    """Numbers of the profile, each in the type of its query."""
    sized = {
        0x1004: "MAX_WORK_GROUP_SIZE", 0x1011: "IMAGE2D_MAX_WIDTH", 0x1012: "IMAGE2D_MAX_HEIGHT", 0x1013: "IMAGE3D_MAX_WIDTH",
        0x1014: "IMAGE3D_MAX_HEIGHT", 0x1015: "IMAGE3D_MAX_DEPTH", 0x1017: "MAX_PARAMETER_SIZE", 0x1040: "IMAGE_MAX_BUFFER_SIZE",
        0x1041: "IMAGE_MAX_ARRAY_SIZE",
    }  # fmt: skip
    short = {
        0x1002: "MAX_COMPUTE_UNITS", 0x100D: "ADDRESS_BITS", 0x100E: "MAX_READ_IMAGE_ARGS", 0x100F: "MAX_WRITE_IMAGE_ARGS",
        0x1018: "MAX_SAMPLERS", 0x1019: "MEM_BASE_ADDR_ALIGN", 0x101D: "GLOBAL_MEM_CACHELINE_SIZE", 0x1021: "MAX_CONSTANT_ARGS",
        0x104A: "IMAGE_PITCH_ALIGNMENT", 0x104B: "IMAGE_BASE_ADDRESS_ALIGNMENT", 0x104C: "MAX_READ_WRITE_IMAGE_ARGS",
    }  # fmt: skip
    long = {
        0x1010: "MAX_MEM_ALLOC_SIZE", 0x101E: "GLOBAL_MEM_CACHE_SIZE", 0x101F: "GLOBAL_MEM_SIZE",
        0x1020: "MAX_CONSTANT_BUFFER_SIZE", 0x1023: "LOCAL_MEM_SIZE",
    }  # fmt: skip
    for rows, encode in ((sized, _u64), (short, _u32), (long, _u64)):
        for number, key in rows.items():
            yield number, encode, profile[key]
    yield 0x1005, _u64s, profile["MAX_WORK_ITEM_SIZES"]
    widths = (*range(0x1006, 0x100C), 0x1034, *range(0x1036, 0x103C), 0x103C)
    yield from ((number, _u32, _width(profile, key)) for number, key in zip(widths, WIDTHS, strict=True))
    yield 0x1025, _u64, profile["PROFILING_TIMER_RESOLUTION"]
    yield from ((0x1058 + place, _u32, profile[key]) for place, key in enumerate(ATOMIC_ALIGNMENTS))
    yield 0x1053, _u64, sum(1 << SVM_FLAGS.index(name) for name in profile["SVM_CAPABILITIES"] if name != "FINE_GRAIN_SYSTEM")
    for number, key in ((0x101B, "SINGLE_FP_CONFIG"), (0x1032, "DOUBLE_FP_CONFIG"), (0x1033, "HALF_FP_CONFIG")):
        yield number, _u64, sum(1 << FP_FLAGS.index(name) for name in profile[key])


def _width(profile: Profile, key: str) -> int:
    """Elements of a vector; 0 of a type that the device lacks."""
    needs = {"HALF": "cl_khr_fp16", "DOUBLE": "cl_khr_fp64"}.get(key.rpartition("_")[2])
    return int(profile[key]) if needs is None or needs in profile.extensions else 0


def _facts(profile: Profile) -> Iterator[_Row]:
    """What is the same for every simulated device."""
    yield from (
        (0x1000, _u64, 4),  # CL_DEVICE_TYPE_GPU
        (0x1001, _u32, profile["vendor_id"]),
        (0x1003, _u32, 3),
        (0x100C, _u32, 1),  # MHz: the clock of a simulation says nothing
        (0x1016, _u32, 1),
        (0x101A, _u32, 128),
        (0x101C, _u32, 2),  # CL_READ_WRITE_CACHE
        (0x1022, _u32, 1),  # CL_LOCAL
        (0x1024, _u32, 0),
        (0x1026, _u32, 1),
        (0x1027, _u32, 1),
        (0x1028, _u32, 1),
        (0x1029, _u64, 1),  # CL_EXEC_KERNEL
        (0x102A, _u64, 3),  # out of order, profiling
        (0x1035, _u32, 1),
        (0x103E, _u32, 1),
        (0x1048, _u32, 1),
        (0x1049, _u64, _PRINTF_BYTES),
        (0x105C, _u32, -(-profile["MAX_WORK_GROUP_SIZE"] // profile.wave_size())),
        (0x105D, _u32, 0),
    )


def _texts(profile: Profile) -> Iterator[_Row]:
    version = profile["device_version"]
    yield from (
        (0x102B, _text, profile["device_name"]),
        (0x102C, _text, profile["vendor"]),
        (0x102D, _text, profile["driver_version"]),
        (0x102E, _text, "FULL_PROFILE"),
        (0x102F, _text, version),
        (0x1030, _text, " ".join(_extensions(profile))),
        (0x103D, _text, profile["opencl_c_version"]),
        (0x103F, _text, ""),
    )


def _absent(profile: Profile) -> Iterator[_Row]:
    """What no simulated device has: sub-devices, pipes, queues on the device, intermediate languages."""
    yield from ((number, _u32, 0) for number in (0x1043, 0x1055, 0x1056, 0x1057))
    yield from ((number, _u64s, (0,)) for number in (0x1044, 0x1045))
    yield 0x1046, _u64s, ()
    yield from ((number, _u32, 0) for number in (0x104F, 0x1050, 0x1051, 0x1052))
    yield 0x104E, _u64, 0
    yield from ((number, _u64, 0) for number in (0x104D, 0x1054))
    yield 0x105B, _text, ""


def _version_3(profile: Profile) -> Iterator[_Row]:
    features = [f"__opencl_c_{name}" for name in _FEATURES]
    if "cl_khr_fp64" in profile.extensions:
        features.append("__opencl_c_fp64")
    if "cl_khr_integer_dot_product" in profile.extensions:
        features += [f"__opencl_c_integer_dot_product_input_{form}" for form in ("4x8bit", "4x8bit_packed")]
    languages = [("OpenCL C", version) for version in ("1.0", "1.1", "1.2", "2.0", "3.0") if version <= profile["opencl"]]
    yield from (
        (0x105E, _u32, _version(profile["opencl"])),
        (0x1060, _named, _extensions(profile)),
        (0x1061, _named, ()),
        (0x1062, _named, ()),
        (0x1063, _u64, 0x7F),  # every order and scope
        (0x1064, _u64, 0x7F),
        (0x1065, _u32, int(profile["non_uniform_work_groups"])),
        (0x1066, _named, languages),
        (0x1067, _u64, profile.wave_size()),
        (0x1068, _u32, 1),
        (0x1069, _u32, 1),
        (0x106F, _named, [(name, "3.0") for name in sorted(features)]),
        (0x1070, _u64, 0),
        (0x1071, _u32, 0),
        (0x1072, _text, "v0000-01-01-00"),  # of the conformance suite: none was passed
    )


def _extensions(profile: Profile) -> tuple[str, ...]:
    return tuple(sorted(EXTENSIONS & profile.extensions))


def _has_version_3(profile: Profile) -> bool:
    return str(profile["opencl"]) >= "3.0"


def _version(text: str) -> int:
    """A version as cl_version packs it: 10 bits major, 10 minor, 12 patch."""
    major, minor = text.split(".")
    return int(major) << 22 | int(minor) << 12


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def _u64s(values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def _text(value: str) -> bytes:
    return value.encode() + b"\0"


def _named(names: Sequence[str | tuple[str, str]]) -> bytes:
    """Names with versions, as cl_name_version."""
    pairs = [(name, "1.0") if isinstance(name, str) else name for name in names]
    return b"".join(struct.pack("<I64s", _version(version), name.encode()[:63]) for name, version in pairs)
