"""Numbers of Mesa's structures against tinygrad's declarations of the same library, where those are installed."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec

import pytest

from adreno_sim.isa.mesa import layout as at

PACKAGE = "tinygrad==0.14.0"
pytestmark = pytest.mark.skipif(find_spec("tinygrad") is None, reason=f"its declarations are not installed: {PACKAGE}")

OFFSETS = {
    "BUILDER_EXACT": "struct_nir_builder.exact",
    "BUILDER_SHADER": "struct_nir_builder.shader", "BUILDER_IMPL": "struct_nir_builder.impl",
    "IMPL_BODY": "nir_function_impl.body", "IMPL_END_BLOCK": "nir_function_impl.end_block",
    "IMPL_STRUCTURED": "nir_function_impl.structured", "LIST_TAIL": "struct_exec_list.tail_sentinel",
    "NODE_PARENT": "nir_cf_node.parent", "SHADER_INFO": "nir_shader.info", "SHADER_SCRATCH_SIZE": "nir_shader.scratch_size",
    "INFO_TEXTURES": "struct_shader_info.num_textures", "INFO_UBOS": "struct_shader_info.num_ubos",
    "INFO_IMAGES": "struct_shader_info.num_images", "INFO_SHARED_SIZE": "struct_shader_info.shared_size",
    "INFO_GROUP": "struct_shader_info.workgroup_size", "SOURCE_SSA": "nir_src.ssa", "DEF_BITS": "nir_def.bit_size",
    "ALU_DEF": "nir_alu_instr._def", "ALU_SOURCE": "nir_alu_instr.src", "ALU_SWIZZLE": "nir_alu_src.swizzle",
    "CONST_DEF": "nir_load_const_instr._def", "CONST_VALUE": "nir_load_const_instr.value",
    "UNDEF_DEF": "nir_undef_instr._def", "INTRINSIC_DEF": "nir_intrinsic_instr._def",
    "INTRINSIC_WIDTH": "nir_intrinsic_instr.num_components", "INTRINSIC_CONSTANTS": "nir_intrinsic_instr.const_index",
    "INTRINSIC_SOURCE": "nir_intrinsic_instr.src", "DEREF_MODES": "nir_deref_instr.modes", "DEREF_TYPE": "nir_deref_instr.type",
    "DEREF_VAR": "nir_deref_instr.var", "DEREF_PARENT": "nir_deref_instr.parent", "DEREF_INDEX": "nir_deref_instr.arr",
    "DEREF_DEF": "nir_deref_instr._def", "JUMP_CONDITION": "nir_jump_instr.condition", "JUMP_TARGET": "nir_jump_instr.target",
    "JUMP_ELSE": "nir_jump_instr.else_target", "TEX_DIMENSION": "nir_tex_instr.sampler_dim",
    "TEX_TYPE": "nir_tex_instr.dest_type",
    "TEX_OP": "nir_tex_instr.op", "TEX_DEF": "nir_tex_instr._def", "TEX_SOURCES": "nir_tex_instr.src",
    "TEX_COORDINATES": "nir_tex_instr.coord_components", "TEX_ARRAY": "nir_tex_instr.is_array",
    "TEX_TEXTURE": "nir_tex_instr.texture_index", "TEX_SAMPLER": "nir_tex_instr.sampler_index",
    "TEX_SOURCE_KIND": "nir_tex_src.src_type", "VARIABLE_TYPE": "nir_variable.type",
    "INTRINSIC_INDEX_MAP": "struct_nir_intrinsic_info.index_map",
    "COMPILER_OPTIONS_NO_CACHE": "struct_ir3_compiler_options.disable_cache",
    "DECODE_LABELS": "struct_isa_decode_options.branch_labels",
    "VARIANT_BINARY": "struct_ir3_shader_variant.bin", "VARIANT_INFO": "struct_ir3_shader_variant.info",
    "VARIANT_LOOPS": "struct_ir3_shader_variant.loops", "VARIANT_CONSTANTS": "struct_ir3_shader_variant.constlen",
    "VARIANT_PRIVATE": "struct_ir3_shader_variant.pvtmem_size", "VARIANT_SHARED": "struct_ir3_shader_variant.shared_size",
    "VARIANT_IR": "struct_ir3_shader_variant.ir", "SHADER_HAS_LINES": "nir_shader.has_debug_info",
    "SHADER_CONSTANT_DATA": "nir_shader.constant_data", "SHADER_CONSTANT_SIZE": "nir_shader.constant_data_size",
}  # fmt: skip
SIZES = {
    "OP_SIZE": "struct_nir_op_info", "INTRINSIC_SIZE": "struct_nir_intrinsic_info", "BUILDER_SIZE": "struct_nir_builder",
    "SOURCE_SIZE": "nir_src", "TEX_SOURCE_SIZE": "nir_tex_src", "DEVICE_INFO_SIZE": "struct_fd_dev_info",
    "COMPILER_OPTIONS_SIZE": "struct_ir3_compiler_options", "SHADER_OPTIONS_SIZE": "struct_ir3_shader_options",
    "SHADER_KEY_SIZE": "struct_ir3_shader_key", "NIR_OPTIONS_SIZE": "struct_ir3_shader_nir_options",
    "DECODE_SIZE": "struct_isa_decode_options",
}  # fmt: skip


@pytest.fixture(scope="module")
def mesa():
    from tinygrad.runtime.autogen import mesa

    return mesa


def test_offsets_and_sizes(mesa):
    found = {}
    for name, field in OFFSETS.items():
        structure, _, member = field.partition(".")
        found[name] = getattr(getattr(mesa, structure), member).offset
    found |= {name: ctypes.sizeof(getattr(mesa, structure)) for name, structure in SIZES.items()}
    assert {name: getattr(at, name) for name in found} == found


def test_fields_of_the_figures(mesa):
    theirs = {
        "size": "size", "spill_stores": "stp_count", "spill_loads": "ldp_count", "max_register": "max_reg", "waves": "max_waves",
        "double_wave": "double_threadsize", "ss": "ss", "sy": "sy", "ss_stall": "sstall", "sy_stall": "systall",
    }  # fmt: skip
    assert set(theirs) == set(at.INFO_FIELDS)
    assert {name: getattr(mesa.struct_ir3_info, theirs[name]).offset for name in theirs} == {
        name: offset for name, (offset, _) in at.INFO_FIELDS.items()
    }


def test_numbers_of_names(mesa):
    assert (mesa.nir_last_opcode + 1, mesa.nir_last_intrinsic + 1) == (at.OP_COUNT, at.INTRINSIC_COUNT)
    assert {name: getattr(mesa, f"NIR_INTRINSIC_{name}") for name in at.INDICES} == at.INDICES
    assert {name: getattr(mesa, f"nir_texop_{name}") for name in at.TEXTURE_OPERATIONS} == at.TEXTURE_OPERATIONS
    assert {name: getattr(mesa, f"nir_tex_src_{name}") for name in at.TEXTURE_OPERANDS} == at.TEXTURE_OPERANDS
    prefixes = {"dim_": "GLSL_SAMPLER_DIM_", "type_": "nir_type_", "atomic_op_": "nir_atomic_op_", "scope_": "SCOPE_"}
    for name, value in at.CONSTANTS.items():
        for ours, prefix in prefixes.items():
            if name.startswith(ours):
                rest = name.removeprefix(ours)
                assert value == getattr(mesa, prefix + (rest.upper() if ours == "scope_" else rest)), name
