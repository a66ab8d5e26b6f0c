"""Relax modules in files: Python that defines one, or a function that makes one, and the JSON that TVM saves."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.bounded_read import DATA_LIMIT, read_bytes
from ...base.errors import AdrenoSimError
from ..tvm_bridge.foreign_code import note_execution
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

NAMED = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)")
"""FILE.py:NAME."""


def split_name(source: str | os.PathLike[str]) -> tuple[Path, str]:
    """The file of a source, and the name in it that is meant; "" if none is given."""
    text = os.fspath(source)
    named = None if os.path.exists(text) else NAMED.fullmatch(text)
    return (Path(named["file"]), named["name"]) if named else (Path(text), "")


def require_model(source: object) -> None:
    """Raise AdrenoSimError if a model is the path of a file that is not there. Imports no TVM."""
    if not isinstance(source, (str, os.PathLike)):
        return
    path, _ = split_name(source)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise AdrenoSimError(f"{path}: {what}; expected a .onnx, .pt2 or .py model")


def find_module(source: Any) -> IRModule | None:
    """The Relax module that `source` is or that its file has; None for models of other kinds.

    Raises AdrenoSimError for a file that is not there, or has no module.
    """
    if not isinstance(source, (str, os.PathLike)):
        return source if isinstance(source, import_tvm().IRModule) else None
    path, name = split_name(source)
    if path.suffix not in (".py", ".json"):
        return None
    require_model(source)
    return module_in_python(path, name) if path.suffix == ".py" else module_in_json(path)


def module_in_python(path: Path, name: str = "") -> Any:
    """The one IRModule that a Python file defines at its top level; with a name that, or what the function so called gives."""
    with _executed(path) as values:
        found = modules_of(values)
        if name and name not in found:
            return _make_module(path, name, values)
        if name:
            return found[name]
        if len(found) == 1:
            return next(iter(found.values()))
        names = list(found) or [
            key for key, value in values.items() if isfunction(value) and value.__module__ == values["__name__"]
        ]
        hint = f"; name one, or a function that makes one, as {path}:{names[0]}" if names else ""
        raise AdrenoSimError(f"{path}: expected one TVMScript module at top level, found {', '.join(found) or 'none'}{hint}")


def _make_module(path: Path, name: str, values: Mapping[str, Any]) -> Any:
    """What the function `name` gives: a module, or a tuple that begins with one, as `export_tvm` does."""
    make = values.get(name)
    if not callable(make):
        found = ", ".join(modules_of(values)) or "none"
        raise AdrenoSimError(f"{path}: no module and no function {name!r}; its modules are {found}")
    try:
        made = make()
    except (Exception, SystemExit) as error:  # user code raises anything
        raise AdrenoSimError(f"{path}:{name}: {type(error).__name__}: {error}") from error
    module = made[0] if isinstance(made, tuple) and made else made
    if not isinstance(module, import_tvm().IRModule):
        raise AdrenoSimError(f"{path}:{name}: it returned {type(module).__name__}: expected an IRModule")
    return module


def module_in_json(path: Path) -> Any:
    """The module that `tvm.ir.save_json` wrote. AdrenoSimError for another file."""
    tvm = import_tvm()
    try:
        module = tvm.ir.load_json(read_bytes(path, DATA_LIMIT).decode())
    except OSError as error:
        raise AdrenoSimError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # TVM raises whatever its C++ layers raise
        last = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise AdrenoSimError(f"{path}: no module that this TVM ({tvm.__version__}) has saved: {last}") from error
    if not isinstance(module, tvm.IRModule):
        raise AdrenoSimError(f"{path}: a saved {type(module).__name__}: expected an IRModule")
    return module


def modules_of(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, import_tvm().IRModule)}


def values_in(path: Path) -> dict[str, Any]:
    """What a Python file defines at its top level."""
    with _executed(path) as values:
        return dict(values)


@contextmanager
def _executed(path: Path) -> Iterator[Mapping[str, Any]]:
    """What a Python file defines, while it counts as imported: TVMScript finds the source of a class through its module."""
    import_tvm()
    spec = importlib.util.spec_from_file_location(f"adreno_sim_model_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise AdrenoSimError(f"{path}: not a Python file")
    namespace = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = namespace
    note_execution(str(path))
    try:
        try:
            spec.loader.exec_module(namespace)
        except (Exception, SystemExit) as error:  # user code raises anything; the code it exits with says nothing of the model
            raise AdrenoSimError(f"{path}: {type(error).__name__}: {error}") from error
        yield vars(namespace)
    finally:
        del sys.modules[spec.name]
