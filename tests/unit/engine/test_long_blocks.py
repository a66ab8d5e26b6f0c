"""Long blocks of LLVM text are cut, and the code computes the same."""

from __future__ import annotations

import ctypes
from itertools import pairwise

from adreno_sim.engine.llvm.long_blocks import cut_long_blocks
from adreno_sim.engine.llvm.objects import machine

SUM = """define i64 @short(i64 %n) {
entry:
  ret i64 %n
}
define i64 @sum(i64 %n) {
entry:
  %room = alloca i64
  store i64 0, ptr %room
  br label %loop
loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]
  %v0 = load i64, ptr %room
BODY
  store i64 %v300, ptr %room
  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  %last = phi i64 [ %v300, %loop ]
  switch i64 %last, label %other [
    i64 7, label %other
  ]
other:
  ret i64 %last
}
""".replace("BODY", "\n".join(f"  %v{j + 1} = add i64 %v{j}, {j}" for j in range(300)))


def run(text: str) -> int:
    loaded = machine().load(machine().compile(text), "sum")
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address)(3)


def test_no_block_is_longer_and_the_sum_is_the_same() -> None:
    cut = cut_long_blocks(SUM, 50)
    labels = [at for at, line in enumerate(cut.splitlines()) if line.endswith(":") or line == "}"]
    assert max(after - before for before, after in pairwise(labels)) <= 52
    assert run(cut) == run(SUM) == 3 * sum(range(300))


def test_what_is_short_stays_as_it_is() -> None:
    assert cut_long_blocks(SUM, 400) == SUM


def test_the_first_block_stays_whole() -> None:
    """An allocation behind a cut would happen at run time."""
    text = "define void @k() {\nentry:\n" + "".join(f"  %p{j} = alloca i64\n" for j in range(200)) + "  ret void\n}\n"
    assert cut_long_blocks(text, 50) == text
