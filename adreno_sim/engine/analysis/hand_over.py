"""Whether atomics may order two accesses of different work-items: the first one's releases after its access, the second one's
acquires before its own (OpenCL C 6.15.12.4).

In the last work-group that sums up what all have written, or where a flag hands data over, an atomic and fences order accesses
that no barrier orders. Which value an atomic reads, and so whether it does order them, is not followed here: this tells pairs
that cannot be ordered so from pairs that may be.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.cfg import reachable_from
from ...ir.memory_ops import is_atomic

_GLOBAL_FENCES = 6  # CLK_GLOBAL_MEM_FENCE and CLK_IMAGE_MEM_FENCE
_RELAXED = 0  # memory_order_relaxed


class HandOvers:
    """The atomics and fences of a kernel, and which instructions may execute between which."""

    def __init__(self, kernel: ir.Function):
        self._position = {id(i): (block, n) for block in kernel.blocks for n, i in enumerate(block.instrs)}
        self._instrs = [i for block in kernel.blocks for i in block.instrs]
        self._reachable: dict[int, set[ir.Block]] = {}
        self._atomics = [instr for instr in self._instrs if is_atomic(instr)]
        self._fences = [instr for instr in self._instrs if _is_fence(instr)]

    def may_order(self, earlier: int, later: int) -> bool:
        """Returns whether atomics may order two instructions of different work-items, given as `Unit.instr_number` counts."""
        if not (earlier and later and self._atomics):
            return False
        return self._releases_after(self._instrs[earlier - 1]) and self._acquires_before(self._instrs[later - 1])

    def _releases_after(self, access: ir.Instr) -> bool:
        atomics = [a for a in self._atomics if a is access or self._may_follow(a, access)]
        return any(_is_ordered(a) or self._has_fence_between(access, a) for a in atomics)

    def _acquires_before(self, access: ir.Instr) -> bool:
        atomics = [a for a in self._atomics if a is not access and self._may_follow(access, a)]
        return any(_is_ordered(a) or self._has_fence_between(a, access) for a in atomics)

    def _has_fence_between(self, first: ir.Instr, second: ir.Instr) -> bool:
        if first is second:  # an atomic that is itself the access: a fence before it releases
            return any(self._may_follow(second, fence) for fence in self._fences)
        return any(self._may_follow(fence, first) and self._may_follow(second, fence) for fence in self._fences)

    def _may_follow(self, later: ir.Instr, earlier: ir.Instr) -> bool:
        """Returns whether a path leads from `earlier` to `later`."""
        (there, before), (here, after) = self._position[id(earlier)], self._position[id(later)]
        if here is there and before < after:
            return True
        if id(there) not in self._reachable:
            self._reachable[id(there)] = reachable_from(there)
        return here in self._reachable[id(there)]


def _is_fence(instr: ir.Instr) -> bool:
    """Returns whether an instruction orders accesses to global memory. Flags that are not constant may say so."""
    if instr.op != "fence" and not builtin_of(instr).fence_flags:
        return False
    flags = instr.operands[0] if instr.operands else None
    return not isinstance(flags, ir.Const) or not isinstance(flags.value, int) or bool(flags.value & _GLOBAL_FENCES)


def _is_ordered(atomic: ir.Instr) -> bool:
    """Returns whether an atomic has an order of its own: OpenCL C 2.0's without `_explicit`, or with an order that is not
    relaxed. Those of 1.x, named atomic_add and so on, have none."""
    if atomic.op in ("atomicrmw", "cmpxchg"):
        return True
    row = builtin_of(atomic)
    if row.orders != "as_given" or atomic.callee is None:
        return row.orders == "always"
    spelled = zip(atomic.callee.args, atomic.operands, strict=True)
    orders = [value.value if isinstance(value, ir.Const) else None for type, value in spelled if type == "memory_order"]
    return any(order != _RELAXED for order in orders)
