"""No proof without truth: next to every rule by which an access is proven in range stands the same access out of range.

Each rule is an index whose smallest value is 0 and whose largest is the last element of `a`: it must be proven as it is, and
found one further at either end.
"""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from direct_launch import launch_kernel
from in_range_cases import DOUBTFUL, HEAD, ITEMS, LOCAL, LOOPS, RULES
from in_range_checks import findings, proven

from adreno_sim.engine.abi.bound import BoundBuffer, BoundImage
from adreno_sim.engine.abi.launch_facts import facts_of
from adreno_sim.engine.abi.specialization import BufferArg, ImageArg, LocalArg, ScalarArg, Specialization
from adreno_sim.engine.prove.in_range import AccessAnalysis, prove_in_range
from adreno_sim.engine.run import launch
from adreno_sim.frontend.program import FrontEndTarget, compile_source

MUTANT = "a[({0}) + 1] |= 1; a[({0}) - 1] |= 1;"
"""The accesses next to one in range: reads and writes that give the same whatever the order of work-items."""


def source_of(make: str, mutant: bool) -> str:
    use = MUTANT if mutant else "a[{0}] |= 1;"
    return f"#define STORE(j) {use.format('j')}\n{HEAD} long E; {make} {use.format('E')} }}"


def loop_source(loop: str, mutant: bool) -> str:
    use = MUTANT if mutant else "a[{0}] |= 1;"
    return f"{HEAD} long X; {loop.replace('USE', use.format('X'))} }}"


@pytest.mark.share(5)
@pytest.mark.parametrize("name", RULES)
def test_an_index_in_range_is_proven_and_its_neighbours_are_found(engine, monkeypatch, name):
    make, elements = RULES[name]
    check(engine, monkeypatch, [source_of(make, mutant) for mutant in (False, True)], elements)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_in_range_is_proven_and_its_neighbours_are_found(engine, monkeypatch, name):
    loop, elements = LOOPS[name]
    check(engine, monkeypatch, [loop_source(loop, mutant) for mutant in (False, True)], elements)


def check(engine, monkeypatch, sources: list[str], elements: int) -> None:
    good, mutant = sources
    assert all(proven(good, elements)), "not proven"
    assert findings(engine, monkeypatch, good, elements, True)[0] == []
    assert not any(proven(mutant, elements))
    found = findings(engine, monkeypatch, mutant, elements, True)[0]
    assert [f.kind.label for f in found] == ["out-of-bounds-read", "out-of-bounds-write"] * 2


@pytest.mark.share(6)
@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_only_seems_in_range_is_found(engine, monkeypatch, name):
    make, elements = DOUBTFUL[name]
    source = source_of(make, False)
    found, outputs = findings(engine, monkeypatch, source, elements, True)
    exact, wanted = findings(engine, monkeypatch, source, elements, False)
    assert found == exact
    assert any("out-of-bounds" in f.kind.label for f in exact)
    for mine, other in zip(outputs, wanted, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("items", "offset", "make", "elements"),
    [
        (61, 0, "E = i;", 61),
        (61, 0, "E = 60 - i;", 61),
        (61, 5, "E = i - 5;", 61),
        (61, 5, "E = 65 - i;", 61),
        (64, 5, "E = i - 5;", 64),
        (64, 5, "E = i - get_global_offset(0);", 64),
        (64, 5, "E = l + 16 * g;", 64),
    ],
)
def test_groups_at_the_edge_and_offsets(engine, items, offset, make, elements):
    for mutant in (False, True):
        source = source_of(make, mutant)
        assert (any if mutant else all)(proven(source, elements, items, offset)) != mutant
        args = [oracle.Buffer(np.zeros(elements, np.int32)), oracle.Buffer(np.zeros(64, np.int32))]
        args += [oracle.Scalar(np.int32(7)), oracle.Scalar(np.uint32(5))]
        result = engine.run(source, "k", (items,), (LOCAL,), args, offset=(offset, 0, 0), threads=1)
        assert result.kinds() == (["out-of-bounds-read", "out-of-bounds-write"] * 2 if mutant else [])


@pytest.mark.parametrize(
    ("type", "value", "make"),
    [
        ("char", np.int8(-5), "E = i + v + 5;"),
        ("uchar", np.uint8(9), "E = i + v - 9;"),
        ("ushort", np.uint16(300), "E = i + v - 300;"),
        ("long", np.int64(-(2**40)), "E = i + v + (1L << 40);"),
        ("int2", np.array([4, -7], np.int32), "E = i + v.y + 7;"),
        ("short4", np.array([1, 2, -3, 4], np.int16), "E = i + v.z + 3;"),
        ("uint", np.uint32(2**32 - 6), "E = i + (int)v + 6;"),
    ],
)
def test_arguments_of_every_width(engine, type, value, make):
    specs = (BufferArg(), BufferArg(), ScalarArg(value.nbytes))
    for mutant in (False, True):
        source = source_of(make, mutant).replace("int n, uint u", f"{type} v")
        function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(LOCAL, 1, 1), args=specs)
        args = [BoundBuffer(0, 256), BoundBuffer(0, 256), value.tobytes()]
        known = prove_in_range(AccessAnalysis(function, spec, facts_of(function, spec, (ITEMS, 1, 1), (0, 0, 0), args))).in_range
        assert bool(known) != mutant
        given = [oracle.Buffer(np.zeros(64, np.int32)), oracle.Buffer(np.zeros(64, np.int32)), oracle.Scalar(value)]
        result = engine.run(source, "k", (ITEMS,), (LOCAL,), given, threads=1)
        assert result.kinds() == (["out-of-bounds-read", "out-of-bounds-write"] * 2 if mutant else [])


def test_only_what_never_wraps_is_called_exact():
    """Where an operation on vectors is exact in one lane, it is not said of the operation."""
    for body, exact in (
        ("b[i] = i * 3;", True),
        ("b[i] = i * 0x8000001;", False),
        ("b[i] = i + 0x7fffffc0;", True),
        ("b[i] = i + 0x7fffffc1;", False),
        ("b[i] = n - 0x7fffffff;", True),
        ("b[i] = (((int2)(i, i)) * (int2)(1, 0x8000001)).y;", False),
    ):
        function = compile_source(f"{HEAD} {body} }}", "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(LOCAL, 1, 1), args=(BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4)))
        args = [BoundBuffer(0, 256), BoundBuffer(0, 256), (7).to_bytes(4, "little"), bytes(4)]
        known = prove_in_range(AccessAnalysis(function, spec, facts_of(function, spec, (ITEMS, 1, 1), (0, 0, 0), args))).nsw
        numbered = enumerate(i for b in function.blocks for i in b.instrs)
        (number,) = [n for n, i in numbered if i.op in ("add", "sub", "mul")]
        assert (number in known) == exact, body


KINDS = {  # other ways to touch memory: source of E, how it is used; elements of a
    "vload": ("b[i] = vload4(E, a).w;", "E = i;", 256),
    "vstore": ("vstore3((int3)(i), E, a);", "E = i;", 192),
    "vector": ("((__global int4 *)a)[E] = (int4)(i);", "E = i;", 256),
    "bytes": ("((__global char *)a)[E] = i;", "E = i * 4 + l % 4;", 64),
    "vload_half": ("b[i] = vload_half2(E, (__global half *)a).y;", "E = i;", 64),
    "atomic": ("atomic_add(a + E, 1);", "E = i;", 64),
    "pointer that moves": ("__global int *p = a + E; p += 3; p[-3] = 1;", "E = i;", 64),
    "local memory": ("__local int t[16]; t[E] = i; barrier(CLK_LOCAL_MEM_FENCE); b[i] = t[E];", "E = l;", 0),
    "private memory": ("int t[8]; for (int j = 0; j < 8; ++j) t[j] = j; t[E] = i; b[i] = t[7 - E];", "E = l & 7;", 0),
    "constant memory": ("b[i] = table[E];", "E = i & 3;", 0),
    "constant places": ("b[i] = (table + 3)[E] + (table + 0)[E];", "E = 0;", 0),
    "structure": ("struct { int x[4]; } s = {{1, 2, 3, i}}; b[i] = s.x[E];", "E = i & 3;", 0),
}  # fmt: skip


@pytest.mark.share()
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_access(engine, monkeypatch, name):
    use, make, elements = KINDS[name]
    sources = [f"__constant int table[4] = {{1, 2, 3, 4}};\n{HEAD} int E; {make} E += {shift}; {use} }}" for shift in (0, 1, -1)]
    assert all(proven(sources[0], elements))
    assert findings(engine, monkeypatch, sources[0], max(elements, 1), True)[0] == []
    for source in sources[1:]:
        assert not all(proven(source, elements))
        found, _ = findings(engine, monkeypatch, source, max(elements, 1), True)
        assert found
        assert found == findings(engine, monkeypatch, source, max(elements, 1), False)[0]


def image_kernel(x: str, y: str, z: str, write: bool) -> str:
    access = (
        f"write_imagef(t, (int4)({x}, {y}, {z}, 0), (float4)(1))"
        if write
        else f"v += read_imagef(t, s, (int4)({x}, {y}, {z}, 0))"
    )
    kind = "__write_only" if write else "__read_only"
    return (
        "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
        f"__kernel void k({kind} image2d_array_t t, __global float4 *out) {{ int x = get_global_id(0), y = get_global_id(1);\n"
        f"  float4 v = (float4)(0); for (int z = 0; z < 3; ++z) {access}; out[y * 8 + x] = v; }}"
    )


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_image_coordinates(engine, axis, write):
    extents = (8, 4, 3)
    for shift in (0, 1, -1):
        where = [f"{name} + {shift if axis == n else 0}" for n, name in enumerate("xyz")]
        source = image_kernel(*where, write)
        function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(4, 4, 1), args=(ImageArg("image2d_array", "RGBA", "FLOAT"), BufferArg()))
        args = [BoundImage(0, *extents, 128, 512, 1536), BoundBuffer(0, 512)]
        known = prove_in_range(AccessAnalysis(function, spec, facts_of(function, spec, (8, 4, 1), (0, 0, 0), args))).in_range
        assert len(known) == (2 if shift == 0 else 1)
        image = oracle.Image(np.zeros((3, 4, 8, 4), np.float32), "image2d_array", "RGBA", "FLOAT")
        result = engine.run(source, "k", (8, 4), (4, 4), [image, oracle.Buffer(np.zeros((32, 4), np.float32))])
        wanted = "image-write-out-of-range" if write else "clamped-read"
        silent = shift == 0 or (axis == 2 and not write)  # with a sampler the layer is clamped without a word
        assert result.kinds() == ([] if silent else [wanted])


def launched(sizes: tuple[int, int], n: int = 7, items: int = ITEMS, local: int | None = None, same: bool = False) -> list[str]:
    """Kinds of findings of one kernel, launched again and again with other arguments."""
    owner, address = launch.zeroed_aligned(4096)
    second = address if same else address + 2048
    args = [BoundBuffer(address, sizes[0]), BoundBuffer(second, sizes[1]), n.to_bytes(4, "little", signed=True), bytes(4)]
    kernel = CHANGING.kernels["k" if local is None else "with_local"]
    specs: tuple[object, ...] = (BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4))
    if local is not None:
        args, specs = [args[0], None], (BufferArg(), LocalArg(local))  # type: ignore[list-item]
    spec = Specialization(local_size=(LOCAL, 1, 1), args=specs, uniform=items % LOCAL == 0)  # type: ignore[arg-type]
    result = launch_kernel(kernel, spec, (items, 1, 1), (0, 0, 0), args, threads=1)
    assert owner is not None
    return sorted(f.kind.label for f in result.findings)


CHANGING = compile_source(
    HEAD + "a[i + n - 7] = b[i]; }\n"
    "__kernel void with_local(__global int *a, __local int *t) { int l = get_local_id(0); t[l] = 1; a[get_global_id(0)] = t[l];}",
    "-cl-std=CL2.0",
    target=FrontEndTarget(),
)  # fmt: skip


def test_what_is_proven_of_one_launch_is_not_believed_of_another():
    assert launched((256, 256)) == []
    assert launched((252, 256)) == ["out-of-bounds-write"]  # a smaller view of the same storage
    assert launched((256, 252)) == ["out-of-bounds-read"]
    assert launched((256, 252), same=True) == ["out-of-bounds-read"]
    assert launched((256, 256), n=8) == ["out-of-bounds-write"]
    assert launched((256, 256), n=6) == ["out-of-bounds-write"]
    assert launched((256, 256), n=-(2**31)) == ["out-of-bounds-write"]
    assert launched((256, 256), items=80) == ["out-of-bounds-read", "out-of-bounds-write"]
    assert launched((256, 256), items=65) == ["out-of-bounds-read", "out-of-bounds-write"]
    assert launched((252, 252), items=63) == []
    assert launched((256, 256)) == []
    assert launched((256, 0), local=64) == []
    assert launched((256, 0), local=60) == ["out-of-bounds-read", "out-of-bounds-write"]
