"""Whether a launch runs several of its groups as one: whether it may, and whether that costs less."""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.layout import size_of
from ...ir.memory_ops import is_atomic
from ...ir.mod_ref import read_arguments, written_arguments
from ...ir.queries import globals_of
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import LocalArg, Specialization
from ..analysis.loop_bounds import needs_no_watchdog
from ..llvm import objects
from ..vector import estimate_cost
from .coarse_grid import MOST_LOCAL_BYTES, choose_grid
from .decision import Decision
from .group_number import find_group_numbers, find_rows
from .local_memory import LocalMemory
from .rewrite import REWRITTEN

_MAX_COST_RATIO = 0.6
"""An estimate is rough: the coarse launch must cost at most so much of the launch itself."""
_QUERIES = REWRITTEN | {"get_work_dim"}


def find_grid(kernel: ir.Function, spec: Specialization, facts: LaunchFacts) -> Decision:
    """Returns the grid over which a launch may run several of its groups as one, of those that may be coarse. spec: with
    proofs."""
    memory = LocalMemory(kernel)
    if not memory.is_used or not any(builtin_of(i).sync for block in kernel.blocks for i in block.instrs):
        return Decision(None, "no work-items that share local memory")
    if not needs_no_watchdog(kernel, spec.proofs.ends_soon):
        return Decision(None, "a loop whose length is not known")
    if spec.full and not memory.objects <= spec.proofs.race_free_locals:
        return Decision(None, "local memory that work-items may race for")
    obstacle = _obstacle(kernel) or memory.obstacle()
    if obstacle is not None:
        return Decision(None, obstacle)
    assert spec.most_groups is not None
    row, plane = find_rows(find_group_numbers(kernel, spec.most_groups[0]), facts.groups[0])
    grid = choose_grid(facts, row, plane, objects.machine().processor.lane_counts)
    if grid is None:
        return Decision(None, "too few groups side by side")
    if _local_bytes(kernel, spec) * grid.lanes > MOST_LOCAL_BYTES:
        return Decision(None, "too much local memory")
    return Decision(grid)


def pays(coarse: ir.Function, coarse_spec: Specialization, kernel: ir.Function, spec: Specialization, copies: int) -> bool:
    """Returns whether the coarse kernel, in which one work-item does the work of `copies`, costs clearly less than the kernel.
    Both specs have proofs. Raises NotVectorizable if one of them has no vector code."""
    return estimate_cost(coarse, coarse_spec) / copies < estimate_cost(kernel, spec) * _MAX_COST_RATIO


def _local_bytes(kernel: ir.Function, spec: Specialization) -> int:
    variables = sum(size_of(g.type) for g in globals_of(kernel) if g.space == ir.LOCAL)
    return variables + sum(arg.nbytes for arg in spec.args if isinstance(arg, LocalArg))


def _obstacle(kernel: ir.Function) -> str | None:
    """Returns why the order in which groups run could matter, or what vectors of groups cannot hold; None if nothing does."""
    local = {param.index for param in kernel.params if param.type == ir.Pointer(ir.LOCAL)}
    if written_arguments(kernel) & read_arguments(kernel) - local:
        return "an argument that is read and written"
    for block in kernel.blocks:
        for instr in block.instrs:
            found = _obstacle_of(instr)
            if found is not None:
                return found
    return None


def _obstacle_of(instr: ir.Instr) -> str | None:
    if is_atomic(instr) or instr.op == "fence":
        return "atomic operations or fences"
    if instr.volatile and ir.type_of(instr.operands[-1]) not in (ir.Pointer(ir.LOCAL), ir.Pointer(ir.PRIVATE)):
        return "volatile accesses"
    if instr.callee is None:
        return None
    row, name = builtin_of(instr), instr.callee.name
    if not row.in_vectors or (row.sync and not (row.fence_flags and row.sync == "group")):
        return f"{name}()"
    if row.query and name.startswith("get_") and name not in _QUERIES and not name.startswith("get_image"):
        return f"{name}()"
    if name in REWRITTEN and instr.operands and not isinstance(instr.operands[0], ir.Const):
        return f"{name}() of a dimension that is not constant"
    return None
