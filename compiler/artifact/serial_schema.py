"""The JSON Schema of what `serial.encode` writes for a dataclass, made from the same type hints that `decode` checks."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Union, get_args, get_origin

from .serial import Node

Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]},
    type(None): {"type": "null"},
}


def json_schema(kind: type, identifier: str, title: str) -> Schema:
    """A draft 2020-12 schema for dataclass `kind`; every dataclass it reaches stands under $defs by its name."""
    definitions: dict[str, Schema] = {}
    top = _dataclass(kind, definitions)
    del definitions[kind.__name__]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier, "title": title}
    return {**head, **top, "$defs": dict(sorted(definitions.items()))}


def _schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(item, definitions) for item in get_args(kind)]}
    if origin is typing.Literal:
        return {"enum": list(get_args(kind))}
    if origin is tuple:
        return _tuple(get_args(kind), definitions)
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(get_args(kind)[1], definitions)}
    if is_dataclass(kind) and isinstance(kind, type):
        _dataclass(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    return _SCALARS[kind]


def _tuple(kinds: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return {"type": "array", "items": _schema(kinds[0], definitions)}
    items = [_schema(kind, definitions) for kind in kinds]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _dataclass(kind: type, definitions: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name in definitions:
        return definitions[name]
    schema: Schema = {"type": "object", "required": [], "additionalProperties": False, "properties": {}}
    definitions[name] = schema  # before its fields: expressions and statements contain themselves
    if issubclass(kind, Node):
        schema["properties"]["op"] = {"const": name}
        schema["required"].append("op")
    hints = typing.get_type_hints(kind)
    for item in fields(kind):
        schema["properties"][item.name] = _schema(hints[item.name], definitions)
        if item.default is MISSING and item.default_factory is MISSING:
            schema["required"].append(item.name)
    return schema
