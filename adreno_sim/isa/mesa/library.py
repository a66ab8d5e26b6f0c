"""Mesa's library, loaded in the child process: its functions with their types, its tables of names, and access to its memory."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from typing import Any

from . import layout

_POINTER, _WORD, _TRUTH = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_bool


class Builder(ctypes.Structure):
    """nir_builder, which its maker returns by value."""

    _fields_ = (("bytes", ctypes.c_uint64 * (layout.BUILDER_SIZE // 8)),)


class MesaDeviceInfo(ctypes.Structure):
    """fd_dev_info, which its maker returns by value."""

    _fields_ = (("words", ctypes.c_uint32 * (layout.DEVICE_INFO_SIZE // 4)),)


class DeviceId(ctypes.Structure):
    """fd_dev_id."""

    _fields_ = (("gpu", ctypes.c_uint32), ("chip", ctypes.c_uint64))


_FUNCTIONS: Mapping[str, tuple[Any, tuple[Any, ...]]] = {
    "nir_builder_init_simple_shader": (Builder, (_WORD, _POINTER, ctypes.c_char_p)),
    **{f"nir_build_alu{count}": (_POINTER, (_POINTER, _WORD) + (_POINTER,) * count) for count in (1, 2, 3, 4)},
    "nir_alu_instr_create": (_POINTER, (_POINTER, _WORD)),
    "nir_load_const_instr_create": (_POINTER, (_POINTER, _WORD, _WORD)),
    "nir_undef_instr_create": (_POINTER, (_POINTER, _WORD, _WORD)),
    "nir_intrinsic_instr_create": (_POINTER, (_POINTER, _WORD)),
    "nir_deref_instr_create": (_POINTER, (_POINTER, _WORD)),
    "nir_jump_instr_create": (_POINTER, (_POINTER, _WORD)),
    "nir_tex_instr_create": (_POINTER, (_POINTER, _WORD)),
    "nir_def_init": (None, (_POINTER, _POINTER, _WORD, _WORD)),
    "nir_builder_instr_insert": (None, (_POINTER, _POINTER)),
    "nir_block_create": (_POINTER, (_POINTER,)),
    "nir_unstructured_start_block": (_POINTER, (_POINTER,)),
    "nir_local_variable_create": (_POINTER, (_POINTER, _POINTER, ctypes.c_char_p)),
    "glsl_array_type": (_POINTER, (_POINTER, _WORD, _WORD)),
    "glsl_type_singleton_init_or_ref": (None, ()),
    "nir_lower_goto_ifs": (_TRUTH, (_POINTER,)),
    "nir_lower_vars_to_ssa": (_TRUTH, (_POINTER,)),
    "nir_lower_scratch_to_var": (_TRUTH, (_POINTER,)),
    "nir_validate_shader": (None, (_POINTER, ctypes.c_char_p)),
    "ralloc_free": (None, (_POINTER,)),
    "ralloc_memdup": (_POINTER, (_POINTER, ctypes.c_char_p, ctypes.c_size_t)),
    "fd_dev_info_raw": (_POINTER, (_POINTER,)),
    "fd_dev_info": (MesaDeviceInfo, (_POINTER,)),
    "ir3_compiler_create": (_POINTER, (_POINTER, _POINTER, _POINTER, _POINTER)),
    "ir3_get_compiler_options": (_POINTER, (_POINTER,)),
    "ir3_nir_lower_io_vars_to_temporaries": (None, (_POINTER,)),
    "ir3_optimize_loop": (_TRUTH, (_POINTER, _POINTER, _POINTER)),
    "ir3_finalize_nir": (None, (_POINTER, _POINTER, _POINTER)),
    "ir3_shader_from_nir": (_POINTER, (_POINTER, _POINTER, _POINTER, _POINTER)),
    "ir3_shader_create_variant": (_POINTER, (_POINTER, _POINTER, _TRUTH)),
    "ir3_shader_destroy": (None, (_POINTER,)),
    "ir3_isa_disasm": (None, (_POINTER, ctypes.c_size_t, _POINTER, _POINTER)),
}


class Mesa:
    """The library. Each function is an attribute under its own name."""

    def __init__(self, path: str):
        self.library = ctypes.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.glsl_type_singleton_init_or_ref()

    def __getattr__(self, name: str) -> Any:  # the functions, for the type checker
        raise AttributeError(name)

    @functools.cached_property
    def operations(self) -> dict[str, int]:
        """The number of each operation by its name."""
        return self._names("nir_op_infos", layout.OP_COUNT, layout.OP_SIZE)

    @functools.cached_property
    def intrinsics(self) -> dict[str, int]:
        """The number of each intrinsic by its name."""
        return self._names("nir_intrinsic_infos", layout.INTRINSIC_COUNT, layout.INTRINSIC_SIZE)

    def _names(self, table: str, count: int, size: int) -> dict[str, int]:
        start = self.address_of(table)
        return {ctypes.string_at(read(start + number * size, 8)).decode(): number for number in range(count)}

    def place_of_index(self, intrinsic: int, index: str) -> int:
        """Returns which of an intrinsic's constants `index` is, counted from 0. ValueError if it has none of that name."""
        start = self.address_of("nir_intrinsic_infos") + intrinsic * layout.INTRINSIC_SIZE + layout.INTRINSIC_INDEX_MAP
        place = read(start + layout.INDICES[index], 1)
        if not place:
            raise ValueError(f"NIR's intrinsic {intrinsic} has no {index}")
        return place - 1

    def address_of(self, symbol: str) -> int:
        """Returns the address of a table or a type of the library."""
        return ctypes.addressof(ctypes.c_byte.in_dll(self.library, symbol))


_TYPES: Mapping[int, Any] = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64, -1: ctypes.c_int8}
"""By bytes; below 0 with a sign."""


def read(address: int, size: int) -> int:
    """Reads an integer."""
    found: int = _TYPES[size].from_address(address).value
    return found


def write(address: int, size: int, value: int) -> None:
    """Writes an integer."""
    _TYPES[size].from_address(address).value = value & ((1 << 8 * size) - 1)
