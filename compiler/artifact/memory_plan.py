"""A memory plan as data: storages, the tensors that live in them, and what they add up to."""

from __future__ import annotations

from typing import Literal

from ...records import dataclass
from ...results.plan_summary import PlanSummary

ON_CHIP = "on-chip"
"""Scope of the storage that is a device's on-chip global memory; tensors in it have scopes as anywhere."""

RUNTIME_COPY = "a copy in another scope, which the runtime allocates"
"""`why` of a storage that has whatever size the device asks for."""


@dataclass(frozen=True)
class PlannedStorage:
    """One alloc_storage. planned_bytes as the planner wrote it; needed_bytes the largest right size among its tensors.

    scope: ON_CHIP where it is on-chip memory, else memory of the device.

    [first, last] are VM instruction indices over which the storage exists. planned: False if all that is in it
    was left to the runtime (results, copies between scopes); `why` then says for what reason.
    """

    id: str
    scope: str
    planned_bytes: int
    needed_bytes: int
    first: int
    last: int
    planned: bool = True
    why: str = ""


@dataclass(frozen=True)
class PlannedTensor:
    """One tensor in a storage. dense_bytes unpadded, right_bytes under the device's pitch rule; live on [first, last].

    An alias (reshape) is not listed: it extends the life of the tensor it names. `origin` is the host function that
    writes it first. written, read: the instructions of its first write and first read (None: there is none, or it is not
    known); `accesses_known` of the plan says which. allocated: its storage is, on every way to the tensor. left_alone: why TVM's
    planner does not place it, "" if it does. call: the instructions [first, last] of the function call that makes it, () in
    the entry function. symbolic: where TVM planned its storage without knowing the size, the bytes of that at other values of
    the symbols. producer, reader: what writes it first and reads it last, as operators of the model where they are known. reads:
    every instruction that reads it.
    """

    id: str
    storage: str
    offset: int
    shape: tuple[int, ...]
    dtype: str
    scope: str
    dense_bytes: int
    right_bytes: int
    first: int
    last: int
    origin: str = ""
    written: int | None = None
    read: int | None = None
    allocated: bool = True
    left_alone: str = ""
    call: tuple[int, ...] = ()
    symbolic: tuple[int, ...] = ()
    producer: str = ""
    reader: str = ""
    reads: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlannedWorkspace:
    """Device memory that host function `function` takes for itself while `instruction` calls it; texture: as an image."""

    id: str
    function: str
    instruction: int
    nbytes: int
    texture: bool = False


@dataclass(frozen=True)
class FixedTensor:
    """A tensor no plan places: kind "input", "constant" or "output" (results that alias an input or constant too).

    Of a function of a session also "weight", which stays on the device between calls, and "state", memory of a KV cache.

    first: the instruction that first has it in device memory, from when on it stays there; None if it has no memory apart
    from the planned tensors, or where that is not known.
    """

    name: str
    kind: Literal["input", "constant", "output", "weight", "state"]
    shape: tuple[int, ...]
    dtype: str
    scope: str
    nbytes: int
    first: int | None = None


@dataclass(frozen=True)
class SymbolRange:
    """A symbolic dimension, low <= size <= high."""

    name: str
    low: int
    high: int


@dataclass(frozen=True)
class MemoryPlan:
    """The plan of one entry function for one set of input shapes under one pitch rule.

    `rule` says in words how right sizes were computed. Invariant: every tensor names a listed storage and is inside
    that storage's [first, last]. fixed: inputs, constants and outputs. symbols: where sizes are symbolic, the ranges that
    the plan is for; sizes and summary are those of the upper ends, `least` is the summary at the lower ends.
    recordings: launches [first, last] that are, or with on-chip memory can be, one enqueue of a recording.
    accesses_known: `written` and `read` of the tensors were recorded. order: the steps of the function as they run under this
    plan, where that is not as compiled: a step is an instruction that neither makes nor ends a storage or tensor, numbered as
    compiled.
    """

    function: str
    rule: str
    storages: tuple[PlannedStorage, ...]
    tensors: tuple[PlannedTensor, ...]
    summary: PlanSummary
    workspaces: tuple[PlannedWorkspace, ...] = ()
    fixed: tuple[FixedTensor, ...] = ()
    symbols: tuple[SymbolRange, ...] = ()
    least: PlanSummary | None = None
    accesses_known: bool = False
    model: str = ""
    order: tuple[int, ...] = ()
    recordings: tuple[tuple[int, int], ...] = ()

    @property
    def on_chip(self) -> frozenset[str]:
        """Storages that are on-chip memory."""
        return frozenset(storage.id for storage in self.storages if storage.scope == ON_CHIP)
