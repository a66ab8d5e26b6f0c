"""The memory plan of a CompiledModel: what its VM program allocates, how long each tensor lives, what sizes would be right."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ...base.errors import AdrenoSimError
from ...base.specs import BufferSpec, TensorSpec
from ...results.plan_summary import PlanSummary
from ..artifact.memory_plan import ON_CHIP, FixedTensor, MemoryPlan, PlannedStorage, PlannedTensor, PlannedWorkspace, SymbolRange
from ..run.texture_views import ROW_ALIGNMENT, planned_nbytes
from ..run.uploads import find_uploads
from .lifetimes import Lifetimes, TensorLife, trace
from .spans import live_peak, storage_spans

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel

Size = Callable[[TensorSpec], int]

LARGEST_EXTENT = 2**31 - 1
"""Of a symbolic dimension: what TVM computes from it fits 64 bits."""

PROBES = 3
"""Sizes of the symbols besides the ends of their ranges at which sizes of storages are compared."""

PROBE_SIZES = (64, 37, 96, 53, 128, 71, 160, 89, 192)


def row_aligned_size(spec: TensorSpec) -> int:
    """Bytes of a tensor with texture rows of multiples of ROW_ALIGNMENT bytes, as TVM's planner intends."""
    view = spec.lower()
    return view.nbytes if isinstance(view, BufferSpec) else planned_nbytes(view)


def extract_plan(
    model: CompiledModel,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    size: Size | None = None,
    rule: str = f"texture rows aligned to {ROW_ALIGNMENT} bytes",
) -> MemoryPlan:
    """The plan of `main`.

    shapes: input name -> shape, needed for inputs with symbolic dimensions. size: bytes that a tensor needs, with `rule`
    saying how in words; by default as TVM's planner means to compute them. Lifetimes are VM instruction indices.
    Raises AdrenoSimError if a symbolic input has no shape or shapes contradict the program.
    """
    inputs = input_shapes(model, shapes or {})
    lives = trace(model, inputs)
    tensors = [_tensor(life, size or row_aligned_size) for life in lives.tensors]
    storages = [_storage(lives, tensors, key) for key in lives.storages]
    constants = sum((size or row_aligned_size)(spec) for _, spec in _constants(model))
    return MemoryPlan(
        "main",
        rule,
        tuple(storages),
        tuple(tensors),
        summarise(storages, tensors, constants, lives.workspaces),
        workspaces=tuple(lives.workspaces),
        fixed=_fixed_tensors(model, inputs, lives, size or row_aligned_size),
        accesses_known=True,
        model=model.name,
        recordings=tuple(lives.recordings),
    )


def extract_bounded(
    model: CompiledModel,
    bounds: Mapping[str, tuple[int, int]],
    size: Size | None = None,
    rule: str = f"texture rows aligned to {ROW_ALIGNMENT} bytes",
) -> MemoryPlan:
    """The plan of a model whose input shapes are symbolic, for sizes in `bounds`: symbol -> (low, high).

    Raises AdrenoSimError for a symbol without bounds, bounds that are none, or unknown symbols.
    """
    ranges = ranges_of([dim for info in model.inputs for dim in info.shape if isinstance(dim, str)], bounds)
    low, high = sizes_at_ends(ranges)
    least = extract_plan(model, _shapes_at(model, low), size, rule)
    plan = extract_plan(model, _shapes_at(model, high), size, rule)
    return replace(plan, tensors=_with_symbolic(model, plan, least, ranges), symbols=ranges, least=least.summary)


def _with_symbolic(
    model: CompiledModel, plan: MemoryPlan, least: MemoryPlan, ranges: Sequence[SymbolRange]
) -> tuple[PlannedTensor, ...]:
    """The tensors of `plan`, those in storages of symbolic size with that size at other values of the symbols.

    TVM's planner shares a storage of symbolic size where it proves sizes equal: polynomials that agree at a few points are.
    """
    others = [least]
    for probe in range(PROBES):
        sizes = {symbol.name: PROBE_SIZES[(probe * len(ranges) + n) % len(PROBE_SIZES)] for n, symbol in enumerate(ranges)}
        with contextlib.suppress(AdrenoSimError):  # sizes that the program does not take
            others.append(extract_plan(model, _shapes_at(model, sizes)))
    elsewhere = list(zip(*([storage.planned_bytes for storage in other.storages] for other in others), strict=True))
    symbolic = {
        storage.id: sizes
        for storage, sizes in zip(plan.storages, elsewhere, strict=True)
        if set(sizes) != {storage.planned_bytes}
    }
    return tuple(replace(tensor, symbolic=symbolic.get(tensor.storage, ())) for tensor in plan.tensors)


def ranges_of(names: Iterable[str], bounds: Mapping[str, tuple[int, int]]) -> tuple[SymbolRange, ...]:
    """The range of each symbol. AdrenoSimError for one without bounds, bounds that are none, or bounds of something else."""
    symbols = list(dict.fromkeys(names))
    there = f"the model's symbols are {', '.join(symbols) or 'none'}"
    for name in bounds:
        if name not in symbols:
            raise AdrenoSimError(f"bounds for {name!r}: {there}")
    for name in symbols:
        if name not in bounds:
            raise AdrenoSimError(f"no bounds for symbolic dimension {name!r}; {there}")
        if not 1 <= bounds[name][0] <= bounds[name][1] <= LARGEST_EXTENT:
            raise AdrenoSimError(f"bounds {bounds[name][0]} to {bounds[name][1]} for {name!r}: expected 1 <= low <= high < 2^31")
    return tuple(SymbolRange(name, *bounds[name]) for name in symbols)


def sizes_at_ends(ranges: Sequence[SymbolRange]) -> tuple[dict[str, int], dict[str, int]]:
    """The sizes of the symbols at the lower end of every range, and at the upper end."""
    return {symbol.name: symbol.low for symbol in ranges}, {symbol.name: symbol.high for symbol in ranges}


def _shapes_at(model: CompiledModel, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    return {info.name: tuple(sizes[dim] if isinstance(dim, str) else dim for dim in info.shape) for info in model.inputs}


def _fixed_tensors(
    model: CompiledModel, inputs: Iterable[tuple[int, ...]], lives: Lifetimes, size: Size
) -> tuple[FixedTensor, ...]:
    """Inputs, constants (with the padding of those that are textures), outputs, in that order."""
    found = []
    for info, shape in zip(model.inputs, inputs, strict=True):
        found.append(_fixed_tensor(info.name, "input", TensorSpec(shape, info.dtype, info.scope), 0))
    uploaded = set(find_uploads(model))
    for tensor in list_constants(model, size):
        found.append(replace(tensor, first=0 if (tensor.name, tensor.scope) in uploaded else None))
    for number, spec in enumerate(lives.results):
        name = model.outputs[number].name if number < len(model.outputs) else f"output_{number}"
        found.append(_fixed_tensor(name, "output", spec))
    return tuple(found)


def list_constants(model: CompiledModel, size: Size = row_aligned_size) -> list[FixedTensor]:
    """Every constant of the model's functions, with the padding of those that are textures."""
    return [replace(_fixed_tensor(key, "constant", spec), nbytes=size(spec)) for key, spec in _constants(model)]


def _constants(model: CompiledModel) -> list[tuple[str, TensorSpec]]:
    """Every constant once for each scope in which the program uploads it, by name; one that no instruction names as a buffer."""
    scopes: dict[str, list[str]] = {key: [] for key in model.constants}
    for key, scope in find_uploads(model):
        scopes[key].append(scope)
    arrays = model.constants
    return [
        (key, TensorSpec(arrays[key].shape, arrays[key].dtype.name, scope))
        for key, found in scopes.items()
        for scope in found or ["global"]
    ]


def _fixed_tensor(
    name: str, kind: Literal["input", "constant", "output"], spec: TensorSpec, first: int | None = None
) -> FixedTensor:
    return FixedTensor(name, kind, tuple(map(int, spec.shape)), spec.dtype, spec.scope, spec.nbytes, first)


def input_shapes(model: CompiledModel, given: Mapping[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The shapes of the inputs in order. AdrenoSimError for a symbolic one that is not given."""
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
        written=life.written,
        read=life.read,
        allocated=life.allocated,
        left_alone=life.left_alone,
        call=life.call,
        producer=life.producer,
        reader=life.reader,
        reads=tuple(life.reads),
    )


def _storage(lives: Lifetimes, tensors: Iterable[PlannedTensor], key: str) -> PlannedStorage:
    storage = lives.storages[key]
    inside = [tensor for tensor in tensors if tensor.storage == key]
    needed = max((tensor.offset + tensor.right_bytes for tensor in inside), default=0)
    last = max([storage.first, storage.last, *(tensor.last for tensor in inside)])
    nbytes = needed if storage.nbytes is None else storage.nbytes
    alone = all(tensor.left_alone for tensor in inside) and bool(inside)
    return PlannedStorage(
        key, storage.scope, nbytes, needed, storage.first, last, not alone, inside[0].left_alone if alone else ""
    )


def summarise(
    storages: Iterable[PlannedStorage],
    tensors: Iterable[PlannedTensor],
    constants: int,
    workspaces: Iterable[PlannedWorkspace] = (),
) -> PlanSummary:
    """Totals of device memory: what is on the chip counts in `on_chip` alone. Storages that the planner left to the runtime
    count only in `unplanned`, and while they live; those of a call while it runs. The bound is of all tensors in memory."""
    by_call: dict[int, int] = {}
    for workspace in workspaces:
        by_call[workspace.instruction] = by_call.get(workspace.instruction, 0) + workspace.nbytes
    storages = list(storages)
    chips = {storage.id for storage in storages if storage.scope == ON_CHIP}
    storages = [storage for storage in storages if storage.scope != ON_CHIP]
    tensors = list(tensors)
    on_chip = live_lower_bound(tensor for tensor in tensors if tensor.storage in chips)
    tensors = [tensor for tensor in tensors if tensor.storage not in chips]
    planned = {storage.id for storage in storages if storage.planned}
    spans = storage_spans(storages, tensors)
    return PlanSummary(
        storages=len(planned),
        tensors=sum(tensor.storage in planned for tensor in tensors),
        planned=live_peak((*spans[s.id], s.planned_bytes) for s in storages if s.planned),
        right=live_peak((*spans[s.id], s.needed_bytes) for s in storages if s.planned),
        live_lower_bound=live_lower_bound(tensors),
        unplanned=live_peak((*spans[s.id], s.planned_bytes) for s in storages if not s.planned),
        constants=constants,
        workspace=max(by_call.values(), default=0),
        on_chip=on_chip,
    )


def live_lower_bound(tensors: Iterable[PlannedTensor]) -> int:
    """The largest sum of right sizes of tensors alive at one instruction: no placement can need less."""
    return live_peak((tensor.first, tensor.last + 1, tensor.right_bytes) for tensor in tensors)
