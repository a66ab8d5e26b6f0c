"""Where work-items leave a region: at its end, or at synchronisation points, at which all have to arrive alike."""

from __future__ import annotations

from collections.abc import Callable

from ...abi.kernel_shape import ABANDONED
from ...llvm.text import Text


class Exits:
    """The exits of one region: from each label, the number of the synchronisation point; 0 is the kernel's end."""

    def __init__(self) -> None:
        self._left: list[tuple[str, int]] = []

    def leave(self, t: Text, number: int = 0) -> None:
        """Ends a work-item at a synchronisation point."""
        self._left.append((t.label, number))
        t.jump("left")

    @property
    def _numbers(self) -> set[int]:
        """The synchronisation points at which work-items may leave. If there is one only, they agree without a test."""
        return {number for _, number in self._left} or {0}

    def emit_common(self, prologue: Text, t: Text, emit_item: Callable[[Text], str]) -> None:
        """Emits the common exit of work-items: the first records where it left, the others must have left at the same point.
        Those that did not are counted: all run to their ends before the group is ended. emit_item: emits who a work-item is."""
        t.block("left")
        if len(self._numbers) == 1:
            t.jump("latch")
            return
        for name, begin in (("agreed", -2), ("parted", 0), ("elsewhere", 0), ("there", 0), ("parted.item", 0)):
            prologue.do(f"%{name} = alloca i64")
            prologue.do(f"store i64 {begin}, ptr %{name}")
        number = t.op("phi i64 " + ", ".join(f"[ {n}, %{label} ]" for label, n in self._left))
        agreed = t.op("load i64, ptr %agreed")
        other = t.op(f"icmp ne i64 {agreed}, {number}")
        differs = t.op(f"and i1 {other}, {t.op(f'icmp ne i64 {agreed}, -2')}")
        t.branch(differs, "diverged", "agree", unlikely=True)
        t.block("agree")
        t.do(f"store i64 {number}, ptr %agreed")
        t.jump("latch")
        cold = t.aside()
        cold.block("diverged")
        local = emit_item(cold)
        parted = cold.op("load i64, ptr %parted")
        is_first = cold.op(f"icmp eq i64 {parted}, 0")
        for slot, value in (("elsewhere", number), ("parted.item", local)):
            kept = cold.op(f"load i64, ptr %{slot}")
            cold.do(f"store i64 {cold.op(f'select i1 {is_first}, i64 {value}, i64 {kept}')}, ptr %{slot}")
        cold.do(f"store i64 {cold.op(f'add i64 {parted}, 1')}, ptr %parted")
        cold.do(f"store i64 {_count_there(cold, number)}, ptr %there")
        cold.jump("latch")
        t.put_aside(cold)

    def result(self) -> list[str]:
        """Returns the lines behind the last work-item: they return where all left, or tell that some left elsewhere."""
        if len(self._numbers) == 1:
            return [f"  ret i64 {self._numbers.pop()}"]
        return [
            "  %agreed.last = load i64, ptr %agreed",
            "  %parted.last = load i64, ptr %parted",
            "  %whole = icmp eq i64 %parted.last, 0",
            "  br i1 %whole, label %together, label %apart",
            "together:",
            "  ret i64 %agreed.last",
            "apart:",
            "  %elsewhere.last = load i64, ptr %elsewhere",
            "  %there.last = load i64, ptr %there",
            "  %item.last = load i64, ptr %parted.item",
            "  call void @diverged(ptr %ctx, i64 %gl, i64 %item.last, i64 %elsewhere.last, i64 %agreed.last, i64 %there.last, "
            "i64 %parted.last)",
            f"  ret i64 {ABANDONED}",
        ]


def _count_there(t: Text, number: str) -> str:
    """Emits how many work-items have left where the first one left that parted from the others."""
    elsewhere = t.op("load i64, ptr %elsewhere")
    is_there = t.op(f"zext i1 {t.op(f'icmp eq i64 {number}, {elsewhere}')} to i64")
    return t.op(f"add i64 {t.op('load i64, ptr %there')}, {is_there}")
