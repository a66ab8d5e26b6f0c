"""Every function that clang declares for an extension, on a device that lists it: it is built, runs, and NumPy judges it.

An extension that a profile lists without a row here fails a test: it has functions, or it says that it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.profiles import builtin, profile

ROOT = Path(__file__).parents[3]
GROUP, GROUPS = 160, 2
ITEMS = GROUP * GROUPS

NO_FUNCTIONS = frozenset(
    """
cl_ext_image_from_buffer cl_ext_image_requirements_info cl_img_egl_image cl_khr_byte_addressable_store cl_khr_create_command_queue
cl_khr_egl_event cl_khr_egl_image cl_khr_expect_assume cl_khr_extended_versioning cl_khr_external_memory
cl_khr_external_memory_dma_buf cl_khr_external_memory_opaque_fd cl_khr_external_semaphore cl_khr_external_semaphore_sync_fd
cl_khr_gl_sharing cl_khr_icd cl_khr_il_program cl_khr_image2d_from_buffer cl_khr_spirv_no_integer_wrap_decoration
cl_khr_srgb_image_writes cl_khr_suggested_local_work_size cles_khr_int64
""".split()  # noqa: SIM905
)
"""Extensions of the API, or of the language without a function."""
ELSEWHERE = {
    "cl_khr_fp16": "tests/kernels/language/test_builtins_everywhere.py",
    "cl_khr_fp64": "tests/unit/frontend/test_frontend_library.py",
    "cl_khr_3d_image_writes": "tests/kernels/test_sim_images.py",
}
"""Extensions whose functions other files judge."""
DEPTH, MIPMAPS = "cl_khr_depth_images", "cl_khr_mipmap_image"
"""Images of depths are refused by name (docs/fidelity.md); images have one level, which every level of detail reads."""

UNSIGNED = {"uchar": np.uint8, "ushort": np.uint16, "uint": np.uint32, "ulong": np.uint64}
SIGNED = {"char": np.int8, "short": np.int16, "int": np.int32, "long": np.int64}
TYPES = {**UNSIGNED, **SIGNED}

Row = tuple[str, type, Callable[["Lanes"], np.ndarray]]


class Lanes:
    """What the work-items of the launch have: two random words each, and their places in sub-groups of `wave`."""

    def __init__(self, wave: int):
        rng = np.random.default_rng(11)
        self.a, self.b = (rng.integers(0, 1 << 64, ITEMS, dtype=np.uint64) for _ in range(2))
        self.wave, local = wave, np.arange(ITEMS) % GROUP
        self.lane, self.number = local % wave, local // wave
        self.size = np.minimum(wave, GROUP - self.number * wave)
        self.waves = [
            np.flatnonzero((np.arange(ITEMS) // GROUP == g) & (self.number == n)) for g in range(GROUPS) for n in set(self.number)
        ]

    def each_wave(self, compute: Callable[[np.ndarray], np.ndarray | int], of: np.ndarray) -> np.ndarray:
        """`compute` of the values of each sub-group, in the order of its work-items."""
        out = np.zeros_like(of)
        for items in self.waves:
            out[items] = compute(of[items])
        return out

    def bits(self, of: np.ndarray) -> list[int]:
        """A ballot of `of` for each work-item, as one number."""
        votes = {}
        for items in self.waves:
            word = sum(1 << lane for lane, item in enumerate(items) if of[item])
            votes.update(dict.fromkeys(items.tolist(), word))
        return [votes[item] for item in range(ITEMS)]


def extended_bit_ops() -> Iterator[Row]:
    for name, dtype in TYPES.items():
        bits = np.dtype(dtype).itemsize * 8
        unsigned, signed = np.dtype(f"u{bits // 8}"), np.dtype(f"i{bits // 8}")

        def reverse(of: Lanes, bits: int = bits, unsigned: np.dtype = unsigned) -> np.ndarray:
            return np.array([int(f"{int(x):0{bits}b}"[::-1], 2) for x in of.a.astype(unsigned)], unsigned)

        yield f"bit_reverse(({name})a)", dtype, reverse
        yield f"bit_reverse(({name}2)(0, ({name})a)).y", dtype, reverse
        for offset, count in ((0, bits), (3, 4), (bits - 1, 1), (2, 0)):
            mask = ((1 << count) - 1) << offset
            yield (
                f"bitfield_insert(({name})a, ({name})b, {offset}u, {count}u)", dtype,
                lambda of, m=mask, o=offset, u=unsigned: np.array(
                    [(int(x) & ~m) | ((int(y) << o) & m) for x, y in zip(of.a.astype(u), of.b.astype(u), strict=True)], u
                ),
            )  # fmt: skip
            field = lambda of, o=offset, c=count, u=unsigned: [(int(x) >> o) & ((1 << c) - 1) for x in of.a.astype(u)]  # noqa: E731
            yield (
                f"bitfield_extract_unsigned(({name})a, {offset}u, {count}u)",
                unsigned.type,
                lambda of, f=field, u=unsigned: np.array(f(of), u),
            )
            yield (
                f"bitfield_extract_signed(({name}4)(0, 0, 0, ({name})a), {offset}u, {count}u).w", signed.type,
                lambda of, f=field, c=count, s=signed: np.array([x - (x >> (c - 1) << c) if c else 0 for x in f(of)], s),
            )  # fmt: skip


def integer_dot_product() -> Iterator[Row]:
    letter = {"u": (np.uint8, "uchar4"), "s": (np.int8, "char4")}

    def total(of: Lanes, first: type, second: type) -> np.ndarray:
        x, y = (
            word.astype(np.uint32).view(kind).reshape(-1, 4).astype(np.int64) for word, kind in ((of.a, first), (of.b, second))
        )
        return (x * y).sum(axis=1)

    for form in ("uu", "ss", "us", "su"):
        (first, x), (second, y) = letter[form[0]], letter[form[1]]
        result, name = (np.uint32, "uint") if form == "uu" else (np.int32, "int")
        operands, limits = f"as_{x}((uint)a), as_{y}((uint)b)", np.iinfo(result)
        plain = lambda of, f=first, s=second: total(of, f, s)  # noqa: E731
        added = lambda of, p=plain, r=result, n=limits: np.clip(p(of) + (of.a >> 32).astype(np.uint32).view(r), n.min, n.max)  # noqa: E731
        acc = f"as_{name}((uint)(a >> 32))"
        yield f"dot({operands})", result, plain
        yield f"dot_acc_sat({operands}, {acc})", result, added
        yield f"dot_4x8packed_{form}_{name}((uint)a, (uint)b)", result, plain
        yield f"dot_acc_sat_4x8packed_{form}_{name}((uint)a, (uint)b, {acc})", result, added


def subgroups() -> Iterator[Row]:
    yield "get_sub_group_size()", np.uint32, lambda of: of.size
    yield "get_max_sub_group_size()", np.uint32, lambda of: np.full(ITEMS, of.wave)
    yield "get_num_sub_groups()", np.uint32, lambda of: np.full(ITEMS, -(-GROUP // of.wave))
    yield "get_enqueued_num_sub_groups()", np.uint32, lambda of: np.full(ITEMS, -(-GROUP // of.wave))
    yield "get_sub_group_id()", np.uint32, lambda of: of.number
    yield "get_sub_group_local_id()", np.uint32, lambda of: of.lane
    yield "(sub_group_barrier(CLK_LOCAL_MEM_FENCE), 1)", np.int32, lambda of: np.ones(ITEMS, np.int32)
    yield "sub_group_all((int)(a % 64 != 5))", np.int32, lambda of: of.each_wave(lambda v: (v % 64 != 5).all(), of.a)
    yield "sub_group_any((int)(a % 64 == 5))", np.int32, lambda of: of.each_wave(lambda v: (v % 64 == 5).any(), of.a)
    for name in ("int", "uint", "long", "ulong"):
        dtype = TYPES[name]
        yield f"sub_group_broadcast(({name})a, 3u)", dtype, lambda of, d=dtype: of.each_wave(lambda v: v[3], of.a.astype(d))
        yield from folds(name, dtype)


def folds(name: str, dtype: type) -> Iterator[Row]:
    limits = np.iinfo(dtype)
    for what, function, identity in (("add", np.add, 0), ("min", np.minimum, limits.max), ("max", np.maximum, limits.min)):
        scan = lambda v, f=function: f.accumulate(v, dtype=v.dtype)  # noqa: E731
        before = lambda v, s=scan, i=identity: np.concatenate(([np.array(i, v.dtype)], s(v)[:-1]))  # noqa: E731
        for how, compute in (("reduce", lambda v, s=scan: s(v)[-1]), ("scan_inclusive", scan), ("scan_exclusive", before)):
            yield f"sub_group_{how}_{what}(({name})a)", dtype, lambda of, c=compute, d=dtype: of.each_wave(c, of.a.astype(d))


def subgroup_extended_types() -> Iterator[Row]:
    for name in ("char", "uchar", "short", "ushort"):
        dtype = TYPES[name]
        yield f"sub_group_broadcast(({name})a, 3u)", dtype, lambda of, d=dtype: of.each_wave(lambda v: v[3], of.a.astype(d))
        yield from folds(name, dtype)
    for name, dtype in TYPES.items():
        for width in (2, 3, 4, 8, 16):
            vector = f"sub_group_broadcast((({name}{width})(({name})a)), 1u).s1"
            yield vector, dtype, lambda of, d=dtype: of.each_wave(lambda v: v[1], of.a.astype(d))


def subgroup_ballot() -> Iterator[Row]:
    for name, dtype in TYPES.items():
        yield (
            f"sub_group_non_uniform_broadcast(({name})a, 5u)",
            dtype,
            lambda of, d=dtype: of.each_wave(lambda v: v[5], of.a.astype(d)),
        )
        yield f"sub_group_broadcast_first(({name})a)", dtype, lambda of, d=dtype: of.each_wave(lambda v: v[0], of.a.astype(d))
    yield "sub_group_non_uniform_broadcast((float4)((float)(uint)a), 5u).w == (float)(uint)sub_group_non_uniform_broadcast(a, 5u)", np.int32, lambda of: np.ones(ITEMS, np.int32)  # fmt: skip  # noqa: E501
    odd = "sub_group_ballot((int)(a & 1))"
    every = "(uint4)((uint)a, (uint)b, (uint)(a >> 32), (uint)(b >> 32))"

    def word(of: Lanes) -> list[int]:
        parts = (of.a & np.uint64(0xFFFFFFFF), of.b & np.uint64(0xFFFFFFFF), of.a >> np.uint64(32), of.b >> np.uint64(32))
        return [
            sum(int(part) << 32 * at for at, part in enumerate(row)) & ((1 << of.wave) - 1) for row in zip(*parts, strict=True)
        ]

    ordered = {
        "eq": lambda x, y: x == y,
        "ge": lambda x, y: x >= y,
        "gt": lambda x, y: x > y,
        "le": lambda x, y: x <= y,
        "lt": lambda x, y: x < y,
    }
    for part in range(4):
        pick = lambda words, p=part: np.array([w >> 32 * p & 0xFFFFFFFF for w in words], np.uint32)  # noqa: E731
        yield f"{odd}.s{part}", np.uint32, lambda of, p=pick: p(of.bits(of.a & np.uint64(1)))
        for name, compare in ordered.items():
            yield (
                f"get_sub_group_{name}_mask().s{part}", np.uint32,
                lambda of, p=pick, c=compare: p([sum(1 << at for at in range(of.wave) if c(at, own)) for own in of.lane]),
            )  # fmt: skip
    flags = lambda of, f: np.array([f(w, int(own)) for w, own in zip(word(of), of.lane, strict=True)])  # noqa: E731
    yield f"sub_group_inverse_ballot({every})", np.int32, lambda of: flags(of, lambda w, own: w >> own & 1)
    yield f"sub_group_ballot_bit_extract({every}, 9u)", np.int32, lambda of: flags(of, lambda w, own: w >> 9 & 1)
    yield f"sub_group_ballot_bit_count({every})", np.uint32, lambda of: flags(of, lambda w, own: w.bit_count())
    yield (
        f"sub_group_ballot_inclusive_scan({every})",
        np.uint32,
        lambda of: flags(of, lambda w, own: (w & ((2 << own) - 1)).bit_count()),
    )
    yield (
        f"sub_group_ballot_exclusive_scan({every})",
        np.uint32,
        lambda of: flags(of, lambda w, own: (w & ((1 << own) - 1)).bit_count()),
    )
    yield f"sub_group_ballot_find_lsb({every})", np.uint32, lambda of: flags(of, lambda w, own: (w & -w).bit_length() - 1)
    yield f"sub_group_ballot_find_msb({every})", np.uint32, lambda of: flags(of, lambda w, own: w.bit_length() - 1)


def subgroup_shuffle() -> Iterator[Row]:
    for name, dtype in TYPES.items():
        yield f"sub_group_shuffle(({name})a, 7u)", dtype, lambda of, d=dtype: of.each_wave(lambda v: v[7], of.a.astype(d))
        yield (
            f"sub_group_shuffle_xor(({name})a, 1u)",
            dtype,
            lambda of, d=dtype: of.each_wave(lambda v: v[np.arange(len(v)) ^ 1], of.a.astype(d)),
        )


def atomics(space: str, which: str, name: str, dtype: type) -> Iterator[Row]:
    """Each work-item has a word of its own: the old value, then the new one."""
    new = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "xchg": lambda x, y: y, "inc": lambda x, y: x + dtype(1),
        "dec": lambda x, y: x - dtype(1), "cmpxchg": lambda x, y: y, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    for what in ("add sub xchg inc dec cmpxchg" if which == "base" else "min max and or xor").split():
        operand = {"inc": "", "dec": "", "cmpxchg": f", ({name})a, ({name})b"}.get(what, f", ({name})b")
        place = f"(volatile __{space} {name}*)&{'word' if space == 'global' else 'room'}[{'i' if space == 'global' else 'l'}]"
        call = f"atom_{what}({place}{operand})"
        yield f"(*({place}) = ({name})a, {call})", dtype, lambda of: of.a.astype(dtype)
        yield (
            f"(*({place}) = ({name})a, {call}, *({place}))",
            dtype,
            lambda of, f=new[what]: f(of.a.astype(dtype), of.b.astype(dtype)),
        )


FUNCTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "cl_khr_extended_bit_ops": extended_bit_ops,
    "cl_khr_integer_dot_product": integer_dot_product,
    "cl_khr_subgroups": subgroups,
    "cl_khr_subgroup_extended_types": subgroup_extended_types,
    "cl_khr_subgroup_ballot": subgroup_ballot,
    "cl_khr_subgroup_shuffle": subgroup_shuffle,
    **{
        f"cl_khr_{space}_int32_{which}_atomics": lambda s=space, w=which: (
            row for name, dtype in (("int", np.int32), ("uint", np.uint32)) for row in atomics(s, w, name, dtype)
        )
        for space in ("global", "local")
        for which in ("base", "extended")
    },
    **{
        f"cl_khr_int64_{which}_atomics": lambda w=which: (
            row
            for space in ("global", "local")
            for name, dtype in (("long", np.int64), ("ulong", np.uint64))
            for row in atomics(space, w, name, dtype)
        )
        for which in ("base", "extended")
    },
}


def listing() -> dict[str, str]:
    """Extensions of every profile under every driver, each with a profile that has it: a chip under its own driver first."""
    found: dict[str, str] = {}
    for name in profile.names():
        for driver in builtin.drivers_of(name):
            made = profile.load(f"{name},driver={driver}")
            for extension in sorted(made.extensions | made.compiler_extensions):
                found.setdefault(extension, made.name)
    return found


LISTED = listing()


def test_every_extension_of_a_profile_is_known_here() -> None:
    ours = {name for name in LISTED if not name.startswith("cl_qcom_")}  # clang declares nothing of Qualcomm's
    assert ours == {*FUNCTIONS, *NO_FUNCTIONS, *ELSEWHERE, DEPTH, MIPMAPS}
    assert all((ROOT / path).is_file() for path in ELSEWHERE.values())


@pytest.mark.share(7)
@pytest.mark.parametrize("extension", FUNCTIONS)
def test_every_function_of_an_extension_is_as_numpy_has_it(extension: str) -> None:
    device = adreno_sim.open_device(f"sim:{LISTED[extension]}")
    rows = list(FUNCTIONS[extension]())
    head = f"#ifndef {extension}\n#error not defined\n#endif\n#pragma OPENCL EXTENSION {extension} : enable\n"
    lines = [f"{{ ulong a = x, b = y; o[{at}ul * n + i] = (ulong)({text}); }}" for at, (text, _, _) in enumerate(rows)]
    source = f"""{head}__kernel void k(__global ulong *o, __global const ulong *p, __global const ulong *q, __global ulong *word,
        __local ulong *room) {{
      ulong i = get_global_id(0), n = get_global_size(0); uint l = get_local_id(0); ulong x = p[i], y = q[i];
      {chr(10).join(lines)} }}"""
    kernel = device.build(source, f"-cl-std=CL{device.info.profile['opencl']}")["k"]
    lanes = Lanes(kernel.sub_group_size)
    arrays = [np.zeros(len(rows) * ITEMS, np.uint64), lanes.a, lanes.b, np.zeros(ITEMS, np.uint64)]
    views = []
    for array in arrays:
        views.append(device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, "uint64")))
        device.write(views[-1], array)
    done = device.launch(kernel, (ITEMS,), (GROUP,), [*views, adreno_sim.device.Local(8 * GROUP)])
    assert not [finding for finding in done.findings if finding.severity == "error"]
    got = np.asarray(device.read(views[0])).reshape(len(rows), ITEMS)
    for (text, dtype, expected), found in zip(rows, got, strict=True):
        wide = (
            expected(lanes)
            .astype(dtype)
            .astype(np.int64 if np.issubdtype(dtype, np.signedinteger) else np.uint64)
            .view(np.uint64)
        )
        np.testing.assert_array_equal(found, wide, text)


def test_images_of_depths_are_refused_by_name() -> None:
    device = adreno_sim.open_device(f"sim:{LISTED[DEPTH]}")
    source = "__kernel void k(__global float *o, read_only image2d_depth_t m) { o[0] = read_imagef(m, (int2)(0, 0)); }"
    with pytest.raises(UnsupportedError, match="depth"):
        device.launch(device.build(source, "-cl-std=CL2.0")["k"], (1,), (1,), [])


def test_a_level_of_detail_reads_the_one_level() -> None:
    device = adreno_sim.open_device(f"sim:{LISTED[MIPMAPS]}")
    source = """__kernel void k(__global float4 *o, read_only image2d_t m, sampler_t s) {
      int i = get_global_id(0); float2 at = ((float2)(i % 4, i / 4) + 0.5f) / 4;
      o[2 * i] = read_imagef(m, s, at, 2.0f); o[2 * i + 1] = read_imagef(m, s, at, (float2)(0.1f), (float2)(0.2f)); }"""
    out = device.view(device.allocate(16 * 32), BufferSpec(16 * 32, "float32"))
    image = device.view(device.allocate(4096), ImageSpec("image2d", 4, 4, channel_type="FLOAT"))
    texels = np.random.default_rng(3).random((4, 4, 4), np.float32)
    device.write(image, texels)
    sampler = adreno_sim.device.Sampler(normalized=True)
    device.launch(device.build(source, "-cl-std=CL2.0")["k"], (16,), (16,), [out, image, sampler])
    got = np.asarray(device.read(out)).reshape(16, 2, 4)
    np.testing.assert_array_equal(got[:, 0], texels.reshape(16, 4))
    np.testing.assert_array_equal(got[:, 1], texels.reshape(16, 4))
    asks = "__kernel void k(__global int *o, read_only image2d_t m) { o[0] = get_image_num_mip_levels(m); }"
    with pytest.raises(UnsupportedError, match="get_image_num_mip_levels"):
        device.launch(device.build(asks, "-cl-std=CL2.0")["k"], (1,), (1,), [out, image])
