"""Checks a memory plan on a device: storages exist, views fit, live tensors are apart, images are legal, reads follow writes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from ...base.alignment import align_up
from ...base.specs import TensorSpec
from ...findings import Finding, Kind
from ...records import dataclass
from .compare import causes
from .problem import find_recording
from .replan import allocation_of, with_rules

if TYPE_CHECKING:
    from ..artifact.memory_plan import MemoryPlan, PlannedStorage, PlannedTensor
    from .rules import DeviceRules

SHARES: dict[str, Callable[[TensorSpec], tuple[str, ...]]] = {
    "tvm": lambda spec: (_pool(spec.scope), spec.dtype),
    "relay-1d2d": lambda spec: (spec.scope, spec.dtype) if _is_texture(spec) else (_pool(spec.scope),),
}
"""Planner -> what tensors must have in common to share a storage; planners not named here mix freely."""


@dataclass(frozen=True)
class Audit:
    """findings: what is wrong, tensors by name. causes: bytes by what they are spent on.

    dense: tensors at the peak without padding; padding: their pitch; slots: storages beyond their tensors, empty ones, and
    gaps inside; item_size: planned beyond right sizes; pages: the pool's rounding; workspace: of the largest call.
    dense + padding + slots + item_size are the bytes of all storages; `unplanned` of them are left to the runtime.
    """

    findings: tuple[Finding, ...]
    causes: dict[str, int]


def audit(plan: MemoryPlan, rules: DeviceRules, planner: str = "tvm") -> Audit:
    """Hold `plan` against the rules of a device, and against those of the planner that made it."""
    plan = with_rules(plan, rules)
    findings = chain(
        _check_allocated(plan),
        _check_fit(plan, rules),
        _check_overlaps(plan, rules),
        _check_reuse_rule(plan, planner),
        _check_images(plan, rules),
        _check_pitches(plan, rules),
        _check_alignment(plan, rules),
        _check_limits(plan, rules),
        _check_written_first(plan),
        _check_chip(plan, rules),
    )
    return Audit(tuple(findings), bytes_by_cause(plan, rules))


def bytes_by_cause(plan: MemoryPlan, rules: DeviceRules) -> dict[str, int]:
    """See Audit. `plan` has the sizes of `rules`."""
    problem = rules.problem(plan)
    split = causes(allocation_of(plan, problem), problem.lower_bound(), rules.page)
    return {
        "dense": split.dense,
        "padding": split.padding,
        "slots": split.mismatch + split.idle + split.gaps,
        "item_size": split.inflation,
        "pages": split.page_rounding,
        "unplanned": plan.summary.unplanned,
        "workspace": plan.summary.workspace,
    }


def _spec(tensor: PlannedTensor) -> TensorSpec:
    return TensorSpec(tensor.shape, tensor.dtype, tensor.scope)


def _is_texture(spec: TensorSpec) -> bool:
    return spec.scope.startswith("global.texture")


def _pool(scope: str) -> str:
    """Every kind of global memory, textures included, is one pool."""
    return "global" if scope.startswith("global") else scope


def _tensor_text(tensor: PlannedTensor) -> str:
    made = f" of {tensor.origin}" if tensor.origin else ""
    return f"{tensor.id}{made} ({tensor.dtype} {'x'.join(map(str, tensor.shape))}, {tensor.scope})"


def _by_storage(plan: MemoryPlan) -> dict[str, list[PlannedTensor]]:
    members: dict[str, list[PlannedTensor]] = {storage.id: [] for storage in plan.storages}
    for tensor in plan.tensors:
        members[tensor.storage].append(tensor)
    return members


def _check_allocated(plan: MemoryPlan) -> Iterator[Finding]:
    for tensor in plan.tensors:
        if not tensor.allocated:
            where = f"instruction {tensor.first} puts {_tensor_text(tensor)} into storage {tensor.storage}"
            message = f"{where}, which is allocated in a branch that does not lead there: at run time there may be none"
            yield Finding(Kind.STORAGE_UNALLOCATED, message, tensor=tensor.id)


def _check_fit(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    storages: dict[str, PlannedStorage] = {storage.id: storage for storage in plan.storages}
    for tensor in plan.tensors:
        room, end = storages[tensor.storage].planned_bytes, tensor.offset + rules.view_size(_spec(tensor))
        if end <= room:
            continue
        what = f"{_tensor_text(tensor)} ends at byte {end:,} of storage {tensor.storage}, which has {room:,} ({rules.text})"
        if end <= align_up(room, rules.page):
            yield Finding(Kind.PITCH_DIFFERS, f"{what}; it fits only because the pool rounds up to pages", tensor=tensor.id)
        else:
            yield Finding(Kind.VIEW_TOO_LARGE, what, tensor=tensor.id)


def _check_overlaps(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    for storage, tensors in _by_storage(plan).items():
        for one, other in _meetings(tensors, rules):
            lives = f"live over instructions {one.first} to {one.last} and {other.first} to {other.last}"
            message = f"{_tensor_text(one)} and {_tensor_text(other)} share bytes of storage {storage}, {lives}"
            yield Finding(Kind.STORAGE_REUSED_LIVE, message, tensor=other.id)


def _meetings(tensors: list[PlannedTensor], rules: DeviceRules) -> Iterator[tuple[PlannedTensor, PlannedTensor]]:
    """Pairs of tensors that are live together and overlap; each new tensor is compared with its neighbours by offset."""
    ends = sorted(range(len(tensors)), key=lambda number: tensors[number].last)
    live: list[tuple[int, int]] = []
    done = 0
    for number in sorted(range(len(tensors)), key=lambda number: (tensors[number].first, number)):
        while tensors[ends[done]].last < tensors[number].first:
            index = bisect_left(live, (tensors[ends[done]].offset, ends[done]))
            if index < len(live) and live[index][1] == ends[done]:
                del live[index]
            done += 1
        index = bisect_left(live, (tensors[number].offset, number))
        for _, other in live[max(index - 1, 0) : index + 1]:
            low, high = sorted((tensors[other], tensors[number]), key=lambda tensor: tensor.offset)
            if low.offset + rules.view_size(_spec(low)) > high.offset:
                yield tensors[other], tensors[number]
        insort(live, (tensors[number].offset, number))


def _check_reuse_rule(plan: MemoryPlan, planner: str) -> Iterator[Finding]:
    key = SHARES.get("tvm" if planner.startswith("tvm") else planner)
    for storage, tensors in _by_storage(plan).items() if key else ():
        assert key is not None
        for tensor in tensors[1:]:
            if key(_spec(tensor)) != key(_spec(tensors[0])):
                message = (
                    f"{_tensor_text(tensor)} shares storage {storage} with {_tensor_text(tensors[0])}, which {planner} never lets"
                )
                yield Finding(Kind.REUSE_RULE, message, tensor=tensor.id)
                break


def _check_images(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    if rules.image_views:
        return
    textures = [tensor for tensor in plan.tensors if _is_texture(_spec(tensor))]
    if textures:
        message = (
            f"{len(textures)} textures of the plan, {_tensor_text(textures[0])} the first, are to be images over buffers; "
            f"{rules.device} has no image2d_array over a buffer (cl_ext_image_from_buffer): each has separate memory there"
        )
        yield Finding(Kind.NO_IMAGE_FROM_BUFFER, message, tensor=textures[0].id, count=len(textures))


def _check_pitches(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    refused = [(tensor, why) for tensor in plan.tensors if (why := rules.refused_pitch(_spec(tensor)))]
    if refused:
        tensor, why = refused[0]
        more = f" (the first of {len(refused)} textures)" if len(refused) > 1 else ""
        message = f"{_tensor_text(tensor)}: {rules.device} refuses the image that TVM's runtime makes, {why}{more}"
        yield Finding(Kind.WRONG_ARGUMENT, message, tensor=tensor.id, count=len(refused))


def _check_alignment(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    for tensor in plan.tensors:
        if tensor.storage in plan.on_chip:
            continue  # no public text asks one; a kernel's argument is refused when it is launched
        alignment = rules.alignment(_spec(tensor))
        if tensor.offset % alignment:
            message = (
                f"{_tensor_text(tensor)} at offset {tensor.offset:,}: {rules.device} needs a multiple of {alignment:,} bytes"
            )
            yield Finding(Kind.MISALIGNED_VIEW, message, tensor=tensor.id)


def _check_limits(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    for tensor in plan.tensors:
        if reason := rules.over_limit(_spec(tensor)):
            yield Finding(Kind.LIMIT_EXCEEDED, f"{_tensor_text(tensor)}: {reason}", tensor=tensor.id)
    most = rules.max_allocation
    for storage in plan.storages:
        if most is not None and storage.id not in plan.on_chip and storage.planned_bytes > most:
            known = f"{most:,}{rules.range_text('MAX_MEM_ALLOC_SIZE')}"
            message = f"storage {storage.id}: {storage.planned_bytes:,} bytes: MAX_MEM_ALLOC_SIZE of {rules.device} is {known}"
            yield Finding(Kind.LIMIT_EXCEEDED, message)
    total, there = plan.summary.planned + plan.summary.constants, int(rules.limits.get("GLOBAL_MEM_SIZE") or 0)
    if there and total > there:
        known = f"{there:,}{rules.range_text('GLOBAL_MEM_SIZE')}"
        message = f"{total:,} bytes planned and constant: GLOBAL_MEM_SIZE of {rules.device} is {known}"
        yield Finding(Kind.LIMIT_EXCEEDED, message)


def _check_written_first(plan: MemoryPlan) -> Iterator[Finding]:
    for tensor in plan.tensors if plan.accesses_known else ():
        if tensor.read is not None and (tensor.written is None or tensor.read <= tensor.written):
            written = "nothing writes it" if tensor.written is None else f"instruction {tensor.written} writes it first"
            message = f"{_tensor_text(tensor)} is read by instruction {tensor.read}, but {written}"
            yield Finding(Kind.UNINITIALIZED_READ, message, tensor=tensor.id)


def _check_chip(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Finding]:
    """What is on the chip fits there, and is written and read inside one recording: see `device.on_chip`."""
    for storage in plan.storages:
        if storage.id in plan.on_chip and storage.planned_bytes > rules.on_chip:
            why = rules.why_no_chip or f"ONCHIP_GLOBAL_MEM_SIZE of {rules.device} is {rules.on_chip:,}"
            yield Finding(Kind.LIMIT_EXCEEDED, f"storage {storage.id}: {storage.planned_bytes:,} bytes on the chip: {why}")
    for tensor in plan.tensors if plan.accesses_known else ():
        if tensor.storage not in plan.on_chip or find_recording(tensor, plan.recordings):
            continue
        where = f"written by instruction {tensor.written} and used up to {tensor.last}"
        message = f"{_tensor_text(tensor)} lies on the chip, {where}, which no recording has both: contents end with a recording"
        yield Finding(Kind.ON_CHIP_LOST, message, tensor=tensor.id)
