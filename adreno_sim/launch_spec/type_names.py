"""The types that a launch file names. Each kind of argument has one key for them, and one language of names:

- `dtype` of a buffer: the type of its elements in memory, by NumPy's name, as in every other format and option;
- `type` of a scalar: the type of the kernel's parameter, by the name in OpenCL C, which has vectors;
- `channel_type` of an image: OpenCL's constant without CL_.

Two keys are needed, since five names are in both languages: int8 is a byte in NumPy, and eight numbers of 32 bits in OpenCL C.
A name of the wrong language, or under the wrong key, gives an error with the right line to write.
"""

from __future__ import annotations

import difflib

from ..base.toml_tables import MISSING, Table
from ..image.formats import CHANNEL_TYPES
from .data import DTYPES
from .scalars import IN_OPENCL, SCALARS, is_type, shape_of

_CHANNELS = {"float16": "HALF_FLOAT", "float32": "FLOAT"}
_KEYS = ("dtype", "type", "channel_type")


def refuse_other_keys(table: Table, key: str, named: str) -> None:
    """Raise AdrenoSimError if `table` names a type by a key of another kind of argument.

    key: the right one. named: how it names types, as a sentence.
    """
    for other in _KEYS:
        if other in table and other != key:
            written = table.get(other, "", "text")
            meant = _translate(written, key) if isinstance(written, str) else ""
            line = f'{key} = "{meant}"{_count_of(written, key)}' if meant else key
            raise table.error(other, f"no such key; {named}: {line}")


def read_dtype(table: Table) -> str:
    """`dtype`: NumPy's name of a type."""
    return _read(table, "dtype", DTYPES, MISSING)


def read_channel_type(table: Table) -> str:
    return _read(table, "channel_type", tuple(CHANNEL_TYPES), "FLOAT")


def _read(table: Table, key: str, names: tuple[str, ...], default: str) -> str:
    given = table.get(key, default, f"one of {', '.join(names)}")
    meant = _translate(given, key) if isinstance(given, str) and given not in names else ""
    if meant:
        table.fail_expected(key, f"one of {', '.join(names)} (did you mean {meant}{_count_of(given, key)}?)")
    text: str = table.text(key, default, choices=names)
    return text


def read_type(table: Table) -> str:
    """`type`: a type of OpenCL C, or bytes; "" if there is none."""
    type: str = table.text("type", "")
    if type and not is_type(type):
        close = [_translate(type, "type")] if _translate(type, "type") else difflib.get_close_matches(type, SCALARS, n=1)
        table.fail_expected(
            "type", "a scalar or vector type of OpenCL C, or bytes" + (f" (did you mean {close[0]}?)" if close else "")
        )
    return type


def _translate(name: str, key: str) -> str:
    """The name under which `key` has the type that another key calls `name`; "" if there is none, or more than one."""
    if key == "dtype" and name in DTYPES and shape_of(name) is not None:  # int8 under `type`
        return ""
    shape = (name, 1) if name in DTYPES else shape_of(name)
    if shape is None:
        return name.upper() if key == "channel_type" and name.upper() in CHANNEL_TYPES else ""
    if key == "type":
        return IN_OPENCL[name] if name in DTYPES else name
    return shape[0] if key == "dtype" else _CHANNELS.get(shape[0], "")


def _count_of(name: str, key: str) -> str:
    """What `count` of a buffer means, if `name` is a vector."""
    shape = shape_of(name) if key == "dtype" else None
    if shape is None or shape[1] == 1:
        return ""
    return f", with {4 if shape[1] == 3 else shape[1]} of `count` for each {name}"
