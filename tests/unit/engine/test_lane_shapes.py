"""What is taken to be the same, or to differ by known numbers, between the lanes of a vector must be so in every launch."""

from __future__ import annotations

import pytest

from adreno_sim.engine.abi.specialization import BufferArg, ScalarArg, Specialization
from adreno_sim.engine.analysis.uniformity import Uniformity
from adreno_sim.engine.emit.check import NotVectorizable
from adreno_sim.engine.vector.lane_shape import LaneShape
from adreno_sim.engine.vector.lane_shapes import LaneShapes
from adreno_sim.engine.vector.privates import Privates
from adreno_sim.engine.vector.tile import Tile, choose_tile
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.dominators import Dominators
from adreno_sim.ir.provenance import Provenance

HEAD = """__kernel void k(__global int* a, int n) {
  int l = get_local_id(0), y = get_local_id(1), g = get_group_id(0), x = get_global_id(0);
"""
STEPS = tuple(range(8))


def key(local: tuple[int, int, int] = (64, 2, 1), groups: int = 1024) -> Specialization:
    return Specialization(local_size=local, args=(BufferArg(), ScalarArg(4)), most_groups=(groups, 1, 1), checks="off")


def stored_shape(body: str, local: tuple[int, int, int] = (64, 2, 1)) -> LaneShape:
    """The shape of the value that the only store to global memory stores, in tiles of 8."""
    kernel, shapes = shapes_of(body, local)
    provenance = Provenance(kernel)
    store = next(
        i for b in kernel.blocks for i in b.instrs if i.op == "store" and provenance.object_id(i.operands[1]) == ("param", 0)
    )
    return shapes.shape_at(store.operands[0], store)


def shapes_of(body: str, local: tuple[int, int, int] = (64, 2, 1)) -> tuple[ir.Function, LaneShapes]:
    kernel = compile_source(HEAD + body + " }", "", target=FrontEndTarget()).kernels["k"]
    tile = choose_tile(key(local), (8,))
    return kernel, LaneShapes(kernel, key(local), tile, Privates(kernel, Provenance(kernel)))


@pytest.mark.parametrize(
    ("expression", "lane_offsets"),
    [
        ("g * 3 + n", (0,) * 8),
        ("x", STEPS),
        ("7 - l * 2", tuple(-2 * s for s in STEPS)),
        ("x >> 3", (0,) * 8),
        ("x / 16", (0,) * 8),
        ("x % 16", STEPS),
        ("(x & 7) * 4", tuple(4 * s for s in STEPS)),
        ("l < 32", (0,) * 8),
        ("y", (0,) * 8),
        ("a[g]", (0,) * 8),
        ("x / 12", None),
        ("x >> 2", (0, 0, 0, 0, 1, 1, 1, 1)),
        ("x & 3", (0, 1, 2, 3, 0, 1, 2, 3)),
        ("x / 3", None),
        ("l < 33", None),
        ("l * n", None),
        ("a[x]", None),
        ("x & n", None),
        ("(short)(x * 1000)", None),
        ("mul24((x & 7) + 8, -1)", tuple(-s for s in STEPS)),
        ("mul24((uint)(x & 7) + 8, 0x900000u)", tuple(0x900000 * s for s in STEPS)),
        ("mul24((uint)(x & 7) + 8, 0xffffffffu)", None),
    ],
)
def test_patterns(expression, lane_offsets):
    assert stored_shape(f"a[x] = {expression};").lane_offsets == lane_offsets


def test_a_small_group_is_tiled_along_two_axes():
    assert choose_tile(key((4, 16, 1)), (16, 8)) == Tile((4, 4, 1))
    assert stored_shape("a[x] = y * 10 + l;", (4, 16, 1)).lane_offsets == (0, 1, 2, 3, 10, 11, 12, 13)
    assert stored_shape("a[x] = l * 8 / 8;", (4, 16, 1)).lane_offsets == (0, 1, 2, 3, 0, 1, 2, 3)


def test_values_that_meet_behind_a_divergent_branch_differ():
    assert stored_shape("int v = 1; if (a[x]) v = 2; a[x] = v;").lane_offsets is None
    assert stored_shape("int v = 1; if (n) v = 2; a[x] = v;").uniform


def test_a_counter_differs_only_behind_a_loop_that_lanes_leave_one_by_one():
    assert stored_shape("int i = 0; while (i < n) i++; a[x] = i;").uniform
    assert stored_shape("int i = 0; while (i < a[l]) i++; a[x] = i;").lane_offsets is None


WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"
BODIES = [
    "if (n > 3) a[x] = g * n; else a[x] = get_num_groups(0) + 7;",
    "int s = 0; for (int i = 0; i < n; i++) { if (i & 1) s += g; else s ^= i; } a[x] = s;",
    "int s = 0; for (int i = 0; i < l; i++) { for (int j = 0; j < n; j++) s += j; } a[x] = s;",
    "int s = 1; if (l < 5) { s = n; for (int i = 0; i < n; i++) s *= 2; } a[x] = s + n;",
    f"for (int h = 32; h > 0; h >>= 1) {{ if (l < h) a[x] += h; {WAIT} }} a[x] += n / 3 - g;",
    f"int s = g; {WAIT} for (int i = 0; i < 4; i++) {{ {WAIT} s = (s << 1) | (n > i); if (s > 9) break; }} a[x] = s;",
    "float f = n; int4 v = (int4)(g, n, 1, 2); v.x = v.y + (int)sqrt(f); a[x] = v.x * v.w + (short)n;",
    "int i = 0; while (1) { if (a[x + i] == 3) break; if (n * g > 5) a[x] = n - g; i++; } a[x] = i;",
    "int s; switch (n) { case 0: s = g; break; case 5: s = n * n; break; default: s = 3; } a[x] = s % 7;",
]


@pytest.mark.parametrize("body", BODIES)
def test_what_is_equal_in_the_group_is_equal_in_all_lanes(body):
    """The analysis of the group, on which proofs rest, and that of lanes, on which vectors rest, must not contradict."""
    kernel, shapes = shapes_of(body)
    group = Uniformity(Dominators(kernel))
    values = [i for b in Dominators(kernel).order for i in b.instrs if not isinstance(i.type, ir.Void)]
    equal = [i for i in values if group.is_uniform(i)]
    assert equal
    assert all(shapes.of(i).uniform for i in equal)
    assert any(not shapes.of(i).uniform for i in values)


def test_only_behind_a_loop_that_lanes_leave_one_by_one_is_more_equal_than_vectors_know():
    """The group's analysis sees that all turns compute the same; vectors keep what leaves such a loop for each lane."""
    for bound, divergent in (("l", True), ("n", False)):
        kernel, shapes = shapes_of(f"int s, j = 0; do {{ s = n * 2 + g; a[x + j] = j; j++; }} while (j < {bound}); a[x] = s;")
        (product,) = (i for b in kernel.blocks for i in b.instrs if i.op == "mul")
        (last,) = (i for i in kernel.blocks[-1].instrs if i.op == "store")
        assert Uniformity(Dominators(kernel)).is_uniform(product)
        assert shapes.of(product).uniform
        assert shapes.shape_at(last.operands[0], last).uniform is not divergent


def test_tiles_fill_the_group_where_they_can():
    assert choose_tile(key((256, 1, 1)), (16, 8)) == Tile((16, 1, 1))
    assert choose_tile(key((24, 1, 1)), (16, 8)) == Tile((8, 1, 1))
    assert choose_tile(key((3, 3, 1)), (16, 8)) == Tile((4, 4, 1))
    with pytest.raises(NotVectorizable, match="2 work-items"):
        choose_tile(key((2, 1, 1)), (16, 8))


def test_private_memory_is_side_by_side_unless_its_bytes_are_looked_at():
    body = "float s[4]; char b[8]; for (int i = 0; i < 4; i++) s[i] = x; *(int*)b = x; b[1] = 3; a[x] = s[l & 3] + b[g & 7]; }"
    kernel = compile_source(HEAD + body, "", target=FrontEndTarget()).kernels["k"]
    privates = Privates(kernel, Provenance(kernel))
    arrays = [i for i in kernel.blocks[0].instrs if i.op == "alloca" and isinstance(i.elem, ir.Array)]
    assert {i.name: privates.granule(i) for i in arrays} == {"s": 4, "b": None}
