"""How values of a type are written as a tree of JSON, and read back: by the type's hints, so that data name no class.

A dataclass is the list of the fields that its __init__ takes; an enumeration's member is its name; of a union, the number of the
type and the value. Bytes, arrays and long texts are parts beside the tree. What is read is made by the classes themselves, with
their own checks; a value that is not of the type it should be raises ValueError.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin

from .scalars import (
    SCALARS,
    Form,
    Given,
    NotStorable,
    Parts,
    expect,
    expect_list,
    is_exactly,
    part_of,
    read_str,
    write_bytes,
    write_str,
)


@cache
def form_of(hint: Hashable) -> Form:
    """The form of values of a type. Raises NotStorable for a type that has none."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return form_of(args[0])
    if hint in SCALARS:
        return SCALARS[hint]
    if hint in (Any, object, Hashable):
        return _ANYTHING
    if origin in (Union, types.UnionType):
        return _form_of_union(args)
    if origin is typing.Literal:
        return _form_of_literal(args)
    if origin is tuple:
        return _form_of_tuple(args)
    if origin in _SEQUENCES:
        return _form_of_items(_SEQUENCES[origin], args[0])
    if origin in (dict, Mapping):
        return _form_of_dict(*args)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return Form(lambda value, parts: _member_name(hint, value), lambda data, given: _member(hint, data), is_exactly(hint))
    if isinstance(hint, type) and is_dataclass(hint):
        return _form_of_dataclass(hint)
    raise NotStorable(f"{hint}: no type that is stored")


_PLAIN_TYPES = {type(None): type(None), bool: bool, int: int, float: float, str: str, dict: str}
"""By the type of JSON: the type whose form reads it. A dict is a long text."""


# Containers

_SEQUENCES: dict[Any, type] = {
    list: list, set: set, frozenset: frozenset, Sequence: tuple, Set: frozenset, Iterable: tuple,
}  # fmt: skip
"""What a container is read as, by its hint."""


def _form_of_items(kind: type, hint: Hashable) -> Form:
    item = form_of(hint)

    def write(value: Any, parts: Parts) -> list[Any]:
        if not isinstance(value, (list, tuple, Set)):
            raise NotStorable(f"{type(value).__name__} where a container is expected")
        return [item.write(element, parts) for element in value]

    def read(data: Any, given: Given) -> Any:
        return kind([item.read(element, given) for element in expect_list(data)])

    return Form(write, read, lambda value: isinstance(value, kind))


def _form_of_tuple(hints: tuple[Any, ...]) -> Form:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return _form_of_items(tuple, hints[0])
    items = tuple(map(form_of, hints))

    def write(value: Any, parts: Parts) -> list[Any]:
        if not isinstance(value, (tuple, list)) or len(value) != len(items):
            raise NotStorable(f"{str(value)[:60]} where {len(items)} values are expected")
        return [item.write(element, parts) for item, element in zip(items, value, strict=True)]

    def read(data: Any, given: Given) -> Any:
        found = expect_list(data, len(items))
        return tuple([item.read(element, given) for item, element in zip(items, found, strict=True)])

    return Form(write, read, lambda value: isinstance(value, tuple) and len(value) == len(items))


def _form_of_dict(key_hint: Hashable, value_hint: Hashable) -> Form:
    key, item = form_of(key_hint), form_of(value_hint)

    def write(value: Any, parts: Parts) -> list[Any]:
        if not isinstance(value, Mapping):
            raise NotStorable(f"{type(value).__name__} where a dictionary is expected")
        return [[key.write(name, parts), item.write(element, parts)] for name, element in value.items()]

    def read(data: Any, given: Given) -> Any:
        pairs = [expect_list(pair, 2) for pair in expect_list(data)]
        return {key.read(name, given): item.read(element, given) for name, element in pairs}

    return Form(write, read, lambda value: isinstance(value, Mapping))


# Choices


def _form_of_literal(values: tuple[Any, ...]) -> Form:
    def check(value: Any) -> Any:
        if not any(type(value) is type(known) and value == known for known in values):
            raise ValueError(f"expected one of {', '.join(map(repr, values))}, found {str(value)[:60]}")
        return value

    def write(value: Any, parts: Parts) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise NotStorable(str(error)) from error

    return Form(write, lambda data, given: check(data), lambda value: value in values)


def _form_of_union(hints: tuple[Any, ...]) -> Form:
    hints = tuple(sorted(hints, key=str))  # unions of the same types in another order are equal
    forms = [form_of(hint) for hint in hints]
    plain = {hint: form for hint, form in zip(hints, forms, strict=True) if form.plain}

    def write(value: Any, parts: Parts) -> Any:
        number = next((number for number, form in enumerate(forms) if form.holds(value)), None)
        if number is None:
            raise NotStorable(f"{type(value).__name__} where one of {len(forms)} other types is expected")
        written = forms[number].write(value, parts)
        return written if forms[number].plain else [number, written]

    def read(data: Any, given: Given) -> Any:
        if type(data) is not list:
            form = plain.get(_PLAIN_TYPES.get(type(data)))
            if form is None:
                raise ValueError(f"expected another type, found {str(data)[:60]}")
            return form.read(data, given)
        number, inner = expect_list(data, 2)
        expect(type(number) is int and 0 <= number < len(forms) and not forms[number].plain, "the number of a type", number)
        return forms[number].read(inner, given)

    return Form(write, read, lambda value: any(form.holds(value) for form in forms))


def _member_name(kind: type[enum.Enum], value: Any) -> str:
    if type(value) is not kind:
        raise NotStorable(f"{type(value).__name__} where {kind.__name__} is expected")
    name: str = value.name
    return name


def _member(kind: type[enum.Enum], data: Any) -> enum.Enum:
    found = kind.__members__.get(data) if type(data) is str else None
    if found is None:
        raise ValueError(f"expected a member of {kind.__name__}, found {str(data)[:60]}")
    return found


# Dataclasses


class _FieldForms:
    """The forms of a dataclass's fields, looked up when the first value is met: types refer to themselves."""

    def __init__(self, kind: type):
        self.kind = kind
        self._known: list[tuple[str, Form, bool]] = []

    def get(self) -> list[tuple[str, Form, bool]]:
        """Name, form, and whether __init__ takes it by name alone."""
        if not self._known:
            hints = typing.get_type_hints(self.kind)
            self._known = [(f.name, form_of(hints[f.name]), f.kw_only is True) for f in fields(self.kind) if f.init]
        return self._known


def _form_of_dataclass(kind: type) -> Form:
    known = _FieldForms(kind)

    def write(value: Any, parts: Parts) -> list[Any]:
        if type(value) is not kind:
            raise NotStorable(f"{type(value).__name__} where {kind.__name__} is expected")
        return [form.write(getattr(value, name), parts) for name, form, _ in known.get()]

    def read(data: Any, given: Given) -> Any:
        forms = known.get()
        items = expect_list(data, len(forms))
        found = [form.read(item, given) for (_, form, _), item in zip(forms, items, strict=True)]
        if not any(named for _, _, named in forms):
            return kind(*found)
        return kind(**{name: value for (name, _, _), value in zip(forms, found, strict=True)})

    return Form(write, read, is_exactly(kind))


# Values of any type among those that Python has

_TAGS: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_MADE: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def _write_anything(value: Any, parts: Parts) -> Any:
    kind = type(value)
    if kind in (type(None), bool, int, float):
        return value
    if kind is str:
        return write_str(value, parts)
    if kind in _TAGS:
        return [_TAGS[kind], [_write_anything(item, parts) for item in value]]
    if kind is dict:
        return ["dict", [[_write_anything(key, parts), _write_anything(item, parts)] for key, item in value.items()]]
    if kind is bytes:
        return ["bytes", write_bytes(value, parts)]
    raise NotStorable(f"{kind.__name__} where a number, a text or a container is expected")


def _read_anything(data: Any, given: Given) -> Any:
    if type(data) is not list:
        return read_str(data, given) if type(data) is dict else data
    tag, inner = expect_list(data, 2)
    if tag == "bytes":
        return bytes(part_of(inner, "bytes", given))
    if tag == "dict":
        pairs = [expect_list(pair, 2) for pair in expect_list(inner)]
        return {_read_anything(key, given): _read_anything(item, given) for key, item in pairs}
    expect(type(tag) is str and tag in _MADE, "a container", tag)
    return _MADE[tag]([_read_anything(item, given) for item in expect_list(inner)])


_ANYTHING = Form(_write_anything, _read_anything, lambda value: True)
