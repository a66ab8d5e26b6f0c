"""Undefined arithmetic of constants, which clang folds away: found where it stands and only if it runs, and nothing else is."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from adreno_sim.frontend import driver
from adreno_sim.frontend.program import FrontEndTarget, compile_source

ZERO, OVERFLOW, CONVERSION = "division-by-zero", "division-overflow", "undefined-conversion"

UNDEFINED = {  # an expression of constants, and what is wrong with it
    "1 / 0": ZERO, "1 % 0": ZERO, "1u / 0u": ZERO, "1L % 0L": ZERO, "5 / (3 - 3)": ZERO, "(char)1 / (char)0": ZERO,
    "(-2147483647 - 1) / -1": OVERFLOW, "(-2147483647 - 1) % -1": OVERFLOW, "LONG_MIN / -1L": OVERFLOW, "LONG_MIN % -1": OVERFLOW,
    "(char)1e30f": CONVERSION, "(uint)-5.0f": CONVERSION, "(int)(1.0f / 0.0f)": CONVERSION, "(int)NAN": CONVERSION,
    "(uchar)256.0f": CONVERSION, "(uchar)-1.0f": CONVERSION, "(short)32768.0f": CONVERSION, "(int)2147483648.0f": CONVERSION,
    "(ulong)-1.0f": CONVERSION, "(long)9223372036854775808.0f": CONVERSION,
}  # fmt: skip
DEFINED = (
    "1 / 1", "0 / 1", "(-2147483647 - 1) / 1", "(-2147483647 - 1) / -2", "-2147483647 / -1", "2147483647 % -1", "LONG_MAX / -1",
    "(char)127.9f", "(char)-128.9f", "(uint)-0.9f", "(uint)4294967040.0f", "(int)2147483520.0f", "(uchar)255.9f", "(uchar)-0.0f",
    "convert_uchar_sat(1e30f)", "2147483647 + 1", "-2147483647 - 2", "65536 * 65536", "1 << 31",
)  # fmt: skip


def run(engine, body: str, checks: str = "bounds"):
    source = f"__kernel void k(__global int *o, __global const int *in, int n) {{ int i = get_global_id(0);\n{body}\n}}"
    args = [oracle.Buffer(np.zeros(16, np.int32)), oracle.Buffer(np.arange(16, dtype=np.int32) - 5), oracle.Scalar(np.int32(3))]
    return engine.run(source, "k", [16], [8], args, checks=checks)


@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("expression", UNDEFINED)
def test_found_where_it_stands(engine, expression, checks):
    result = run(engine, f"  o[i] = {expression};", checks)
    assert [(f.kind.label, f.line, f.count) for f in result.findings] == [(UNDEFINED[expression], 2, 16)]
    assert 10 <= result.findings[0].column < 10 + len(expression)


@pytest.mark.parametrize("expression", DEFINED)
def test_what_is_defined_is_silent_and_right(engine, judge, expression):
    result = run(engine, f"  o[i] = {expression};")
    source = f"__kernel void k(__global int *o) {{ o[0] = {expression}; }}"
    theirs = judge.run(source, "-cl-std=CL2.0", "k", [1], [1], [oracle.Buffer(np.zeros(1, np.int32))])[0]
    assert result.findings == []
    assert (result.outputs[0] == theirs[0]).all()


WHERE = {  # how often it runs of 16 work-items, and the kind
    "if (i > 9) o[i] = 1 / 0;": [(ZERO, 6)],
    "if (n > 3) o[i] = 1 / 0;": [],
    "o[i] = i > 9 ? 1 / 0 : 4;": [(ZERO, 6)],
    "o[i] = i > 9 && 1 / 0 > 2;": [(ZERO, 6)],
    "o[i] = i > 99 || (char)1e30f;": [(CONVERSION, 16)],
    "for (int j = 0; j < n; ++j) o[i] += 1 / 0;": [(ZERO, 48)],
    "if (1 / 0) o[i] = 1;": [(ZERO, 16)],
    "o[i + 1 / 0] = 3;": [(ZERO, 16)],
    "o[i] = in[i] / 0 + in[i] % n + 1 / 0;": [(ZERO, 16), (ZERO, 16)],
    "o[i] = (int)(float)in[i] + (char)1e30f;": [(CONVERSION, 16)],
    "int4 v = (int4)(1, 1 / 0, in[i], 2); o[i] = v.y;": [(ZERO, 16)],
    "int4 v = (int4)(1 / 0); o[i] = v.y + v.z;": [(ZERO, 16)],
    "int4 v = (int4)(1, 2, 3, 1 % 0); o[i] = v.x + v.w;": [(ZERO, 16)],
    "vstore4((int4)(in[0], 1 / 0, 3, 4) + in[0], 0, o);": [(ZERO, 16)],
    "o[i] = max(1 / 0, 3);": [(ZERO, 16)],
    "if (false) o[i] = 1 / 0;": [],
}


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("body", WHERE)
def test_found_only_where_it_runs(engine, body, checks):
    found = [(f.kind.label, f.count) for f in run(engine, body, checks).findings]
    assert [one for one in found if "race" not in one[0]] == WHERE[body]


def test_in_a_helper_function(engine):
    source = "int f(int x) { return x + 1 / 0; }\n__kernel void k(__global int *o) { o[get_global_id(0)] = f(2); }"
    (found,) = engine.run(source, "k", [4], [4], [oracle.Buffer(np.zeros(4, np.int32))]).findings
    assert (found.kind.label, found.line, found.column, found.count) == (ZERO, 1, 29, 4)


def test_the_rest_of_the_program_is_as_without_it(engine):
    """The second compilation may change no other result, finding or place: arithmetic wraps as it does without."""
    body = """  int x = in[i] * 1000000007 + 2147483647, y = -x - in[i] * in[i]; long z = (long)x * y - 77; uint u = x * 3u - y;
    short s = (short)(x + 7); s += y; s++; x -= s--; z = -z; char c = in[i]; c *= 100; y = abs(y) + (int)((float)in[i] * 1.5f);
    o[i] = x ^ y ^ (int)z ^ (int)(z >> 32) ^ u ^ s ^ c ^ in[i] / max(in[i], 1) ^ (int)convert_half_rte(in[i]);
    if (in[i] == 4) o[i] = in[i] / (in[i] - 4) + in[i + 16];"""
    body = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" + body.replace("convert_half_rte", "(half)")
    plain = run(engine, body)
    marked = run(engine, f"{body}\n if (n == 1000) o[i] = 1 / 0 + (char)1e30f;")
    assert plain.findings
    assert plain.findings == marked.findings
    np.testing.assert_array_equal(plain.outputs[0], marked.outputs[0])


def test_only_a_program_with_folded_arithmetic_is_compiled_twice(monkeypatch):
    compiled = []
    execute = driver.execute
    monkeypatch.setattr(driver, "execute", lambda *args: compiled.append(args) or execute(*args))
    for body, times in (
        ("int2 v = (int2)(0, o[1]); o[0] = v.x; int4 w = (int4)(1, 2, 3, o[0]); o[1] = w.w; int3 e; e.x = 1; o[2] = e.x;", 1),
        ("int2 v = (int2)(o[0], o[1]), w = v > o[2] ? v : (int2)(o[3]); o[4] = w.x + w.y; v += o[5]; o[6] = v.x;", 1),
        ("int2 v = (int2)(o[0], o[1]) + (int2)(1 / 0); o[2] = v.x;", 2),
        ("int poison = o[0]; o[1] = poison, poison; /* a, poison */", 1),
        ("o[0] = 1 / 0;", 2),
    ):
        compiled.clear()
        compile_source(f"__kernel void k(__global int *o) {{ {body} }}", "", target=FrontEndTarget())
        assert len(compiled) == times, body
