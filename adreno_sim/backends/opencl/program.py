"""Programs and kernels of an OpenCL device, and the check of arguments before a driver sees them."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from ...base.errors import BuildError, DeviceError
from ...base.specs import Argument, BufferSpec, Local, Null, Sampler
from ...device.protocol import KernelParam, may_write
from ...frontend.options import split_options
from ...records import dataclass
from . import signature
from .errors import code_name, device_errors
from .memory import OpenCLView

ADDRESSING = {
    "none": cl.addressing_mode.NONE,
    "clamp_to_edge": cl.addressing_mode.CLAMP_TO_EDGE,
    "clamp": cl.addressing_mode.CLAMP,
    "repeat": cl.addressing_mode.REPEAT,
    "mirrored_repeat": cl.addressing_mode.MIRRORED_REPEAT,
}
FILTER = {"nearest": cl.filter_mode.NEAREST, "linear": cl.filter_mode.LINEAR}

SCALARS = {
    "char": "i1", "uchar": "u1", "bool": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "long": "i8", "ulong": "u8", "size_t": "u8", "half": "f2", "float": "f4", "double": "f8",
}  # fmt: skip
"""numpy type of each scalar type; other types (vectors, structures) are left to the driver."""


@dataclass(frozen=True)
class OpenCLKernel:
    """One kernel of a program."""

    name: str
    params: tuple[KernelParam, ...]
    handle: Any

    def writes(self, index: int) -> bool:
        """Whether the kernel may write what argument `index` refers to."""
        return may_write(self.params[index])

    @property
    def group_limit(self) -> int:
        """CL_KERNEL_WORK_GROUP_SIZE."""
        with device_errors(f"the largest group of kernel {self.name}"):
            device = self.handle.context.devices[0]
            return int(self.handle.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device))


class OpenCLProgram:
    """A built program. Kernels are queried at first use: the driver may list a prototype, which has no parameters."""

    def __init__(self, handle: cl.Program, source: str):
        self._handle, self._source = handle, source
        self._names = str(handle.get_info(cl.program_info.KERNEL_NAMES)).split(";")
        self._kernels: dict[str, OpenCLKernel] = {}

    def __getitem__(self, name: str) -> OpenCLKernel:
        if name not in self._names:
            raise DeviceError("CL_INVALID_KERNEL_NAME", f"no kernel {name!r}; the program has {', '.join(self._names) or 'none'}")
        if name not in self._kernels:
            with device_errors(f"the parameters of kernel {name}"):
                self._kernels[name] = _kernel(name, cl.Kernel(self._handle, name), self._source)
        return self._kernels[name]

    def kernel_names(self) -> list[str]:
        return list(self._names)


def build(context: cl.Context, source: str, options: str) -> OpenCLProgram:
    """Compile `source`. Raises BuildError with the driver's log."""
    words = [_quoted(word) for word in split_options(options)]
    program = cl.Program(context, source)
    os.environ.setdefault("PYOPENCL_CACHE_FAILURE_FATAL", "1")  # without it, pyopencl hides the driver's error behind its own
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program.build([*words, "-cl-kernel-arg-info"], cache_dir=None)
    except cl.Error as error:
        _remove_saved_source(error)
        log = _log(program, context, error)
        if code_name(error) == "CL_BUILD_PROGRAM_FAILURE":
            raise BuildError(f"{code_name(error)}: the program does not compile\n{log}") from error
        raise DeviceError(code_name(error), f"build with options {options!r}: {' '.join(log.split())}") from error
    with device_errors("the kernels of a program"):
        return OpenCLProgram(program, source)


def _remove_saved_source(error: cl.Error) -> None:
    """pyopencl keeps the source of every program that does not compile as a file for temporary files, for good."""
    found = re.search(r"\n\(source saved as (.+)\)$", str(error))
    if found and Path(found[1]).parent == Path(tempfile.gettempdir()):
        Path(found[1]).unlink(missing_ok=True)


def _quoted(word: str) -> str:
    """A word of the options as drivers read it: all know double quotes, and PoCL only those that begin inside a word."""
    if word and not any(char.isspace() or char in "\"'" for char in word):
        return word
    start = word.find("=") + 1 or (2 if word[:2] in ("-D", "-U", "-I") else 0)
    return word[:start] + '"' + word[start:].replace("\\", "\\\\").replace('"', '\\"') + '"'


def _log(program: cl.Program, context: cl.Context, error: cl.Error) -> str:
    """The driver's build log, else the part of pyopencl's error that quotes it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a cache that the program will not use any more
            log = str(program.get_build_info(context.devices[0], cl.program_build_info.LOG)).strip()
    except cl.Error:
        log = ""
    return log or str(error).partition("\n\n")[2].partition("\n(options:")[0].strip() or str(error)


def _kernel(name: str, handle: Any, source: str) -> OpenCLKernel:
    try:
        params = [_param(handle, index) for index in range(handle.num_args)]
    except cl.Error as error:
        parsed = signature.parse(source, name)
        if code_name(error) != "CL_KERNEL_ARG_INFO_NOT_AVAILABLE" or parsed is None or len(parsed) != handle.num_args:
            raise
        params = parsed
    return OpenCLKernel(name, tuple(params), handle)


def _param(handle: Any, index: int) -> KernelParam:
    info = cl.kernel_arg_info
    spelled = str(handle.get_arg_info(index, info.TYPE_NAME))
    name = str(handle.get_arg_info(index, info.NAME))
    space = handle.get_arg_info(index, info.ADDRESS_QUALIFIER)
    constant = bool(handle.get_arg_info(index, info.TYPE_QUALIFIER) & cl.kernel_arg_type_qualifier.CONST)
    if spelled.startswith("image"):
        return KernelParam(name, "image", spelled, _access(handle.get_arg_info(index, info.ACCESS_QUALIFIER)))
    if spelled == "sampler_t":
        return KernelParam(name, "sampler", spelled)
    if space == cl.kernel_arg_address_qualifier.LOCAL:
        return KernelParam(name, "local", spelled)
    if space == cl.kernel_arg_address_qualifier.PRIVATE:
        return KernelParam(name, "scalar", spelled)
    where = "global" if space == cl.kernel_arg_address_qualifier.GLOBAL else "constant"
    return KernelParam(name, "buffer", spelled, space=where, qualifiers=("const",) if constant else ())


def _access(qualifier: int) -> str:
    names: Any = cl.kernel_arg_access_qualifier
    table = {names.READ_ONLY: "read_only", names.WRITE_ONLY: "write_only", names.READ_WRITE: "read_write"}
    return table.get(qualifier, "read_only")


def bind(context: cl.Context, kernel: OpenCLKernel, args: Sequence[Argument]) -> list[Any]:
    """The arguments as pyopencl takes them. Raises DeviceError naming the argument that does not fit its parameter."""
    if len(args) != len(kernel.params):
        message = f"kernel {kernel.name} takes {len(kernel.params)} arguments, {len(args)} were given"
        raise DeviceError("CL_INVALID_KERNEL_ARGS", message)
    return [_bind_argument(context, kernel, index, arg) for index, arg in enumerate(args)]


def _bind_argument(context: cl.Context, kernel: OpenCLKernel, index: int, arg: Any) -> Any:
    param = kernel.params[index]
    if isinstance(arg, OpenCLView):
        expected = "buffer" if isinstance(arg.spec, BufferSpec) else arg.spec.kind
        wanted = param.spelled.removesuffix("_t") if param.kind == "image" else param.kind
        if wanted != expected:
            raise _wrong_argument(kernel, index, f"{_article(expected)} view")
        if not arg.live or not arg.storage.live:
            code = "CL_INVALID_MEM_OBJECT"
            raise DeviceError(code, f"argument {index} ({param.name}) of {kernel.name} was released or its storage freed")
        return arg.memory
    if isinstance(arg, Null):
        return None if param.kind == "buffer" else _refuse(kernel, index, "a NULL pointer")
    if isinstance(arg, Local):
        return cl.LocalMemory(arg.nbytes) if param.kind == "local" else _refuse(kernel, index, "local memory")
    if isinstance(arg, Sampler):
        if param.kind != "sampler":
            raise _wrong_argument(kernel, index, "a sampler")
        return cl.Sampler(context, arg.normalized, ADDRESSING[arg.addressing], FILTER[arg.filter])
    return _scalar(kernel, index, arg)


def _scalar(kernel: OpenCLKernel, index: int, arg: Any) -> Any:
    """A numpy value of the parameter's size and kind (integer or float); Python numbers take the parameter's type."""
    param = kernel.params[index]
    if param.kind == "scalar" and isinstance(arg, np.ndarray):
        return np.ascontiguousarray(arg)  # a vector: its bytes
    if param.kind != "scalar" or not isinstance(arg, (np.generic, int, float)):
        raise _wrong_argument(kernel, index, f"{type(arg).__name__} {arg!r}")
    wanted = np.dtype(SCALARS[param.spelled]) if param.spelled in SCALARS else None
    if not isinstance(arg, np.generic):
        return (wanted or np.dtype("f4" if isinstance(arg, float) else "i4")).type(arg)
    if wanted is not None and (arg.dtype.kind == "f") != (wanted.kind == "f"):
        raise _wrong_argument(kernel, index, f"{arg.dtype} {arg}")
    if wanted is not None and arg.nbytes != wanted.itemsize:
        message = f"argument {index} ({param.name}) of {kernel.name} is {param.spelled}, given {arg.dtype} {arg}"
        raise DeviceError("CL_INVALID_ARG_SIZE", message)
    return arg


def _wrong_argument(kernel: OpenCLKernel, index: int, given: str) -> DeviceError:
    param = kernel.params[index]
    message = f"argument {index} ({param.name}) of {kernel.name} is {param.spelled} ({param.kind}), given {given}"
    return DeviceError("CL_INVALID_ARG_VALUE", message)


def _refuse(kernel: OpenCLKernel, index: int, given: str) -> Any:
    raise _wrong_argument(kernel, index, given)


def _article(kind: str) -> str:
    return ("an " if kind[0] in "aeiou" else "a ") + kind
