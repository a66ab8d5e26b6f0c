"""Every maths, common, geometric, relational and integer built-in of OpenCL C 3.0, for every type, in one kernel each:
all are there, and the simulator's results are the oracles'.

Accuracy is measured elsewhere; here each call must reach the right function with the right operands and lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import oracle
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine import codegen as _registers_the_emitters  # noqa: F401
from adreno_sim.engine.emit import builtin_registry
from adreno_sim.frontend import builtin_library
from adreno_sim.frontend.program import FrontEndTarget, compile_source

ITEMS = 16
DTYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "half": np.float16, "float": np.float32,
}  # fmt: skip
SAME_SIZE = {"half": "short", "float": "int"}
TWICE = {"char": "short", "short": "int", "int": "long"}

ONE = """acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi degrees erf erfc exp exp10 exp2 expm1 fabs
    floor lgamma log log10 log1p log2 logb radians rint round rsqrt sign sin sinh sinpi sqrt tan tanh tanpi tgamma trunc"""
TWO = "atan2 atan2pi copysign fdim fmax fmin fmod hypot max maxmag min minmag nextafter pow powr remainder step"
THREE = "fma mad mix smoothstep clamp bitselect"
CLASSES = "isfinite isinf isnan isnormal signbit"
RELATIONS = "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered"
FAST = "cos exp exp2 exp10 log log2 log10 recip rsqrt sin sqrt tan"


@dataclass
class Calls:
    """The calls of one kernel by the type of their results; those of functions that a judge `lacks` are left out."""

    lacks: frozenset[str] = frozenset()
    lines: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    inexact: set[tuple[str, int]] = field(default_factory=set)

    def add(self, type: str, expression: str, loose: bool = False) -> None:
        """One result; `loose` where an implementation may choose its digits."""
        if expression.partition("(")[0] in self.lacks:
            return
        number = self.counts.get(type, 0)
        self.counts[type] = number + 1
        self.lines.append(f"        out_{type}[base_{type} + {number}] = {expression};")
        if loose:
            self.inexact.add((type, number))

    def add_all(self, type: str, names: str, operands: str) -> None:
        for name in names.split():
            self.add(type, f"{name}({operands})")

    def add_pair(self, type: str, second: str, call: str) -> None:
        """`call(%s)` with its pointer into private, global and local memory, each kept as a result."""
        for pointee in (f"second_{second}", f"scratch_{second}[get_global_id(0)]", f"local_{second}"):
            self.add(type, call % f"&{pointee}")
            self.add(second, pointee)

    def source(self, inputs: dict[str, str], seconds: list[str]) -> str:
        """Kernel k(outputs, scratch for second results, inputs)."""
        params = [f"global {type} *out_{type}" for type in self.counts] + [f"global {type} *scratch_{type}" for type in seconds]
        params += [f"global const {type} *in_{name}" for name, type in inputs.items()]
        start = ["int i = get_global_id(0);"]
        start += [f"local {type} local_{type}; {type} second_{type};" for type in seconds]
        start += [f"int base_{type} = i * {count};" for type, count in self.counts.items()]
        start += [f"{type} {name} = in_{name}[i];" for name, type in inputs.items()]
        body = "\n".join([*("        " + line for line in start), *self.lines])
        return f"#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k({', '.join(params)}) {{\n{body}\n}}"


def wide(kind: str, width: int) -> str:
    return kind if width == 1 else f"{kind}{width}"


def float_calls(kind: str, width: int, lacks: frozenset[str]) -> Calls:
    made, type = Calls(lacks), wide(kind, width)
    truth = wide(SAME_SIZE[kind], width) if width > 1 else "int"
    integer, bits = wide("int", width), wide("u" + SAME_SIZE[kind], width)
    for names, operands in ((ONE, "x"), (TWO, "x, y"), (THREE, "x, y, z")):
        made.add_all(type, names, operands)
    made.add_all(truth, CLASSES, "x")
    made.add_all(truth, RELATIONS, "x, y")
    made.add(integer, "ilogb(x)")
    for name in ("ldexp", "pown", "rootn"):
        made.add(type, f"{name}(x, n)")
    made.add(type, f"select(x, y, as_{wide(SAME_SIZE[kind], width)}(m))")
    made.add(type, "select(x, y, m)")
    made.add(truth, f"isnan(nan(({bits})5))")
    for name in ("fract", "modf", "sincos"):
        made.add_pair(type, type, f"{name}(x, %s)")
    for name in ("frexp", "lgamma_r"):
        made.add_pair(type, integer, f"{name}(x, %s)")
    made.add_pair(type, integer, "remquo(x, y, %s)")
    if width > 1:
        for call in ("fmax(x, y.s0)", "fmin(x, y.s0)", "max(x, y.s0)", "min(x, y.s0)", "clamp(x, y.s0, z.s0)", "ldexp(x, n.s0)"):
            made.add(type, call)
        for call in ("mix(x, y, z.s0)", "step(x.s0, y)", "smoothstep(y.s0, z.s0, x)"):
            made.add(type, call)
    if kind == "float":
        fast_calls(made, type, width)
    if width <= 4:
        geometric_calls(made, kind, width)
    return made


def fast_calls(made: Calls, type: str, width: int) -> None:
    for prefix in ("native_", "half_"):
        for name in FAST.split():
            made.add(type, f"{prefix}{name}(x)", loose=True)
        made.add(type, f"{prefix}divide(x, y)", loose=True)
        made.add(type, f"{prefix}powr(x, y)", loose=True)


def geometric_calls(made: Calls, kind: str, width: int) -> None:
    type = wide(kind, width)
    for call in ("dot(x, y)", "distance(x, y)", "length(x)"):
        made.add(kind, call)
    made.add(type, "normalize(x)")
    if kind == "float":
        made.add(kind, "fast_length(x)", loose=True)
        made.add(kind, "fast_distance(x, y)", loose=True)
        made.add(type, "fast_normalize(x)", loose=True)
    if width in (3, 4):
        made.add(type, "cross(x, y)")


def integer_calls(kind: str, width: int) -> Calls:
    made, type, base = Calls(), wide(kind, width), kind.removeprefix("u")
    signed, unsigned = wide(base, width), wide("u" + base, width)
    made.add(unsigned, "abs(x)")
    made.add(unsigned, "abs_diff(x, y)")
    made.add_all(type, "clz ctz popcount", "x")
    made.add_all(type, "add_sat hadd rhadd max min mul_hi rotate sub_sat", "x, y")
    made.add_all(type, "mad_hi mad_sat bitselect", "x, y, z")
    made.add(type, "clamp(x, min(y, z), max(y, z))")
    made.add(type, f"select(x, y, as_{signed}(z))")
    made.add(type, f"select(x, y, as_{unsigned}(z))")
    if width > 1:
        made.add(type, "max(x, y.s0)")
        made.add(type, f"clamp(x, ({kind})3, ({kind})90)")
    if base == "int":
        made.add(type, f"mad24(x & ({type})0xfff, y & ({type})0xfff, z)")
        made.add(type, f"mul24(x & ({type})0xfff, y & ({type})0xfff)")
    if base in TWICE:
        made.add(wide(kind.replace(base, TWICE[base]), width), f"upsample(x, as_{unsigned}(y))")
    if kind == base:
        made.add("int", "any(x)")
        made.add("int", "all(x)")
    return made


def split(type: str) -> tuple[str, int]:
    kind = type.rstrip("0123456789")
    return kind, int(type[len(kind) :] or 1)


def empty(type: str, count: int) -> np.ndarray:
    kind, width = split(type)
    return np.zeros((count, 4 if width == 3 else width), DTYPES[kind])


def case(kind: str, width: int, lacks: frozenset[str] = frozenset()) -> tuple[Calls, str, list[np.ndarray]]:
    """Calls, kernel source, and its buffers: outputs, scratch, inputs."""
    random = np.random.default_rng([ord(c) for c in kind] + [width])
    if kind in SAME_SIZE:
        made = float_calls(kind, width, lacks)
        inputs = {"x": wide(kind, width), "y": wide(kind, width), "z": wide(kind, width), "n": wide("int", width)}
        inputs["m"] = wide("u" + SAME_SIZE[kind], width)
        ranges = {"x": (0.05, 0.95), "y": (0.1, 0.4), "z": (0.5, 0.9), "n": (1, 6), "m": (0, 60000)}
        seconds = [wide(kind, width), wide("int", width)]
    else:
        made, seconds = integer_calls(kind, width), []
        inputs = dict.fromkeys("xyz", wide(kind, width))
        limits = np.iinfo(DTYPES[kind])
        ranges = dict.fromkeys("xyz", (float(limits.min), float(limits.max) * 0.999))
    buffers = [empty(type, ITEMS * count) for type, count in made.counts.items()] + [empty(type, ITEMS) for type in seconds]
    for name, type in inputs.items():
        store = empty(type, ITEMS)
        store[...] = random.uniform(*ranges[name], store.shape).astype(store.dtype)
        buffers.append(store)
    return made, made.source(inputs, seconds), buffers


FLOAT_CASES = [("float", 1), ("float", 3), ("float", 4)]
HALF_CASES = [("half", 1), ("half", 4)]
INTEGER_CASES = [
    (kind, width) for kind in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong") for width in (1, 4)
]


@pytest.mark.share()
@pytest.mark.each_value
@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("kind", DTYPES)
def test_somebody_emits_every_builtin(kind, width):
    _, source, _ = case(kind, width)
    module = compile_source(source, "-cl-std=CL3.0", target=FrontEndTarget(300))
    called = {instr.callee for block in module.kernels["k"].blocks for instr in block.instrs if instr.callee}
    assert len(called) > 15
    missing = [
        callee.mangled
        for callee in called
        if not builtin_registry.find_emitter(callee.name) and not builtin_library.scalar_of(callee)
    ]
    assert not missing


def simulated(source: str, options: str, buffers: list[np.ndarray]) -> list[np.ndarray]:
    device = adreno_sim.open_device("sim:reference")
    views = []
    for array in buffers:
        view = device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, array.dtype.name))
        device.write(view, array.ravel())
        views.append(view)
    result = device.launch(device.build(source, options)["k"], (ITEMS,), (1,), views)
    assert not result.findings
    return [device.read(view).reshape(array.shape) for view, array in zip(views, buffers, strict=True)]


def compare(
    kind: str, width: int, judge: oracle.Oracle, options: str, relative: float, lacks: frozenset[str] = frozenset()
) -> None:
    made, source, buffers = case(kind, width, lacks)
    answers = judge.run(source, options, "k", (ITEMS,), (1,), [oracle.Buffer(array) for array in buffers])
    for type, own, other in zip(made.counts, simulated(source, options, buffers), answers, strict=False):
        used, count = split(type)[1], made.counts[type]
        a, b = (array.reshape(ITEMS, count, -1)[:, :, :used] for array in (own, other))
        if a.dtype.kind != "f":
            expressions = [line.split(" = ")[1] for line in made.lines if f"out_{type}[" in line]
            bad = [expressions[i] for i in range(count) if not np.array_equal(a[:, i], b[:, i])]
            assert not bad
            continue
        for number in range(count):
            allowed = 2e-3 if (type, number) in made.inexact else relative
            line = next(line for line in made.lines if f"out_{type}[base_{type} + {number}]" in line)
            np.testing.assert_allclose(a[:, number], b[:, number], rtol=allowed, atol=allowed, err_msg=line)


@pytest.mark.parametrize("kind, width", FLOAT_CASES)
def test_float_results_equal_anothers(judge, kind, width):
    compare(kind, width, judge, "-cl-std=CL1.2", 1e-5)  # PoCL's OpenCL 2.0 has no pointers but generic ones


@pytest.mark.share()
@pytest.mark.parametrize("kind, width", INTEGER_CASES)
def test_integer_results_equal_anothers(judge, kind, width):
    compare(kind, width, judge, "-cl-std=CL2.0", 0)


@pytest.mark.parametrize("kind, width", FLOAT_CASES)
def test_float_results_equal_intels(intel, kind, width):
    compare(kind, width, intel, "-cl-std=CL2.0", 1e-5)


@pytest.mark.parametrize("kind, width", HALF_CASES)
def test_half_results_equal_intels(intel, kind, width):
    compare(kind, width, intel, "-cl-std=CL2.0", 2e-3, lacks=frozenset(["dot", "distance", "length", "normalize", "ldexp"]))
