"""Inputs for a model: generated from a seed, or read from a .npz, .npy or picture file."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np

from ...base.archive import require_memory
from ...base.array_files import ArrayHeader, load_npy, open_npz
from ...base.errors import AdrenoSimError
from ...base.installed.extras import require
from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import kind as node_kind
from .model import Model, ModelInput
from .value_ranges import ValueRanges, bound_value

SAMPLE = "relax.multinomial_from_uniform"
"""The operator that samples: it means nothing for inputs that are not probabilities."""

INTEGERS_BELOW = 8
"""Seeded integers that no operator takes as an index, a mask or a length are in [0, 8)."""

SYMBOL_DEFAULT = 2
"""Size of a symbolic dimension nobody gave: 1 would hide broadcasting and stride mistakes."""

_HELD = 3
"""How often a check holds its inputs: as generated, on the device, and in a reference."""

_LARGE = 1 << 30
"""Bytes of inputs that are made in no time: that a device does not hold them is found as it runs."""

Arrays = dict[str, np.ndarray]

Inputs = Union[Mapping[str, np.ndarray], Sequence[np.ndarray], str, "os.PathLike[str]"]
"""What a caller gives: arrays by name or in order, or a file."""


def make_inputs(
    model: Model,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Arrays:
    """One array per input of the model, by name.

    path: None = seeded; .npz by input name; .npy or a picture for a model with one input. shapes: sizes for symbolic
    dimensions, by input. Raises AdrenoSimError if a file cannot be read or an array does not fit.
    """
    if path is None:
        return seeded_inputs(model, seed, shapes)
    file = Path(path)
    require_file(file)
    if file.suffix == ".npz":
        return check_inputs(model, _read_arrays(file, model))
    if len(model.inputs) != 1:
        names = ", ".join(item.name for item in model.inputs)
        raise AdrenoSimError(f"input {file}: the model has inputs {names}; give a .npz with an array for each")
    only = model.inputs[0]
    return check_inputs(model, {only.name: _read_array(file) if file.suffix == ".npy" else read_picture(file, only)})


def require_room(model: Model, shapes: Mapping[str, Sequence[int]] | None, limits: Mapping[str, Any]) -> None:
    """Raise AdrenoSimError if the inputs are more than the device or this host can hold, before any is made.

    shapes: as of `make_inputs`. limits: of the device.
    """
    sizes = _symbol_sizes(model, shapes or {})
    shapes_of = {item: [sizes[size] if isinstance(size, str) else size for size in item.shape] for item in model.inputs}
    nbytes = sum(math.prod(shape) * np.dtype(item.dtype).itemsize for item, shape in shapes_of.items())
    if nbytes > max(limits.get("GLOBAL_MEM_SIZE", nbytes), _LARGE):
        each = ", ".join(f"{item.name} of {'x'.join(map(str, shape))} in {item.dtype}" for item, shape in shapes_of.items())
        raise AdrenoSimError(
            f"inputs of {nbytes:,} bytes ({each}): GLOBAL_MEM_SIZE = {limits['GLOBAL_MEM_SIZE']:,}: expected smaller shapes"
        )
    try:
        require_memory("inputs, held by the references too", _HELD * nbytes)
    except ValueError as error:
        raise AdrenoSimError(f"{error}: expected smaller shapes") from None


def require_file(path: object) -> None:
    """Raise AdrenoSimError if inputs are the path of a file that is not there; arrays are left to `check_inputs`."""
    if isinstance(path, (str, os.PathLike)) and not Path(path).is_file():
        raise AdrenoSimError(f"input {os.fspath(path)}: {'is a folder' if Path(path).is_dir() else 'no such file'}")


def seeded_inputs(model: Model, seed: int = 0, shapes: Mapping[str, Sequence[int]] | None = None) -> Arrays:
    """Standard normal floats, probabilities where an operator samples; integers from the range that fits what consumes them, else
    from [0, 8); random booleans; by seed and input name.

    Normal values keep a network with ordinary weights away from saturation and overflow. A mask leaves the first of each row:
    attention over nothing is not a number. Symbolic dimensions of equal name get equal sizes: from `shapes`, else 2.
    """
    sizes = _symbol_sizes(model, shapes or {})
    ranges, shares = integer_bounds(model, sizes), _find_probabilities(model)
    arrays: Arrays = {}
    for position, item in enumerate(model.inputs):
        shape = tuple(sizes[size] if isinstance(size, str) else size for size in item.shape)
        generator = np.random.default_rng([seed, zlib.crc32(item.name.encode())])
        if position in shares:
            arrays[item.name] = _draw_probabilities(generator, shape, item.dtype, shares[position])
        else:
            arrays[item.name] = _draw(generator, shape, item.dtype, ranges.get(position))
    return arrays


def integer_bounds(model: Model, sizes: Mapping[str, int] | None = None) -> Mapping[int, tuple[int, int]]:
    """The range that fits what consumes an integer input, by the input's position; a compiled model says it itself.

    sizes: of symbolic dimensions.
    """
    if model.module is None:
        return {position: item.bounds for position, item in enumerate(model.inputs) if item.bounds is not None}
    integers = [position for position, item in enumerate(model.inputs) if np.dtype(item.dtype).kind in "iu"]
    if not integers:
        return {}
    from .integer_inputs import input_ranges

    return input_ranges(model.module, integers, sizes)


def _find_probabilities(model: Model) -> dict[int, int]:
    """Positions of the parameters of main that a sampling takes as they are -> which operand each is: 0 the distributions, one a
    row, 1 the numbers from [0, 1) by which they are sampled."""
    if model.module is None:
        return {}
    ranges = ValueRanges(model.module)
    found: dict[int, int] = {}
    for binding in bindings(ranges.function):
        call = bound_value(binding)
        if node_kind(call) == "Call" and op_name(call) == SAMPLE:
            for operand in (0, 1):
                position = ranges.parameter(call.args[operand])
                if position is not None:
                    found[position] = operand
    return found


def _draw_probabilities(generator: np.random.Generator, shape: tuple[int, ...], dtype: str, operand: int) -> np.ndarray:
    """Seeded values for such an input; rows of distributions sum to 1."""
    drawn = generator.random(shape, np.float32)
    if operand == 0:
        drawn = drawn / drawn.sum(axis=-1, keepdims=True)
    return drawn.astype(dtype)


def _draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: str, bounds: tuple[int, int] | None) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return _with_first(generator.integers(0, 2, shape).astype(bool))
    if kind.kind in "iu":
        low, high = bounds or (0, INTEGERS_BELOW - 1)
        high = min(high, int(np.iinfo(kind).max))
        drawn = generator.integers(low, high + 1, shape).astype(kind)
        return _with_first(drawn) if (low, high) == (0, 1) else drawn
    return generator.standard_normal(shape, np.float32).astype(kind)


def _with_first(mask: np.ndarray) -> np.ndarray:
    """The mask with the first of each row set."""
    if mask.ndim and mask.shape[-1] > 1:
        mask[..., 0] = 1
    return mask


def _symbol_sizes(model: Model, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    names = [item.name for item in model.inputs]
    for name in shapes:
        if name not in names:
            raise AdrenoSimError(f"shape given for {name!r}, but the inputs are {', '.join(names)}")
    sizes = {symbol: SYMBOL_DEFAULT for item in model.inputs for symbol in item.symbols}
    for item in model.inputs:
        if item.name in shapes:
            _fit(item, tuple(shapes[item.name]), f"shape of input {item.name!r}")
            sizes.update({dim: size for dim, size in zip(item.shape, shapes[item.name], strict=True) if isinstance(dim, str)})
    return sizes


def check_inputs(model: Model, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """The arrays in the model's dtypes, in its order. AdrenoSimError for a missing, unknown or unfitting one."""
    found = {name: np.asarray(array) for name, array in arrays.items()}
    _require_fit(model, found)
    return {item.name: np.asarray(found[item.name], item.dtype, order="C") for item in model.inputs}


def _require_fit(model: Model, given: Mapping[str, np.ndarray | ArrayHeader]) -> None:
    """Raise AdrenoSimError if arrays, or what a file says of them, are not what the model takes."""
    names = [item.name for item in model.inputs]
    if set(given) != set(names):
        raise AdrenoSimError(f"inputs given: {', '.join(given) or 'none'}; the model's are {', '.join(names)}")
    for item in model.inputs:
        array = given[item.name]
        _fit(item, array.shape, f"input {item.name!r}")
        if not np.can_cast(array.dtype, item.dtype, "same_kind"):
            raise AdrenoSimError(f"input {item.name!r}: expected {item.dtype}, got {array.dtype}")


def _fit(item: ModelInput, shape: tuple[int, ...], what: str) -> None:
    fits = len(shape) == len(item.shape) and all(
        isinstance(dim, str) or dim == size for dim, size in zip(item.shape, shape, strict=False)
    )
    if not fits:
        raise AdrenoSimError(f"{what}: expected {'x'.join(map(str, item.shape))}, got {'x'.join(map(str, shape))}")


def _read_arrays(file: Path, model: Model) -> Arrays:
    """The arrays of an .npz file, which may be zeros packed a thousandfold: their sizes are compared with the model's first."""
    try:
        with open_npz(str(file)) as archive:
            _require_fit(model, archive.headers)
            require_memory("its arrays", archive.nbytes)
            return archive.read_all()
    except (OSError, ValueError) as error:
        raise AdrenoSimError(f"input {file}: not a readable .npz file ({error})") from error


def _read_array(file: Path) -> np.ndarray:
    try:
        return load_npy(file)
    except (OSError, ValueError) as error:
        raise AdrenoSimError(f"input {file}: not a readable .npy file ({error})") from error


def read_picture(file: Path, item: ModelInput) -> np.ndarray:
    """A picture as the model's input, resized to its height and width.

    The layout is guessed from the shape: NCHW if axis 1 has size 1 or 3, NHWC if axis 3 has (1 = grey, 3 = RGB). Floats
    become value / 127.5 - 1, in [-1, 1]; uint8 stays. A dimension that is symbolic takes the picture's own size.
    Needs Pillow. AdrenoSimError if the input does not take a picture, or the file is not one.
    """
    require("PIL")
    from PIL import Image

    channels, height, width, last = _picture_layout(item)
    try:
        with Image.open(file) as picture:
            converted = picture.convert("L" if channels == 1 else "RGB")
    except Exception as error:  # Pillow's readers raise OSError, ValueError, SyntaxError, and its own for far too large pictures
        raise AdrenoSimError(f"input {file}: not a readable picture ({error})") from error
    size = (width or converted.width, height or converted.height)
    pixels = np.asarray(converted.resize(size, Image.Resampling.BILINEAR)).reshape(size[1], size[0], channels)
    values = pixels if item.dtype == "uint8" else (pixels.astype(np.float32) / 127.5 - 1.0).astype(item.dtype)
    return (values if last else values.transpose(2, 0, 1))[None]


def _picture_layout(item: ModelInput) -> tuple[int, int | None, int | None, bool]:
    """(channels, height, width, channels last); None for a symbolic size."""
    dims = [None if isinstance(size, str) else size for size in item.shape]
    fits = len(dims) == 4 and dims[0] in (1, None) and (item.dtype.startswith("float") or item.dtype == "uint8")
    if fits and dims[1] in (1, 3):
        return dims[1] or 1, dims[2], dims[3], False
    if fits and dims[3] in (1, 3):
        return dims[3] or 1, dims[1], dims[2], True
    shape = "x".join(map(str, item.shape))
    raise AdrenoSimError(f"input {item.name!r} is {shape} {item.dtype}: expected 1xCxHxW or 1xHxWxC with C 1 or 3 for a picture")
