"""Dataclasses to JSON values and back, checked against their type hints."""

from __future__ import annotations

import math
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin

T = TypeVar("T")


class Node:
    """Base of dataclasses that appear in unions: written with their class name under "op"."""


class SchemaError(ValueError):
    """JSON that does not fit the expected dataclass; the text names the place."""


def encode(value: Any) -> Any:
    """`value` (dataclasses, tuples, lists, dicts, scalars) as JSON-ready data; fields at their default are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Any] = {"op": type(value).__name__} if isinstance(value, Node) else {}
        for field in fields(value):
            item = getattr(value, field.name)
            if field.default is MISSING or type(item) is not type(field.default) or item != field.default:
                out[field.name] = encode(item)
        return out
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no inf and nan
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def decode(kind: type[T], data: Any, where: str = "$") -> T:
    """`data` as an instance of `kind`, every field checked. Raises SchemaError naming the place."""
    return typing.cast(T, _decode(kind, data, where))


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), data, where)
    if origin is typing.Literal:
        if data not in get_args(kind):
            raise SchemaError(f"{where}: expected one of {', '.join(map(repr, get_args(kind)))}, found {data!r}")
        return data
    if origin is tuple:
        return _decode_tuple(get_args(kind), data, where)
    if origin is dict:
        _expect(isinstance(data, dict), "an object", data, where)
        return {_decode_scalar(str, key, where): _decode(get_args(kind)[1], item, f"{where}.{key}") for key, item in data.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        return _decode_dataclass(kind, data, where)
    return _decode_scalar(kind, data, where)


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and (type(data) is int or data in ("inf", "-inf", "nan")):
        return float(data)
    if kind is type(None):
        _expect(data is None, "null", data, where)
        return None
    _expect(type(data) is kind, kind.__name__, data, where)
    if kind is int:
        _expect(-(2**63) <= data < 2**64, "an integer of 64 bits", data, where)
    if kind is str:
        _expect(_is_text(data), "text of Unicode", data, where)
    return data


def _is_text(data: str) -> bool:
    """Whether every character can be written: JSON has lone surrogates, UTF-8 has not."""
    try:
        data.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decode_tuple(kinds: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    _expect(isinstance(data, list), "a list", data, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_decode(kinds[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    _expect(len(data) == len(kinds), f"a list of {len(kinds)}", data, where)
    return tuple(_decode(k, item, f"{where}[{i}]") for i, (k, item) in enumerate(zip(kinds, data, strict=True)))


def _decode_union(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if isinstance(data, dict) and "op" in data:
        for kind in kinds:
            if isinstance(kind, type) and is_dataclass(kind) and kind.__name__ == data["op"]:
                return _decode_dataclass(kind, data, where)
        raise SchemaError(f"{where}: unknown op {data['op']!r}")
    for kind in kinds:
        try:
            return _decode(kind, data, where)
        except SchemaError:
            continue
    raise SchemaError(f"{where}: found {_short(data)}, which fits none of {', '.join(_name(k) for k in kinds)}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode_dataclass(kind: Any, data: Any, where: str) -> Any:
    _expect(isinstance(data, dict), f"an object ({kind.__name__})", data, where)
    hints = _hints(kind)
    unknown = set(data) - set(hints) - {"op"}
    if unknown:
        raise SchemaError(f"{where}: {kind.__name__} has no field {sorted(unknown)[0]!r}")
    values = {}
    for field in fields(kind):
        if field.name in data:
            values[field.name] = _decode(hints[field.name], data[field.name], f"{where}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise SchemaError(f"{where}: {kind.__name__} lacks field {field.name!r}")
    return kind(**values)


def _expect(condition: bool, wanted: str, data: Any, where: str) -> None:
    if not condition:
        raise SchemaError(f"{where}: expected {wanted}, found {_short(data)}")


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
