"""What values a profile may have, beyond their types: what OpenCL's queries can say, and what this machine can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..base.pitch_rules import PITCH_RULES
from .ml import COST_FIELDS, NEWEST
from .rates import RATES

VERSIONS = ("1.2", "2.0", "2.1", "2.2", "3.0")
FP_FLAGS = (
    "DENORM", "INF_NAN", "ROUND_TO_NEAREST", "ROUND_TO_ZERO", "ROUND_TO_INF", "FMA", "SOFT_FLOAT",
    "CORRECTLY_ROUNDED_DIVIDE_SQRT",
)  # fmt: skip
"""CL_FP_*, in the order of their bits."""

SUB_GROUP_RULES = ("full", "by_type")
SVM_FLAGS = ("COARSE_GRAIN_BUFFER", "FINE_GRAIN_BUFFER", "FINE_GRAIN_SYSTEM", "ATOMICS")
"""CL_DEVICE_SVM_*, in the order of their bits."""
WIDTHS = tuple(
    f"{kind}_VECTOR_WIDTH_{element}"
    for kind in ("PREFERRED", "NATIVE")
    for element in ("CHAR", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "HALF")
)
"""Queries of vector widths, in the order of their numbers except for the last of each kind."""
ATOMIC_ALIGNMENTS = tuple(f"PREFERRED_{space}_ATOMIC_ALIGNMENT" for space in ("PLATFORM", "GLOBAL", "LOCAL"))
ANSWERED = (*WIDTHS, *ATOMIC_ALIGNMENTS)

_U32, _U63 = (1 << 32) - 1, (1 << 63) - 1

MOST: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "MAX_WORK_GROUP_SIZE", "kernel_group_limit", "MAX_COMPUTE_UNITS", "ADDRESS_BITS", "MAX_READ_IMAGE_ARGS",
            "MAX_WRITE_IMAGE_ARGS",
            "MAX_READ_WRITE_IMAGE_ARGS", "MAX_SAMPLERS", "MEM_BASE_ADDR_ALIGN", "GLOBAL_MEM_CACHELINE_SIZE", "MAX_CONSTANT_ARGS",
            "IMAGE_PITCH_ALIGNMENT", "IMAGE_BASE_ADDRESS_ALIGNMENT", "vendor_id", *COST_FIELDS, *ANSWERED, *RATES,
        ),
        _U32,
    ),
    "GLOBAL_MEM_SIZE": 1 << 45,  # 32 TiB: its heap has twice as many addresses, of the 2^47 of a process
    "page_size": 1 << 30,
    "ml_interface": NEWEST,
}  # fmt: skip
"""The largest number of a key; of the others it is 2^63 - 1."""

LEAST: Mapping[str, int] = {
    **dict.fromkeys(("MAX_WORK_GROUP_SIZE", "GLOBAL_MEM_SIZE", "MAX_MEM_ALLOC_SIZE", "page_size", *COST_FIELDS[:3], *RATES), 1)
}
"""The smallest number of a key; of the others it is 0."""

_POWERS = ("IMAGE_PITCH_ALIGNMENT", "IMAGE_BASE_ADDRESS_ALIGNMENT", "page_size")
_LARGEST_WAVE = 4096
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def find_wrong_value(key: str, value: Any) -> str:
    """Why a profile cannot have this value of the right type, "" if it can."""
    if isinstance(value, str):
        return _wrong_text(key, value)
    if isinstance(value, int) and not isinstance(value, bool):
        least, most = LEAST.get(key, 0), MOST.get(key, _U63)
        if not least <= value <= most:
            return f"expected {least} to {most}"
        return "expected a power of two" if key in _POWERS and value & (value - 1) else ""
    if isinstance(value, tuple):
        return _wrong_list(key, value)
    return ""


def _wrong_text(key: str, value: str) -> str:
    if key in ("pitch_rule", "own_pitch_rule") and value not in PITCH_RULES:
        return f"expected one of {', '.join(PITCH_RULES)}"
    if key == "sub_group_rule" and value not in SUB_GROUP_RULES:
        return f"expected {' or '.join(SUB_GROUP_RULES)}"
    if key == "opencl" and value not in VERSIONS:
        return f"expected {', '.join(VERSIONS[:-1])} or {VERSIONS[-1]}"
    return "" if value.isprintable() else "expected text without control characters"


def _wrong_list(key: str, value: tuple[Any, ...]) -> str:
    if key.endswith("_FP_CONFIG"):
        return "" if set(value) <= set(FP_FLAGS) else f"expected of {', '.join(FP_FLAGS)}"
    if key == "SVM_CAPABILITIES":
        return "" if set(value) <= set(SVM_FLAGS) else f"expected of {', '.join(SVM_FLAGS)}"
    if key == "wave_sizes":
        good = value and all(1 <= size <= _LARGEST_WAVE for size in value)
        return "" if good else f"expected one or more sizes of 1 to {_LARGEST_WAVE}"
    if key == "MAX_WORK_ITEM_SIZES":
        good = len(value) == 3 and all(1 <= size <= _U63 for size in value)
        return "" if good else "expected three sizes of 1 to 2^63 - 1"
    wrong = next((name for name in value if not _NAME.fullmatch(name)), None)
    return "" if wrong is None else f"{wrong!r}: expected names of extensions, as cl_khr_fp16"
