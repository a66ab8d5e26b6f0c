"""Functions of doubles for kernels whose floats became doubles: the simulator, as the devices it is for, has few of them."""

from __future__ import annotations

import re

_EXACT = {
    "exp": """
double wide_exp(double x) {
  if (!(x > -700)) return x != x ? x : 0;
  if (x > 700) return INFINITY;
  double k = rint(x * 0x1.71547652b82fep+0), r = x - k * 0x1.62e42fee00000p-1 - k * 0x1.a39ef35793c76p-33, sum = 1;
  for (int n = 14; n > 0; n--) sum = 1 + sum * r / n;
  return sum * as_double((long)(k + 1023) << 52);
}""",
    "tanh": """
double wide_tanh(double x) {
  double s = x * x;
  if (s < 0.0004) return x * (1 + s * (-1 / 3.0 + s * (2 / 15.0 + s * (-17 / 315.0 + s * 62 / 2835.0))));
  return 1 - 2 / (wide_exp(2 * x) + 1);
}""",
    "rsqrt": "\ndouble wide_rsqrt(double x) { return 1 / sqrt(x); }",
}
"""Right to 40 digits and more, as the judge of doubles needs. A later one may call an earlier one."""

_AS_FLOATS = (
    ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp2", "exp10", "expm1", "log",
     "log2", "log10", "log1p", "sin", "sinh", "tan"),
    ("atan2", "hypot", "pow", "powr"),
)  # fmt: skip
"""Of one and of two numbers, which are computed in floats."""

_LANES = (2, 3, 4, 8, 16)
_INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
_OVERLOADED = "__attribute__((overloadable)) "


def define_functions(text: str) -> tuple[str, bool]:
    """OpenCL C to put before a kernel's text, which calls functions of doubles, and whether they are right as doubles are: those
    that are not round as floats do."""
    used = set(re.findall(r"\b(\w+)\s*\(", text))
    found: list[str] = []
    exact = [name for name in _EXACT if name in used or (name == "exp" and "tanh" in used)]
    found += [_OVERLOADED + _EXACT[name].lstrip() + "\n" + _for_lanes(name) for name in exact]
    rounded = [name for names in _AS_FLOATS for name in names if name in used]
    for count, names in enumerate(_AS_FLOATS, 1):
        found += [_in_floats(name, count) for name in names if name in used]
    if "dot" in used:
        found += [_dot(lanes) for lanes in (2, 3, 4)]
        exact.append("dot")
    if "select" in used:
        found += [_select(lanes) for lanes in ("", *_LANES)]
        exact.append("select")
    found += [f"#define {name} wide_{name}" for name in exact + rounded]
    return "".join(line + "\n" for line in found), not rounded


def _for_lanes(name: str) -> str:
    """A function of one number for vectors."""
    return "\n".join(
        f"{_OVERLOADED}double{n} wide_{name}(double{n} x) "
        f"{{ return (double{n})({', '.join(f'wide_{name}(x.s{i:x})' for i in range(n))}); }}"
        for n in _LANES
    )


def _in_floats(name: str, count: int) -> str:
    """A function of one or two numbers, scalar and for vectors, by way of that of floats."""
    lines = []
    for n in ("", *_LANES):
        params = ", ".join(f"double{n} x{i}" for i in range(count))
        args = ", ".join(f"convert_float{n}(x{i})" for i in range(count))
        lines.append(f"{_OVERLOADED}double{n} wide_{name}({params}) {{ return convert_double{n}({name}({args})); }}")
    return "\n".join(lines)


def _dot(lanes: int) -> str:
    terms = " + ".join(f"x.s{i} * y.s{i}" for i in range(lanes))
    return f"{_OVERLOADED}double wide_dot(double{lanes} x, double{lanes} y) {{ return {terms}; }}"


def _select(lanes: int | str) -> str:
    """select of all types but halves; the condition on doubles may still be as wide as a float."""
    flags = {type: (type.lstrip("u"), "u" + type.lstrip("u")) for type in _INTEGERS}
    lines = []
    for type, wanted in [*flags.items(), ("double", ("int", "uint", "long", "ulong"))]:
        for flag in wanted:
            given = f"convert_long{lanes}(as_{flag.lstrip('u')}{lanes}(c))" if type == "double" else "c"
            params = f"{type}{lanes} a, {type}{lanes} b, {flag}{lanes} c"
            lines.append(f"{_OVERLOADED}{type}{lanes} wide_select({params}) {{ return select(a, b, {given}); }}")
    return "\n".join(lines)
