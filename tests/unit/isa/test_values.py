"""The translation is right: programs of NIR, run by an interpreter, leave what the engine leaves."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nir_interpreter
import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, Local
from adreno_sim.device.protocol import Device
from adreno_sim.findings import Severity
from adreno_sim.ir import ir, layout
from adreno_sim.isa.translate.kernel import translate_kernel

FEATURES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "features").rglob("*.cl"))}
WITH_IMAGES = ("image", "sampler", "image-of-buffer")
BYTES, SPACE = 1 << 15, 1 << 16
"""Of a buffer, and from one buffer to the next in the interpreter's memory."""
LOCAL = 1024
GROUPS = (2, 1, 1)

INTEGER_FUNCTIONS = {
    1: "abs clz ctz popcount", 2: "min max abs_diff mul_hi add_sat sub_sat hadd rhadd rotate",
    3: "clamp mad_hi mad_sat bitselect select",
}  # fmt: skip
REAL_FUNCTIONS = {
    1: "fabs floor ceil trunc rint round sqrt sign isnan isinf isfinite isnormal signbit native_sqrt native_recip native_exp2",
    2: "fmin fmax min max copysign step isless isequal isgreaterequal islessgreater isunordered fdim",
    3: "clamp fma mad mix smoothstep bitselect",
}


def kernel_of_functions(type: str, functions: dict[int, str]) -> str:
    """A kernel that applies each function to elements of three arrays."""
    if "long" in type:
        functions = {count: names.replace(" mad_sat", "") for count, names in functions.items()}
    lines, at = [], 0
    for count, names in functions.items():
        for name in names.split():
            given = ", ".join(("a[i]", "b[i]", "c[i]")[:count]) if name != "clamp" else "a[i], min(b[i], c[i]), max(b[i], c[i])"
            if name == "select":
                given = f"a[i], b[i], as_{type if type[0] == 'u' or 'float' not in type else 'int'}(c[i])"
            lines.append(f"  y[i + {at} * n] = {name}({given});")
            at += 1
    result = "global float *y" if type == "float" else f"global {type} *y"
    return (
        f"kernel void k(global {type} *a, global {type} *b, global {type} *c, {result}) {{\n  int i = get_global_id(0), n = \
get_global_size(0);\n"
        + "\n".join(lines)
        + "\n}"
    )


CASES = {name: text for name, text in FEATURES.items() if name not in WITH_IMAGES}
CASES |= {
    f"functions-of-{type}": kernel_of_functions(type, INTEGER_FUNCTIONS)
    for type in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
}
CASES["functions-of-float"] = kernel_of_functions("float", REAL_FUNCTIONS)
CASES["24-bits"] = (
    kernel_of_functions("int", {2: "mul24", 3: "mad24"}).replace("a[i]", "(a[i] >> 9)").replace("b[i]", "(b[i] >> 9)")
)
CASES["operators"] = """kernel void k(global int *a, global uint *b, global long *c, global float *f) {
  int i = get_global_id(0), j = i + 2 * get_global_size(0);
  a[j] = (a[i] << (b[i] & 31)) ^ (a[i] >> 3) | ~(int)b[i] & a[i + 1] - a[i] * 7;
  b[j] = b[i] / (b[i + 1] | 1) + b[i] % 13 + (b[i] >> 5) + (f[i] > f[i + 1]) + !b[i];
  c[j] = c[i] * c[i + 1] + (c[i] >> 7) - a[i] + (c[i] > c[i + 1] ? b[i] : -a[i]);
  f[j] = f[i] * f[i + 1] - f[i + 2] / f[i + 3] + (float)a[i] + (float)b[i] + (int)f[i + 4];
}"""
CASES["conversions-of-all"] = """kernel void k(global float *f, global int *n, global char *c, global long *l, global half *h) {
  int i = get_global_id(0), j = i + 2 * get_global_size(0);
  c[j] = convert_char_sat(n[i]) + convert_char_sat(f[i] * 100) + (char)n[i + 1];
  n[j] = convert_int_rte(f[i]) * 1000 + convert_int_rtp(f[i + 1]) * 100 + convert_int_rtn(f[i + 2]) + c[i];
  n[j] += convert_ushort_sat(n[i]);
  l[j] = n[i] + (long)f[i] * 3 + as_int(f[i + 1]) + as_short2(n[i + 1] << 15).y + convert_uint(c[i]);
  f[j] = vload_half(i, h) + (float)l[i] + as_float((as_int(f[i]) & 0x007fffff) | 0x3f800000);
  vstore_half(f[i] * 3, j, h);
}"""
CASES["vectors-of-3"] = """kernel void k(global float *f, global int3 *v) {
  int i = get_global_id(0);
  float3 x = vload3(i, f);
  vstore3(x.zyx * 2, i + 140, f);
  v[i + 130] = v[i].yzx + shuffle2((int4)(v[i], 1), (int4)(v[i + 1], 2), (uint4)(7, 2, 5, 0)).xyw;
}"""
CASES["bubble-sort"] = """kernel void k(global int *a) {
  int i = get_global_id(0), t[8];
  for (int j = 0; j < 8; j++) t[j] = a[8 * i + j];
  for (int j = 0; j < 8; j++)
    for (int m = 0; m + 1 < 8; m++) if (t[m] > t[m + 1]) { int s = t[m]; t[m] = t[m + 1]; t[m + 1] = s; }
  for (int j = 0; j < 8; j++) a[8 * i + j] = t[j];
}"""


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_and_the_engine_leave_the_same(name):
    device = adreno_sim.open_device("sim:reference")
    program = device.build(CASES[name], "-cl-std=CL3.0")
    function = program.module.kernels["k"]
    arrays = {
        number: make_array(parameter, number, name.startswith("functions-of")) for number, parameter in enumerate(function.params)
    }
    theirs = run_engine(device, program, function, arrays)
    ours = run_translation(function, arrays)
    assert theirs
    assert set(ours) == set(theirs)
    for number, expected in theirs.items():
        got = ours[number].view(expected.dtype)
        assert np.any(expected != arrays[number]) or not program["k"].writes(number), f"{name}: nothing was computed"
        if expected.dtype.kind == "f":
            least = 2e-3 if expected.dtype == np.float16 else 2e-6  # mad may round once or twice
            least = 1e-4 if name == "stand-ins" else least  # polynomials that are shorter than the library's
            np.testing.assert_allclose(got, expected, rtol=least, atol=least)
        else:
            np.testing.assert_array_equal(got, expected)


def test_exact_functions_and_divisions_are_as_exact_as_opencl_asks():
    source = """kernel void k(global const float *a, global float *y) {
      int i = get_global_id(0), n = get_global_size(0);
      y[i] = exp(a[i] * 32); y[i + n] = exp10(a[i] * 12);
      y[i + 2 * n] = 0x1p100f * a[i + 1] / (a[i] * 0x1p125f); y[i + 3 * n] = a[i + 1] / (a[i] * 0x1p-128f);
    }"""
    program = adreno_sim.open_device("sim:reference").build(source, "-cl-std=CL3.0")
    a = make_array(program.module.kernels["k"].params[0], 0, False)
    a[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 2.7725887, -2.73, 1e30]
    got = run_translation(program.module.kernels["k"], {0: a, 1: np.zeros_like(a)})[1].view(np.float32)[: 4 * 128].reshape(4, 128)
    with np.errstate(all="ignore"):
        x, following = a[:128].astype(np.float64), a[1:129].astype(np.float64)
        rows = [np.exp(x * 32), 10 ** (a[:128] * np.float32(12)).astype(np.float64)]
        small = (a[:128] * np.float32(2.0**-128)).astype(np.float64)
        rows += [2.0**100 * following / (x * 2.0**125), following / small]
        for row, expected in zip(got, rows, strict=True):
            plain = slice(None) if expected is rows[0] or expected is rows[1] else slice(8, None)
            wanted = expected.astype(np.float32)
            wanted[abs(wanted) < 2.0**-126] = 0
            np.testing.assert_allclose(row[plain], wanted[plain], rtol=3 * 2.0**-23, atol=2.0**-126)


def make_array(parameter: ir.Param, seed: int, wide: bool) -> np.ndarray:
    """What an argument holds: small numbers, or integers of all values (wide); a scalar is 5."""
    source = np.random.default_rng(seed)
    match = re.fullmatch(r"(?:.*\s)?(?:atomic_)?(u?)(char|short|int|long|half|float)(\d*)\*?", parameter.spelled)
    sign, element = (match[1], match[2]) if match else ("", "char")
    kind = {"char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16", "float": "float32"}[element]
    dtype = np.dtype(sign + kind)
    if not isinstance(parameter.type, ir.Pointer):
        return np.full(max(1, layout.size_of(parameter.type) // dtype.itemsize), 5, dtype)
    count = BYTES // dtype.itemsize
    if dtype.kind == "f":
        return source.uniform(0.5, 4, count).astype(dtype) * source.choice([-1, 1], count).astype(dtype)
    if wide:
        return np.frombuffer(source.bytes(BYTES), dtype)
    return source.integers(1, 100, count).astype(dtype)


def run_engine(device: Device, program, function: ir.Function, arrays: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    views, arguments = {}, []
    for number, parameter in enumerate(function.params):
        if isinstance(parameter.type, ir.Pointer) and parameter.type.space == ir.LOCAL:
            arguments.append(Local(LOCAL))
        elif isinstance(parameter.type, ir.Pointer):
            views[number] = device.view(device.allocate(BYTES), BufferSpec(BYTES, arrays[number].dtype.name))
            device.write(views[number], arrays[number])
            arguments.append(views[number])
        else:
            arguments.append(
                np.void(arrays[number].tobytes()) if isinstance(parameter.type, ir.Struct) else int(arrays[number][0])
            )
    local = function.required_work_group_size or (64, 1, 1)
    result = device.launch(program["k"], [g * size for g, size in zip(GROUPS, local, strict=True)], local, arguments)
    assert not [finding for finding in result.findings if finding.severity is Severity.ERROR]
    return {number: device.read(view) for number, view in views.items()}


def run_translation(function: ir.Function, arrays: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    program = json.loads(translate_kernel(function).program)
    uniforms, memory = bytearray(4096), bytearray(SPACE * (len(arrays) + 8))
    local, places = program["local_bytes"], {}
    constants = iter(range(len(arrays) + 1, len(arrays) + 8))
    for what, offset in program["parameters"]:
        if what == "local size":
            data = np.array(program["group"], np.uint32).tobytes()
        elif what.startswith("constant "):
            at = next(constants) * SPACE
            memory[at : at + 32] = np.arange(1, 9, dtype=np.float32).tobytes()  # the only one of the kernels here
            data = at.to_bytes(8, "little")
        else:
            number = int(what.removeprefix("argument "))
            type = function.params[number].type
            if not isinstance(type, ir.Pointer):
                data = arrays[number].tobytes()
            elif type.space == ir.LOCAL:
                data, local = local.to_bytes(4, "little"), local + LOCAL
            else:
                places[number] = (number + 1) * SPACE
                memory[places[number] : places[number] + BYTES] = arrays[number].tobytes()
                data = places[number].to_bytes(8, "little")
        uniforms[offset : offset + len(data)] = data
    nir_interpreter.run(program, nir_interpreter.Machine(uniforms, memory, GROUPS), local)
    return {number: np.frombuffer(memory, np.uint8, BYTES, at) for number, at in places.items()}
