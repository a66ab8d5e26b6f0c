"""A model in: an ONNX file, a program of torch.export, a Relax IRModule or a TVMScript module become one `Model`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ...base.errors import AdrenoSimError, OptionError
from ...base.installed.extras import require
from ..tvm_bridge.versions import import_tvm
from .fixed_inputs import Values
from .model import Model, Shapes, from_module, is_relax_module
from .module_file import find_module, modules_of, require_model, split_name, values_in

if TYPE_CHECKING:
    from onnx import ModelProto
    from tvm import IRModule

Source = Union[str, "os.PathLike[str]", "IRModule", type, "ModelProto"]


def load_model(
    source: Source, shapes: Shapes | None = None, seed: int = 0, entry: str = "", values: Values | None = None
) -> Model:
    """Read a model.

    source: path of a .onnx file, of a .pt2 file, of a .py file holding a TVMScript module (FILE.py:NAME: this one, or what the
    function of this name gives), or of a .json file that `tvm.ir.save_json` wrote; an onnx ModelProto, a
    torch.export.ExportedProgram, a Relax IRModule, or a class made by `I.ir_module`. shapes: input name -> full shape, for
    dimensions that the model leaves open.
    seed: of the weights, where an ONNX file has only placeholders. entry: the Relax function of a module that has several; "" =
    main, or the only one. values: input name -> the number that all its elements are; it is an input no more, and what it decides
    (an If of ONNX) is followed.
    Raises AdrenoSimError for what cannot be read or does not fit, UnsupportedError for operators TVM cannot import.
    """
    from . import torch as torch_import

    if isinstance(source, (str, os.PathLike)):
        return _load_file(source, shapes, seed, entry, values)
    if entry not in ("", "main") and not is_relax_module(source):
        raise OptionError("entry", f"{entry}: is for a Relax module; this model has one function")
    if hasattr(source, "graph") and hasattr(source, "opset_import"):
        require("onnx")
        from .onnx import import_onnx
        from .onnx_file import take_model

        return import_onnx(take_model(source), "model", shapes, seed, values)
    if torch_import.is_program(source):
        return torch_import.import_program(source, "program", shapes, values)
    if torch_import.is_module(source):
        raise AdrenoSimError(f"model of type {type(source).__name__}: expected a program: {torch_import.EXPORT}")
    return from_module(source, "module", shapes, entry, values)


def _load_file(source: str | os.PathLike[str], shapes: Shapes | None, seed: int, entry: str, values: Values | None) -> Model:
    require_model(source)
    path, _ = split_name(source)
    if entry not in ("", "main") and path.suffix not in (".py", ".json"):
        raise OptionError("entry", f"{entry}: is for a Relax module; {path} has one function")
    if path.suffix == ".onnx":
        require("onnx")
        from .onnx import import_onnx
        from .onnx_file import read_onnx

        return import_onnx(read_onnx(path), path.stem, shapes, seed, values)
    if (module := find_module(source)) is not None:
        return from_module(module, path.stem, shapes, entry, values)
    if path.suffix == ".pt2":
        from .torch import import_program, read_program

        return import_program(read_program(path), path.stem, shapes, values)
    if path.suffix == ".asim":
        raise AdrenoSimError(f"{path}: a bundle is compiled already; give the model itself")
    if path.suffix in (".pt", ".pth"):
        from .torch import EXPORT

        raise AdrenoSimError(f"{path}: expected a program, not a pickled module or weights: {EXPORT}")
    instead = (
        f"; next: adreno-sim init {shlex.quote(str(path))} writes how adreno-sim kernel runs it" if path.suffix == ".cl" else ""
    )
    raise AdrenoSimError(
        f"{path}: expected a .onnx file, a .pt2 file, a .py file with a TVMScript module, or one that TVM saved as .json{instead}"
    )


def load_function(path: str | os.PathLike[str], name: str) -> Any:
    """The PrimFunc `name` of a Python file: of a TVMScript module in it, or at its top level.

    Raises AdrenoSimError if the file cannot be read or has none, naming those that there are.
    """
    prim_func = import_tvm().tirx.PrimFunc
    require_model(path)
    if Path(path).suffix != ".py":
        raise AdrenoSimError(f"{os.fspath(path)}: expected a .py file with a PrimFunc")
    values = values_in(Path(path))
    found = {key: value for key, value in values.items() if isinstance(value, prim_func)}
    for module in modules_of(values).values():
        found |= {var.name_hint: value for var, value in module.functions_items() if isinstance(value, prim_func)}
    if name not in found:
        raise AdrenoSimError(f"{os.fspath(path)}: no PrimFunc {name!r}; it has {', '.join(found) or 'none'}")
    return found[name]
