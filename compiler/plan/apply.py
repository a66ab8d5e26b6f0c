"""Writes a chosen plan back into a compiled model: its storages replace the planned ones, tensors become views at offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...base.errors import AdrenoSimError, UnsupportedError
from ...records import dataclass
from ..artifact.memory_plan import ON_CHIP, MemoryPlan
from ..artifact.model import ENTRY, CompiledModel
from ..artifact.vm_function import AllocStorage, AllocTensor, Block, CopyTensor, Instruction, Kill, Reg, ShapeLiteral, ToDevice
from ..artifact.vm_registers import change_blocks, find_blocks, find_registers, walk
from . import planners
from .allocation import Allocation
from .audit import audit
from .chip.recordings import with_recordings
from .extract import extract_plan
from .inline import inline_calls
from .kills import kill_after_last_use
from .order.reorder import reorder
from .plan_file import read_plan
from .problem import Problem
from .replan import allocation_of, plan_of, with_rules
from .rules import DeviceRules, spec_of


def replan(model: CompiledModel, planner: str, rules: DeviceRules) -> CompiledModel:
    """`model` with its planned tensors placed for a device by `planner`: a name, or a plan file (.json).

    Tensors of subgraphs for OpenCL ML are among them. Raises as `apply` does, and AdrenoSimError for an unknown planner or an
    unreadable file.
    """
    from .chip.planner import place_on_chip, recordable_plan
    from .graph_tensors import with_graph_tensors
    from .order.planner import ordered_plan, place_reordered

    model = with_graph_tensors(model, rules.ml)
    if planners.uses_chip(planner):
        _static_plan(model, planner)
        return apply(model, place_on_chip(model, rules, planner), rules)
    if planners.places(planner):
        _static_plan(model, planner)
        return apply(model, place_reordered(model, rules, planner)[0], rules)
    if planner.endswith(".json"):
        order = read_plan(planner).order
        _static_plan(model, planner)
        problem = rules.problem(ordered_plan(model, order) if order else recordable_plan(model), chip=True)
        return apply(model, read_allocation(planner, problem), rules)
    return apply(model, planners.plan(planner, rules.problem(_static_plan(model, planner))), rules)


def require_plan(planner: str) -> None:
    """Raise as `replan` does for an unknown planner, or a plan file that cannot be read, before there is a model."""
    if planner.endswith(".json"):
        read_plan(planner)
    else:
        planners.require_installed(planner)


def read_allocation(path: str, problem: Problem) -> Allocation:
    """Where the plan in a file puts the tensors of `problem`. AdrenoSimError if they are not in it unchanged."""
    plan = read_plan(path)
    try:
        _check_same(problem, plan, f"the plan of {plan.model or plan.function}")
    except AdrenoSimError as error:
        raise AdrenoSimError(f"{path}: {error}") from None
    return replace(allocation_of(plan, problem), planner=path)


def apply(model: CompiledModel, allocation: Allocation, rules: DeviceRules) -> CompiledModel:
    """`model` with the allocation written into `main`; what the planner leaves to the runtime stays unchanged.

    A copy to another scope that has a place becomes a tensor there, which is written. The steps of `main` run in the order of the
    allocation.

    Functions that `main` calls are inlined first, so that one plan covers their tensors too.
    Raises AdrenoSimError if the allocation is of another model, UnsupportedError if the device cannot hold it, or
    where input shapes are symbolic: a placement is for given sizes.
    """
    model = inline_calls(model)
    plan = _static_plan(model, allocation.planner)
    if order := allocation.problem.order:
        from .order.planner import ordered_plan

        model, plan = reorder(model, order), ordered_plan(model, order)
    _check_same(allocation.problem, plan, model.name)
    reasons = why_not(model, allocation, rules)
    if reasons:
        more = f" ({len(reasons) - 1} more like this)" if len(reasons) > 1 else ""
        raise UnsupportedError(f"plan {allocation.planner} cannot be applied on {rules.device}: {reasons[0]}{more}")
    placed = {
        item.id: number
        for number, item in enumerate(allocation.problem.items)
        if allocation.storage_of[number] not in allocation.unplanned
    }
    starts = {tensor.first: placed[tensor.id] for tensor in plan.tensors if tensor.id in placed}
    body = model.functions[ENTRY].body
    taken = {register for i in walk(body) for register in find_registers(i)}
    names = [_fresh(f"planned_{number}", taken) for number in range(len(allocation.storages))]
    planned = {name for number, name in enumerate(names) if number not in allocation.unplanned}
    rewriting = _Rewriting(allocation, starts, names, _replaced_storages(model, starts))
    scopes = [ON_CHIP if number in allocation.on_chip else "global" for number in range(len(names))]
    made = [
        AllocStorage(name, ShapeLiteral((nbytes,)), scope, "uint8")
        for name, nbytes, scope in zip(names, allocation.storages, scopes, strict=True)
    ]
    new_body = _with_storages(kill_after_last_use(rewriting.block(body)), {storage.dst: storage for storage in made})
    functions = {**model.functions, ENTRY: replace(model.functions[ENTRY], body=new_body)}
    applied = with_recordings(replace(model, functions=functions, plan=None))
    found = extract_plan(applied)
    storages = tuple(replace(s, planned=True, why="") if s.id in planned else s for s in found.storages)
    return replace(applied, plan=with_rules(replace(found, storages=storages), rules))


def why_not(model: CompiledModel, allocation: Allocation, rules: DeviceRules) -> list[str]:
    """Why a device cannot run the allocation, in words; empty where it can. model: its steps in the allocation's order."""
    reasons = allocation.violations()
    items = allocation.problem.items
    if not rules.image_views:
        inside = [number for number, item in enumerate(items) if item.is_texture and allocation.offsets[number]]
        if inside:
            number = inside[0]
            reasons.append(
                f"{len(inside)} textures lie at offsets of a storage, {items[number].id} at {allocation.offsets[number]:,}, "
                "which takes images over buffers; the device has no image2d_array over a buffer (cl_ext_image_from_buffer)"
            )
    for number, item in enumerate(items):
        if allocation.storage_of[number] in allocation.on_chip:
            continue
        alignment = rules.alignment(spec_of(item))
        if allocation.offsets[number] % alignment:
            reasons.append(f"{item.id} at offset {allocation.offsets[number]:,}: expected a multiple of {alignment:,} bytes")
    if reasons:
        return reasons
    plan = replace(extract_plan(model), order=allocation.problem.order)
    found = audit(plan_of(allocation, plan), rules, allocation.planner).findings
    return [finding.message for finding in found if finding.severity.name == "ERROR"]


def _static_plan(model: CompiledModel, planner: str) -> MemoryPlan:
    if any(isinstance(dim, str) for info in model.inputs for dim in info.shape):
        raise UnsupportedError(f"plan {planner} cannot be applied to {model.name}: its input shapes are symbolic")
    return extract_plan(model)


def _check_same(problem: Problem, plan: MemoryPlan, owner: str) -> None:
    """Every tensor of `problem` is in `plan`, of the same type and life. AdrenoSimError with the first that is not."""
    there = {tensor.id: tensor for tensor in plan.tensors}
    for item in problem.items:
        tensor = there.get(item.id)
        if tensor is None:
            raise AdrenoSimError(f"the plan is for another model: {owner} has no tensor {item.id!r}")
        found = _description(tensor.dtype, tensor.shape, tensor.scope, tensor.first, tensor.last)
        wanted = _description(item.dtype, item.shape, item.scope, item.start, item.last)
        if found != wanted:
            raise AdrenoSimError(
                f"the plan is for another model: tensor {item.id!r} of {owner} is {found}; what is to be placed is {wanted}"
            )


def _description(dtype: str, shape: tuple[int, ...], scope: str, first: int, last: int) -> str:
    return f"{dtype} {shape} in {scope}, live {first} to {last}"


def _replaced_storages(model: CompiledModel, starts: dict[int, int]) -> frozenset[str]:
    """Registers of the storages in which no tensor stays. Lifetimes number instructions as `walk` goes."""
    kept: set[str] = set()
    made: set[str] = set()
    for index, instruction in enumerate(walk(model.functions[ENTRY].body)):
        if isinstance(instruction, AllocTensor) and index not in starts:
            kept.add(instruction.storage)
        elif isinstance(instruction, AllocStorage):
            made.add(instruction.dst)
    return frozenset(made - kept)


@dataclass
class _Rewriting:
    """starts: instruction that makes a tensor -> its number in the allocation. gone: storages without tensors now."""

    allocation: Allocation
    starts: dict[int, int]
    names: list[str]
    gone: frozenset[str]
    index: int = -1

    def block(self, body: Block) -> Block:
        """The body with placed tensors in their new storages; instructions are counted as lifetimes count them."""
        out: list[Instruction] = []
        for instruction in body:
            self.index += 1
            number = self.starts.get(self.index)
            if isinstance(instruction, (AllocTensor, ToDevice)) and number is not None:
                out += self._placed(instruction, number)
            elif not self._obsolete(instruction):
                out.append(change_blocks(instruction, self.block))
        return tuple(out)

    def _placed(self, instruction: AllocTensor | ToDevice, number: int) -> Block:
        """The tensor that `instruction` makes, in its place; a copy is written into it."""
        storage, offset = self.names[self.allocation.storage_of[number]], self.allocation.offsets[number]
        if isinstance(instruction, AllocTensor):
            return (replace(instruction, storage=storage, offset=offset),)
        item = self.allocation.problem.items[number]
        made = AllocTensor(instruction.dst, storage, offset, ShapeLiteral(item.shape), item.dtype, item.scope)
        return made, CopyTensor(instruction.src, Reg(instruction.dst))

    def _obsolete(self, instruction: Instruction) -> bool:
        if isinstance(instruction, AllocStorage):
            return instruction.dst in self.gone
        return isinstance(instruction, Kill) and instruction.name in self.gone


def _with_storages(body: Block, made: Mapping[str, AllocStorage]) -> Block:
    """The body with each storage of `made` made before the instruction that first uses it, and let go after the last one.

    Tensors keep their storage. A storage that one side of a branch alone uses is made there.
    """
    used = [_storages_in((instruction,)) & made.keys() for instruction in body]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for point, names in enumerate(used):
        for name in names:
            first.setdefault(name, point)
            last[name] = point
    out: list[Instruction] = []
    for point, instruction in enumerate(body):
        alone = {name: made[name] for name in used[point] if first[name] == last[name]}
        sides = [_storages_in(block) for block in find_blocks(instruction)]
        inside = {name for name in alone if sum(name in side for side in sides) == 1}

        def place(block: Block, alone: Mapping[str, AllocStorage] = alone, inside: set[str] = inside) -> Block:
            return _with_storages(block, {name: alone[name] for name in _storages_in(block) & inside})

        here = [name for name in made if name in used[point] - inside]
        out += [made[n] for n in here if first[n] == point]
        out.append(change_blocks(instruction, place))
        out += [Kill(n) for n in here if last[n] == point]
    return tuple(out)


def _storages_in(body: Block) -> set[str]:
    return {i.storage for i in walk(body) if isinstance(i, AllocTensor)}


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
