"""Files that hold the weights of an ONNX model, beside the model's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...importers.onnx_bytes import strip_weights

LOCATION = "location"
"""The key under which a tensor of ONNX names its file."""


def find_external_data(path: Path) -> dict[str, Path]:
    """The files that a model refers to, by their names there; none for another model than ONNX. OSError, or ValueError for what
    is none."""
    if path.suffix != ".onnx":
        return {}
    with open(path, "rb") as file:
        content, _ = strip_weights(file)
    if LOCATION.encode() not in content:
        return {}
    import onnx

    try:
        proto = onnx.ModelProto.FromString(content)
    except Exception as error:  # protobuf's own
        raise ValueError(f"not an ONNX model: {error}") from error
    names = {entry.value for tensor in _tensors(proto) for entry in tensor.external_data if entry.key == LOCATION}
    return {name: path.parent / name for name in sorted(names)}


def _tensors(message: Any) -> Iterator[Any]:
    """Every tensor in a message of ONNX, however deep."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(item)
