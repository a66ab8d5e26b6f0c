"""Under which key a prepared model is kept, and when it is not: the key covers whatever decides what is made of the model."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from ....base import disk_cache
from ....base.code_digest import code_digest
from ....base.file_digests import FileSet, digest_file, find_files
from ....device.protocol import DeviceInfo
from ....golden.result_cache import digest_of
from ....records import dataclass
from ...importers.inputs import Inputs
from ...lower.compile_options import CompileOptions
from ...tvm_bridge.foreign_code import may_be_changed
from ...tvm_bridge.installed_files import find_installed, is_steered
from .external_data import find_external_data

KIND = "models"
"""Of the entries on disk."""

ALWAYS = ("numpy", "ml_dtypes", "google.protobuf")
LIBRARIES = {".onnx": ("onnx", "onnxruntime"), ".pt2": ("torch",), ".json": ()}
"""What reads and judges a model besides TVM, by suffix of the files that say all about a model, or name the files that do. A
Python file may import anything."""

DISTRIBUTIONS = {"google.protobuf": "protobuf"}
"""Of modules that are not called as their distribution."""


def most_bytes() -> int:
    """The size of the largest model that is kept: a quarter of the cache."""
    return disk_cache.limit() // 4


@dataclass(frozen=True)
class Request:
    """What a model in a file is prepared for; the arguments of `prepare`."""

    source: str | os.PathLike[str]
    inputs: Inputs | None
    options: CompileOptions
    device: DeviceInfo

    def key(self) -> str:
        """The key of what is made of it, as the files are now; "" if one of them cannot be read, or an option is not data."""
        return self.begin_key()()

    def begin_key(self) -> Callable[[], str]:
        """What gives the key. The files are as they are now, or there is none; those of TVM may have to be read for it, which any
        thread may do."""
        try:
            tvm, parts = find_installed(), self._describe()
        except OSError:  # whoever reads the file says so
            return str
        if tvm is None or parts is None:
            return str

        def find() -> str:
            try:
                digest = tvm.digest(KIND)
            except OSError:
                return ""
            return digest_of([digest, *parts]) if digest else ""

        return find

    def _describe(self) -> list[object] | None:
        """All but TVM. Raises OSError."""
        path = Path(self.source)
        model, given, wanted = _describe_model(path), _describe_inputs(self.inputs), _describe_options(self.options)
        if model is None or given is None or wanted is None:
            return None
        libraries = [_describe_library(name) for name in (*ALWAYS, *LIBRARIES[path.suffix])]
        parts = [code_digest(KIND), sys.version, platform.machine(), *libraries, *model]
        return [*parts, *wanted, *_describe_device(self.device), *given]


def find_request(
    source: Any, inputs: Inputs | None, options: CompileOptions, device: DeviceInfo, own: Mapping[str, Any]
) -> Request | None:
    """What `prepare` is asked for, if the result may be kept: for files, in a process where nobody can have changed TVM, or
    registered what it calls. own: references of the caller's, which are code.
    """
    if not disk_cache.is_enabled() or own or not isinstance(source, (str, os.PathLike)) or may_be_changed() or is_steered():
        return None
    path = Path(source)
    if path.suffix not in LIBRARIES or not path.is_file() or path.stat().st_size > most_bytes():
        return None
    return Request(source, inputs, options, device)


def _describe_model(path: Path) -> list[object] | None:
    """The model's name and content, with the files that it names for its weights; None if these are not files, or too large to
    be kept."""
    content = digest_file(path)
    try:
        outside = find_external_data(path)
    except ValueError:  # whoever reads the model says so
        return None
    if not all(file.is_file() for file in outside.values()):
        return None
    if sum(file.stat().st_size for file in outside.values()) > most_bytes():
        return None
    return [path.name, content, *(part for name, file in outside.items() for part in (name, digest_file(file)))]


def _describe_options(options: CompileOptions) -> list[object] | None:
    """All that says how a model is compiled; None if it is more than data, as passes of the caller's."""
    values = {name: getattr(options, name) for name in CompileOptions.names()}
    tuned = values.pop("tuned")
    try:
        text = json.dumps(values, sort_keys=True, default=_as_data)
    except TypeError:
        return None
    if tuned is None:
        return [text]
    root = os.fspath(tuned)
    schedules = FileSet({path[len(root) :]: path for path in find_files(root)}).digest(KIND)
    return [text, root, schedules] if schedules else None


def _as_data(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not data")


def _describe_device(device: DeviceInfo) -> list[object]:
    """What of a device decides how a model is compiled, and what its references know."""
    flushes = device.profile is None or device.profile.flush_denormals
    return [str(sorted(device.limits.items())), str(device.ml), device.profile is None, flushes]


def _describe_inputs(inputs: Inputs | None) -> list[object] | None:
    """What a model is given; None if that is neither a file nor arrays."""
    if inputs is None:
        return []
    if isinstance(inputs, (str, os.PathLike)):
        return [os.fspath(inputs), digest_file(inputs)]
    named = list(inputs.items()) if isinstance(inputs, Mapping) else [("", array) for array in inputs]
    if not all(type(array) is np.ndarray and array.dtype.kind in "biuf" for _, array in named):
        return None
    return [type(inputs).__name__, *(part for item in named for part in item)]


def _describe_library(name: str) -> str:
    """Which library would be imported: its version, and the file that the import begins with."""
    try:
        spec = util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return f"no {name}"
    try:
        version = metadata.version(DISTRIBUTIONS.get(name, name))
    except metadata.PackageNotFoundError:
        version = ""
    if spec.origin is None:
        return f"{name} {version}"
    status = os.stat(spec.origin)
    return f"{name} {version} {spec.origin} {status.st_size} {status.st_mtime_ns}"
