"""A Python function of the user's that says what a launch should leave: `expected = "file.py:function"`.

It runs the user's code, from files below the launch file's folder alone. An error of it is one line that names file and line.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..base.bounded_read import read_text
from ..base.errors import AdrenoSimError
from ..base.toml_tables import Table
from .model import ReferenceSpec
from .named_files import FileNames

_NAMED = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)")


def read_reference(table: Table, files: FileNames) -> ReferenceSpec | None:
    """The entry `expected`: "file.py:function", or {function = "file.py:function", tolerance = 1e-3}; None without one."""
    if "expected" not in table:
        return None
    value = table.get("expected", None, "")
    if isinstance(value, dict):
        entry = table.below("expected", value)
        text, tolerance = entry.text("function"), entry.number("tolerance", None, least=0)
        entry.finish()
    else:
        text, tolerance = value, None
    named = _NAMED.fullmatch(text) if isinstance(text, str) else None
    if named is None:
        table.fail_expected("expected", '"file.py:function", or {function = "file.py:function", tolerance = 1e-3}')
    where = str(table.error("expected", "")).removesuffix(": ")
    file = files.find(table, "expected", named["file"], ", since its code is run")
    return ReferenceSpec(file, named["name"], where, tolerance, files.root)


def compute_expected(spec: ReferenceSpec, inputs: Mapping[str, Any], written: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What arguments should hold after the launch, by name, flat and of their dtype.

    inputs: what the function may ask for by the names of its parameters: arrays and numbers before the launch. written: the
    arguments that the kernel may write: their sizes and dtypes. Raises AdrenoSimError with one line where the
    function cannot be run, fails, or returns what does not fit.
    """
    function = _load(spec)
    arguments = _choose(spec, function, inputs)
    with _failing_in_one_line(spec):
        result = function(**arguments)
    return {name: _fitting(spec, name, array, written) for name, array in _by_name(spec, result, list(written)).items()}


def _load(spec: ReferenceSpec) -> Callable[..., Any]:
    """The function, from its file executed once more: nothing is left beside it or among Python's modules."""
    try:
        text = read_text(spec.file, below=None if spec.below is None else [spec.below])
    except OSError as error:
        raise AdrenoSimError(f"{spec.where}: {spec.file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise AdrenoSimError(f"{spec.where}: {spec.file}: not Python: not UTF-8 text") from None
    module = ModuleType("adreno_sim_reference")
    module.__file__ = str(spec.file)
    with _failing_in_one_line(spec):
        exec(compile(text, str(spec.file), "exec"), vars(module))
    found = vars(module).get(spec.function)
    if not callable(found):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise AdrenoSimError(f"{spec.where}: {spec.file}: no function {spec.function}; it has {', '.join(names) or 'none'}")
    return found


@contextlib.contextmanager
def _failing_in_one_line(spec: ReferenceSpec) -> Iterator[None]:
    """Make one line of what the user's code raises. What it prints goes to standard error: the report owns standard output."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        line = error.lineno if isinstance(error, SyntaxError) else _line_in(spec.file, error)
        said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
        place = f"{spec.file}:{line}" if line else str(spec.file)
        raise AdrenoSimError(f"{spec.where}: {place}: {type(error).__name__}{': ' * bool(said)}{said}") from None


def _line_in(file: Path, error: BaseException) -> int:
    """The innermost line of `file` that an error came through, 0 where it is not known."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return (lines[-1] or 0) if lines else 0


def _choose(spec: ReferenceSpec, function: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the inputs that the function's parameters name; all with **parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return dict(inputs)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(inputs)
    wanted = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
    for parameter in wanted:
        if parameter.name not in inputs and parameter.default is parameter.empty:
            known = ", ".join(inputs) or "nothing"
            raise AdrenoSimError(
                f"{spec.where}: {spec.function} asks for {parameter.name}: expected a value, or an argument that holds "
                f"something before the launch: {known}"
            )
    return {parameter.name: inputs[parameter.name] for parameter in wanted if parameter.name in inputs}


def _by_name(spec: ReferenceSpec, result: Any, written: Sequence[str]) -> dict[str, Any]:
    """What the function returned, by argument."""
    if isinstance(result, Mapping):
        for name in result:
            if name not in written:
                raise AdrenoSimError(
                    f"{spec.where}: {spec.function} returned {name!r}, which the kernel does not write; it may write "
                    f"{', '.join(written) or 'none'}"
                )
        if not result:
            raise AdrenoSimError(f"{spec.where}: {spec.function} returned no array")
        return dict(result)
    if result is None:
        raise AdrenoSimError(f"{spec.where}: {spec.function} returned nothing: expected an array, or arrays by name")
    if len(written) != 1:
        raise AdrenoSimError(
            f"{spec.where}: {spec.function} returned one array, and the kernel may write {', '.join(written) or 'none'}: return "
            "a dict of arrays by name"
        )
    return {written[0]: result}


def _fitting(spec: ReferenceSpec, name: str, value: Any, written: Mapping[str, np.ndarray]) -> np.ndarray:
    """A returned array as the argument holds it."""
    like = written[name]
    what = f"{spec.where}: {spec.function}: {name}"
    try:
        array = np.asarray(value)
    except Exception as error:  # what a user's object does here is not bounded
        raise AdrenoSimError(f"{what}: not an array: {' '.join(str(error).split())}") from None
    if array.dtype.kind not in "biuf" or array.size != like.size:
        raise AdrenoSimError(
            f"{what}: expected {like.size} elements for {like.dtype}, got {array.size} of {array.dtype} (shape {array.shape})"
        )
    with np.errstate(all="ignore"):
        cast = array.astype(like.dtype)
        if like.dtype.kind in "iu" and not bool((cast == array).all()):
            raise AdrenoSimError(f"{what}: expected {like.dtype}, got numbers of {array.dtype} that it cannot hold")
    return np.ascontiguousarray(cast).reshape(-1)
