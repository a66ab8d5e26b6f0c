"""The memory plan of a CompiledModel: what its VM program allocates, how long each tensor lives, what sizes would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ...device import AdrenoSimError, BufferSpec, Device, TensorSpec
from ...image import format_of
from .lifetimes import Lifetimes, TensorLife, trace
from .memory_plan import MemoryPlan, PlannedStorage, PlannedTensor, PlanSummary

if TYPE_CHECKING:
    from ..artifact import CompiledModel

Size = Callable[[TensorSpec], int]

ROW_ALIGNMENT = 64
"""Bytes to which TVM's planner aligns texture rows: `image_base_address_alignment` of its Adreno targets."""


def row_aligned(alignment: int = ROW_ALIGNMENT) -> Size:
    """Sizes with texture rows rounded up to `alignment` bytes, as TVM's planner means to compute them."""

    def size(spec: TensorSpec) -> int:
        view = spec.lower()
        if isinstance(view, BufferSpec):
            return view.nbytes
        row = view.width * format_of(view.order, view.channel_type).texel_bytes
        return -(-row // alignment) * alignment * view.height * view.depth_or_layers

    return size


def device_sizes(device: Device) -> Size:
    """Sizes as `device` lays views out."""
    return lambda spec: device.view_nbytes(spec.lower(device))


def extract_plan(
    model: CompiledModel,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    size: Size | None = None,
    rule: str = f"texture rows aligned to {ROW_ALIGNMENT} bytes",
) -> MemoryPlan:
    """The plan of `main`.

    shapes: input name -> shape, needed for inputs with symbolic dimensions. size: bytes that a tensor needs, with `rule`
    saying how in words; by default as TVM's planner means to compute them. Lifetimes are VM instruction indices.
    Raises AdrenoSimError where a symbolic input has no shape or shapes contradict the program.
    """
    lives = trace(model, _input_shapes(model, shapes or {}))
    tensors = [_tensor(life, size or row_aligned()) for life in lives.tensors]
    storages = [_storage(lives, tensors, key) for key in lives.storages]
    constants = sum(array.nbytes for array in model.constants.values())
    return MemoryPlan("main", rule, tuple(storages), tuple(tensors), summarise(storages, tensors, constants))


def _input_shapes(model: CompiledModel, given: Mapping[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
    shapes = []
    for info in model.inputs:
        dims = given.get(info.name, info.shape)
        if any(isinstance(dim, str) for dim in dims):
            raise AdrenoSimError(f"input {info.name!r} has the symbolic shape {info.shape}: its plan needs a shape")
        shapes.append(tuple(int(dim) for dim in dims))
    return shapes


def _tensor(life: TensorLife, size: Size) -> PlannedTensor:
    spec = life.spec
    return PlannedTensor(
        id=life.id,
        storage=life.storage,
        offset=life.offset,
        shape=spec.shape,
        dtype=spec.dtype,
        scope=spec.scope,
        dense_bytes=spec.nbytes,
        right_bytes=size(spec),
        first=life.first,
        last=life.last,
        origin=life.origin,
    )


def _storage(lives: Lifetimes, tensors: Iterable[PlannedTensor], key: str) -> PlannedStorage:
    storage = lives.storages[key]
    inside = [tensor for tensor in tensors if tensor.storage == key]
    needed = max((tensor.offset + tensor.right_bytes for tensor in inside), default=0)
    last = max([storage.first, *(tensor.last for tensor in inside)])
    nbytes = needed if storage.nbytes is None else storage.nbytes
    return PlannedStorage(key, storage.scope, nbytes, needed, storage.first, last, storage.planned)


def summarise(storages: Iterable[PlannedStorage], tensors: Iterable[PlannedTensor], constants: int) -> PlanSummary:
    """Totals; storages that the planner left alone count only in `unplanned`."""
    storages, tensors = list(storages), list(tensors)
    planned = {storage.id for storage in storages if storage.planned}
    inside = [tensor for tensor in tensors if tensor.storage in planned]
    return PlanSummary(
        storages=len(planned),
        tensors=len(inside),
        planned=sum(s.planned_bytes for s in storages if s.planned),
        right=sum(s.needed_bytes for s in storages if s.planned),
        live_lower_bound=live_lower_bound(inside),
        unplanned=sum(s.planned_bytes for s in storages if not s.planned),
        constants=constants,
    )


def live_lower_bound(tensors: Iterable[PlannedTensor]) -> int:
    """The largest sum of right sizes of tensors alive at one instruction: no placement can need less."""
    changes: dict[int, int] = {}
    for tensor in tensors:
        changes[tensor.first] = changes.get(tensor.first, 0) + tensor.right_bytes
        changes[tensor.last + 1] = changes.get(tensor.last + 1, 0) - tensor.right_bytes
    most = live = 0
    for _, change in sorted(changes.items()):
        live += change
        most = max(most, live)
    return most
