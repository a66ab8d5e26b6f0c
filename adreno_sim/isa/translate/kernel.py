"""A kernel of kernel IR as a program of NIR."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import ir, layout
from ...records import dataclass
from ..program import NirProgram
from . import arithmetic, atomics, calls, memory
from .blocks import translate_body
from .private_arrays import find_arrays
from .repeated_loads import find_repeated_loads
from .translation import Handler, Translation, bits_of, leaves_of, make_image, refuse

_HANDLERS: Mapping[str, Handler] = {**arithmetic.HANDLERS, **memory.HANDLERS, **atomics.HANDLERS, **calls.HANDLERS}
_END = -1
_MOST_LOCAL = 32768

DEFAULT_GROUP = (64, 1, 1)
"""Of a kernel that requires none: Mesa takes registers away from a kernel with a barrier until a group fits, where Qualcomm's
compiler lowers the limit of the kernel, and 64 fits always."""


@dataclass(frozen=True)
class TranslatedKernel:
    """program: as JSON. stand_ins: functions of the library that the hardware's own stand for. omitted: what its code lacks."""

    program: str
    stand_ins: tuple[str, ...]
    omitted: tuple[str, ...]


def translate_kernel(function: ir.Function, group: tuple[int, int, int] | None = None) -> TranslatedKernel:
    """Translates a kernel. group: work-items of a group; None: those that it requires, or a wave. Raises UnsupportedError for
    what NIR or these GPUs do not have."""
    size = group or function.required_work_group_size or DEFAULT_GROUP
    program = NirProgram(size, exact=not function.relaxed_math)
    translation = Translation(function, program, _HANDLERS, find_arrays(function), repeated=find_repeated_loads(function))
    first = program.block()
    program.start(first)
    for parameter in function.params:
        _add_parameter(translation, parameter)
    translate_body(translation, function, _END, [])
    if program.local_bytes > _MOST_LOCAL:  # ir3 ends the process
        raise refuse(f"{program.local_bytes:,} bytes of local memory in a group, where a core has {_MOST_LOCAL:,}")
    return TranslatedKernel(program.encode(), tuple(sorted(translation.stand_ins)), tuple(sorted(translation.omitted)))


def _add_parameter(translation: Translation, parameter: ir.Param) -> None:
    """Parameters lie one after the other in a constant buffer; a pointer to local memory is an offset of 4 bytes there."""
    type, what = parameter.type, f"argument {parameter.index}"
    if isinstance(type, ir.Image):
        translation.images[id(parameter)] = make_image(translation.program, type)
    elif isinstance(type, ir.Sampler):
        translation.samplers[id(parameter)] = translation.program.samplers
        translation.program.samplers += 1
    elif isinstance(type, ir.Pointer):
        size = bits_of(type) // 8
        translation.values[id(parameter)] = (translation.load_uniform(translation.reserve_uniform(what, size, size), size * 8),)
    else:
        start = translation.reserve_uniform(what, layout.size_of(type), layout.align_of(type))
        leaves = leaves_of(type)
        translation.values[id(parameter)] = tuple(translation.load_uniform(start + at, bits_of(leaf)) for at, leaf in leaves)
