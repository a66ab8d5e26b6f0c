"""Where the fields lie of the structures of libtinymesa 25.2.7.2 that are read or written here, and the numbers behind its names.

They come from Mesa's headers of that version, as tinygrad's declarations of the same library have them
(`tinygrad.runtime.autogen.mesa`); a test compares the two where tinygrad is installed. Operations and intrinsics have no number
here: the library has tables of names.
"""

from __future__ import annotations

VERSION = "25.2.7.2"
"""The version of tinymesa that this page is of; no other is loaded."""

OP_COUNT, OP_SIZE = 489, 56
INTRINSIC_COUNT, INTRINSIC_SIZE, INTRINSIC_INDEX_MAP = 732, 112, 33
"""The tables nir_op_infos and nir_intrinsic_infos: a name comes first in each entry."""

# nir_builder, nir_shader, nir_function_impl
BUILDER_SIZE, BUILDER_CURSOR_KIND, BUILDER_CURSOR_BLOCK, BUILDER_EXACT, BUILDER_SHADER, BUILDER_IMPL = 40, 0, 8, 16, 24, 32
IMPL_BODY, IMPL_END_BLOCK, IMPL_STRUCTURED = 48, 80, 128
LIST_TAIL, LIST_TAIL_PREVIOUS = 16, 24
NODE_PARENT = 24
SHADER_INFO, SHADER_SCRATCH_SIZE, SHADER_CONSTANT_DATA, SHADER_CONSTANT_SIZE, SHADER_HAS_LINES = 48, 464, 472, 480, 512
INFO_TEXTURES, INFO_UBOS, INFO_IMAGES, INFO_SHARED_SIZE, INFO_GROUP = 53, 54, 57, 268, 280

# nir_def and instructions. A line is in what comes before an instruction, where its shader has lines; one of 0 becomes that of
# the instruction before.
LINE_BEFORE_INSTRUCTION, NO_LINE = 24, 0x7FFFFFFF
SOURCE_SSA, DEF_BITS = 24, 29
ALU_DEF, ALU_SOURCE, ALU_SWIZZLE = 40, 72, 32
CONST_DEF, CONST_VALUE = 32, 64
UNDEF_DEF = 32
INTRINSIC_DEF, INTRINSIC_WIDTH, INTRINSIC_CONSTANTS, INTRINSIC_SOURCE, SOURCE_SIZE = 40, 72, 76, 120, 32
DEREF_MODES, DEREF_TYPE, DEREF_VAR, DEREF_PARENT, DEREF_INDEX, DEREF_DEF = 36, 40, 48, 48, 80, 120
JUMP_CONDITION, JUMP_TARGET, JUMP_ELSE = 40, 72, 80
TEX_DIMENSION, TEX_TYPE, TEX_OP, TEX_DEF, TEX_SOURCES, TEX_COORDINATES, TEX_ARRAY = 32, 36, 40, 48, 80, 92, 96
TEX_TEXTURE, TEX_SAMPLER, TEX_SOURCE_SIZE, TEX_SOURCE_KIND = 112, 116, 40, 32
VARIABLE_TYPE = 16

# ir3
DEVICE_INFO_SIZE = 764
COMPILER_OPTIONS_SIZE, COMPILER_OPTIONS_NO_CACHE = 32, 1
COMPILER_MAX_UNROLL = 32 + 156
SHADER_OPTIONS_SIZE, SHADER_OPTIONS_API_WAVE, SHADER_OPTIONS_REAL_WAVE = 228, 0, 4
SHADER_KEY_SIZE = 80
NIR_OPTIONS_SIZE = 4
DECODE_SIZE, DECODE_GPU, DECODE_ERRORS, DECODE_LABELS = 80, 0, 4, 12
VARIANT_BINARY, VARIANT_INFO, VARIANT_LOOPS, VARIANT_CONSTANTS = 192, 224, 568, 576
VARIANT_PRIVATE, VARIANT_SHARED, VARIANT_IR = 580, 588, 120
CONTEXT_NIR_INSTRUCTION = 24
IR_BLOCKS, BLOCK_INSTRUCTIONS, INSTRUCTION_NODE, INSTRUCTION_LINE, LIST_NEXT = 112, 32, 144, 180, 8

INFO_FIELDS = {
    "size": (0, 4), "spill_stores": (20, 2),
    "spill_loads": (22, 2), "max_register": (24, -1), "waves": (28, 1), "double_wave": (30, 1),
    "ss": (34, 2), "sy": (36, 2), "ss_stall": (38, 2), "sy_stall": (40, 2),
}  # fmt: skip
"""Fields of ir3_info: offset and bytes, below 0 for one with a sign."""

CONSTANTS = {
    "dim_1D": 0, "dim_2D": 1, "dim_3D": 2, "dim_BUF": 5,
    "type_float16": 144, "type_float32": 160, "type_int32": 34, "type_uint32": 36,
    "scope_none": 0, "scope_subgroup": 2, "scope_workgroup": 4,
    "acquire_release": 3, "shared_and_global": 524288 | 1048576,
    "atomic_op_iadd": 0, "atomic_op_imin": 1, "atomic_op_umin": 2, "atomic_op_imax": 3, "atomic_op_umax": 4,
    "atomic_op_iand": 5, "atomic_op_ior": 6, "atomic_op_ixor": 7, "atomic_op_xchg": 8, "atomic_op_cmpxchg": 12,
}  # fmt: skip
"""Constants that a program names."""

TEXTURE_OPERATIONS = {"txl": 2, "txf": 4, "txs": 8}
TEXTURE_OPERANDS = {"coord": 0, "lod": 5}
INDICES = {
    "BASE": 0, "WRITE_MASK": 1, "RANGE_BASE": 4, "RANGE": 5, "REDUCTION_OP": 11, "CLUSTER_SIZE": 12, "IMAGE_DIM": 14,
    "IMAGE_ARRAY": 15, "ALIGN_MUL": 20, "ALIGN_OFFSET": 21, "SRC_TYPE": 23, "DEST_TYPE": 24, "MEMORY_SEMANTICS": 37,
    "MEMORY_MODES": 38, "MEMORY_SCOPE": 39, "EXECUTION_SCOPE": 40, "ATOMIC_OP": 52,
}  # fmt: skip
FUNCTION_TEMPORARY = 262144
CURSOR_AFTER_BLOCK, DEREF_OF_VARIABLE, DEREF_OF_ARRAY = 1, 0, 1
JUMP_GOTO, JUMP_GOTO_IF = 4, 5
STAGE_COMPUTE = 5
SINGLE_OR_DOUBLE = 1
GLSL_TYPES = {1: "bool", 8: "uint8_t", 16: "uint16_t", 32: "uint", 64: "uint64_t"}
