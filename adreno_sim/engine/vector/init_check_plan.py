"""Decides which launches of level full can run in vectors: those whose only possible findings are uninitialised reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.memory_ops import address_operands, is_plain_store, touches_memory
from ...ir.provenance import Provenance
from ..abi.specialization import BufferArg, ImageArg
from ..emit.unit import Unit
from ..shadow.undefined_values import PADDING, VARIABLE, UndefinedValues, consumed_operands
from ..shadow.uses import Uses
from .tile import NotVectorizable


@dataclass
class InitCheckPlan:
    """What the regions of a kernel share: the uses of values, and arena offsets of init shadows.

    `local`: of all local memory of a group. `private`: of the private variables that lie in the arena, by id.
    """

    uses: Uses
    local: int
    private: dict[int, tuple[int, int]] = field(default_factory=dict)


def plan_init_checks(unit: Unit, kernel: ir.Function, provenance: Provenance) -> InitCheckPlan:
    """Returns the plan. Raises NotVectorizable if races or undefined values are possible as well."""
    for param, arg in zip(kernel.params, unit.spec.args, strict=True):
        if isinstance(arg, (BufferArg, ImageArg)) and arg.shadow is not None and arg.shadow.cell_words:
            raise NotVectorizable(f"{param.name}, which work-items may race for")
    _check_local(unit, kernel, provenance)
    uses = Uses(kernel)
    _check_variables(kernel, UndefinedValues(kernel, uses))
    return InitCheckPlan(uses, unit.reserve_arena(unit.local_bytes))


def _check_local(unit: Unit, kernel: ir.Function, provenance: Provenance) -> None:
    """Checks that local arrays are proven race-free."""
    for instr in (i for block in kernel.blocks for i in block.instrs if touches_memory(i)):
        for target in address_operands(instr):
            object_id = None if isinstance(ir.type_of(target), ir.Image) else provenance.object_id(target)
            if object_id is None or object_id in unit.spec.proofs.race_free_locals:
                continue
            kind, which = object_id
            if kind in ("global", "param") and which in unit.local_offsets:
                raise NotVectorizable("local memory that work-items may race for")


def _check_variables(kernel: ir.Function, undefined: UndefinedValues) -> None:
    """Checks that no use can see a variable without a value, and that no store leaves some of its bytes unwritten."""
    for instr in (i for block in kernel.blocks for i in block.instrs):
        stores = is_plain_store(instr) or builtin_of(instr).image == "write"
        for operand in consumed_operands(instr, undefined):
            reasons = frozenset().union(*undefined.lanes(operand).values())
            if VARIABLE in reasons or (stores and PADDING in reasons):
                raise NotVectorizable("a variable that may have no value")
