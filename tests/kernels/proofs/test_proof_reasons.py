"""Why an access is not proven: for each shape of lost proof what its line names, beside the same access proven."""

from __future__ import annotations

import pytest
from in_range_cases import DOUBTFUL, HEAD, ITEMS, LOCAL, LOOPS, RULES
from in_range_checks import explained, proven

from adreno_sim.device.inspection import AccessProof
from adreno_sim.engine.abi.bound import BoundBuffer, BoundImage
from adreno_sim.engine.abi.launch_facts import facts_of
from adreno_sim.engine.abi.specialization import BufferArg, ImageArg, Specialization
from adreno_sim.engine.prove.explain import explain_launch
from adreno_sim.frontend.program import FrontEndTarget, compile_source

SHAPES = {  # an access to `a` that is not proven; elements of `a`; what the reason names; the same, proven
    "one too far": ("a[i + 1] = 1;", 64, ["gid(0) + 1 <= 63 is not shown, it may be 1..64; no condition"], "a[i] = 1;"),
    "one too low": ("a[i - 1] = 1;", 64, ["0 <= gid(0) - 1 is not shown, it may be -1..62"], "if (i > 0) a[i - 1] = 1;"),
    "loaded index": (
        "a[b[i]] = 1;", 64,
        ["0 <= b[gid(0)] <= 63 is not shown", "missing: nothing is known about b[gid(0)]: 2:73 takes it from b"],
        "a[b[i] & 63] = 1;",
    ),
    "loaded index with one bound": (
        "int x = b[i]; if (x < 64) a[x] = 1;", 64,
        ["0 <= %x is not shown", "it runs if %x <= 63", "missing: no lower bound of %x is known: 2:79 takes it from b"],
        "int x = b[i]; if (x < 64 && x >= 0) a[x] = 1;",
    ),
    "bound that is loaded": (
        "if (i < b[0]) a[i] = 1;", 50,
        ["gid(0) <= 49 is not shown, it may be 0..63", "it runs if gid(0) < b[0]", "missing: no upper bound of b[0] is known"],
        "if (i < min(b[0], 50)) a[i] = 1;",
    ),
    "bound of a loop that is loaded": (
        "for (int j = 0; j < b[0]; ++j) a[j] = 1;", 50,
        ["%j <= 49 is not shown", "it runs if %j < b[0]", "missing: no upper bound of b[0] is known"],
        "for (int j = 0; j < b[0] && j < 50; ++j) a[j] = 1;",
    ),
    "guard on another variable": (
        "if (l < 10) a[i] = 1;", 50,
        ["gid(0) <= 49 is not shown, it may be 0..57", "it runs if lid(0) <= 9", "missing: a condition on group(0)"],
        "if (i < 50) a[i] = 1;",
    ),
    "guard that says nothing": (
        "if (i != 30) a[i] = 1;", 30,
        ["nothing follows from the condition at 2:77", "missing: a condition on gid(0)"],
        "if (i < 30) a[i] = 1;",
    ),
    "guard that is too wide": (
        "if (i < 51) a[i] = 1;", 50,
        ["it runs if gid(0) <= 50", "missing: a tighter condition on gid(0)"],
        "if (i < 50) a[i] = 1;",
    ),
    "wrap": (
        "a[(i << 26) >> 26] = 1;", 64,
        ["nothing is known about %shl: %shl at 2:76 may wrap, as 67108864*gid(0) may not fit i32"],
        "a[(i << 25) >> 25] = 1;",
    ),
    "wrap of what is loaded": (
        "a[b[i] * 8 + l] = 1;", 64,
        ["missing: nothing is known about b[gid(0)]: 2:73 takes it from b", "so that %add at 2:82 may wrap"],
        "a[(b[i] & 3) * 8 + l] = 1;",
    ),
    "product of variables": (
        "a[l * (g + 1) - l * g] = 1;", 16,
        ["missing: of %mul only the range 0..60 is known and of %mul5 only the range 0..45 is known"],
        "a[l * 3 - l * 2] = 1;",
    ),
    "float": (
        "a[(int)(0.5f * i)] = 1;", 64,
        ["missing: nothing is known about %conv6: 2:73 makes it from a float"],
        "a[i / 2] = 1;",
    ),
    "quotient": ("a[i / 7] = 1;", 9, ["gid(0) / 7 <= 8 is not shown, it may be 0..9"], "a[i / 8] = 1;"),
    "remainder": ("a[i % 12] = 1;", 11, ["gid(0) % 12 <= 10 is not shown, it may be 0..11"], "a[i % 11] = 1;"),
    "loop that goes one too far": (
        "for (int j = 0; j <= 10; ++j) a[j] = 1;", 10,
        ["%j <= 9 is not shown, it may be 0..10", "it runs if %j <= 10"],
        "for (int j = 0; j < 10; ++j) a[j] = 1;",
    ),
    "counter in steps that are loaded": (
        "for (int j = 0; j < 10; j += b[0]) a[j] = 1;", 10,
        ["0 <= %j is not shown", "missing: of %j, which changes in a loop in a way that is not followed, only the range"],
        "for (int j = 0; j < 10; j += 3) a[j] = 1;",
    ),
    "any object": (
        "__global int *p = l > 3 ? a : b; p[i] = 1;", 64,
        ["the pointer may lead to any object: "],
        "__global int *p = l > 3 ? a : a; p[i] = 1;",
    ),
    "object too small": (
        "vstore4((int4)(1), 0, a);", 3,
        ["the object is smaller than one access of 16 bytes"],
        "vstore3((int3)(1), 0, a);",
    ),
    "constant": ("a[9] = 1;", 9, ["9 is beyond 0..8; no condition leads to it"], "a[8] = 1;"),
    "bytes": (
        "((__global char *)a)[i + 193] = 1;", 64,
        ["gid(0) + 193 <= 255 is not shown, it may be 193..256"],
        "((__global char *)a)[i + 192] = 1;",
    ),
    "misfit of units": (
        "*(__global int *)((__global char *)a + i * 2) = 1;", 32,
        ["byte 2*gid(0) <= 124 is not shown, it may be 0..126 bytes"],
        "*(__global int *)((__global char *)a + i) = 1;",
    ),
    "private array": (
        "int t[8]; for (int j = 0; j < 8; ++j) t[j] = j; a[i] = t[n + l];", 64,
        ["lid(0) + 7 <= 7 is not shown, it may be 7..22"],
        "int t[8]; for (int j = 0; j < 8; ++j) t[j] = j; a[i] = t[n];",
    ),
    "row of an array": (
        "__local int t[4][4]; t[n - 7][l] = 1; a[i] = 1;", 64,
        ["lid(0) <= 3 is not shown, it may be 0..15"],
        "__local int t[4][4]; t[n - 7][l & 3] = 1; a[i] = 1;",
    ),
    "element of a vector": (
        "int4 v = (int4)(i); a[i] = v[b[i]];", 64,
        ["0 <= b[gid(0)] <= 3 is not shown"],
        "int4 v = (int4)(i); a[i] = v[b[i] & 3];",
    ),
}  # fmt: skip


def source_of(body: str) -> str:
    return f"{HEAD}{body} }}"


def unproven_of(body: str, elements: int) -> list[AccessProof]:
    return explained(source_of(body), elements).unproven


@pytest.mark.parametrize("shape", SHAPES)
def test_a_lost_proof_says_what_is_missing_and_its_twin_is_proven(shape):
    body, elements, wanted, twin = SHAPES[shape]
    (access,) = unproven_of(body, elements)
    assert "\n" not in access.reason
    assert not access.proof
    assert all(text in access.reason for text in wanted), access.reason
    assert unproven_of(twin, elements) == []


@pytest.mark.parametrize("table", [RULES, LOOPS, DOUBTFUL], ids=["rules", "loops", "doubtful"])
def test_what_is_said_is_what_is_proven(table):
    """Each access has a proof or a reason, and those with a proof are those that the launch does not check."""
    for make, elements in table.values():
        use = "X = j;" if table is LOOPS else "E"
        body = f"long E, X; {make.replace('USE', 'a[X] |= 1;')} {'' if use == 'X = j;' else 'a[E] |= 1;'}"
        source = f"#define STORE(j) a[j] |= 1;\n{source_of(body)}"
        said = explained(source, elements)
        told = [not access.reason for access in said.accesses if access.memory]
        assert told == proven(source, elements)
        assert said.failures == ()
        assert all(bool(access.proof) != bool(access.reason) and "?" not in access.index for access in said.accesses)


def test_how_an_access_is_proven():
    ways = {
        "a[i] = 1;": "0..63 of 0..63 by the ranges of its terms",
        "if (16 * g + l < 50) a[32 * g + 2 * l] = 1;": "0..98 of 0..98 by conditions on several terms",
        "if (i > 70) a[i] = 1;": "never runs: the conditions on the way to it contradict each other",
    }
    for body, proof in ways.items():
        (access,) = explained(source_of(body), 64 if "32" not in body else 99).accesses
        assert (access.proof, access.reason) == (proof, ""), body


def test_places_targets_and_indices():
    source = (
        "__constant int c[7] = {1, 2, 3, 4, 5, 6, 7};\nint pick(__constant int *t, int i) { return t[i]; }\n"
        "__kernel void k(__global int *a, __global int *b, int n, uint u) {\n"
        "  __local int t[16];\n  int i = get_global_id(0), l = get_local_id(0);\n"
        "  t[15 - l] = pick(c, i % 7);\n  barrier(CLK_LOCAL_MEM_FENCE);\n  atomic_add(a + i / 2, t[l]);\n}"
    )
    rows = [(p.place, p.access, p.target, p.index, p.line) for p in explained(source, 64).accesses]
    assert rows == [
        ("2:45, called from 6", "load", "constant c", "gid(0) % 7", 2),
        ("6:13", "store", "local t", "15 - lid(0)", 6),
        ("8:25", "load", "local t", "lid(0)", 8),
        ("8:3", "atomic_add", "a", "gid(0) / 2", 8),
    ]


SHARING = {  # what work-items share; what is not proven of it, and what the reason names; the same, proven
    "colliding writes": ("a[i / 2] = 1;", "a", "different work-items may write the same bytes", "a[2 * i] = 1;"),
    "second write": ("a[i] = 1; a[i] = 2;", "a", "may write a byte twice without a read in between", "a[i] = 1; a[i] += 2;"),
    "read of a neighbour": ("a[i] = a[63 - i];", "a", "reads other bytes than one write", "a[i] = a[i] + 1;"),
    "atomic": ("atomic_add(a + i, 1);", "a", "no plain load or store", "a[i] += 1;"),
    "local race": (
        "__local int t[16]; t[l] = i; a[i] = t[15 - l];", "local t", "2:107 and 2:95: may read what another work-item writes",
        "__local int t[16]; t[l] = i; barrier(CLK_LOCAL_MEM_FENCE); a[i] = t[15 - l];",
    ),
    "local writes that collide": (
        "__local int t[16]; t[l / 2] = i; a[i] = 1;", "local t", "different work-items may write the same bytes",
        "__local int t[16]; t[l] = i; a[i] = 1;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHARING)
def test_what_work_items_may_share_says_why(shape):
    body, target, wanted, twin = SHARING[shape]
    said = {sharing.target: sharing.reason for sharing in explained(source_of(body), 128).sharing}
    assert wanted in said[target], said
    assert {sharing.target: sharing.reason for sharing in explained(source_of(twin), 128).sharing}[target] == ""


@pytest.mark.parametrize("axis", [0, 1])
def test_coordinates_of_an_image(axis):
    source = (
        "__kernel void k(__write_only image2d_t t) {{ int x = get_global_id(0), y = get_global_id(1);\n"
        "  write_imagef(t, (int2)(x + {0}, y + {1}), (float4)(1)); }}"
    )
    for shift in (0, 1):
        moved = source.format(*(shift * (n == axis) for n in range(2)))
        function = compile_source(moved, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(4, 4, 1), args=(ImageArg("image2d", "RGBA", "FLOAT"),))
        facts = facts_of(function, spec, (8, 4, 1), (0, 0, 0), [BoundImage(0, 8, 4, 1, 128, 512, 512)])
        (access,) = explain_launch(function, spec, facts).accesses
        name, last = "xy"[axis], (7, 3)[axis]
        wanted = f"coordinate {name}: gid({axis}) + 1 <= {last} is not shown, it may be 1..{last + 1}" if shift else ""
        assert access.reason.startswith(wanted)
        assert bool(access.reason) == bool(shift)
        assert access.target == "t"


def test_ids_are_named_as_the_kernel_asks_for_them_and_count_from_the_offset():
    for ask, offset, index in (
        ("get_global_id(0)", 0, "gid(0)"),
        ("get_global_id(0)", 5, "gid(0)"),
        ("get_group_id(0)", 0, "group(0)"),
        ("get_local_id(0)", 0, "lid(0)"),
        ("get_global_id(0) - get_local_id(0)", 0, "16*group(0)"),
    ):
        source = f"__kernel void k(__global int *a) {{ a[{ask}] = 1; }}"
        function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(LOCAL, 1, 1), args=(BufferArg(),))
        facts = facts_of(function, spec, (ITEMS, 1, 1), (offset, 0, 0), [BoundBuffer(0, 1024)])
        (access,) = explain_launch(function, spec, facts).accesses
        assert (access.index, access.reason) == (index, ""), ask
