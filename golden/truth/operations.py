"""How operations of TIR are written in C, by the names of their nodes and of what they call."""

from __future__ import annotations

from typing import Any

from ...compiler.tvm_bridge import read

IS_EXACT = {"float16": "is_half", "float32": "is_float"}
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max")
COMPARE = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
REMAINDER = {"Mod": "fmod", "FloorMod": "floored_mod"}
FLOAT = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_IN_TERM = {"Add": "plus", "Sub": "minus"}
"""The functions of `prelude.c` for them inside a term of a sum."""
PLAIN = {"Add": "+", "Sub": "-", "Mul": "*", "shl": "<<", "shr": ">>", "and": "&", "or": "|", "xor": "^"}
BITS = {"shift_left": "shl", "shift_right": "shr", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
"""Operations on bits: TVM's calls before 0.27 -> this module's word."""
BIT_NODES = {"LShift": "shl", "RShift": "shr", "BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor"}
"""The same as expressions of their own, from 0.27 on."""
DIVIDE = {"Div": "truncdiv", "Mod": "truncmod", "FloorDiv": "floordiv", "FloorMod": "floormod"}


def called_name(node: Any) -> str:
    """The name of what a call calls; "" of anything else."""
    return read.op_name(node).rpartition(".")[2] if read.kind(node) == "Call" else ""


def spell_float(kind: str, x: str, y: str, in_term: bool = False) -> str:
    """An operation of FLOAT on two values as C. in_term: inside a term of a sum."""
    return f"{_IN_TERM[kind]}({x}, {y})" if in_term and kind in _IN_TERM else f"{x} {FLOAT[kind]} {y}"
