"""Data that a program writes down: every byte, float and aggregate of it, in each kind of memory, as real drivers have it."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pytest

from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir, layout

ALL = ", ".join(map(str, range(256)))
ESCAPED = "".join(f"\\x{byte:02x}" for byte in range(256))
SOURCES = {
    "constant array": ("constant uchar t[256] = {ALL};", "", "t"),
    "constant string": ('constant char t[257] = "ESCAPED";', "", "t"),
    "constant vectors": ("constant uchar16 v[16] = {VECTORS};", "", "((constant uchar *)v)"),
    "constant struct": ("constant struct { uchar a; uchar b[255]; } s = {0, {TAIL}};", "", "((constant uchar *)&s)"),
    "static constant": ("", "static constant uchar t[256] = {ALL};", "t"),
    "private array": ("", "uchar t[256] = {ALL};", "t"),
    "private string": ("", 'char t[257] = "ESCAPED";', "t"),
    "private struct": ("", "struct { uchar a; uchar b[255]; } s = {0, {TAIL}};", "((uchar *)&s)"),
    "local array": ("", "local uchar t[256]; uchar own[256] = {ALL}; for (int j = l; j < 256; j += 16) t[j] = own[j]; "
                    "barrier(CLK_LOCAL_MEM_FENCE);", "t"),
    "quoted string": ("", "", '"ESCAPED"'),
}  # fmt: skip


def fill(text: str) -> str:
    vectors = ", ".join(f"(uchar16)({', '.join(map(str, range(start, start + 16)))})" for start in range(0, 256, 16))
    tail = ", ".join(map(str, range(1, 256)))
    for word, value in (("ALL", f"{ALL}"), ("ESCAPED", ESCAPED), ("VECTORS", vectors), ("TAIL", tail)):
        text = text.replace(word, value)
    return text


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("where", SOURCES)
def test_every_byte(engine, judge, where, checks):
    data, local, name = map(fill, SOURCES[where])
    source = f"""{data}
    kernel void k(global uchar *o) {{ int i = get_global_id(0), l = get_local_id(0); {local} o[i] = {name}[i]; }}"""
    args = [oracle.Buffer(np.zeros(256, np.uint8))]
    result = engine.run(source, "k", [256], [16], args, checks=checks)
    assert result.findings == []
    np.testing.assert_array_equal(result.outputs[0], np.arange(256))
    (theirs,) = judge.run(source, "-cl-std=CL2.0", "k", [256], [16], args)
    np.testing.assert_array_equal(result.outputs[0], theirs)


FLOATS = ["0.0f", "-0.0f", "1.0f", "-2.5f", "0.1f", "3.4028234e38f", "1.1754944e-38f", "16777217.0f", "0x1.8p-3f", "1.0f/0.0f"]
DOUBLES = ["0.0", "-0.0", "0.1", "1e300", "2.2250738585072014e-308", "4.9e-324", "9007199254740993.0", "1.0/0.0", "-1.0/0.0"]
SUBNORMAL = ["1e-45f", "1.1754942e-38f", "-5e-40f"]


@pytest.mark.parametrize(("kind", "values"), [("float", FLOATS), ("double", DOUBLES), ("float", SUBNORMAL)])
def test_floats_are_the_bits_that_drivers_have(engine, judge, kind, values):
    word = {"float": "uint", "double": "ulong"}[kind]
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp64 : enable
    constant {kind} t[] = {{{", ".join(values)}}};
    kernel void k(global {word} *o) {{ int i = get_global_id(0); {kind} own[] = {{{", ".join(values)}}};
      o[2 * i] = ((constant {word} *)t)[i]; o[2 * i + 1] = ((private {word} *)own)[i]; }}"""
    args = [oracle.Buffer(np.zeros(2 * len(values), {"uint": np.uint32, "ulong": np.uint64}[word]))]
    (ours,) = engine.run(source, "k", [len(values)], [1], args).outputs
    (theirs,) = judge.run(source, "-cl-std=CL2.0", "k", [len(values)], [1], args)
    np.testing.assert_array_equal(ours, theirs)


# Aggregates that are drawn

SIZES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8, "float": 4, "double": 8}
BYTES = (92, 34, 0, 255, 10, 39)
NUMBERS = ("0.0", "-0.0", "1.0", "-2.5", "1e30", "0.1", "-92.0")


class Aggregate:
    """A type that is drawn, as OpenCL C, with a value."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.types: list[str] = []
        self.name, self.value = self.draw(3)

    def draw(self, depth: int) -> tuple[str, str]:
        """A type name and an initialiser."""
        kind = self.rng.choice(["scalar", "vector", "struct", "struct"] if depth else ["scalar", "vector"])
        if kind == "struct" or depth == 3:
            return self.draw_struct(depth)
        scalar = self.rng.choice(sorted(SIZES))
        if kind == "scalar":
            return scalar, self.number(scalar)
        count = self.rng.choice([2, 3, 4, 8, 16])
        return f"{scalar}{count}", f"({scalar}{count})({', '.join(self.number(scalar) for _ in range(count))})"

    def draw_struct(self, depth: int) -> tuple[str, str]:
        fields, values = [], []
        for number in range(self.rng.randint(1, 4)):
            type, value = self.draw(depth - 1)
            count = self.rng.choice([0, 0, 1, 2, 3])
            fields.append(f"{type} m{number}{f'[{count}]' if count else ''};")
            given = self.rng.randint(1, count) if count else 0
            values.append(f"{{{', '.join([value] * given)}}}" if count else value)
        packed = "__attribute__((packed)) " if self.rng.random() < 0.3 else ""
        name = f"S{len(self.types)}"
        self.types.append(f"typedef struct {packed}{{ {' '.join(fields)} }} {name};")
        return name, f"{{{', '.join(values[: self.rng.randint(1, len(values))])}}}"

    def number(self, scalar: str) -> str:
        if scalar in ("float", "double"):
            return self.rng.choice(NUMBERS) + ("f" if scalar == "float" else "")
        return f"({scalar}){int.from_bytes(bytes(self.rng.choices(BYTES, k=SIZES[scalar])), 'little'):#x}"


def find_filled(type: ir.Type) -> list[int]:
    """The offsets of the bytes of a type that are no padding."""
    if isinstance(type, (ir.Array, ir.Vector, ir.Struct)):
        count = len(type.fields) if isinstance(type, ir.Struct) else type.count
        parts = [layout.step(type, index) for index in range(count)]
        return [start + at for part, start in parts for at in find_filled(part)]
    return list(range(layout.size_of(type)))


@pytest.mark.parametrize("seed", range(12))
def test_aggregates_are_the_bytes_that_drivers_have(engine, judge, seed):
    drawn = Aggregate(seed)
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp64 : enable
    {" ".join(drawn.types)}
    constant {drawn.name} data = {drawn.value};
    kernel void k(global uchar *o, global uchar *p, global uint *size) {{
      int i = get_global_id(0); {drawn.name} own = {drawn.value}; size[0] = sizeof(data);
      o[i] = ((constant uchar *)&data)[i]; p[i] = ((private uchar *)&own)[i]; }}"""
    type = compile_source(source, "-cl-std=CL2.0", target=FrontEndTarget(fp64=True)).globals["data"].type
    size, filled = layout.size_of(type), find_filled(type)
    args = [
        oracle.Buffer(np.zeros(size, np.uint8)),
        oracle.Buffer(np.zeros(size, np.uint8)),
        oracle.Buffer(np.zeros(1, np.uint32)),
    ]
    ours = engine.run(source, "k", [size], [1], args).outputs
    theirs = judge.run(source, "-cl-std=CL2.0", "k", [size], [1], args)
    assert ours[2] == theirs[2] == size
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        np.testing.assert_array_equal(one[filled], other[filled])


def test_printed_text(engine):
    source = r"""kernel void k(global int *o) { o[0] = printf("\\%d\"\\\n\x5c%s|", 92, "\\\"\x5c"); }"""
    assert engine.run(source, "k", [1], [1], [oracle.Buffer(np.zeros(1, np.int32))]).printed == '\\92"\\\n\\\\"\\|'
