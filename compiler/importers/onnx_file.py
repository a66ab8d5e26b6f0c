"""Reads an ONNX file: large initialisers go past protobuf, which would hold and copy them, into arrays of their own."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, external_data_helper, helper

from ...base.errors import AdrenoSimError
from ...golden.onnx_model import LARGE, LargeArrays, OnnxModel, plain_types
from ...memory.spilled import read_array
from .onnx_bytes import FileBytes, strip_weights

MOST = (1 << 31) - 1
"""Bytes of a message that protobuf takes."""


def read_onnx(path: Path) -> OnnxModel:
    """The model in a file. AdrenoSimError if it is not one, or holds no graph."""
    try:
        with open(path, "rb") as file:
            model = _read(file if file.seekable() else io.BytesIO(file.read()), path.parent)
    except Exception as error:  # protobuf's decoder, the external-data reader and the file system have no common error
        raise AdrenoSimError(f"{path}: not a readable ONNX model ({error})") from error
    if not model.proto.graph.node:
        raise AdrenoSimError(f"{path}: not an ONNX model, or one without a single node")
    return model


def take_model(model: ModelProto) -> OnnxModel:
    """A copy of a model in memory. ValueError if protobuf cannot write it."""
    return _read(io.BytesIO(model.SerializeToString()), Path())


def _read(file: BinaryIO, folder: Path) -> OnnxModel:
    proto, found = _parse(file)
    arrays = LargeArrays()
    large: dict[int, np.ndarray] = {}
    for number, tensor in enumerate(proto.graph.initializer):
        place = found.get(number)
        if place is not None:
            large[number] = _array(tensor, file, place)
        elif external_data_helper.uses_external_data(tensor) and (outside := _read_outside(tensor, folder)) is not None:
            large[number] = outside
            tensor.data_location = TensorProto.DEFAULT
    external_data_helper.load_external_data_for_model(proto, os.fspath(folder))
    for number, tensor in enumerate(proto.graph.initializer):
        if number in large:
            arrays.attach(tensor, large[number])
        elif math.prod(tensor.dims) > LARGE and tensor.data_type in plain_types():
            arrays.attach(tensor, arrays.array(tensor))
    return OnnxModel(proto, arrays)


def _parse(file: BinaryIO) -> tuple[ModelProto, dict[int, FileBytes]]:
    """The model, and where the elements of initialisers are which it then lacks, by the number of the initialiser."""
    size = file.seek(0, os.SEEK_END)
    if size > MOST:
        raise ValueError(f"{size:,} bytes, and protobuf takes at most {MOST:,}: save it with save_as_external_data=True")
    try:
        content, found = strip_weights(file, lambda rest, nbytes: _nbytes(TensorProto.FromString(rest)) == nbytes)
    except ValueError:  # protobuf says what is wrong
        file.seek(0)
        content, found = file.read(), {}
    return onnx.load_model_from_string(content), found


def _nbytes(tensor: TensorProto) -> int:
    """The bytes of the elements of a large tensor; -1 for one that is small, refers to a file, or is of a type that NumPy holds
    otherwise than ONNX."""
    if math.prod(tensor.dims) <= LARGE or any(size < 0 for size in tensor.dims):
        return -1
    if tensor.data_type not in plain_types() or tensor.data_location != TensorProto.DEFAULT:
        return -1
    return math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def _array(tensor: TensorProto, file: BinaryIO, place: FileBytes) -> np.ndarray:
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    return read_array(file, *place).view(dtype).reshape(tuple(tensor.dims))


def _read_outside(tensor: TensorProto, folder: Path) -> np.ndarray | None:
    """The elements of a large tensor that are in a separate file; None if ONNX's reader is to read or refuse them."""
    probe = TensorProto()
    probe.CopyFrom(tensor)
    probe.data_location = TensorProto.DEFAULT
    expected = _nbytes(probe)
    if expected < 0:
        return None
    info = external_data_helper.ExternalDataInfo(tensor)
    offset = info.offset or 0
    if expected != (expected if info.length is None else info.length):
        return None
    for entry in probe.external_data:
        entry.value = "0" if entry.key == "length" else entry.value
    if info.length is None:
        probe.external_data.add(key="length", value="0")
    external_data_helper.load_external_data_for_tensor(
        probe, os.fspath(folder)
    )  # reads nothing, and refuses what it must not read
    path = folder / info.location
    size = path.stat().st_size - offset
    if size < expected or (info.length is None and size != expected):
        return None
    with open(path, "rb") as file:
        return _array(tensor, file, FileBytes(offset, expected))
