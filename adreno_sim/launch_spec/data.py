"""Contents of buffers and images: a generator, values written in the file, a .npy file or an array of an .npz file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from ..base.bounded_read import open_file
from ..base.errors import AdrenoSimError
from ..base.toml_tables import MISSING, Table, is_number, is_whole, short_repr
from ..records import dataclass
from .named_files import FileNames

GENERATORS = ("zeros", "ones", "arange", "random", "constant", "unwritten")

DTYPES = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip


_WRAP = 1 << 64
_PIECE = 1 << 18  # elements made at a time: what they are computed in is wider than what is kept
_LARGE = 16 << 20  # bytes of a file from which on it is not read as a whole


@dataclass(frozen=True)
class Data:
    """fill: one of GENERATORS with its `parameters`, "values" or "file" (with the name of the `member` of an .npz). `where` names
    the entry in errors; `below` is the folder in which the file must lie.

    zeros, ones; constant (value); arange (start, step): start + i * step; random (seed, low, high): uniform, integers
    without `high`; unwritten: what fresh memory holds, which the kernel must not read.
    """

    fill: str
    where: str
    parameters: dict[str, Any] = field(default_factory=dict)
    values: tuple[Any, ...] = ()
    file: Path | None = None
    member: str = ""
    below: Path | None = None

    @property
    def count(self) -> int | None:
        """Elements, where the data says it; a file is opened to know."""
        if self.fill == "values":
            return len(self.values)
        return int(self._load().size) if self.fill == "file" else None

    def array(self, dtype: str, count: int) -> np.ndarray | None:
        """A flat array of `count` elements of `dtype`, None if unwritten. Raises AdrenoSimError if it does not fit."""
        if self.fill == "unwritten":
            return None
        if self.fill == "file":
            return self._from_file(dtype, count)
        if self.fill == "values":
            return self._from_values(dtype, count)
        return self._generate(np.dtype(dtype), count)

    def _load(self) -> np.ndarray:
        from ..base.array_files import load_npy

        assert self.file is not None
        try:
            return self._load_member(self.file) if self.member else load_npy(self.file, _LARGE, self._folders)
        except OSError as error:
            raise AdrenoSimError(f"{self.where}: {self.file}: cannot be read: {error.strerror or error}") from None
        except (ValueError, MemoryError) as error:
            kind = ".npz" if self.member else ".npy"
            raise AdrenoSimError(f"{self.where}: {self.file}: not a {kind} file of numbers: {error}") from None

    @property
    def _folders(self) -> list[Path] | None:
        return None if self.below is None else [self.below]

    def _load_member(self, file: Path) -> np.ndarray:
        from ..base.array_files import open_npz

        with open_file(file, self._folders) as opened, open_npz(opened) as archive:
            if self.member not in archive.headers:
                held = ", ".join(archive.headers) or "none"
                raise AdrenoSimError(f"{self.where}: {file}: no array {self.member!r}; its arrays are {held}")
            return archive.read(self.member)

    def _from_file(self, dtype: str, count: int) -> np.ndarray:
        array = self._load()
        if array.dtype != np.dtype(dtype) or array.size != count:
            raise AdrenoSimError(
                f"{self.where}: {self.file}: expected {count} elements of {dtype}, got {array.size} of {array.dtype} "
                f"(shape {array.shape})"
            )
        return np.ascontiguousarray(array).reshape(-1)

    def _from_values(self, dtype: str, count: int) -> np.ndarray:
        if len(self.values) != count:
            raise AdrenoSimError(f"{self.where}: expected {count} values, got {len(self.values)}")
        for number, value in enumerate(self.values):
            if not fits(value, dtype):
                raise AdrenoSimError(f"{self.where}: value {number}: expected {dtype}, got {short_repr(value)}")
        return np.array(self.values, dtype)

    def _generate(self, dtype: np.dtype, count: int) -> np.ndarray:
        given = self.parameters
        if self.fill == "random":
            return self._random(dtype, count)
        start, step = given.get("start", 0), given.get("step", 0)
        if self.fill != "arange":
            start = {"zeros": 0, "ones": 1}.get(self.fill, given.get("value"))
        for value in (start, start + max(count - 1, 0) * step, start + step if count > 1 else start):
            if not fits(value, dtype.name):
                raise AdrenoSimError(f"{self.where}: {self.fill}: expected {dtype}, got {short_repr(value)}")
        out = np.empty(count, dtype)
        with np.errstate(over="ignore"):  # integers wrap on the way to a value that fits
            for low in range(0, count, _PIECE):
                out[low : low + _PIECE] = _progression(start, step, low, min(count, low + _PIECE), dtype)
        return out

    def _random(self, dtype: np.dtype, count: int) -> np.ndarray:
        given = self.parameters
        generator = np.random.default_rng(given["seed"])
        whole = dtype.kind in "iu"
        low, high = given.get("low", 0 if whole else -1.0), given.get("high", 100 if whole else 1.0)
        if not (low < high and math.isfinite(high - low)):
            raise AdrenoSimError(f"{self.where}: expected low < high, got {low} and {high}")
        if not whole:
            out = np.empty(count, dtype)
            for first in range(0, count, _PIECE):
                out[first : first + _PIECE] = generator.uniform(low, high, min(_PIECE, count - first))
            return out
        for value in (low, high - 1):
            if not fits(value, dtype.name):
                raise AdrenoSimError(f"{self.where}: random: expected {dtype}, got {short_repr(value)}")
        return generator.integers(low, high, count, dtype)


def _progression(start: Any, step: Any, low: int, high: int, dtype: np.dtype) -> np.ndarray:
    """start + i * step for i from `low` to `high`: doubles, or integers modulo 2**64."""
    if dtype.kind == "f":
        return np.arange(low, high, dtype=np.float64) * step + start
    return (np.arange(low, high, dtype=np.uint64) * np.uint64(step % _WRAP) + np.uint64(start % _WRAP)).astype(dtype)


def fits(value: object, dtype: str) -> bool:
    """Whether `value` is a number that `dtype` can hold: integers exactly, floats by rounding."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return isinstance(value, float) or (is_whole(value) and abs(value) < 1 << 1000)  # type: ignore[arg-type]
    limits = np.iinfo(kind)
    return is_whole(value) and limits.min <= value <= limits.max  # type: ignore[operator]


def read_data(table: Table, key: str, files: FileNames, default: Any = MISSING) -> Data:
    """The entry `key`: a generator's name, a list of values, {fill = "random", seed = 1, ...}, {file = "x.npy"}, or
    {file = "x.npz", array = "a"}."""
    what = f'one of {", ".join(GENERATORS)}, a list of numbers, {{file = "x.npy"}} or {{fill = "random", seed = 1}}'
    value = table.get(key, default, what)
    where = str(table.error(key, "")).removesuffix(": ")
    if isinstance(value, str) and value in GENERATORS:
        return Data(value, where, _parameters(value, table.below(key, {})))
    if isinstance(value, list):
        return Data("values", where, values=tuple(_flat(table, key, value)))
    if isinstance(value, dict) and ("file" in value) != ("fill" in value):
        return _from_table(table.below(key, value), where, files)
    table.fail_expected(key, what)


def _from_table(table: Table, where: str, files: FileNames) -> Data:
    if "file" in table:
        file = files.find(table, "file", table.text("file"))
        packed = file.suffix == ".npz"
        member = table.text("array", "" if not packed else MISSING)
        if member and not packed:
            raise table.error("array", f"only a .npz file has several arrays; {file.name} is one")
        if packed and not member:
            table.fail_expected("array", "the name of an array of the file")
        table.finish()
        return Data("file", where, file=file, member=member, below=files.root)
    fill = table.text("fill", choices=GENERATORS)
    data = Data(fill, where, _parameters(fill, table))
    table.finish()
    return data


def _parameters(fill: str, table: Table) -> dict[str, Any]:
    """The generator's parameters, defaults filled in."""
    if fill == "constant":
        return {"value": table.number("value")}
    if fill == "arange":
        return {"start": table.number("start", 0), "step": table.number("step", 1)}
    if fill == "random":
        bounds = {key: table.number(key) for key in ("low", "high") if key in table}
        return {"seed": table.whole("seed", 0), **bounds}
    return {}


def _flat(table: Table, key: str, values: Sequence[Any]) -> list[Any]:
    """Numbers of nested lists in order."""
    out: list[Any] = []
    for value in values:
        if isinstance(value, list):
            out += _flat(table, key, value)
        elif is_number(value):
            out.append(value)
        else:
            raise table.error(key, f"expected numbers, got {short_repr(value)} among them")
    return out
