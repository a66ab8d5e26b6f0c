"""Which launches at level full can run in vectors: those where valid bytes are all there is to look for."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import ir
from ...ir.memory_ops import address_operands, touches_memory
from ...ir.provenance import Provenance
from ..abi.specialization import BufferArg, ImageArg
from ..emit.unit import Unit
from ..shadow.undefined_values import PADDING, VARIABLE, UndefinedValues, consumed_operands
from ..shadow.uses import Uses
from .tile import NotVectorizable


@dataclass
class InitCheckPlan:
    """What regions of a kernel share: how values are used, and where valid bytes lie in the arena.

    local: of all local memory of a group. private: of the variables that lie in the arena themselves, by id.
    """

    uses: Uses
    local: int
    private: dict[int, tuple[int, int]] = field(default_factory=dict)


def plan_init_checks(unit: Unit, kernel: ir.Function, provenance: Provenance) -> InitCheckPlan:
    """Raises Unsuitable where there is more to look for than valid bytes."""
    for param, arg in zip(kernel.params, unit.spec.args, strict=True):
        if isinstance(arg, (BufferArg, ImageArg)) and arg.shadow is not None and arg.shadow.cell_words:
            raise NotVectorizable(f"{param.name}, which work-items may race for")
    _check_local(unit, kernel, provenance)
    uses = Uses(kernel)
    _check_variables(kernel, UndefinedValues(kernel, uses))
    return InitCheckPlan(uses, unit.reserve_arena(unit.local_bytes))


def _check_local(unit: Unit, kernel: ir.Function, provenance: Provenance) -> None:
    """Local arrays must be proven to be free of races."""
    for instr in (i for block in kernel.blocks for i in block.instrs if touches_memory(i)):
        for target in address_operands(instr):
            object_id = None if isinstance(ir.type_of(target), ir.Image) else provenance.object_id(target)
            if object_id is None or object_id in unit.spec.proofs.race_free_locals:
                continue
            kind, which = object_id
            if kind in ("global", "param") and which in unit.local_offsets:
                raise NotVectorizable("local memory that work-items may race for")


def _check_variables(kernel: ir.Function, undefined: UndefinedValues) -> None:
    """No use of a value may be one of a variable without a value; nor may a store leave bytes of what it writes unwritten."""
    for instr in (i for block in kernel.blocks for i in block.instrs):
        stores = instr.op == "store" or (instr.callee is not None and instr.callee.name.startswith(("vstore", "write_image")))
        for operand in consumed_operands(instr, undefined):
            reasons = frozenset().union(*undefined.lanes(operand).values())
            if VARIABLE in reasons or (stores and PADDING in reasons):
                raise NotVectorizable("a variable that may have no value")
