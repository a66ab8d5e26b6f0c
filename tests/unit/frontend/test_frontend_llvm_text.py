"""LLVM's textual types and constants, and the data layout, against LLVM and NumPy."""

from __future__ import annotations

import struct

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base.errors import UnsupportedError
from adreno_sim.frontend.llvm_reader.constants import TextReader
from adreno_sim.ir import ir
from adreno_sim.ir.ir import UNDEF, Array, Const, Float, Global, GlobalOffset, Int, Pointer, Struct, Vector
from adreno_sim.ir.layout import align_of, field_offset, size_of

SPIR = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"

scalars = st.sampled_from([Int(8), Int(16), Int(32), Int(64), Float(16), Float(32), Float(64)])
vectors = st.builds(Vector, scalars, st.sampled_from([2, 3, 4, 8, 16]))
leaves = st.one_of(scalars, vectors, st.builds(Pointer, st.integers(0, 4)))
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Array, inner, st.integers(0, 5)), st.builds(Struct, st.lists(inner, max_size=5).map(tuple), st.booleans())
    ),
    max_leaves=8,
)


def read(type: ir.Type, text: str) -> ir.Value:
    value, end = TextReader({}).constant_at(text, 0, type)
    assert end == len(text)
    return value


@given(types)
def test_a_type_reads_back_as_printed(type: ir.Type) -> None:
    text = str(type)
    assert TextReader({}).type_at(text, 0) == (type, len(text))


@settings(deadline=None)
@given(types)
def test_sizes_and_alignments_are_llvms(type: ir.Type) -> None:
    module = llvm.parse_assembly(f'target datalayout = "{SPIR}"\n@g = external global {type}')
    data = llvm.create_target_data(SPIR)
    reference = module.get_global_variable("g").global_value_type
    assert size_of(type) == data.get_abi_size(reference)
    assert align_of(type) == data.get_abi_alignment(reference)
    if isinstance(type, Struct):
        offsets = [field_offset(type, index) for index in range(len(type.fields))]
        assert offsets == [data.get_element_offset(reference, index) for index in range(len(type.fields))]


@given(st.floats(width=32, allow_nan=False))
def test_float_literals(value: float) -> None:
    """LLVM writes a float as the double of the same value: decimal where that is exact, else in hexadecimal."""
    bits = int(np.float32(value).view(np.uint32))
    hexadecimal = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    assert read(Float(32), hexadecimal).value == bits
    assert read(Float(32), f"{value:.20e}" if "e" in f"{value:.20e}" else hexadecimal).value == bits


@given(st.integers(0, 0xFFFF))
def test_half_literals(bits: int) -> None:
    assert read(Float(16), f"0xH{bits:04X}").value == bits


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00000, 0x7FA00000, 0x7F800001, 0xFFFFFFFF])
def test_the_payload_of_a_nan_survives(bits: int) -> None:
    module = llvm.parse_assembly(f"@g = global float bitcast (i32 {bits} to float)")
    literal = str(module).split("global float ")[1].split("\n")[0]
    assert read(Float(32), literal).value == bits


@given(st.data(), st.sampled_from([8, 16, 32, 64]))
def test_integers_are_bit_patterns(data: st.DataObject, bits: int) -> None:
    value = data.draw(st.integers(-(2 ** (bits - 1)), 2**bits - 1))
    assert read(Int(bits), str(value)).value == value % 2**bits


def test_aggregates() -> None:
    array = read(Array(Int(16), 3), "[i16 1, i16 -1, i16 0]")
    assert [item.value for item in array.value] == [1, 0xFFFF, 0]
    text = read(Array(Int(8), 4), 'c"a\\00\\FF\\22"')
    assert [item.value for item in text.value] == [97, 0, 255, 34]
    pair = Struct((Int(32), Array(Float(32), 2)))
    whole = read(Array(pair, 2), "[{ i32, [2 x float] } { i32 7, [2 x float] zeroinitializer }, { i32, [2 x float] } undef]")
    assert whole.value[0].value[0].value == 7
    assert whole.value[0].value[1].value is None
    assert whole.value[1].value is UNDEF
    packed = Struct((Int(8), Int(32)), packed=True)
    assert [item.value for item in read(packed, "<{ i8 1, i32 2 }>").value] == [1, 2]
    assert [item.value for item in read(Vector(Int(32), 3), "splat (i32 5)").value] == [5, 5, 5]


def test_addresses() -> None:
    reader = TextReader({})
    table = Global("t", Array(Array(Float(32), 4), 3), ir.CONSTANT, None, 4)
    reader.globals["@t"] = table
    inner = "getelementptr inbounds ([3 x [4 x float]], ptr addrspace(2) @t, i64 0, i64 1, i64 2)"
    value, _ = reader.constant_at(inner, 0, Pointer(ir.CONSTANT))
    assert isinstance(value, Const)
    assert value.value == GlobalOffset(table, 24)
    outer = f"getelementptr (i8, ptr addrspace(2) {inner}, i64 -5)"
    value, _ = reader.constant_at(outer, 0, Pointer(ir.CONSTANT))
    assert isinstance(value, Const)
    assert value.value == GlobalOffset(table, 19)


@pytest.mark.parametrize(
    "text", ["i128", "i7", "bfloat", "x86_fp80", "<4 x ptr>", "%unknown", 'target("spirv.Pipe", 0)', "<vscale x 4 x i32>"]
)
def test_other_types_are_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedError, match="unsupported: "):
        TextReader({}).type_at(text, 0)
