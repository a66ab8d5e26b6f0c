"""OpenCL C's maths, common, geometric, relational and integer built-ins as kernel IR (OpenCL C 3.0, 6.15.2 to 6.15.6).

They are written in OpenCL C, in the units of `library/`: scalar functions under the very mangled names that kernels
call, and vector ones where a function does not go lane by lane (dot, any, a second result through a pointer). Units
are compiled on first use, inlined and freed of branches by LLVM, and kept as text in memory and on disk.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from ..base.code_digest import code_digest
from ..base.errors import UnsupportedError
from ..ir import ir
from ..ir.cfg import simplify_cfg
from ..ir.verify import verify
from ..records import dataclass
from . import library_cache
from .driver import FrontEndTarget, compiler, run_clang
from .llvm_reader.reader import ModuleReader
from .mangling import demangle
from .options import BuildOptions
from .vec3 import drop_vec3_padding

_FOLDER = Path(__file__).parent / "library"
_TARGET = FrontEndTarget(300, fp16=True, fp64=True, builtins=False)

_UNITS = {
    "arc": "acos acospi asin asinpi atan atan2 atan2pi atanpi",
    "bits": "bit_reverse bitfield_extract_signed bitfield_extract_unsigned bitfield_insert",
    "common": "degrees fdim maxmag minmag mix radians sign smoothstep step",
    "erf": "erf erfc",
    "exp": "exp exp10 exp2 expm1 half_exp half_exp10 half_exp2 native_exp native_exp10 native_exp2",
    "exponent": "ilogb ldexp logb nan nextafter",
    "fract": "fract modf",
    "frexp": "frexp",
    "gamma": "lgamma tgamma",
    "geometric": "cross distance dot fast_distance fast_length fast_normalize length normalize",
    "hyperbolic": "acosh asinh atanh cosh sinh tanh",
    "lgamma_r": "lgamma_r",
    "log": "half_log half_log10 half_log2 log log10 log1p log2 native_log native_log10 native_log2",
    "pow": "half_powr native_powr pow pown powr rootn",
    "remainder": "fmod remainder",
    "remquo": "remquo",
    "roots": "cbrt half_divide half_recip half_rsqrt half_sqrt hypot native_divide native_recip native_rsqrt native_sqrt "
    "rsqrt sqrt",
    "sincos": "sincos",
    "trig": "cos cospi half_cos half_sin half_tan native_cos native_sin native_tan sin sinpi tan tanpi",
}
"""The functions of each unit; a name is looked up here before anything is compiled."""

_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names.split()}
_POINTER_UNITS = {"fract", "frexp", "lgamma_r", "remquo", "sincos"}
_WHOLE = frozenset(name for unit in (*_POINTER_UNITS, "geometric") for name in _UNITS[unit].split())
"""Functions that are defined for vectors as such."""

_VECTOR = re.compile(r"([a-z]+?)(2|3|4|8|16)")
_LETTER = {
    "char": "c", "uchar": "h", "short": "s", "ushort": "t", "int": "i", "uint": "j", "long": "l", "ulong": "m",
    "half": "Dh", "float": "f", "double": "d",
}  # fmt: skip
_DEFINE = re.compile(r"^define [^@]*@([\w.$]+)\(.*?^}\n", re.MULTILINE | re.DOTALL)

_lock = threading.RLock()
_functions: dict[str, ir.Function] = {}
_pass_builder: llvm.PassBuilder | None = None


def functions(mangled_names: Iterable[str]) -> dict[str, ir.Function]:
    """Kernel IR of library functions by mangled name. The same objects at every call: treat them as read-only.

    They call only LLVM intrinsics, use no program-scope data, and have no places. Raises UnsupportedError for a
    name the library does not define.
    """
    return {name: _function(name) for name in mangled_names}


def scalar_of(callee: ir.Callee) -> str | None:
    """Mangled name of the library function that computes `callee`; None if the library has none.

    That is `callee.mangled` itself where there is a function of just these types (scalars; dot and its like; a second
    result through a pointer). Otherwise it is a scalar function to be applied lane by lane: a vector operand gives its
    lane, a scalar one (the exponent of `ldexp(float4, int)`) serves every lane.
    """
    if callee.name not in _UNIT_OF:
        return None
    name = callee.mangled
    if callee.name not in _WHOLE and any(_lanes(arg) > 1 for arg in callee.args):
        letters = [_LETTER.get(_element(arg)) for arg in callee.args]
        if None in letters:
            return None
        name = f"_Z{len(callee.name)}{callee.name}{''.join(map(str, letters))}"
    return name if name in _texts(_unit(demangle(name))) else None


def _lanes(spelled: str) -> int:
    match = _VECTOR.fullmatch(spelled)
    return int(match[2]) if match else 1


def _element(spelled: str) -> str:
    match = _VECTOR.fullmatch(spelled)
    return match[1] if match else spelled


@dataclass(frozen=True)
class _Unit:
    """A file of `library/` and the macros it is compiled with."""

    file: str
    macros: tuple[str, ...] = ()

    @property
    def cache_name(self) -> str:
        parts = [code_digest("library"), llvmlite.__version__, llvm.get_default_triple(), *compiler(), self.file, *self.macros]
        return library_cache.digest_of("\0".join(parts)) + ".ll"


def _unit(callee: ir.Callee) -> _Unit:
    """The unit that would define `callee`: those with pointers are compiled for one address space and width at a time."""
    file = _UNIT_OF.get(callee.name, "")
    if file not in _POINTER_UNITS or not callee.args or not callee.args[-1].endswith("*"):
        return _Unit(file)
    space, _, pointee = callee.args[-1][:-1].rpartition(" ")
    width = _lanes(pointee)
    return _Unit(file, (f"SPACE={space}", *([f"WIDTH={width}"] if width > 1 else [])))


def _function(mangled: str) -> ir.Function:
    with _lock:
        if mangled not in _functions:
            callee = demangle(mangled)
            text = _texts(_unit(callee)).get(mangled) if callee.name in _UNIT_OF else None
            if text is None:
                raise UnsupportedError(f"unsupported: {callee.name}({', '.join(callee.args)})")
            try:
                _functions[mangled] = _read(mangled, text)
            except Exception:  # of any kind: a text on disk may be anything
                if (again := _renew(_unit(callee))[mangled]) == text:
                    raise
                _functions[mangled] = _read(mangled, again)
        return _functions[mangled]


def _read(mangled: str, text: str) -> ir.Function:
    function = ModuleReader(text).read(mangled)
    simplify_cfg(function)
    drop_vec3_padding(function)
    verify(function)
    return function


@functools.cache
def _texts(unit: _Unit) -> dict[str, str]:
    """LLVM text of each function a unit defines."""
    if unit.file in _POINTER_UNITS and not unit.macros:
        return {}
    with _lock:
        text = library_cache.load(unit.cache_name)
        if text is None:
            text = _compile(unit)
            library_cache.store(unit.cache_name, text)
    return _take_apart(text)


def _take_apart(text: str) -> dict[str, str]:
    return {match[1]: match[0] for match in _DEFINE.finditer(text)}


def _renew(unit: _Unit) -> dict[str, str]:
    """What `_texts` returns, compiled now; what the disk has is kept no more if it is something else."""
    text = _compile(unit)
    functions = _take_apart(text)
    if functions != _texts(unit):
        library_cache.refuse(unit.cache_name)
        library_cache.store(unit.cache_name, text)
        _texts.cache_clear()
    return functions


def _compile(unit: _Unit) -> str:
    source = (_FOLDER / f"{unit.file}.cl").read_text()
    options = BuildOptions((f"-I{_FOLDER / 'shared'}", "-g0", *(f"-D{macro}" for macro in unit.macros)), 300)
    module = llvm.parse_bitcode(run_clang(source, options, _TARGET).bitcode, llvm.create_context())
    for function in module.functions:
        if not function.is_declaration:
            function.add_function_attribute("alwaysinline")
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    passes.run(module, _builder())
    return str(module)


def _builder() -> llvm.PassBuilder:
    global _pass_builder
    if _pass_builder is None:
        llvm.initialize_native_target()
        machine = llvm.Target.from_default_triple().create_target_machine()
        _pass_builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    return _pass_builder
