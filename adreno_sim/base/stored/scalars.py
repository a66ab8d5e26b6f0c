"""How numbers, texts, bytes and arrays are written as JSON and parts, and read back."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...records import dataclass

LONG = 400
"""Characters from which a text is a part."""

Parts = list[bytes | memoryview]
Given = Sequence[memoryview]


class NotStorable(TypeError):
    """Raised for a value that is not of the type it is to be stored as."""


@dataclass(frozen=True)
class Form:
    """write(value, parts) -> JSON, adding to `parts`; read(JSON, parts) -> value. holds: whether a value is of the type, as far
    as a union must know. plain: the JSON alone tells it from all other types of a union that are plain."""

    write: Callable[[Any, Parts], Any]
    read: Callable[[Any, Given], Any]
    holds: Callable[[Any], bool]
    plain: bool = False


def is_exactly(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def expect(condition: bool, wanted: str, data: Any) -> None:
    """Raises ValueError for data that do not fit."""
    if not condition:
        raise ValueError(f"expected {wanted}, found {str(data)[:60]}")


def expect_list(data: Any, length: int | None = None) -> list[Any]:
    expect(type(data) is list and length in (None, len(data)), "a list" if length is None else f"a list of {length}", data)
    found: list[Any] = data
    return found


def _write_none(value: Any, parts: Parts) -> None:
    if value is not None:
        raise NotStorable(f"{type(value).__name__} where None is expected")


def _write_int(value: Any, parts: Parts) -> int:
    if type(value) is int:
        return value
    if isinstance(value, (int, np.integer, np.bool_)):
        return int(value)
    raise NotStorable(f"{type(value).__name__} where an integer is expected")


def _write_bool(value: Any, parts: Parts) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise NotStorable(f"{type(value).__name__} where a bool is expected")


def _write_float(value: Any, parts: Parts) -> float:
    if isinstance(value, (float, int, np.floating, np.integer)):
        return float(value)
    raise NotStorable(f"{type(value).__name__} where a float is expected")


def write_str(value: Any, parts: Parts) -> Any:
    if not isinstance(value, str):
        raise NotStorable(f"{type(value).__name__} where a text is expected")
    text = value if type(value) is str else str.__str__(value)  # a library's own kind of text is a plain one
    if len(text) <= LONG:
        return text
    parts.append(text.encode("utf-8", "surrogatepass"))
    return {"text": len(parts) - 1}


def read_str(data: Any, given: Given) -> str:
    if type(data) is str:
        return data
    return str(part_of(data, "text", given), "utf-8", "surrogatepass")


def write_bytes(value: Any, parts: Parts) -> dict[str, int]:
    if type(value) is not bytes:
        raise NotStorable(f"{type(value).__name__} where bytes are expected")
    parts.append(value)
    return {"bytes": len(parts) - 1}


def part_of(data: Any, kind: str, given: Given) -> memoryview:
    number = data.get(kind) if type(data) is dict and len(data) == 1 else None
    expect(type(number) is int and 0 <= number < len(given), f"{kind} among {len(given)} parts", data)
    return given[typing.cast(int, number)]


def _reader(kind: type) -> Callable[[Any, Given], Any]:
    def read(data: Any, given: Given) -> Any:
        if type(data) is not kind:
            raise ValueError(f"expected {kind.__name__}, found {str(data)[:60]}")
        return data

    return read


_KINDS = "biufc"
"""NumPy's kinds of numbers."""


def _write_dtype(value: Any, parts: Parts) -> str:
    if not isinstance(value, np.dtype) or not (value.kind in _KINDS or value.type.__module__ == "ml_dtypes"):
        raise NotStorable(f"{value}: no element type that is stored")
    return value.str if value.kind in _KINDS else value.name


@cache
def _dtype(name: str) -> np.dtype:
    """The element type of a name: a number of NumPy's, or one of ml_dtypes. Raises ValueError."""
    if name[:1] in "<>|=":
        expect(name[1:2] in _KINDS and name[2:].isdigit(), "an element type", name)
        try:
            return np.dtype(name)
        except TypeError as error:
            raise ValueError(f"expected an element type, found {name}") from error
    import ml_dtypes  # of TVM and ONNX, whose arrays these are

    kind = getattr(ml_dtypes, name, None)
    expect(isinstance(kind, type) and issubclass(kind, np.generic), "an element type", name)
    return np.dtype(typing.cast(type, kind))


def _read_dtype(data: Any, given: Given) -> np.dtype:
    expect(type(data) is str, "an element type", data)
    return _dtype(data)


def _write_array(value: Any, parts: Parts) -> list[Any]:
    if not isinstance(value, np.ndarray):
        raise NotStorable(f"{type(value).__name__} where an array is expected")
    dtype = _write_dtype(value.dtype, parts)
    parts.append(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return [dtype, list(value.shape), {"array": len(parts) - 1}]


def _read_array(data: Any, given: Given) -> np.ndarray:
    dtype, shape, place = expect_list(data, 3)
    kind, part = _read_dtype(dtype, given), part_of(place, "array", given)
    expect(all(type(n) is int and n >= 0 for n in expect_list(shape)), "a shape", shape)
    return np.frombuffer(part, np.uint8).view(kind).reshape(shape)  # as writable as `part` is


SCALARS: dict[Any, Form] = {
    type(None): Form(_write_none, _reader(type(None)), lambda value: value is None, True),
    bool: Form(_write_bool, _reader(bool), lambda value: isinstance(value, (bool, np.bool_)), True),
    int: Form(_write_int, _reader(int), lambda value: isinstance(value, (int, np.integer)) and not isinstance(value, bool), True),
    float: Form(_write_float, _reader(float), lambda value: isinstance(value, (float, np.floating)), True),
    str: Form(write_str, read_str, lambda value: isinstance(value, str), True),
    bytes: Form(write_bytes, lambda data, given: bytes(part_of(data, "bytes", given)), is_exactly(bytes)),
    np.ndarray: Form(_write_array, _read_array, lambda value: isinstance(value, np.ndarray)),
    np.dtype: Form(_write_dtype, _read_dtype, lambda value: isinstance(value, np.dtype)),
}
