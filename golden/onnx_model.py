"""An ONNX graph whose large initialisers are beside it: protobuf copies its messages, and a model's weights are held once.

In the graph such an initialiser is one of external data, whose location is the key of its array.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ..memory.spilled import spill
from ..records import dataclass

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

LARGE = 1 << 16
"""Elements above which an initialiser is a weight, not a parameter of the graph's shape arithmetic."""

_PLACE = "weight of this model: "


@functools.cache
def plain_types() -> frozenset[int]:
    """Types that NumPy has too: their elements may be beside a graph."""
    from onnx import TensorProto

    whole = (f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
    return frozenset(getattr(TensorProto, name) for name in ("FLOAT", "FLOAT16", "DOUBLE", "BOOL", *whole))


@dataclass
class LargeArrays:
    """The arrays of large initialisers, by key; nobody writes to them. count: of the keys that were given away."""

    by_key: dict[str, np.ndarray] = field(default_factory=dict)
    count: int = 0

    def tensor(self, array: np.ndarray, name: str) -> TensorProto:
        """An initialiser with these elements; a large array is kept here."""
        from onnx import TensorProto, helper, numpy_helper

        if array.size <= LARGE or helper.np_dtype_to_tensor_dtype(array.dtype) not in plain_types():
            return numpy_helper.from_array(np.asarray(array, order="C"), name)
        found = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
        self.attach(found, spill(array))
        return found

    def attach(self, tensor: TensorProto, array: np.ndarray) -> None:
        """Let an initialiser that says its type and shape have these elements."""
        from onnx import TensorProto

        key = f"{_PLACE}{self.count}"
        self.count += 1
        for data in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "external_data"):
            tensor.ClearField(data)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=key)
        self.by_key[key] = array

    def array(self, tensor: TensorProto) -> np.ndarray:
        """The elements of an initialiser, to be read only."""
        from onnx import numpy_helper

        found = self.find(tensor)
        return np.asarray(numpy_helper.to_array(tensor)) if found is None else found

    def find(self, tensor: TensorProto) -> np.ndarray | None:
        """The elements of an initialiser that lie here; None for another."""
        return self.by_key.get(self._key(tensor))

    def of(self, model: ModelProto) -> Iterator[tuple[TensorProto, np.ndarray]]:
        """Every initialiser of the model whose elements lie here, and these."""
        for tensor in model.graph.initializer:
            if key := self._key(tensor):
                yield tensor, self.by_key[key]

    def keep_used(self, model: ModelProto) -> None:
        """Drop the arrays that no initialiser of the model has any more."""
        used = {self._key(tensor) for tensor in model.graph.initializer}
        self.by_key = {key: array for key, array in self.by_key.items() if key in used}

    def _key(self, tensor: TensorProto) -> str:
        key = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        return key if key in self.by_key else ""


@dataclass(frozen=True)
class OnnxModel:
    """A graph and its large arrays."""

    proto: ModelProto
    arrays: LargeArrays

    def with_weights_as_inputs(self) -> tuple[bytes, dict[str, np.ndarray]]:
        """The serialised graph with inputs instead of the initialisers that are in files beside it, and what these are given.

        Those of type int8 stay initialisers: ONNX Runtime makes only such exact on every processor (see `run_onnx`).
        """
        from onnx import TensorProto, helper

        proto = type(self.proto)()
        proto.CopyFrom(self.proto)
        graph = proto.graph
        listed = {value.name for value in graph.input}  # an old model lists its initialisers there too
        weights, fresh = {}, []
        for tensor, array in self.arrays.of(proto):
            if tensor.data_type == TensorProto.INT8:
                tensor.ClearField("external_data")
                tensor.ClearField("data_location")
                tensor.raw_data = array.tobytes()
                continue
            weights[tensor.name] = array
            if tensor.name not in listed:
                fresh.append(tensor)
        graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in fresh)
        for number in reversed(range(len(graph.initializer))):
            if graph.initializer[number].name in weights:
                del graph.initializer[number]
        return proto.SerializeToString(), weights

    def content(self) -> list[object]:
        """All that its results depend on besides its inputs."""
        return [self.proto.SerializeToString(deterministic=True), *(array for _, array in self.arrays.of(self.proto))]
