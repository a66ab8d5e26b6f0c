"""A PrimFunc that only adds and multiplies, over magnitudes: a bound on its partial sums, whichever order they are taken in.

Sums of whole numbers below a type's 2^digits are exact in it. So on whole numbers with small magnitudes every order of a kernel's
sums gives the same bits, and a result that is off at all is wrong.
"""

from __future__ import annotations

from typing import Any

from ...compiler.tvm_bridge import read
from .expressions import Tensor
from .program import Statements, write_program
from .truth_program import TruthProgram
from .value import DIGITS, FLOATS, Unmodelled, Value, literal

_PASSED_ON = ("if_then_else", "likely")


def write_magnitudes(name: str, function: Any) -> TruthProgram:
    """A program that gives, for magnitudes of the float arguments, an upper bound of the magnitude of every result and of all
    partial sums on the way to it. Raises Unmodelled where a PrimFunc does more to floats than add, multiply, compare for max and
    min, and move them, or holds a constant that is not a whole number."""
    return write_program(name, function, over=_Magnitudes)


def largest_exact(program: TruthProgram) -> float:
    """The whole number up to which sums are exact in all float types of a program of `write_magnitudes`."""
    return 2.0 ** DIGITS["float16" if program.halves else "float32"]


class _Magnitudes(Statements):
    def _tensor(self, info: read.BufferInfo, dims: list[str]) -> Tensor:
        if info.dtype == "bfloat16":
            raise Unmodelled("values of type bfloat16")
        return super()._tensor(info, dims)

    def visit_FloatImm(self, node: Any) -> Value:
        value = float(node.value)
        if value != round(value):
            raise Unmodelled(f"the constant {value:g}, which is not a whole number")
        return Value(literal(abs(value)), read.dtype_of(node))

    def compare(self, operator: str, a: Value, b: Value) -> Value:
        if a.is_float:
            raise Unmodelled("a decision by floats")
        return super().compare(operator, a, b)

    def float_operation(self, kind: str, a: Value, b: Value) -> Value:
        x, y, loaded = a.text, b.text, a.loaded or b.loaded
        if kind in ("Max", "Min"):
            return Value(self.let("double", f"{x} > {y} ? {x} : {y}"), a.dtype, loaded=loaded)
        if kind not in _SUMS:
            raise Unmodelled(f"{kind} of floats")
        return Value(self.let("double", f"{x} {_SUMS[kind]} {y}"), a.dtype, loaded=loaded)

    def cast(self, a: Value, dtype: str) -> Value:
        if a.is_float and dtype not in FLOATS:
            raise Unmodelled("floats as integers")
        if a.is_float or dtype not in FLOATS:
            return Value(a.text, dtype, loaded=a.loaded) if a.is_float else super().cast(a, dtype)
        return Value(self.let("double", f"fabs((double){a.text})"), dtype, loaded=a.loaded)

    def visit_Call(self, node: Any) -> Value:
        name = read.op_name(node).rpartition(".")[2]
        given = [arg for arg in node.args if read.dtype_of(arg) in FLOATS]
        if (given or read.dtype_of(node) in FLOATS) and name not in _PASSED_ON:
            raise Unmodelled(f"calls of {name}")
        return super().visit_Call(node)


_SUMS = {"Add": "+", "Sub": "+", "Mul": "*"}
