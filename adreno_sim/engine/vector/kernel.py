"""The plan of a kernel for the vector emitter: tile, lane shapes, private variables, and spilled values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.provenance import Provenance, is_pointer
from ..abi import argument_block
from ..abi.specialization import Specialization, with_shadow
from ..analysis.active_items import find_active_items
from ..analysis.parallel_regions import RegionPlan
from ..analysis.segments import Graph
from ..caching.kernel_memo import KernelMemo
from ..emit import sync_points
from ..emit.check import NotVectorizable
from ..emit.collectives import is_collective
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.region import STACK_LIMIT, value_bytes
from ..emit.unit import Unit
from ..llvm import objects
from . import lanes
from .emitter import VectorEmitter
from .flow.region import emit_region
from .lane_shapes import LaneShapes
from .lanes import choose_shapes
from .privates import Privates
from .vector_plan import VectorPlan

STACK_FACTOR = 8
"""The private variables of a tile may take this many times STACK_LIMIT on the worker's stack."""


def plan(unit: Unit, kernel: ir.Function, plan_checks: Callable[[KernelPlan], list[CheckPlan]]) -> VectorPlan:
    """Returns the plan of `kernel`, with what `plan_checks` returns for it. Raises NotVectorizable, with the reason, if scalar
    code must run."""
    spec = unit.spec
    graph, provenance, privates = _prepare(kernel)
    shapes = _shapes_of(kernel, spec, privates)
    slots = argument_block.slots(spec.args)[0]
    regions = RegionPlan(graph, polls=not spec.proofs.ends_soon)
    result = VectorPlan(unit, provenance, regions, False, slots, tile=shapes.tile, shapes=shapes, privates=privates)
    result.checks = plan_checks(result)
    _place_private(result, kernel)
    _place_spills(result)
    return result


def estimate_cost(kernel: ir.Function, spec: Specialization) -> float:
    """Returns what vector code of a launch costs a work-item, to be compared with that of other launches. Regions in which some
    work-items have no effect count less. Raises NotVectorizable as `plan` does."""
    graph, _, privates = _prepare(kernel)
    shapes = _shapes_of(kernel, spec, privates)
    shares = _active_shares(RegionPlan(graph), shapes, spec.local_size)
    return lanes.estimate_cost(shapes, kernel, privates, lambda instr: shares.get(id(instr), 1.0))


_chosen: KernelMemo[LaneShapes | str] = KernelMemo(capacity=8)
"""The shapes of a few kernels, or why there are none: an estimate and the code that follows ask for the same."""


def _shapes_of(kernel: ir.Function, spec: Specialization, privates: Privates) -> LaneShapes:
    """Returns what `choose_shapes` does. The records of arguments, and the way a failed check is reported, change no shape."""

    def choose() -> LaneShapes | str:
        try:
            return choose_shapes(kernel, spec, privates, functools.partial(_check_barriers, kernel))
        except NotVectorizable as reason:
            return str(reason)

    same = replace(spec, args=tuple(with_shadow(arg, None) for arg in spec.args), deferred_checks=False)
    found = _chosen.get(kernel, same, objects.machine().identity, make=choose)
    if isinstance(found, str):
        raise NotVectorizable(found)
    return found


def _active_shares(plan: RegionPlan, shapes: LaneShapes, local: tuple[int, int, int]) -> dict[int, float]:
    """Returns the share of work-items whose tiles run an instruction, by its id: of barriers and of questions for ids, none."""
    shares: dict[int, float] = {}
    for region in plan.regions:
        active, share = find_active_items(plan, region), 1.0
        if active is not None:
            step = shapes.tile.size[active.axis]
            share = min(1.0, -(-active.bound // step) * step / local[active.axis])
        for instr in (i for segment in region.order for i in segment.instrs):
            shares[id(instr)] = 0.0 if builtin_of(instr).query else max(share, shares.get(id(instr), 0.0))
    return shares | {id(sync.instr): 0.0 for sync in plan.graph.sync_points}


def _prepare(kernel: ir.Function) -> tuple[Graph, Provenance, Privates]:
    graph = Graph(kernel, sync_points.Scopes())
    if any(sync.scope == "wave" or is_collective(sync.instr) for sync in graph.sync_points):
        raise NotVectorizable("functions of a sub-group or work-group")
    provenance = Provenance(kernel)
    return graph, provenance, Privates(kernel, provenance)


def _check_barriers(kernel: ir.Function, shapes: LaneShapes) -> None:
    """Checks that barriers are in uniform control flow."""
    scope = sync_points.Scopes()
    blocks = {id(b) for b in kernel.blocks if any(i.op == "call" and scope(i) for i in b.instrs)}
    for loop, level in shapes.structure.levels.items():
        for item in level.linear | ({level.entry} if loop is not None and loop.divergent else set()):
            body = item.body if hasattr(item, "body") else {item}
            if any(id(s.block) in blocks for s in body):
                raise NotVectorizable("a barrier in divergent control flow")


def _place_private(plan: VectorPlan, kernel: ir.Function) -> None:
    variables = [i for i in kernel.blocks[0].instrs if i.op == "alloca"]
    lanes = plan.tile.lanes
    x, y, z = plan.tile.count(plan.unit.spec.local_size)
    rooms = [plan.private, *(check.private_rooms for check in plan.checks if check.shadows_private)]
    stacked = variables if plan.is_single_region else _of_first_region(plan, variables)
    if sum(plan.privates.slot_bytes(i) for i in stacked) * lanes * len(rooms) > STACK_LIMIT * STACK_FACTOR:
        stacked = []
    tiles_at_once = 1 if plan.is_single_region else x * y * z
    for placed in rooms:
        for instr in (i for i in variables if i not in stacked):
            stride = plan.privates.slot_bytes(instr) * lanes
            placed[id(instr)] = (plan.unit.reserve_arena(stride * tiles_at_once), 0 if plan.is_single_region else stride)


def _of_first_region(plan: VectorPlan, variables: list[ir.Instr]) -> list[ir.Instr]:
    """Returns the private variables that only the code before the first synchronisation point uses."""
    others = (i for region in plan.regions.regions[1:] for segment in region.order for i in segment.instrs)
    used = {id(plan.privates.variable(value)) for instr in others for value in instr.operands if is_pointer(value)}
    return [variable for variable in variables if id(variable) not in used]


def _place_spills(plan: VectorPlan) -> None:
    live_across_sync = plan.regions.live_across_syncs()
    if not live_across_sync:
        return
    emitter = VectorEmitter(plan, plan.regions.regions[0], emit_region)
    x, y, z = plan.tile.count(plan.unit.spec.local_size)
    for value in live_across_sync:
        types = emitter.spill_types(value)
        plan.spilled[id(value)] = [plan.unit.reserve_arena(x * y * z * value_bytes(t)) for t in types]


def region_functions(plan: VectorPlan) -> list[str]:
    """Returns the text of every region."""
    return [VectorEmitter(plan, region, emit_region).emit() for region in plan.regions.regions]
