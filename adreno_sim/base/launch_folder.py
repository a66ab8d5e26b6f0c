"""A launch written as a folder that `adreno-sim kernel` runs: kernel.cl, launch.toml, arrays as .npy."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from ..records import dataclass
from .errors import AdrenoSimError
from .output_file import place_folder
from .processes.scratch import scratch_folder
from .text.spelling import encode_exactly, spell_line

SCHEMA = "adreno-sim/launch/1"
SOURCE, LAUNCH = "kernel.cl", "launch.toml"


@dataclass(frozen=True)
class WrittenArgument:
    """One [[argument]] table. array: its contents, written beside the launch file; None = what `table` says. undefined: for each
    byte its undefined bits, None if there are none."""

    table: Mapping[str, Any]
    array: np.ndarray | None = None
    undefined: np.ndarray | None = None


@dataclass(frozen=True)
class WrittenLaunch:
    """What a folder holds. keys: top-level keys of the launch file in order; outputs: argument position -> expected array, whose
    shape names its elements; elements: of an output, the index of the element that is wrong.

    comment: lines at its top, without the #.
    """

    source: str
    keys: Mapping[str, Any]
    arguments: Sequence[WrittenArgument]
    run: Mapping[str, Any] = field(default_factory=dict)
    storages: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[int, np.ndarray] = field(default_factory=dict)
    elements: Mapping[int, Sequence[int]] = field(default_factory=dict)
    comment: Sequence[str] = ()


def require_writable(folder: Path) -> None:
    """Raise AdrenoSimError if `folder` is not empty or cannot be created: called before the work begins."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AdrenoSimError(f"cannot write {folder}: it exists and is not an empty folder")
    parent = folder.resolve().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise AdrenoSimError(f"cannot write {folder}: folder {parent} does not exist or is not writable")


def write_folder(folder: Path, launch: WrittenLaunch) -> None:
    """Write `launch` to `folder`, which appears complete or not at all. Raises AdrenoSimError if it cannot."""
    require_writable(folder)
    try:
        with scratch_folder("launch") as scratch:
            made = scratch / "made"
            made.mkdir()
            _fill(made, launch)
            place_folder(made, folder)
    except OSError as error:
        raise AdrenoSimError(f"cannot write {folder}: {error.strerror or error}") from error


def _fill(folder: Path, launch: WrittenLaunch) -> None:
    (folder / SOURCE).write_bytes(encode_exactly(launch.source))
    for position, argument in enumerate(launch.arguments):
        if argument.array is not None:
            np.save(folder / _array_name(position), argument.array, allow_pickle=False)
        if argument.undefined is not None:
            np.save(folder / _undefined_name(position), argument.undefined, allow_pickle=False)
    for position, array in launch.outputs.items():
        np.save(folder / _expected_name(position), array.reshape(-1), allow_pickle=False)
    (folder / LAUNCH).write_text(_text(launch), encoding="utf-8")


def _array_name(position: int) -> str:
    return f"argument{position}.npy"


def _undefined_name(position: int) -> str:
    return f"undefined{position}.npy"


def _expected_name(position: int) -> str:
    return f"expected{position}.npy"


def _text(launch: WrittenLaunch) -> str:
    """The launch file."""
    comment = [f"# {spell_line(line)}" for text in launch.comment for line in text.splitlines()]
    parts = ["\n".join([*comment, *_lines({"schema": SCHEMA, "source": SOURCE, **launch.keys})])]
    if launch.run:
        parts.append("\n".join(["[run]", *_lines(launch.run)]))
    parts += [f"[storage.{name}]\nnbytes = {nbytes}" for name, nbytes in launch.storages.items()]
    for position, argument in enumerate(launch.arguments):
        table = dict(argument.table)
        if argument.array is not None:
            table["data"] = {"file": _array_name(position)}
        if argument.undefined is not None:
            table["undefined"] = {"file": _undefined_name(position)}
        parts.append("\n".join(["[[argument]]", *_lines(table)]))
    for position, array in launch.outputs.items():
        table = {"argument": position, "data": {"file": _expected_name(position)}}
        if array.ndim > 1 and array.size:
            table["shape"] = list(array.shape)
        if launch.elements.get(position) and array.size:
            table["element"] = list(launch.elements[position])
        parts.append("\n".join(["[[output]]", *_lines(table)]))
    return "\n\n".join(parts) + "\n"


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml_value(value)}" for key, value in table.items()]


def toml_value(value: Any) -> str:
    """A value as TOML: text, truth values, numbers, lists and inline tables. AdrenoSimError for text that is not UTF-8."""
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise AdrenoSimError(f"{spell_line(value)}: not UTF-8 text, as a launch file is; rename it or encode it as UTF-8")
        return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f") if _plain(value) else _escape(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return str(int(value))


def _plain(text: str) -> bool:
    """JSON's escapes are those of TOML, except for surrogate pairs."""
    return all(ord(char) < 0x10000 for char in text)


def _escape(text: str) -> str:
    return '"' + "".join(json.dumps(c)[1:-1] if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in text) + '"'
