"""Reads what `clinfo` prints for people: the lines of a device, by the names that `clinfo --json` gives them.

clinfo pads a name to a column and puts a value after it; what belongs to a name is indented below it. Dumps in issues are often
cut, quoted or wrapped: a value may be missing, and a list of extensions goes on in the next lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

_QUOTED = re.compile(r"^\s*>+ ?")
_WORD = re.compile(r"[a-z0-9_]+")
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,16}|[0-9]{1,20}")

_TEXTS = {
    "Device Name": "NAME", "Device Vendor": "VENDOR", "Device Version": "VERSION", "Device OpenCL C Version": "OPENCL_C_VERSION",
}  # fmt: skip
_NUMBERS = {
    "Device Vendor ID": "VENDOR_ID", "Max compute units": "MAX_COMPUTE_UNITS", "Max work group size": "MAX_WORK_GROUP_SIZE",
    "Address bits": "ADDRESS_BITS", "Global memory size": "GLOBAL_MEM_SIZE", "Max memory allocation": "MAX_MEM_ALLOC_SIZE",
    "Alignment of base address": "MEM_BASE_ADDR_ALIGN", "Global Memory cache size": "GLOBAL_MEM_CACHE_SIZE",
    "Global Memory cache line size": "GLOBAL_MEM_CACHELINE_SIZE", "Max number of samplers per kernel": "MAX_SAMPLERS",
    "Max size for 1D images from buffer": "IMAGE_MAX_BUFFER_SIZE", "Max 1D or 2D image array size": "IMAGE_MAX_ARRAY_SIZE",
    "Base address alignment for 2D image buffers": "IMAGE_BASE_ADDRESS_ALIGNMENT",
    "Pitch alignment for 2D image buffers": "IMAGE_PITCH_ALIGNMENT", "Max number of read image args": "MAX_READ_IMAGE_ARGS",
    "Max number of write image args": "MAX_WRITE_IMAGE_ARGS", "Max number of read/write image args": "MAX_READ_WRITE_IMAGE_ARGS",
    "Local memory size": "LOCAL_MEM_SIZE", "Max number of constant args": "MAX_CONSTANT_ARGS",
    "Max constant buffer size": "MAX_CONSTANT_BUFFER_SIZE", "Max size of kernel argument": "MAX_PARAMETER_SIZE",
    "Profiling timer resolution": "PROFILING_TIMER_RESOLUTION",
}  # fmt: skip
_SIZES = {
    "Max work item sizes": ("MAX_WORK_ITEM_SIZES",), "Max 2D image size": ("IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT"),
    "Max 3D image size": ("IMAGE3D_MAX_WIDTH", "IMAGE3D_MAX_HEIGHT", "IMAGE3D_MAX_DEPTH"),
}  # fmt: skip
_FLAGS = {
    "Denormals": "DENORM", "Infinity and NANs": "INF_NAN", "Round to nearest": "ROUND_TO_NEAREST",
    "Round to zero": "ROUND_TO_ZERO", "Round to infinity": "ROUND_TO_INF", "IEEE754-2008 fused multiply-add": "FMA",
    "Support is emulated in software": "SOFT_FLOAT",
    "Correctly-rounded divide and sqrt operations": "CORRECTLY_ROUNDED_DIVIDE_SQRT",
}  # fmt: skip
_CONFIGS = {"Half-precision": "HALF_FP_CONFIG", "Single-precision": "SINGLE_FP_CONFIG", "Double-precision": "DOUBLE_FP_CONFIG"}
_SVM = {
    "Coarse-grained buffer sharing": "COARSE_GRAIN_BUFFER", "Fine-grained buffer sharing": "FINE_GRAIN_BUFFER",
    "Fine-grained system sharing": "FINE_GRAIN_SYSTEM", "Atomics": "ATOMICS",
}  # fmt: skip
_ALIGNMENTS = {"SVM": "PLATFORM", "Global": "GLOBAL", "Local": "LOCAL"}
_VECTORS = ("char", "short", "int", "long", "half", "float", "double")


def parse_text(text: str) -> dict[str, Any]:
    """The platform's and the first device's values, by CL_PLATFORM_* and CL_DEVICE_* names; empty where there is no device."""
    lines = list(_lines(text))
    start = next((at for at, (name, _) in enumerate(lines) if name == "Device Name"), None)
    if start is None:
        return {}
    end = next((at for at in range(start + 1, len(lines)) if lines[at][0] in ("Device Name", "Platform Name")), len(lines))
    found: dict[str, Any] = {}
    for name, key in (("Platform Name", "NAME"), ("Platform Version", "VERSION")):
        value = next((value for known, value in lines[:start] if known == name), None)
        if value is not None:
            found[f"CL_PLATFORM_{key}"] = value
    section = ""
    for name, value in lines[start:end]:
        section = _section(name, section)
        found.update(_read(name, value, section, found))
    return found


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Names and values. A list of extensions goes on in lines of names alone: in the word itself where they are not indented."""
    name, parts = "", [""]
    for quoted in text.splitlines():
        line = _QUOTED.sub("", quoted)
        if name == "Device Extensions" and _is_list(line):
            parts.append(line.rstrip() if not line[:1].isspace() else f" {line.strip()}")
            continue
        yield name, "".join(parts)
        name, value = _split(line)
        parts = [value]
    yield name, "".join(parts)


def _split(line: str) -> tuple[str, str]:
    """A line's name, and the text in the column after it."""
    text = line.strip()
    ends = [at for at in (text.find("  "), text.find("\t")) if at >= 0]
    return (text[: min(ends)], text[min(ends) :].strip()) if ends else (text, "")


def _is_list(line: str) -> bool:
    words = line.split()
    return bool(words) and all(_WORD.fullmatch(word) for word in words)


def _section(name: str, section: str) -> str:
    """What the lines from here on are about, where one name means several things."""
    for start in (*_CONFIGS, "Shared Virtual Memory", "Preferred alignment for atomics", "Preferred / native vector sizes"):
        if name.startswith(start):
            return start
    belongs = name in _FLAGS or name in _SVM or name in _ALIGNMENTS or name in _VECTORS
    return section if belongs else ""


def _read(name: str, value: str, section: str, so_far: dict[str, Any]) -> dict[str, Any]:
    if section in _CONFIGS and name in _FLAGS:
        return _add_flag(f"CL_DEVICE_{_CONFIGS[section]}", f"CL_FP_{_FLAGS[name]}", value, so_far)
    if section == "Double-precision" and name.startswith(section):
        return {"CL_DEVICE_DOUBLE_FP_CONFIG": {"config": []}}
    if section.startswith("Shared") and name in _SVM:
        return _add_flag("CL_DEVICE_SVM_CAPABILITIES", _SVM[name], value, so_far)
    if section.endswith("vector sizes") and name in _VECTORS and len(widths := re.findall(r"[0-9]{1,9}", value)) >= 2:
        element = name.upper()
        return {
            f"CL_DEVICE_{kind}_VECTOR_WIDTH_{element}": int(width)
            for kind, width in zip(("PREFERRED", "NATIVE"), widths, strict=False)
        }
    if section.endswith("atomics") and name in _ALIGNMENTS:
        return _number(f"PREFERRED_{_ALIGNMENTS[name]}_ATOMIC_ALIGNMENT", value)
    if name == "Driver Version":
        return {"CL_DRIVER_VERSION": value}
    if name == "Device Extensions":
        return {"CL_DEVICE_EXTENSIONS": value}
    if name in _TEXTS:
        return {f"CL_DEVICE_{_TEXTS[name]}": value}
    if name in _SIZES:
        return _sizes(_SIZES[name], value)
    return _number(_NUMBERS[name], value) if name in _NUMBERS else {}


def _add_flag(key: str, flag: str, value: str, so_far: dict[str, Any]) -> dict[str, Any]:
    flags: Sequence[str] = so_far.get(key, {"config": []})["config"]
    return {key: {"config": [*flags, flag] if value == "Yes" and flag not in flags else flags}}


def _number(key: str, value: str) -> dict[str, Any]:
    found = _NUMBER.match(value)
    return {f"CL_DEVICE_{key}": int(found[0], 16 if found[0].startswith("0x") else 10)} if found else {}


def _sizes(keys: Sequence[str], value: str) -> dict[str, Any]:
    sizes = [int(size) for size in re.findall(r"[0-9]{1,20}", value.partition(" ")[0])]
    if len(keys) == 1:
        return {f"CL_DEVICE_{keys[0]}": sizes}
    return {f"CL_DEVICE_{key}": size for key, size in zip(keys, sizes, strict=True)} if len(sizes) == len(keys) else {}
