"""Constant floats that are loaded from a table: the code computes the same, and few of them stay."""

from __future__ import annotations

import ctypes
import struct

import numpy as np

from adreno_sim.engine.llvm.float_table import move_to_table
from adreno_sim.engine.llvm.objects import machine


def spell(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def text_of(values: list[float]) -> str:
    """Adds each value to a vector, and multiplies where the sum is above the next one; a phi takes one, which stays."""
    lines = []
    for at, value in enumerate(values):
        lines.append(f"  %a{at} = fadd <4 x float> %b{at}, splat (float {spell(value)})")
        lines.append(f"  %c{at} = fcmp ogt <4 x float> %a{at}, splat (float {spell(value + 1)})")
        lines.append(f"  %b{at + 1} = select <4 x i1> %c{at}, <4 x float> splat (float {spell(0.5)}), <4 x float> %a{at}")
    body = "\n".join(lines)
    return f"""define void @sum(ptr %to) {{
entry:
  %given = load <4 x float>, ptr %to, align 4
  br label %loop
loop:
  %b0 = phi <4 x float> [ %given, %entry ], [ splat (float {spell(7)}), %loop ]
  %turn = phi i1 [ false, %entry ], [ true, %loop ]
{body}
  br i1 %turn, label %end, label %loop
end:
  store <4 x float> %b{len(values)}, ptr %to, align 4
  ret void
}}
"""


def run(text: str) -> np.ndarray:
    loaded = machine().load(machine().compile(text), "sum")
    memory = np.arange(4, dtype=np.float32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.address)(memory.ctypes.data)
    return memory


def test_the_code_computes_the_same() -> None:
    text = text_of([0.25, -3.0, 1.5, 2.0])
    moved = move_to_table(text, few=3)
    assert moved.count("load float") == 12
    assert "fadd <4 x float> %b0, %float." in moved
    assert "[ splat (float" in moved, "nothing can stand before a phi"
    assert (run(moved) == run(text)).all()


def test_few_stay() -> None:
    text = text_of([0.25, -3.0])
    assert move_to_table(text, few=10) == text
