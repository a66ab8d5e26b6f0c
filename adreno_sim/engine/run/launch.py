"""Runs a compiled kernel: context block, worker threads, watchdog, and the results."""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

import numpy as np

from ...base.errors import AdrenoSimError, DeviceError
from ...base.run_options import Order
from ...base.specs import Size3
from ...device.counters import LaunchCounters
from ...device.protocol import AccessCounts, StoreEvent
from ...findings import Finding
from ...image.formats import format_of
from ...ir import ir, llvm_types
from ...records import dataclass
from ..abi import argument_block, context, order_tables
from ..abi.bound import Bound, BoundBuffer, BoundImage
from ..abi.specialization import BufferArg, ImageArg, ScalarArg
from .aligned_memory import ALIGNMENT, zeroed_aligned
from .compiled_kernel import CompiledKernel
from .printed_text import print_records
from .results import add_watchdog, findings_of, store_events
from .workers import Words, execute, execute_per_worker

EVENTS = 1 << 16
PRINT_BYTES = 1 << 20
_SPARE = 2
_LAST = np.iinfo(np.uint64).max
_NOTHING = np.zeros(0, np.uint64)


class CounterBlock(Protocol):
    """Memory that counted code fills."""

    def start(self, groups: int) -> int:
        """Makes it ready for a launch of `groups` groups. Returns its address."""
        ...


@dataclass
class RawResult:
    """What a launch leaves besides memory: findings, watched stores in order, printf text, and the seconds that groups ran.

    failed: a deferred check failed; the rest is then meaningless, and groups may not have run. last_epoch: of level full.
    executed, executed_proven: access counts, if the code counts them. accesses: facts about accesses (set by
    `optimistic`). failures: sentences, each something that was not found out. ran: the code, in the order in which it ran.
    deferred: all its results are from code with deferred checks, and none of these failed (set by `optimistic`). difference: what
    a second run did otherwise (set by `second_run`).
    """

    findings: list[Finding] = field(default_factory=list)
    stores: list[StoreEvent] = field(default_factory=list)
    printed: str = ""
    seconds: float = 0.0
    failed: bool = False
    last_epoch: int = 0
    executed: int = 0
    executed_proven: int = 0
    accesses: AccessCounts | None = None
    failures: tuple[str, ...] = ()
    ran: tuple[CompiledKernel, ...] = ()
    counters: LaunchCounters | None = None
    deferred: bool = False
    difference: str = ""


def run(
    compiled: CompiledKernel,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    *,
    threads: int = 0,
    timeout: float = 60.0,
    seed: int = 0,
    order: Order = "shuffled",
    watch_range: tuple[int, int] | None = None,
    work_dim: int = 3,
    first_epoch: int = 1,
    counters: CounterBlock | None = None,
    chosen: np.ndarray | None = None,
) -> RawResult:
    """Runs every work-group of `global_size` and waits. The memory of `args` is used in place.

    `args` are parallel to the kernel's parameters; None if the specialization holds everything (local memory, samplers).

    At level full, groups and work-items are scheduled in an order that depends on `seed` and `order` alone, on one thread
    unless groups are proven independent, because the result of a race would otherwise depend on timing. Code with deferred
    checks is exempt: it exists only for kernels whose work-items cannot race.

    counters: the counter block of counted code, which counts for one thread. chosen: the groups that sampled code runs, by linear
    id (32 bits).

    Race cells must hold nothing from `first_epoch` (> 0) on; the result's `last_epoch` is the last epoch they then hold. Raises
    DeviceError if an argument does not fit. A launch that runs longer than `timeout` seconds is stopped and has a watchdog
    finding.
    """
    launch = _Launch(compiled, _three(global_size), _three(offset), args, watch_range, work_dim)
    memory, words = launch.memory, launch.words
    if chosen is not None:
        words[context.GROUP_COUNT], words[context.GROUP_ORDER] = len(chosen), _address(chosen)
    if counters is not None:
        words[context.COUNTERS] = counters.start(words[context.GROUP_COUNT])
    threads = 1 if watch_range is not None or counters is not None else threads or len(os.sched_getaffinity(0))
    scheduled = compiled.spec.full and not compiled.spec.deferred_checks
    full = _FullLevel(compiled, launch, (seed, order), first_epoch, threads) if scheduled else None
    start = time.perf_counter()
    if full is None or len(full.blocks) == 1:
        execute(compiled, words, memory.context, memory.arguments, threads if full is None else 1, timeout)
    else:
        execute_per_worker(compiled, full.blocks, memory.arguments, timeout)
        full.gather()
    seconds = time.perf_counter() - start
    found: list[Finding] = []
    if memory.fired or compiled.module.static_findings:
        found = findings_of(compiled, memory.sites, global_size, args, offset)
    if words[context.LEFT_OUT] and not words[context.FAULT_FLAG]:
        found = add_watchdog(compiled, found)
    undecided: list[str] = []
    if full is not None:
        races, undecided = full.findings(global_size, args, offset)
        if found or races:
            from .race_findings import merge_race_findings

            found = merge_race_findings(found, races)
    printed = cut = ""
    if compiled.module.prints:
        printed, cut = print_records(compiled.module.prints, launch.prints, words[context.PRINT_USED])
    result = RawResult(
        found,
        store_events(compiled, launch.events, words[context.WATCH_COUNT], global_size, offset) if watch_range else [],
        printed,
        seconds,
        bool(words[context.FAULT_FLAG]),
        full.last_epoch if full is not None else 0,
        words[context.EXECUTED],
        words[context.EXECUTED_PROVEN],
        failures=(*compiled.module.failures, *undecided, *filter(None, [cut])),
        ran=(compiled,),
    )
    launch.release()
    return result


def _three(size: Sequence[int]) -> Size3:
    x, y, z = size
    return x, y, z


def _check_grid(compiled: CompiledKernel, global_size: Sequence[int], offset: Sequence[int]) -> None:
    """Raises AdrenoSimError if code compiled for a bounded grid is launched on a larger one."""
    spec = compiled.spec
    groups = tuple(-(-whole // part) for whole, part in zip(global_size, spec.local_size, strict=True))
    if spec.most_groups is not None and (any(offset) or any(g > m for g, m in zip(groups, spec.most_groups, strict=True))):
        raise AdrenoSimError(
            f"kernel {compiled.name}: compiled for at most {spec.most_groups} groups at offset 0, got {groups} at {tuple(offset)}"
        )


def _argument_block(compiled: CompiledKernel, args: Sequence[Bound]) -> bytes:
    """Returns the argument block that the machine code reads; checks each argument against the specialization."""
    spec, kernel = compiled.spec, compiled.kernel
    if len(args) != len(spec.args):
        raise DeviceError("CL_INVALID_KERNEL_ARGS", f"kernel {kernel.name}: expected {len(spec.args)} arguments, got {len(args)}")
    offsets, size = argument_block.slots(spec.args)
    block = bytearray(size)
    for param, kind, at, arg in zip(kernel.params, spec.args, offsets, args, strict=True):
        if isinstance(kind, BufferArg):
            data = _buffer(arg, kernel, param) + _shadows(kind, arg)
        elif isinstance(kind, ImageArg):
            data = _image(arg, kind, kernel, param) + _shadows(kind, arg)
        elif isinstance(kind, ScalarArg):
            if not isinstance(arg, bytes) or len(arg) != kind.nbytes:
                where = _where(kernel, param)
                raise DeviceError("CL_INVALID_ARG_SIZE", f"{where}: expected {kind.nbytes} bytes, got {arg!r:.60}")
            data = arg
        else:
            continue
        block[at : at + len(data)] = data
    return bytes(block)


def _where(kernel: ir.Function, param: ir.Param) -> str:
    return f"kernel {kernel.name}, argument {param.index} ({param.name})"


def _buffer(arg: Bound, kernel: ir.Function, param: ir.Param) -> bytes:
    if not isinstance(arg, BoundBuffer):
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{_where(kernel, param)}: expected a buffer, got {type(arg).__name__}")
    if arg.address % ALIGNMENT and arg.nbytes:
        where = f"{_where(kernel, param)}: address {arg.address:#x}"
        raise DeviceError("CL_MISALIGNED_SUB_BUFFER_OFFSET", f"{where} is not a multiple of {ALIGNMENT}")
    return struct.pack("<QQ", arg.address, arg.nbytes)


def _image(arg: Bound, spec: ImageArg, kernel: ir.Function, param: ir.Param) -> bytes:
    if not isinstance(arg, BoundImage):
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{_where(kernel, param)}: expected an image, got {type(arg).__name__}")
    row = arg.width * format_of(spec.order, spec.channel_type).texel_bytes
    needed = (arg.depth_or_layers - 1) * arg.slice_pitch + (arg.height - 1) * arg.row_pitch + row
    if min(arg.width, arg.height, arg.depth_or_layers) < 1 or needed > arg.nbytes:
        where = _where(kernel, param)
        raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{where}: the image needs {needed} bytes, its view has {arg.nbytes}")
    fields = (arg.address, arg.width, arg.height, arg.depth_or_layers, arg.row_pitch, arg.slice_pitch)
    return struct.pack("<6Q", *fields)


def _shadows(spec: BufferArg | ImageArg, arg: Bound) -> bytes:
    if spec.shadow is None:
        return b""
    assert isinstance(arg, (BoundBuffer, BoundImage))
    return struct.pack("<QQ", arg.valid, arg.cells)


class _Memory:
    """Context block, argument block and site records of one run at a time, in one allocation, for one compiled kernel.

    prepared: the grid and arguments for which `image` holds the initial bytes.
    """

    def __init__(self, compiled: CompiledKernel):
        count = len(compiled.module.sites)
        self.arguments_at = llvm_types.align_up(context.WORDS * 8, ALIGNMENT)
        self.sites_at = llvm_types.align_up(self.arguments_at + argument_block.slots(compiled.spec.args)[1], ALIGNMENT)
        whole, self.context = zeroed_aligned(self.sites_at + count * context.SITE_WORDS * 8)
        self.arguments, self.sites_address = self.context + self.arguments_at, self.context + self.sites_at
        self.sites = whole[self.sites_at :].view(np.uint64).reshape(count, context.SITE_WORDS)
        self.bytes = memoryview(whole.data)
        self.words = self.bytes[: context.WORDS * 8].cast("Q")
        self.site_bytes = self.bytes[self.sites_at :]
        self.sites[:, context.SITE_ORDER] = _LAST
        self.quiet = self.image = bytes(self.bytes)
        self.quiet_sites = bytes(self.site_bytes)
        self.prepared: tuple[object, ...] | None = None

    def prepare(self, compiled: CompiledKernel, global_size: Size3, offset: Size3, args: Sequence[Bound], work_dim: int) -> None:
        """Makes the memory ready for a run of this grid and these arguments. Raises as `run` does."""
        asked = global_size, offset, list(args), work_dim
        if asked != self.prepared:
            block = _argument_block(compiled, args)
            _check_grid(compiled, global_size, offset)
            self.bytes[:] = self.quiet
            groups = [-(-whole // part) for whole, part in zip(global_size, compiled.spec.local_size, strict=True)]
            fields = math.prod(groups), 1, *groups, *offset, *global_size, work_dim, self.sites_address
            struct.pack_into(f"<{len(fields)}Q", self.bytes, context.GROUP_COUNT * 8, *fields)
            self.words[context.FLUSHES] = int(compiled.spec.flush_denormals)
            self.bytes[self.arguments_at : self.arguments_at + len(block)] = block
            self.image, self.prepared = bytes(self.bytes), asked
        self.bytes[:] = self.image

    @property
    def fired(self) -> bool:
        """True if any site has a record."""
        return self.site_bytes.tobytes() != self.quiet_sites


class _Launch:
    """The memory of one run, and the buffers of watch and printf. `release` it after use: allocating it takes as long as a
    short launch."""

    def __init__(
        self,
        compiled: CompiledKernel,
        global_size: Size3,
        offset: Size3,
        args: Sequence[Bound],
        watch: tuple[int, int] | None,
        work_dim: int,
    ):
        try:
            memory: _Memory = compiled.spare.pop()
        except IndexError:
            memory = _Memory(compiled)
        memory.prepare(compiled, global_size, offset, args, work_dim)
        self._compiled, self.memory, self.words = compiled, memory, memory.words
        self.groups = memory.words[context.GROUP_COUNT]
        self.events = self.prints = _NOTHING
        if watch:
            self.events = np.zeros((EVENTS, context.EVENT_WORDS), np.uint64)
            self._set(context.WATCH_LOW, *watch, _address(self.events), 0, len(self.events))
        if compiled.module.prints:
            self.prints = np.zeros(PRINT_BYTES // 8, np.uint64)
            self._set(context.PRINT_BUFFER, _address(self.prints), 0, self.prints.nbytes)

    def _set(self, first: int, *values: int) -> None:
        for word, value in enumerate(values, first):
            self.words[word] = value

    def release(self) -> None:
        """Leaves the memory to the next launch of the same code."""
        if len(self._compiled.spare) < _SPARE:
            self._compiled.spare.append(self.memory)


def _address(array: np.ndarray) -> int:
    """Returns the address of the elements, or 0 if there are none."""
    return int(array.ctypes.data) if len(array) else 0


class _FullLevel:
    """What a launch at level full needs besides: the schedule, the epochs of groups, and race records.

    blocks: the context blocks; more than one if workers run groups concurrently, each with its own clock and race records.
    """

    def __init__(self, compiled: CompiledKernel, launch: _Launch, schedule: tuple[int, Order], first_epoch: int, threads: int):
        spec = compiled.spec
        self.compiled, self.words = compiled, launch.words
        count = order_tables.items_in_table(compiled.module.by_subgroup, spec.items, spec.wave_size)
        self.group_order, self.items = order_tables.tables(launch.groups, count, *schedule)
        self.group_epochs = np.full(launch.groups, np.iinfo(np.uint64).max, np.uint64)
        workers = min(threads, launch.groups) if _are_groups_independent(compiled) else 1
        workers = compiled.pace.choose(workers, launch.groups)
        self.races = np.zeros((workers, context.RACE_CAPACITY, context.RACE_WORDS), np.uint64)
        launch.words[context.LAUNCH_EPOCH] = first_epoch << 32
        launch.words[context.EPOCH] = (first_epoch - 1) << 32
        tables = {context.GROUP_ORDER: self.group_order, context.ITEM_ORDER: self.items, context.GROUP_EPOCHS: self.group_epochs}
        for word, table in tables.items():
            launch.words[word] = table.ctypes.data
        launch.words[context.RACES] = self.races[0].ctypes.data
        self.bounds = [launch.groups * n // workers for n in range(workers + 1)]
        self.blocks: list[tuple[Words, int]] = [(launch.words, launch.memory.context)]
        if workers > 1:
            self.blocks = [self._block(number) for number in range(workers)]

    def _block(self, number: int) -> tuple[Words, int]:
        """Returns the context block of one worker of several."""
        memory, address = zeroed_aligned(self.words.nbytes)
        words = memoryview(memory.data).cast("Q")
        words[:] = self.words
        words[context.FIRST_GROUP], words[context.GROUP_COUNT] = self.bounds[number], self.bounds[number + 1]
        words[context.RACES] = self.races[number].ctypes.data
        return words, address

    def gather(self) -> None:
        """Merges the workers' context blocks into that of the launch."""
        for word in (context.EXECUTED, context.EXECUTED_PROVEN):
            self.words[word] = sum(words[word] for words, _ in self.blocks)
        for word in (context.LEFT_OUT, context.EPOCH):
            self.words[word] = max(words[word] for words, _ in self.blocks)

    @property
    def last_epoch(self) -> int:
        return self.words[context.EPOCH] >> 32

    def findings(
        self, global_size: Sequence[int], args: Sequence[Bound], offset: Sequence[int]
    ) -> tuple[list[Finding], list[str]]:
        if not any(words[context.RACE_COUNT] for words, _ in self.blocks):
            return [], []
        from .race_findings import RaceRecords, race_findings  # which most launches do not need

        parts = []
        for (words, _), races, low, high in zip(self.blocks, self.races, self.bounds[:-1], self.bounds[1:], strict=True):
            records = races[: words[context.RACE_COUNT]]
            parts.append(RaceRecords(records, self.group_epochs[low:high], self.group_order[low:high]))
        return race_findings(self.compiled, parts, global_size, args, offset)


def _are_groups_independent(compiled: CompiledKernel) -> bool:
    """Returns True if groups cannot interact: no argument has race cells, and the kernel prints nothing."""
    shadows = [arg.shadow for arg in compiled.spec.args if isinstance(arg, (BufferArg, ImageArg))]
    return not compiled.module.prints and not any(shadow is not None and shadow.cell_words for shadow in shadows)
