"""Files that hold the weights of an ONNX model, beside the model's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...importers.onnx_bytes import strip_weights

LOCATION = "location"
"""The key under which a tensor of ONNX names its file."""


def find_external_data(path: Path) -> list[str]:
    """The paths, from the model's folder, of the files that an ONNX model refers to. OSError, or ValueError for what is none."""
    with open(path, "rb") as file:
        content, _ = strip_weights(file)
    if LOCATION.encode() not in content:
        return []
    import onnx

    try:
        proto = onnx.ModelProto.FromString(content)
    except Exception as error:  # protobuf's own
        raise ValueError(f"not an ONNX model: {error}") from error
    return sorted({entry.value for tensor in _tensors(proto) for entry in tensor.external_data if entry.key == LOCATION})


def _tensors(message: Any) -> Iterator[Any]:
    """Every tensor in a message of ONNX, however deep."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(item)
