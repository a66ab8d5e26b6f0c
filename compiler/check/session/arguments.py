"""The arguments of a session's calls: checked against the entry, put on the device, given to the reference, written down."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base.errors import AdrenoSimError
from ...artifact.interface import EntryParam, PackedInfo, ScalarInfo, ShapeInfo, StateInfo, TensorInfo
from ...artifact.script import ArrayValue, NumberArgument, ResultOf, ScriptValue, ShapeArgument, TupleArgument
from ...run.values import HostObject, ShapeValue, Tensor, TupleValue, Value, release, retain
from .values import Held

if TYPE_CHECKING:
    from ....golden.session_callables import CallableReference
    from ....golden.session_reference import SessionReference
    from ...run.vm import VirtualMachine


class Arguments:
    """Makes values of what a caller gives. Weights are put on the device once. recorded: arrays of the script, by key."""

    def __init__(
        self,
        machine: VirtualMachine,
        reference: SessionReference | CallableReference | None,
        weights: Mapping[str, Any],
    ):
        self.recorded: dict[str, np.ndarray] = {}
        self.weights = {name: _weight(name, given) for name, given in weights.items()}
        self._machine, self._reference = machine, reference
        self._on_device: dict[int, Value] = {}
        self._kept: list[Value] = []
        self._in_reference: dict[int, Any] = {}

    def close(self) -> None:
        """Let the device have the weights' memory back."""
        for value in self._kept:
            release(value)
        self._kept.clear()
        self._on_device.clear()

    def complete(self, params: Sequence[EntryParam], function: str, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """One argument for each parameter: given in order, by name, or a weight. Raises AdrenoSimError naming what is wrong."""
        names = [param.name for param in params]
        open_names = [name for name in names if name not in named and name not in self.weights]
        if unknown := [name for name in named if name not in names]:
            raise AdrenoSimError(f"{function} has no parameter {unknown[0]!r}; it has {', '.join(names) or 'none'}")
        if len(args) != len(open_names):
            wanted = ", ".join(open_names) or "none"
            raise AdrenoSimError(
                f"{len(args)} arguments given: {function} takes {len(open_names)} besides its weights ({wanted})"
            )
        given = dict(zip(open_names, args, strict=True)) | dict(named)
        found = [given[name] if name in given else self.weights[name] for name in names]
        symbols: dict[str, int] = {}
        for param, value in zip(params, found, strict=True):
            _check(function, param, value, symbols)
        return found

    def is_weight(self, value: Any) -> bool:
        return any(value is weight for weight in self.weights.values())

    def to_device(self, value: Any, name: str, made: list[Value]) -> Value:
        """The value on the device. What is made for this call alone goes to `made`, to be released after it."""
        if isinstance(value, Held):
            if value.value is None:
                raise AdrenoSimError(f"argument {name}: a result of call {value.step} that was freed")
            return value.value
        if isinstance(value, (bool, int, float, np.generic)):
            return value.item() if isinstance(value, np.generic) else value
        if self.is_weight(value):
            if id(value) not in self._on_device:
                self._on_device[id(value)] = self._make(value, name, self._kept)
            return self._on_device[id(value)]
        return self._make(value, name, made)

    def _make(self, value: Any, name: str, made: list[Value]) -> Value:
        if isinstance(value, np.ndarray):
            tensor = self._machine.upload(name, value, "global")
            made.append(tensor)
            return tensor
        if is_shape(value):
            return ShapeValue(tuple(int(n) for n in value))
        items = tuple(retain(self.to_device(item, f"{name}_{i}", made)) for i, item in enumerate(value))
        found = TupleValue(items)
        made.append(found)
        return found

    def to_reference(self, value: Any) -> Any:
        """The value for the reference."""
        assert self._reference is not None
        if isinstance(value, Held):
            return self._device_value(value) if value.expected is None else value.expected
        if isinstance(value, (bool, int, float, np.generic)):
            return value.item() if isinstance(value, np.generic) else value
        if self.is_weight(value) and id(value) in self._in_reference:
            return self._in_reference[id(value)]
        if isinstance(value, np.ndarray):
            found = self._reference.upload(value)
        elif is_shape(value):
            return self._reference.shape(value)
        else:
            found = self._reference.pack([self.to_reference(item) for item in value])
        if self.is_weight(value):
            self._in_reference[id(value)] = found
        return found

    def _device_value(self, held: Held) -> Any:
        """What stands for a result that no reference gave: what the device gave; None for state."""
        assert self._reference is not None
        return self._reference.upload(held.numpy()) if isinstance(held.value, Tensor) else None

    def to_script(self, value: Any) -> ScriptValue:
        """The value as data; equal arrays are kept once."""
        if isinstance(value, Held):
            return ResultOf(value.step, value.path)
        if isinstance(value, (bool, int, float, np.generic)):
            return NumberArgument(value.item() if isinstance(value, np.generic) else value)
        if isinstance(value, np.ndarray):
            dense = np.ascontiguousarray(value)
            key = hashlib.sha256(f"{dense.dtype} {dense.shape}".encode() + dense.tobytes()).hexdigest()[:24]
            self.recorded[key] = dense
            return ArrayValue(key)
        if is_shape(value):
            return ShapeArgument(tuple(int(n) for n in value))
        return TupleArgument(tuple(self.to_script(item) for item in value))


def is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in value)


def _weight(name: str, given: Any) -> Any:
    """A weight: an array, or arrays in order."""
    if isinstance(given, (list, tuple)):
        return [np.array(item, order="C") for item in given]
    array = np.array(given, order="C")
    if array.dtype == object:
        raise AdrenoSimError(f"weight {name!r} is {type(given).__name__}: expected an array, or a list of arrays")
    return array


def _check(function: str, param: EntryParam, value: Any, symbols: dict[str, int]) -> None:
    """Raise AdrenoSimError if a value does not fit its parameter. symbols: sizes bound so far."""
    where = f"argument {param.name!r} of {function}"
    if isinstance(value, Held) and value.value is None:
        raise AdrenoSimError(f"{where}: a result of call {value.step} that was freed")
    if isinstance(param, TensorInfo):
        tensor = value.value if isinstance(value, Held) else value
        if not isinstance(tensor, (np.ndarray, Tensor)):
            raise AdrenoSimError(f"{where}: expected a {param.dtype} array, given {type(value).__name__}")
        fits = np.dtype(tensor.dtype).name == param.dtype and len(tensor.shape) == len(param.shape)
        for dim, size in zip(param.shape, tensor.shape, strict=False):
            if isinstance(dim, int):
                fits &= dim == size
            elif dim.isidentifier():
                fits &= symbols.setdefault(dim, size) == size
        if not fits:
            wanted = ", ".join(f"{dim}={symbols[dim]}" if dim in symbols else str(dim) for dim in param.shape)
            raise AdrenoSimError(f"{where}: expected {param.dtype} [{wanted}], given {tensor.dtype} {list(tensor.shape)}")
    elif isinstance(param, ShapeInfo):
        if not is_shape(value) or len(value) != param.rank:
            raise AdrenoSimError(f"{where}: expected a shape of {param.rank} integers, given {value!r}")
    elif isinstance(param, ScalarInfo):
        if not isinstance(value, (bool, int, float, np.generic)):
            raise AdrenoSimError(f"{where}: expected a number, given {type(value).__name__}")
    elif isinstance(param, StateInfo):
        if not (isinstance(value, Held) and isinstance(value.value, HostObject)):
            raise AdrenoSimError(
                f"{where}: expected an object that an earlier call gave, as a KV cache; given {type(value).__name__}"
            )
    elif isinstance(param, PackedInfo):
        if not isinstance(value, (list, tuple)) or len(value) != len(param.items):
            raise AdrenoSimError(f"{where}: expected {len(param.items)} values in a list, given {type(value).__name__}")
        for item, given in zip(param.items, value, strict=True):
            _check(function, item, given, symbols)
