"""The named open dimensions of an ONNX file's inputs, and full shapes for sizes of them.

An ONNX model is compiled for full shapes. What holds for a range of sizes is found from models of its ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...records import dataclass
from .model import Shapes


@dataclass(frozen=True)
class OpenInputs:
    """shapes: input -> its dimensions in order, of each input that has an open one. A number, a name, or "" for one without."""

    shapes: Mapping[str, tuple[int | str, ...]]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names, each once."""
        return tuple(dict.fromkeys(dim for shape in self.shapes.values() for dim in shape if isinstance(dim, str) and dim))

    def at(self, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """The full shapes at these sizes; an input with an open dimension that has no name is left out."""
        return {
            name: tuple(sizes[dim] if isinstance(dim, str) else dim for dim in shape)
            for name, shape in self.shapes.items()
            if "" not in shape
        }


def open_inputs(path: Path, given: Shapes) -> OpenInputs:
    """Those of an ONNX file, without the inputs whose shapes are given. Errors as `read_onnx`."""
    from .onnx_file import read_onnx

    graph = read_onnx(path).proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    shapes: dict[str, tuple[int | str, ...]] = {}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        shape = tuple(dim.dim_value if dim.dim_value > 0 else dim.dim_param for dim in dims)
        if value.name not in weights and value.name not in given and any(isinstance(dim, str) for dim in shape):
            shapes[value.name] = shape
    return OpenInputs(shapes)
