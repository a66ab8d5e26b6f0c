"""`dataclass`, as the standard library's, for the records of this project: a command makes hundreds of them when it starts.

The standard library collects the fields of a class, so that `fields`, `replace` and `asdict` know it. It would then compile up
to six methods. Here those that must be fast are compiled when they are first called, and all classes share the others. There are
no `InitVar`s, and records have no order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """As `dataclasses.dataclass`, with the options frozen, eq, kw_only and slots."""
        return _make_record(cls, **options) if cls is not None else lambda plain: _make_record(plain, **options)


class _Factory:
    """The default of a parameter whose value a function makes for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _make_record(
    cls: type[Any], *, frozen: bool = False, eq: bool = True, kw_only: bool = False, slots: bool = False
) -> type[Any]:
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # the standard library would write a signature, which takes longer than all the rest
    explicit = {name for name, value in vars(cls).items() if value is not None}  # `__hash__` is None beside an explicit `__eq__`
    extends = frozen and any(map(dataclasses.is_dataclass, cls.__bases__))  # the library refuses a base that is not as frozen
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots, frozen=extends)(cls)
    given = cls.__dataclass_params__  # the library reads it where a class extends this one
    given.init, given.repr, given.eq, given.frozen = True, True, eq, frozen
    methods: dict[str, Any] = {"__init__": _compile_later(cls, "__init__", partial(_write_init, cls, frozen, slots))}
    if eq:
        methods["__eq__"] = _compile_later(cls, "__eq__", partial(_write_eq, cls))
        methods["__hash__"] = _compile_later(cls, "__hash__", partial(_write_hash, cls)) if frozen else None
    methods |= {"__repr__": _show, "__signature__": _SIGNATURE}
    if frozen:
        methods |= _FROZEN_WITH_SLOTS if slots else _FROZEN
    for name, method in methods.items():
        if name not in explicit:
            setattr(cls, name, method)
    return cls


def _compile_later(cls: type[Any], name: str, write: Callable[[dict[str, Any]], str]) -> Callable[..., Any]:
    """Returns a method of `cls` that compiles itself when it is first called, and has the result take its place. write: gives its
    text, and adds to a dictionary the values that the text mentions."""
    compiled: Callable[..., Any] | None = None

    def compile_now() -> Callable[..., Any]:
        nonlocal compiled
        if compiled is None:
            found: dict[str, Any] = {}
            values: dict[str, Any] = {}
            exec(compile(write(values), "<record>", "exec", dont_inherit=True), values, found)
            _name_method(found[name], cls)
            compiled = found[name]
            if vars(cls).get(name) is method:
                setattr(cls, name, compiled)
        return compiled

    def method(self: Any, /, *arguments: Any, **named: Any) -> Any:
        return compile_now()(self, *arguments, **named)

    method.__name__ = name
    method.__dict__[_COMPILE] = compile_now
    _name_method(method, cls)
    return method


_COMPILE = "compile"
"""Attribute of a method that may not be compiled yet: a function that returns it compiled."""


class _SignatureOfInit:
    """What `inspect` and `help` show of a class: the parameters of its `__init__`, which may not be compiled yet."""

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        if instance is not None:
            raise AttributeError("__signature__")
        from inspect import signature

        init = owner.__init__
        found = signature(getattr(init, _COMPILE, lambda: init)())
        return found.replace(parameters=list(found.parameters.values())[1:])


_SIGNATURE = _SignatureOfInit()


def _name_method(method: Any, cls: type[Any]) -> None:
    method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{method.__name__}"


def _write_eq(cls: type[Any], _values: dict[str, Any]) -> str:
    compared = [field for field in fields(cls) if field.compare]
    ours, theirs = _write_tuple("self", compared), _write_tuple("other", compared)
    return f"def __eq__(self, other): return {ours} == {theirs} if other.__class__ is self.__class__ else NotImplemented"


def _write_hash(cls: type[Any], _values: dict[str, Any]) -> str:
    hashed = [field for field in fields(cls) if (field.compare if field.hash is None else field.hash)]
    return f"def __hash__(self): return hash({_write_tuple('self', hashed)})"


def _write_init(cls: type[Any], frozen: bool, slots: bool, values: dict[str, Any]) -> str:
    values |= {"_record_factory": _FACTORY, "_record_set": object.__setattr__}
    values["_record_types"] = {field.name: field.type for field in fields(cls)}
    by_place, by_name, body = ["self"], ["*"], []
    for field in fields(cls):
        default = f"_record_{field.name}"
        value, text = field.name, f"{field.name}: _record_types[{field.name!r}]"
        if field.default_factory is not MISSING:
            values[default] = field.default_factory
            text += "=_record_factory"
            value = f"{default}() if {field.name} is _record_factory else {field.name}" if field.init else f"{default}()"
        elif field.default is not MISSING:
            values[default] = field.default
            text += f"={default}"
            value = field.name if field.init else default
        if field.init:
            (by_name if field.kw_only else by_place).append(text)
        elif value == field.name or (field.default is not MISSING and not slots):
            continue  # it has no default, or the class has it
        body.append(f"_record_set(self, {field.name!r}, {value})" if frozen else f"self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = by_place + (by_name if len(by_name) > 1 else [])
    return f"def __init__({', '.join(parameters)}) -> None:\n " + "\n ".join(body or ["pass"])


def _write_tuple(name: str, chosen: Sequence[Field[Any]]) -> str:
    return f"({''.join(f'{name}.{field.name}, ' for field in chosen)})"


@recursive_repr()
def _show(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(self: Any, name: str) -> bool:
    """Whether this is a field, or the class is a record; a plain class that extends one may have attributes of its own."""
    return "__dataclass_fields__" in vars(type(self)) or any(field.name == name for field in fields(self))


def _read_state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: Sequence[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
_FROZEN_WITH_SLOTS = {**_FROZEN, "__getstate__": _read_state, "__setstate__": _set_state}
"""Methods of all frozen records. Those with slots are pickled by their fields: Python would set them one by one."""
