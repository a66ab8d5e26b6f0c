"""Programs of torch.export to Relax. PyTorch is not a dependency: whoever has such a program has it installed.

Nothing here imports torch but what reads a .pt2 file; TVM's importer does for itself.
"""

from __future__ import annotations

import importlib
import re
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

from ...base.errors import AdrenoSimError, UnsupportedError
from ..tvm_bridge.read import op_name
from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, type_of
from .fixed_inputs import Values
from .model import Model, Shapes, from_module

INSTALL = "pip install torch (the CPU build is enough)"

HALVES = (
    "it makes products of halves float32, which do not fit what follows; next: export the model in float32, and check it with "
    "--dtype float16"
)
"""What TVM's importer does to programs in half, and what to do."""

EXPORT = "torch.export.save(torch.export.export(model, example_inputs), 'model.pt2')"


def is_program(source: Any) -> bool:
    """Whether `source` is a torch.export.ExportedProgram."""
    kind = type(source)
    return kind.__name__ == "ExportedProgram" and kind.__module__.startswith("torch.export")


def is_module(source: Any) -> bool:
    """Whether `source` is a torch.nn.Module."""
    return any(f"{kind.__module__}.{kind.__name__}" == "torch.nn.modules.module.Module" for kind in type(source).__mro__)


def read_program(path: Path) -> Any:
    """The program in a .pt2 file. Raises AdrenoSimError if there is no PyTorch, or the file holds no such program."""
    if util.find_spec("torch") is None:
        raise AdrenoSimError(f"{path}: a program of torch.export needs PyTorch to be read: {INSTALL}")
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _register_outputs(path)
            program = torch.export.load(str(path))
    except AdrenoSimError:
        raise
    except Exception as error:  # zip, pickle and schema errors have no common class
        raise AdrenoSimError(f"{path}: not a program that torch.export.save wrote ({_first_line(error)})") from error
    return program


def _register_outputs(path: Path) -> None:
    """Import Hugging Face's classes of results where a file names them: PyTorch reads it only then.

    Raises AdrenoSimError if they are not installed.
    """
    with zipfile.ZipFile(path) as archive:
        graphs = [archive.read(name) for name in archive.namelist() if name.endswith(".json")]
    if not any(b"transformers.modeling_outputs." in graph for graph in graphs):
        return
    if util.find_spec("transformers") is None:
        raise AdrenoSimError(
            f"{path}: it returns classes of transformers: pip install transformers, or export a module that returns tensors"
        )
    importlib.import_module("transformers.modeling_outputs")


def import_program(program: Any, name: str, shapes: Shapes | None = None, values: Values | None = None) -> Model:
    """A Model of an ExportedProgram; its inputs are those of the exported call, its weights constants.

    shapes: bind dimensions that were exported as dynamic; values: bind inputs. Raises UnsupportedError naming the operators that
    TVM's importer lacks, AdrenoSimError for shapes and values that do not fit.
    """
    import_tvm()
    from tvm.relax.frontend.torch import from_exported_program

    require_tensors(program, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = from_exported_program(program, unwrap_unit_return_tuple=True)
    except Exception as error:  # assertions, NotImplementedError, TVMError: whatever its converters meet
        advice = f"; {HALVES}" if isinstance(error, TypeError) and _holds_halves(program) else ""
        raise UnsupportedError(f"{name}: TVM cannot import this program: {_reason(error)}{advice}") from error
    require_halves(module, _output_types(program), name)
    return replace(from_module(sum_as_torch(module), name, shapes, values=values), torch=program)


def require_tensors(program: Any, name: str) -> None:
    """Raise UnsupportedError if an argument of a program is a number, a flag or a text: TVM's importer asks for its shape."""
    specs = [spec.arg for spec in program.graph_signature.input_specs]
    constants = [str(arg.name) for arg in specs if type(arg).__name__ == "ConstantArgument"]
    if constants:
        raise UnsupportedError(
            f"{name}: argument {', '.join(constants)}: TVM's importer takes tensors alone; next: export a module that sets them "
            "itself (of Hugging Face: in its configuration)"
        )


def _holds_halves(program: Any) -> bool:
    return any("float16" in str(tensor.dtype) for tensor in (*program.state_dict.values(), *program.constants.values()))


def _output_types(program: Any) -> list[str]:
    """Types of the outputs that a caller gets: "float16", ...; "" for anything but a tensor."""
    names = program.graph_signature.user_outputs
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    return [str(getattr(values.get(name), "dtype", "")).removeprefix("torch.") for name in names]


def require_halves(module: Any, types: Sequence[str], name: str) -> None:
    """Raise UnsupportedError if an output that PyTorch gives in half, by `types`, has another type in the imported module."""
    result = type_of(module["main"].body)
    given = list(getattr(result, "fields", [result]))
    for number, (expected, got) in enumerate(zip(types, given, strict=False)):
        if expected == "float16" and str(got.dtype) != expected:
            raise UnsupportedError(
                f"{name}: TVM's importer gives output {number} as {got.dtype}, PyTorch as {expected}; {HALVES}"
            )


def sum_as_torch(module: Any) -> Any:
    """The module with sums and products along an axis as PyTorch means them: of booleans and narrow integers they are int64.

    TVM's importer leaves them in the type of their operand, where they overflow; of booleans nothing sums up.
    """
    relax = import_tvm().relax

    def rewrite(_builder: Any, call: Any) -> Any:
        operand, attrs = call.args[0], call.attrs
        dtype = str(type_of(operand).dtype)
        if attrs.dtype is not None or dtype == "int64" or not dtype.startswith(("bool", "int", "uint")):
            return call
        make = getattr(relax.op, op_name(call).removeprefix("relax."))
        return make(relax.op.astype(operand, "int64"), axis=attrs.axis, exclusive=attrs.exclusive)

    return rewrite_calls("SumAsTorch", ("relax.cumsum", "relax.cumprod"), rewrite)(module)


def _reason(error: Exception) -> str:
    """The operators that are missing, where the importer names them; else its first line."""
    found = re.search(r"Unsupported function types \[(.+)\]", str(error))
    if found:
        return f"it has no operator {', '.join(sorted(re.findall(r'[^ ,]+', found[1].replace(chr(39), ''))))}"
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
