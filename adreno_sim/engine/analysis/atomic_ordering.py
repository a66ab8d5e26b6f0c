"""Whether atomics may order two accesses of different work-items: the first one's releases after its access, the second one's
acquires before its own (OpenCL C 6.15.12.4).

In the last work-group that sums up what all have written, or where a flag hands data over, an atomic and fences order accesses
that no barrier orders. Which value an atomic reads, and so whether it does order them, is not followed here: this tells pairs
that cannot be ordered so from pairs that may be.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.memory_ops import fence_flags, is_atomic
from ...ir.provenance import ObjectId, Provenance
from ..abi.kernel_shape import GLOBAL_FLAG, IMAGE_FLAG

_RELAXED = 0  # memory_order_relaxed


class AtomicOrdering:
    """The atomics and fences of a kernel, and which instructions may execute between which."""

    def __init__(self, kernel: ir.Function):
        self._position = {id(i): (block, n) for block in kernel.blocks for n, i in enumerate(block.instrs)}
        self._instrs = [i for block in kernel.blocks for i in block.instrs]
        self._after: dict[tuple[int, bool], frozenset[int]] = {}
        provenance = Provenance(kernel)
        self._atomics = [instr for instr in self._instrs if is_atomic(instr)]
        self._global_atomics = [a for a in self._atomics if _may_be_global(kernel, provenance.object_id(a.operands[0]))]
        self._fences = [instr for instr in self._instrs if _is_fence(instr)]

    def may_order(self, earlier: int, later: int, same_group: bool) -> bool:
        """Returns whether atomics may order two instructions of different work-items, given as `Unit.instr_number` counts.

        Work-items of one group pass barriers together: between two of its barriers, barriers hand nothing over. Between groups
        only atomics on global memory do.
        """
        atomics = self._atomics if same_group else self._global_atomics
        if not (earlier and later and atomics):
            return False
        fences = [fence for fence in self._fences if not (same_group and builtin_of(fence).sync)]
        first, second = self._instrs[earlier - 1], self._instrs[later - 1]

        def follows(x: ir.Instr, y: ir.Instr) -> bool:
            return id(x) in self._reached_from(y, same_group)

        def releases(atomic: ir.Instr) -> bool:
            if atomic is first:  # a fence before it releases what the work-item did, the atomic itself included
                return _is_ordered(atomic) or any(follows(atomic, fence) for fence in fences)
            between = any(follows(fence, first) and follows(atomic, fence) for fence in fences)
            return follows(atomic, first) and (_is_ordered(atomic) or between)

        def acquires(atomic: ir.Instr) -> bool:
            between = any(follows(fence, atomic) and follows(second, fence) for fence in fences)
            return atomic is not second and follows(second, atomic) and (_is_ordered(atomic) or between)

        return any(map(releases, atomics)) and any(map(acquires, atomics))

    def _reached_from(self, start: ir.Instr, within_interval: bool) -> frozenset[int]:
        """Returns the ids of the instructions that may follow `start`; `within_interval`: without a barrier in between."""
        key = id(start), within_interval
        if key not in self._after:
            block, at = self._position[id(start)]
            found: set[int] = set()
            pending, entered = [(block, at + 1)], set[int]()
            while pending:
                block, at = pending.pop()
                for instr in block.instrs[at:]:
                    found.add(id(instr))
                    if within_interval and builtin_of(instr).sync == "group":
                        break
                else:
                    fresh = [target for target in block.successors if id(target) not in entered]
                    entered.update(map(id, fresh))
                    pending += [(target, 0) for target in fresh]
            self._after[key] = frozenset(found)
        return self._after[key]


def _may_be_global(kernel: ir.Function, object_id: ObjectId | None) -> bool:
    """Returns whether an object may be memory that groups share."""
    if object_id is None:
        return True
    kind, which = object_id
    type = next((param.type for param in kernel.params if kind == "param" and param.index == which), None)
    return isinstance(type, ir.Pointer) and type.space != ir.LOCAL


def _is_fence(instr: ir.Instr) -> bool:
    """Returns whether an instruction orders accesses to global memory or images. Flags that are not constant may say so."""
    if instr.op != "fence" and not builtin_of(instr).fence_flags:
        return False
    flags = fence_flags(instr)
    return not isinstance(flags, ir.Const) or not isinstance(flags.value, int) or bool(flags.value & (GLOBAL_FLAG | IMAGE_FLAG))


def _is_ordered(atomic: ir.Instr) -> bool:
    """Returns whether an atomic has its own order: OpenCL C 2.0's without `_explicit`, or with an order that is not
    relaxed. Those of 1.x, named atomic_add and so on, have none."""
    if atomic.op in ("atomicrmw", "cmpxchg"):
        return True
    row = builtin_of(atomic)
    if row.orders != "as_given" or atomic.callee is None:
        return row.orders == "always"
    spelled = zip(atomic.callee.args, atomic.operands, strict=True)
    orders = [value.value if isinstance(value, ir.Const) else None for type, value in spelled if type == "memory_order"]
    return any(order != _RELAXED for order in orders)
