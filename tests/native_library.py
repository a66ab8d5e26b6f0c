"""The built-in library compiled for this machine by LLVM alone: units as they are, mapped over arrays.

Neither the front end's reader nor the engine takes part, so that what a function of the library is worth is
measured by itself.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

import adreno_sim.frontend
from adreno_sim.frontend.driver import FrontEndTarget, run_clang
from adreno_sim.frontend.options import BuildOptions

LIBRARY = Path(adreno_sim.frontend.__file__).parent / "library"
DTYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "half": np.float16, "float": np.float32, "double": np.float64,
}  # fmt: skip


def _width(spelled: str) -> tuple[str, int]:
    match = re.fullmatch(r"([a-z]*)(\d*)", spelled)
    assert match, spelled
    return match[1], int(match[2] or 1)


def _wrapper(name: str, result: str, args: tuple[str, ...], second: str | None) -> str:
    """map(out, [second_out,] in..., count): one call per element."""
    params = [f"global {result} *out", *([f"global {second} *out2"] if second else [])]
    params += [f"global const {arg} *in{i}" for i, arg in enumerate(args)] + ["long count"]
    call = ", ".join([f"in{i}[k]" for i in range(len(args))] + (["out2 + k"] if second else []))
    return f"void map({', '.join(params)}) {{ for (long k = 0; k < count; ++k) out[k] = {name}({call}); }}"


@cache
def _engine(source: str, macros: tuple[str, ...]) -> llvm.ExecutionEngine:
    options = BuildOptions((f"-I{LIBRARY}", f"-I{LIBRARY / 'shared'}", "-g0", *macros), 300)
    bitcode = run_clang(source, options, FrontEndTarget(300, fp64=True, builtins=False)).bitcode
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    text = str(llvm.parse_bitcode(bitcode)).replace("spir_func ", "")
    text = re.sub(r"^target (datalayout|triple).*$", "", text, flags=re.M)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def native(unit: str, name: str, result: str, *args: str, second: str | None = None) -> Callable[..., object]:
    """`name(args)` of library unit `unit` over arrays; vectors are rows of their width. With `second`, a pair of arrays."""
    width = _width(second or "")[1]
    macros = ("-DSPACE=__global", *([f"-DWIDTH={width}"] if width > 1 else []))
    engine = _engine(f'#include "{unit}.cl"\n' + _wrapper(name, result, args, second), macros)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(args) + (2 if second else 1)), ctypes.c_long)(
        engine.get_function_address("map")
    )

    def call(*arrays: np.ndarray):
        inputs = [_padded(array, arg) for array, arg in zip(arrays, args, strict=True)]
        outputs = [_padded(None, spelled, len(inputs[0])) for spelled in (result, second) if spelled]
        function(*[array.ctypes.data for array in (*outputs, *inputs)], len(inputs[0]))
        if second is None:
            return _unpadded(outputs[0], result)
        return _unpadded(outputs[0], result), _unpadded(outputs[1], second)

    return call


def _padded(array: np.ndarray | None, spelled: str, count: int = 0) -> np.ndarray:
    kind, width = _width(spelled)
    slots = 4 if width == 3 else width
    rows = count if array is None else len(array)
    store = np.zeros((rows, slots), DTYPES[kind])
    if array is not None:
        store[:, :width] = np.asarray(array, DTYPES[kind]).reshape(rows, width)
    return store


def _unpadded(store: np.ndarray, spelled: str) -> np.ndarray:
    width = _width(spelled)[1]
    return store[:, 0].copy() if width == 1 else store[:, :width].copy()
