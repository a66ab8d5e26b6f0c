"""The work of the child process: programs of NIR in, figures and assembly of each chip out, as JSON.

A request is {"library": path, "gpu": number, "chip": number, "program": text, "unroll": truth}. What Mesa asserts ends the child.
"""

from __future__ import annotations

import ctypes
import functools
import json
from typing import Any

from . import layout as at
from .build import ShaderBuilder
from .library import DeviceId, Mesa, read, write
from .lines import LineKeeper


def compile_request(request: bytes) -> bytes:
    """Returns the figures of a program's machine code. ValueError for a chip that the library does not know."""
    asked = json.loads(request)
    compiler = _compiler(asked["library"], asked["gpu"], asked["chip"], asked["unroll"])
    return json.dumps(compiler.compile(json.loads(asked["program"]))).encode()


@functools.cache
def _library(path: str) -> Mesa:
    return Mesa(path)


@functools.cache
def _line_keeper(path: str) -> LineKeeper:
    return LineKeeper(_library(path))


@functools.cache
def _compiler(path: str, gpu: int, chip: int, unroll: bool) -> _Compiler:
    return _Compiler(_library(path), _line_keeper(path), gpu, chip, unroll)


class _Compiler:
    """ir3 for one chip, with or without unrolled loops. What is handed to it stays alive as long as it."""

    def __init__(self, mesa: Mesa, keeper: LineKeeper, gpu: int, chip: int, unroll: bool):
        self.mesa, self.gpu, self._keeper = mesa, gpu, keeper
        self._id = DeviceId(gpu, chip)
        if not mesa.fd_dev_info_raw(ctypes.addressof(self._id)):
            raise ValueError(f"Mesa {at.VERSION} does not know the chip {chip:#x}")
        self._info = mesa.fd_dev_info(ctypes.addressof(self._id))
        self._options = ctypes.create_string_buffer(at.COMPILER_OPTIONS_SIZE)
        write(ctypes.addressof(self._options) + at.COMPILER_OPTIONS_NO_CACHE, 1, 1)
        pointers = [ctypes.addressof(one) for one in (self._id, self._info, self._options)]
        self.pointer = mesa.ir3_compiler_create(None, *pointers)
        if not unroll:
            write(self.pointer + at.COMPILER_MAX_UNROLL, 4, 0)
        self._nir_options = ctypes.create_string_buffer(at.NIR_OPTIONS_SIZE)
        self._shader_options = ctypes.create_string_buffer(at.SHADER_OPTIONS_SIZE)
        for wave in (at.SHADER_OPTIONS_API_WAVE, at.SHADER_OPTIONS_REAL_WAVE):
            write(ctypes.addressof(self._shader_options) + wave, 4, at.SINGLE_OR_DOUBLE)
        self._key = ctypes.create_string_buffer(at.SHADER_KEY_SIZE)

    def compile(self, program: dict[str, Any]) -> dict[str, Any]:
        """Builds, lowers and compiles; ir3 makes the variant itself, as one that is filled by hand counts registers wrongly."""
        mesa = self.mesa
        shader = ShaderBuilder(mesa, mesa.ir3_get_compiler_options(self.pointer), program).shader
        options = ctypes.addressof(self._nir_options)
        mesa.nir_lower_goto_ifs(shader)
        mesa.nir_lower_vars_to_ssa(shader)
        mesa.nir_validate_shader(shader, b"as translated")
        if program["scratch_bytes"]:  # offsets that unrolling makes constant
            mesa.ir3_optimize_loop(self.pointer, options, shader)
            mesa.nir_lower_scratch_to_var(shader)
        mesa.ir3_nir_lower_io_vars_to_temporaries(shader)
        mesa.ir3_finalize_nir(self.pointer, options, shader)
        whole = mesa.ir3_shader_from_nir(self.pointer, shader, ctypes.addressof(self._shader_options), None)
        variant = mesa.ir3_shader_create_variant(whole, ctypes.addressof(self._key), False)
        if not variant:
            raise ValueError("ir3 finds no registers for it")
        found = self._read(variant)
        mesa.ir3_shader_destroy(whole)
        return found

    def _read(self, variant: int) -> dict[str, Any]:
        info = variant + at.VARIANT_INFO
        found: dict[str, Any] = {name: read(info + offset, size) for name, (offset, size) in at.INFO_FIELDS.items()}
        found["loops"] = read(variant + at.VARIANT_LOOPS, 4)
        found["constants"] = read(variant + at.VARIANT_CONSTANTS, 4)
        found["private_bytes"] = read(variant + at.VARIANT_PRIVATE, 4)
        found["local_bytes"] = read(variant + at.VARIANT_SHARED, 4)
        found["lines"] = self._keeper.lines
        found["text"] = self._disassemble(read(variant + at.VARIANT_BINARY, 8), found.pop("size"))
        return found

    def _disassemble(self, code: int, size: int) -> str:
        libc = ctypes.CDLL(None)
        libc.open_memstream.restype = ctypes.c_void_p
        libc.fclose.argtypes = libc.free.argtypes = (ctypes.c_void_p,)
        text, length = ctypes.c_void_p(), ctypes.c_size_t()
        stream = libc.open_memstream(ctypes.byref(text), ctypes.byref(length))
        options = ctypes.create_string_buffer(at.DECODE_SIZE)
        write(ctypes.addressof(options) + at.DECODE_GPU, 4, self.gpu)
        write(ctypes.addressof(options) + at.DECODE_LABELS, 1, 1)
        self.mesa.ir3_isa_disasm(code, size, stream, ctypes.addressof(options))
        libc.fclose(stream)
        found = ctypes.string_at(text, length.value).decode("utf-8", "replace")
        libc.free(text)
        return found
