"""Elements of vectors by an index that is computed: within the vector as drivers have it, beyond it as with private arrays."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from adreno_sim.engine.abi.bound import BoundBuffer
from adreno_sim.engine.abi.launch_facts import facts_of
from adreno_sim.engine.abi.specialization import BufferArg, Specialization
from adreno_sim.engine.prove.in_range import AccessAnalysis, prove_in_range
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir.queries import may_leave_vector

ITEMS = 64
TYPES = {"char": np.int8, "ushort": np.uint16, "int": np.int32, "ulong": np.uint64, "float": np.float32}
INDICES = {"char": np.int8, "int": np.int32, "uint": np.uint32, "long": np.int64}


def vectors(kind: str, width: int, index: str) -> str:
    fill = "\n".join(f"    v.s{lane:x} = in[i * {width} + {lane}];" for lane in range(width))
    sums = " + ".join(f"({lane + 1}) * v.s{lane:x}" for lane in range(width))
    return f"""__kernel void k(__global const {kind} *in, __global const {index} *at, __global {kind} *read,
                           __global {kind} *sum) {{
    int i = get_global_id(0); {kind}{width} v;
{fill}
    read[i] = v[at[i]]; v[at[ITEMS + i]] = 3; sum[i] = {sums}; }}""".replace("ITEMS", str(ITEMS))


def data(kind: str, width: int, index: str, low: int, high: int) -> tuple[list[oracle.Arg], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(width)
    values = rng.integers(0, 5, ITEMS * width).astype(TYPES[kind])
    at = rng.integers(low, high, 2 * ITEMS).astype(INDICES[index])
    empty = np.zeros(ITEMS, TYPES[kind])
    return [oracle.Buffer(values), oracle.Buffer(at), oracle.Buffer(empty), oracle.Buffer(empty.copy())], values, at


def expected(values: np.ndarray, at: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Values read, sums, and which work-items read and write beyond the vector: there a read gives 0, and nothing is written."""
    rows = values.reshape(ITEMS, width).copy()
    where = at.astype(object).reshape(2, ITEMS)
    beyond = [np.array([not 0 <= index < width for index in row]) for row in where]
    read = [0 if bad else rows[i, index] for i, (index, bad) in enumerate(zip(where[0], beyond[0], strict=True))]
    for i, (index, bad) in enumerate(zip(where[1], beyond[1], strict=True)):
        if not bad:
            rows[i, index] = 3
    return np.array(read, values.dtype), (rows * np.arange(1, width + 1)).sum(1).astype(values.dtype), beyond


@pytest.mark.each_value
@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
@pytest.mark.parametrize(
    ("kind", "index"), [("char", "int"), ("ushort", "uint"), ("int", "char"), ("ulong", "long"), ("float", "int")]
)
def test_an_index_within_the_vector_is_what_drivers_make_of_it(engine, judge, kind, index, width):
    source = vectors(kind, width, index)
    args, values, at = data(kind, width, index, 0, width)
    result = engine.run(source, "k", [ITEMS], [16], args)
    read, sums, _ = expected(values, at, width)
    theirs = judge.run(source, "-cl-std=CL2.0", "k", [ITEMS], [16], args)
    assert result.findings == []
    for ours, wanted, other in zip(result.outputs[2:], (read, sums), theirs[2:], strict=True):
        np.testing.assert_array_equal(ours, wanted)
        np.testing.assert_array_equal(ours, other)


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
@pytest.mark.parametrize(
    ("kind", "index"), [("char", "int"), ("ushort", "uint"), ("int", "char"), ("ulong", "long"), ("float", "int")]
)
def test_an_index_beyond_the_vector_is_found(engine, kind, index, width, checks):
    args, values, at = data(kind, width, index, 0 if index == "uint" else -3, width + 3)
    at[:3] = at[ITEMS : ITEMS + 3] = np.array([np.iinfo(at.dtype).max, np.iinfo(at.dtype).min, width], at.dtype)
    result = engine.run(vectors(kind, width, index), "k", [ITEMS], [16], args, checks=checks)
    read, sums, beyond = expected(values, at, width)
    np.testing.assert_array_equal(result.outputs[2], read)
    np.testing.assert_array_equal(result.outputs[3], sums)
    assert [(f.kind.label, f.count) for f in result.findings] == [
        ("out-of-bounds-read", beyond[0].sum()),
        ("out-of-bounds-write", beyond[1].sum()),
    ]
    assert result.findings[0].message.endswith(f"of a vector of {width}: reads none of its elements; 0 is taken")


def test_it_is_found_as_in_an_array_of_the_same_elements(engine):
    for declaration in ("int4 t = (int4)(1, 2, 3, 4);", "int t[4] = {1, 2, 3, 4};"):
        source = f"__kernel void k(__global int *o) {{ int i = get_global_id(0); {declaration} t[i + 1] = 9; o[i] = t[i - 1]; }}"
        result = engine.run(source, "k", [6], [6], [oracle.Buffer(np.zeros(6, np.int32))])
        assert [(f.kind.label, f.count, f.work_item.global_id[0]) for f in result.findings] == [
            ("out-of-bounds-write", 3, 3),
            ("out-of-bounds-read", 2, 0),
        ]
        assert result.outputs[0].tolist() == [0, 1, 2, 3, 4, 0]


PLACES = {
    "constant": ("int4 v = (int4)(1); v[4] = 2; o[i] = v.x;", ["out-of-bounds-write"]),
    "last": ("int4 v = (int4)(1); v[3] = 2; o[i] = v.w;", []),
    "fourth of three": ("int3 v = (int3)(1); o[i] = v[i + 3];", ["out-of-bounds-read"]),
    "in global memory": ("o[i] = ((__global int4 *)o)[0][i + 3];", ["out-of-bounds-read"]),
    "into global memory": ("if (i == 0) ((__global int4 *)o)[0][i + 4] = 1;", ["out-of-bounds-write"]),
    "not used": ("int4 v = (int4)(o[i]); int x = v[i + 2];", ["out-of-bounds-read"]),
    "in a branch that is not taken": ("int4 v = (int4)(1); if (i > 9) o[i] = v[i];", []),
    "in a branch that some take": ("int4 v = (int4)(1); if (i > 5) o[i] = v[i];", ["out-of-bounds-read"]),
    "behind a barrier": (
        "int4 v = (int4)(1); barrier(CLK_LOCAL_MEM_FENCE); if (get_local_id(0) < 6) v[get_local_id(0)] = 1; "
        "barrier(CLK_LOCAL_MEM_FENCE); o[i] = v.x;",
        ["out-of-bounds-write"],
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_everywhere(engine, place):
    body, kinds = PLACES[place]
    source = f"__kernel void k(__global int *o) {{ int i = get_global_id(0); {body} }}"
    for checks in ("bounds", "full"):
        result = engine.run(
            source, "k", [8], [8], [oracle.Buffer(np.zeros(8, np.int32))], checks=checks, same=place != "in global memory"
        )
        assert [kind for kind in result.kinds() if "race" not in kind] == kinds


def test_an_index_that_is_proven_needs_no_check():
    for index, good in (
        ("i & 3", True),
        ("i % 4", True),
        ("i / 16", True),
        ("min(i, 3)", True),
        ("i & 7", False),
        ("i / 15", False),
    ):
        source = f"__kernel void k(__global int *o) {{ int i = get_global_id(0); int4 v = (int4)(i); o[i] = v[{index}]; }}"
        function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(16, 1, 1), args=(BufferArg(),))
        facts = facts_of(function, spec, (ITEMS, 1, 1), (0, 0, 0), [BoundBuffer(0, 4 * ITEMS)])
        known = prove_in_range(AccessAnalysis(function, spec, facts)).in_range
        numbered = enumerate(i for b in function.blocks for i in b.instrs)
        (number,) = [n for n, i in numbered if may_leave_vector(i)]
        assert (number in known) == good, index


def test_without_checks_nothing_breaks(engine):
    args, *_ = data("int", 4, "int", -9, 9)
    assert engine.run(vectors("int", 4, "int"), "k", [ITEMS], [16], args, checks="off").findings == []


@pytest.mark.parametrize("lanes", ["xyzx", "xyzy", "xyzz", "zyxz"])
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_four_lanes_of_a_vector_of_three_are_stored_whole(engine, judge, checks, lanes):
    """clang writes a vector of three as four lanes, the last of them unset: a fourth lane that is set is no padding."""
    source = f"""kernel void k(global const float *in, global float *out, global float4 *whole) {{
    int i = get_global_id(0); float3 v = vload3(i, in); vstore4(v.{lanes}, i, out); whole[i] = v.{lanes}; }}"""
    values = np.arange(3 * ITEMS, dtype=np.float32) + 1
    args = [oracle.Buffer(values), *(oracle.Buffer(np.zeros(4 * ITEMS, np.float32)) for _ in range(2))]
    result = engine.run(source, "k", [ITEMS], [16], args, checks=checks)
    expected = values.reshape(ITEMS, 3)[:, ["xyz".index(lane) for lane in lanes]].ravel()
    theirs = judge.run(source, "-cl-std=CL1.2", "k", [ITEMS], [16], args)
    assert result.findings == []
    for ours, other in zip(result.outputs[1:], theirs[1:], strict=True):
        np.testing.assert_array_equal(ours, expected)
        np.testing.assert_array_equal(ours, other)


@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_a_vector_of_three_leaves_its_padding_alone(engine, checks):
    """The twin: in memory the fourth lane is what it was before."""
    source = "kernel void k(global float3 *out) { int i = get_global_id(0); out[i] = out[i] * 2; }"
    values = np.arange(4 * ITEMS, dtype=np.float32)
    result = engine.run(source, "k", [ITEMS], [16], [oracle.Buffer(values)], checks=checks)
    assert result.findings == []
    np.testing.assert_array_equal(result.outputs[0], np.where(np.arange(4 * ITEMS) % 4 == 3, values, 2 * values))
