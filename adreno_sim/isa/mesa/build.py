"""Builds the shader of a program in Mesa's memory, instruction by instruction."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import layout as at
from .library import Mesa, read, write

_END = -1


class ShaderBuilder:
    """One shader. `shader` and `impl` are Mesa's. options: the pointer that ir3 gave: with a copy its optimiser does not end."""

    def __init__(self, mesa: Mesa, options: int, program: dict[str, Any]):
        self.mesa = mesa
        self._builder = mesa.nir_builder_init_simple_shader(at.STAGE_COMPUTE, options, None)
        self._pointer = ctypes.addressof(self._builder)
        self.shader = read(self._pointer + at.BUILDER_SHADER, 8)
        self.impl = read(self._pointer + at.BUILDER_IMPL, 8)
        write(self.shader + at.SHADER_HAS_LINES, 1, 1)
        write(self._pointer + at.BUILDER_EXACT, 1, program["exact"])
        self._values: list[int] = []
        self._line = 0
        self._describe(program)
        types = {bits: mesa.address_of(f"glsl_type_builtin_{name}") for bits, name in at.GLSL_TYPES.items()}
        self._variables = [
            (
                mesa.nir_local_variable_create(
                    self.impl, mesa.glsl_array_type(types[bits], count, 0) if count else types[bits], b"v"
                ),
                types[bits],
            )
            for bits, count in program["variables"]
        ]
        self._widths = [bits for bits, _ in program["variables"]]
        write(self.impl + at.IMPL_STRUCTURED, 1, 0)
        first = mesa.nir_unstructured_start_block(self.impl)
        self._blocks = [first, *(self._add_block() for _ in range(program["blocks"] - 1))]
        self._end = read(self.impl + at.IMPL_END_BLOCK, 8)
        handlers: dict[str, Callable[..., int]] = {
            "alu": self._alu, "const": self._const, "undef": self._undef, "part": self._part, "intrinsic": self._intrinsic,
            "texture": self._texture, "get": self._get, "put": self._put, "start": self._start, "go": self._go,
            "go_if": self._go_if,
        }  # fmt: skip
        for (kind, *rest), self._line in zip(program["instructions"], program["lines"], strict=True):
            self._values.append(handlers[kind](*rest))

    def _describe(self, program: dict[str, Any]) -> None:
        info = self.shader + at.SHADER_INFO
        write(info + at.INFO_UBOS, 1, 1)
        write(info + at.INFO_TEXTURES, 1, program["textures"])
        write(info + at.INFO_IMAGES, 1, program["images"])
        write(info + at.INFO_SHARED_SIZE, 4, program["local_bytes"])
        for dimension, size in enumerate(program["group"]):
            write(info + at.INFO_GROUP + 2 * dimension, 2, size)
        write(self.shader + at.SHADER_SCRATCH_SIZE, 4, program["scratch_bytes"])
        if data := bytes.fromhex(program["constant_data"]):
            write(self.shader + at.SHADER_CONSTANT_DATA, 8, self.mesa.ralloc_memdup(self.shader, data, len(data)))
            write(self.shader + at.SHADER_CONSTANT_SIZE, 4, len(data))

    def _add_block(self) -> int:
        """A block at the end of the function's list, as Mesa's own readers of SPIR-V add it."""
        block: int = self.mesa.nir_block_create(self.shader)
        write(block + at.NODE_PARENT, 8, self.impl)
        tail = self.impl + at.IMPL_BODY + at.LIST_TAIL
        previous = read(tail + 8, 8)
        write(block, 8, tail)
        write(block + 8, 8, previous)
        write(previous, 8, block)
        write(tail + 8, 8, block)
        return block

    def _insert(self, instruction: int) -> None:
        write(instruction - at.LINE_BEFORE_INSTRUCTION, 4, self._line or at.NO_LINE)
        self.mesa.nir_builder_instr_insert(self._pointer, instruction)

    def _define(self, instruction: int, offset: int, parts: int, bits: int) -> int:
        self.mesa.nir_def_init(instruction, instruction + offset, parts, bits)
        self._insert(instruction)
        return instruction + offset

    # Values

    def _alu(self, name: str, operands: list[int]) -> int:
        build = getattr(self.mesa, f"nir_build_alu{len(operands)}")
        found: int = build(self._pointer, self.mesa.operations[name], *(self._values[operand] for operand in operands))
        write(read(found, 8) - at.LINE_BEFORE_INSTRUCTION, 4, self._line or at.NO_LINE)
        return found

    def _const(self, value: int, bits: int) -> int:
        instruction = self.mesa.nir_load_const_instr_create(self.shader, 1, bits)
        write(instruction + at.CONST_VALUE, 8, value)
        self._insert(instruction)
        found: int = instruction + at.CONST_DEF
        return found

    def _undef(self, bits: int) -> int:
        instruction = self.mesa.nir_undef_instr_create(self.shader, 1, bits)
        self._insert(instruction)
        found: int = instruction + at.UNDEF_DEF
        return found

    def _part(self, vector: int, number: int) -> int:
        source = self._values[vector]
        instruction = self.mesa.nir_alu_instr_create(self.shader, self.mesa.operations["mov"])
        write(instruction + at.ALU_SOURCE + at.SOURCE_SSA, 8, source)
        write(instruction + at.ALU_SOURCE + at.ALU_SWIZZLE, 1, number)
        return self._define(instruction, at.ALU_DEF, 1, read(source + at.DEF_BITS, 1))

    def _intrinsic(self, name: str, operands: list[int], parts: int, bits: int, width: int, indices: dict[str, Any]) -> int:
        number = self.mesa.intrinsics[name]
        instruction = self.mesa.nir_intrinsic_instr_create(self.shader, number)
        for place, operand in enumerate(operands):
            write(instruction + at.INTRINSIC_SOURCE + at.SOURCE_SIZE * place + at.SOURCE_SSA, 8, self._values[operand])
        write(instruction + at.INTRINSIC_WIDTH, 1, width)
        for index, value in indices.items():
            place = self.mesa.place_of_index(number, index)
            write(instruction + at.INTRINSIC_CONSTANTS + 4 * place, 4, self._number(value))
        if parts:
            return self._define(instruction, at.INTRINSIC_DEF, parts, bits)
        self._insert(instruction)
        return 0

    def _number(self, value: int | str) -> int:
        if isinstance(value, int):
            return value
        if value.startswith("op_"):
            return self.mesa.operations[value[3:]]
        return at.CONSTANTS[value]

    def _texture(
        self, name: str, operands: list[list[Any]], dimension: str, coordinates: int, array: int, number: int, sampler: int,
        type: str, parts: int,
    ) -> int:  # fmt: skip
        instruction = self.mesa.nir_tex_instr_create(self.shader, len(operands))
        write(instruction + at.TEX_DIMENSION, 4, at.CONSTANTS[f"dim_{dimension}"])
        write(instruction + at.TEX_TYPE, 1, at.CONSTANTS[f"type_{type}"])
        write(instruction + at.TEX_OP, 4, at.TEXTURE_OPERATIONS[name])
        write(instruction + at.TEX_COORDINATES, 4, coordinates)
        write(instruction + at.TEX_ARRAY, 1, array)
        write(instruction + at.TEX_TEXTURE, 4, number)
        write(instruction + at.TEX_SAMPLER, 4, sampler)
        sources = read(instruction + at.TEX_SOURCES, 8)
        for place, (kind, value) in enumerate(operands):
            source = sources + at.TEX_SOURCE_SIZE * place
            write(source + at.SOURCE_SSA, 8, self._values[value])
            write(source + at.TEX_SOURCE_KIND, 4, at.TEXTURE_OPERANDS[kind])
        return self._define(instruction, at.TEX_DEF, parts, 16 if type == "float16" else 32)

    # Variables

    def _deref(self, number: int, index: int) -> int:
        variable, element = self._variables[number]
        whole = self.mesa.nir_deref_instr_create(self.shader, at.DEREF_OF_VARIABLE)
        write(whole + at.DEREF_MODES, 4, at.FUNCTION_TEMPORARY)
        write(whole + at.DEREF_TYPE, 8, read(variable + at.VARIABLE_TYPE, 8))
        write(whole + at.DEREF_VAR, 8, variable)
        found = self._define(whole, at.DEREF_DEF, 1, 32)
        if index < 0:
            return found
        one = self.mesa.nir_deref_instr_create(self.shader, at.DEREF_OF_ARRAY)
        write(one + at.DEREF_MODES, 4, at.FUNCTION_TEMPORARY)
        write(one + at.DEREF_TYPE, 8, element)
        write(one + at.DEREF_PARENT + at.SOURCE_SSA, 8, found)
        write(one + at.DEREF_INDEX + at.SOURCE_SSA, 8, self._values[index])
        return self._define(one, at.DEREF_DEF, 1, 32)

    def _get(self, number: int, index: int) -> int:
        place = self._deref(number, index)
        instruction = self.mesa.nir_intrinsic_instr_create(self.shader, self.mesa.intrinsics["load_deref"])
        write(instruction + at.INTRINSIC_SOURCE + at.SOURCE_SSA, 8, place)
        write(instruction + at.INTRINSIC_WIDTH, 1, 1)
        return self._define(instruction, at.INTRINSIC_DEF, 1, self._widths[number])

    def _put(self, number: int, index: int, value: int) -> int:
        place, intrinsic = self._deref(number, index), self.mesa.intrinsics["store_deref"]
        instruction = self.mesa.nir_intrinsic_instr_create(self.shader, intrinsic)
        write(instruction + at.INTRINSIC_SOURCE + at.SOURCE_SSA, 8, place)
        write(instruction + at.INTRINSIC_SOURCE + at.SOURCE_SIZE + at.SOURCE_SSA, 8, self._values[value])
        write(instruction + at.INTRINSIC_WIDTH, 1, 1)
        mask = self.mesa.place_of_index(intrinsic, "WRITE_MASK")
        write(instruction + at.INTRINSIC_CONSTANTS + 4 * mask, 4, 1)
        self._insert(instruction)
        return 0

    # Flow

    def _start(self, block: int) -> int:
        write(self._pointer + at.BUILDER_CURSOR_KIND, 4, at.CURSOR_AFTER_BLOCK)
        write(self._pointer + at.BUILDER_CURSOR_BLOCK, 8, self._blocks[block])
        return 0

    def _target(self, block: int) -> int:
        return self._end if block == _END else self._blocks[block]

    def _go(self, block: int) -> int:
        jump = self.mesa.nir_jump_instr_create(self.shader, at.JUMP_GOTO)
        write(jump + at.JUMP_TARGET, 8, self._target(block))
        self._insert(jump)
        return 0

    def _go_if(self, condition: int, yes: int, no: int) -> int:
        jump = self.mesa.nir_jump_instr_create(self.shader, at.JUMP_GOTO_IF)
        write(jump + at.JUMP_CONDITION + at.SOURCE_SSA, 8, self._values[condition])
        write(jump + at.JUMP_TARGET, 8, self._target(yes))
        write(jump + at.JUMP_ELSE, 8, self._target(no))
        self._insert(jump)
        return 0
