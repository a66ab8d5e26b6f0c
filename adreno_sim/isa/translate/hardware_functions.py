"""Functions of the maths library as the hardware has them, with a few instructions around.

The project's own library computes in double, which these GPUs have not; Qualcomm's is not public. So the native_ functions are
the hardware's own, and the others stand here for a library that is more exact and longer: code that uses them says so
(`stand_ins`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..program import Value
from .translation import Translation

Function = Callable[..., Value]


def find_native(translation: Translation, name: str, bits: int) -> Function | None:
    """Returns the hardware's function (without native_ or half_ in its name) for floats of so many bits."""
    program = translation.program
    op = program.op

    def times(value: Value, factor: float) -> Value:
        return op("fmul", value, program.real(factor, bits))

    table: dict[str, Function] = {
        "sin": lambda x: op("fsin", x),
        "cos": lambda x: op("fcos", x),
        "tan": lambda x: op("fmul", op("fsin", x), op("frcp", op("fcos", x))),
        "exp2": lambda x: op("fexp2", x),
        "exp": lambda x: op("fexp2", times(x, 1 / math.log(2))),
        "exp10": lambda x: op("fexp2", times(x, math.log2(10))),
        "log2": lambda x: op("flog2", x),
        "log": lambda x: times(op("flog2", x), math.log(2)),
        "log10": lambda x: times(op("flog2", x), math.log10(2)),
        "sqrt": lambda x: op("fsqrt", x),
        "rsqrt": lambda x: op("frsq", x),
        "recip": lambda x: op("frcp", x),
        "divide": lambda x, y: op("fmul", x, op("frcp", y)),
        "powr": lambda x, y: op("fexp2", op("fmul", y, op("flog2", x))),
    }
    return table.get(name)


def find_stand_in(translation: Translation, name: str, bits: int) -> Function | None:
    """Returns what stands for a function of the library; None if nothing does."""
    program = translation.program
    op = program.op

    def real(value: float) -> Value:
        return program.real(value, bits)

    def native(name: str) -> Function:
        found = find_native(translation, name, bits)
        assert found is not None
        return found

    def power(x: Value, y: Value) -> Value:
        """Of a negative base: the power of its size, with the base's sign where the exponent is odd."""
        size = native("powr")(op("fabs", x), y)
        half = op("fmul", y, real(0.5))
        odd = op("iand", op("flt", x, real(0.0)), op("fneu", op("ffloor", half), half))
        return op("bcsel", odd, op("fneg", size), size)

    def power_of_integer(x: Value, count: Value) -> Value:
        return power(x, op(f"i2f{bits}", count))

    def tanh(x: Value) -> Value:
        grown = native("exp")(op("fmul", x, real(2.0)))
        return op("fsub", real(1.0), op("fmul", real(2.0), op("frcp", op("fadd", grown, real(1.0)))))

    def hyperbolic(x: Value, sign: str) -> Value:
        grown, shrunk = native("exp")(x), native("exp")(op("fneg", x))
        return op("fmul", real(0.5), op(sign, grown, shrunk))

    def arc_tangent(x: Value) -> Value:
        """An odd polynomial (Abramowitz and Stegun, 4.4.49) of x, or of 1/x beyond 1."""
        size = op("fabs", x)
        beyond = op("flt", real(1.0), size)
        z = op("bcsel", beyond, op("frcp", size), size)
        square = op("fmul", z, z)
        found = real(0.0208351)
        for factor in (-0.0851330, 0.1801410, -0.3302995, 0.9998660):
            found = op("ffma", found, square, real(factor))
        found = op("fmul", found, z)
        found = op("bcsel", beyond, op("fsub", real(math.pi / 2), found), found)
        return op("bcsel", op("flt", x, real(0.0)), op("fneg", found), found)

    def arc_tangent_of_two(y: Value, x: Value) -> Value:
        found = arc_tangent(op("fmul", y, op("frcp", x)))
        turn = op("bcsel", op("flt", y, real(0.0)), real(-math.pi), real(math.pi))
        return op("bcsel", op("flt", x, real(0.0)), op("fadd", found, turn), found)

    def arc_sine(x: Value) -> Value:
        rest = op("fsqrt", op("ffma", op("fneg", x), x, real(1.0)))
        return arc_tangent_of_two(x, rest)

    def cube_root(x: Value) -> Value:
        size = native("powr")(op("fabs", x), real(1 / 3))
        return op("bcsel", op("flt", x, real(0.0)), op("fneg", size), size)

    def error_function(x: Value) -> Value:
        """By the hyperbolic tangent of an odd polynomial."""
        square = op("fmul", x, x)
        return tanh(op("fmul", x, op("ffma", square, real(0.1009), real(1.1284))))

    def inverse_hyperbolic_sine(x: Value) -> Value:
        size = op("fabs", x)
        found = native("log")(op("fadd", size, op("fsqrt", op("ffma", size, size, real(1.0)))))
        return op("bcsel", op("flt", x, real(0.0)), op("fneg", found), found)

    def remainder(x: Value, y: Value, rounding: str) -> Value:
        """Not exact where the quotient is beyond what a float holds."""
        quotient = op(rounding, op("fmul", x, op("frcp", y)))
        return op("ffma", op("fneg", quotient), y, x)

    def exponent(x: Value) -> Value:
        """The power of two of a normal number, as an integer of 32 bits."""
        mantissa, mask, bias = (10, 31, 15) if bits == 16 else (23, 255, 127)
        field = op("iand", op("ushr", x, program.constant(mantissa, 32)), program.constant(mask, bits))
        return op("isub", translation.resize(field, 32), program.constant(bias, 32))

    def power_of_two(count: Value) -> Value:
        mantissa, bias = (10, 15) if bits == 16 else (23, 127)
        field = translation.resize(op("iadd", count, program.constant(bias, 32)), bits)
        return op("ishl", field, program.constant(mantissa, 32))

    def scale(x: Value, count: Value) -> Value:
        """In two steps: half the exponents are beyond what one factor can be."""
        most = 30 if bits == 16 else 250
        count = op("imin", op("imax", count, program.constant(-most, 32)), program.constant(most, 32))
        first = op("ishr", count, program.constant(1, 32))
        found = op("fmul", x, power_of_two(first))
        return op("fmul", found, power_of_two(op("isub", count, first)))

    of_pi = lambda x: op("fmul", x, real(math.pi))  # noqa: E731
    table: dict[str, Function] = {
        "pow": power,
        "pown": power_of_integer,
        "rootn": lambda x, count: native("powr")(x, op("frcp", op(f"i2f{bits}", count))),
        "expm1": lambda x: op("fsub", native("exp")(x), real(1.0)),
        "log1p": lambda x: native("log")(op("fadd", x, real(1.0))),
        "tanh": tanh,
        "sinh": lambda x: hyperbolic(x, "fsub"),
        "cosh": lambda x: hyperbolic(x, "fadd"),
        "asinh": inverse_hyperbolic_sine,
        "acosh": lambda x: native("log")(op("fadd", x, op("fsqrt", op("ffma", x, x, real(-1.0))))),
        "atanh": lambda x: op(
            "fmul", real(0.5), native("log")(op("fmul", op("fadd", real(1.0), x), op("frcp", op("fsub", real(1.0), x))))
        ),
        "atan": arc_tangent,
        "atan2": arc_tangent_of_two,
        "asin": arc_sine,
        "acos": lambda x: op("fsub", real(math.pi / 2), arc_sine(x)),
        "acospi": lambda x: op("fmul", op("fsub", real(math.pi / 2), arc_sine(x)), real(1 / math.pi)),
        "asinpi": lambda x: op("fmul", arc_sine(x), real(1 / math.pi)),
        "atanpi": lambda x: op("fmul", arc_tangent(x), real(1 / math.pi)),
        "atan2pi": lambda y, x: op("fmul", arc_tangent_of_two(y, x), real(1 / math.pi)),
        "tanpi": lambda x: native("tan")(of_pi(x)),
        "degrees": lambda x: op("fmul", x, real(180 / math.pi)),
        "radians": lambda x: op("fmul", x, real(math.pi / 180)),
        "fmod": lambda x, y: remainder(x, y, "ftrunc"),
        "remainder": lambda x, y: remainder(x, y, "fround_even"),
        "ldexp": scale,
        "ilogb": exponent,
        "logb": lambda x: op(f"i2f{bits}", exponent(x)),
        "cbrt": cube_root,
        "hypot": lambda x, y: op("fsqrt", op("ffma", x, x, op("fmul", y, y))),
        "sinpi": lambda x: op("fsin", of_pi(x)),
        "cospi": lambda x: op("fcos", of_pi(x)),
        "erf": error_function,
        "erfc": lambda x: op("fsub", real(1.0), error_function(x)),
    }
    return table.get(name) or find_native(translation, name, bits)
