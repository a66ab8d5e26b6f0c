"""Counted launches: a launch once more, in code that counts, on memory as it was before.

The counted run has no part in results and findings, which are those of the launch. It runs one work-item at a time on one
thread; where work-items race, it is one of the orders that may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...device.counters import LaunchCounters, MemoryCounters, PlaceCounters, add_places
from ...device.group_sample import Tracing
from ...findings import Kind
from ...image.formats import format_of
from ...ir.mod_ref import written_arguments
from ..abi import counting
from ..abi.bound import Bound, BoundBuffer, BoundImage
from ..abi.count_table import CountedSite, CountTable
from ..abi.specialization import BufferArg, ImageArg, Specialization
from ..analysis.failures import attempt, collect, note
from ..emit.diagnostic_sites import IMMEDIATE_KINDS
from . import launch
from .compiled_kernel import CompiledKernel, specialize
from .launch import RawResult
from .launch_analysis import LaunchAnalysis
from .memory_copies import copy_ranges, range_of, restore_ranges
from .optimistic import SNAPSHOT_LIMIT

Touched = dict[int, tuple[np.ndarray, np.ndarray]]
"""Of buffer and image arguments, by position: a bit for each byte, the lowest first: those that are read, and those written."""

MOST_GROUPS = 64
"""Groups of a launch that are traced wave by wave."""


def run_counted(
    analysis: LaunchAnalysis, args: Sequence[Bound], run: Callable[[], RawResult], line_bytes: int, keep: bool, **options: Any
) -> RawResult:
    """Runs a launch by `run`, and counts it: the result is that of `run`, with its counters, or with why there are none.

    args: without shadows. options: those of `launch.run`. Memory is what `run` leaves.
    """
    kernel = analysis.kernel
    written = [range_of(args[index]) for index in sorted(written_arguments(kernel))]
    ranges = [(address, nbytes) for address, nbytes in written if nbytes]
    before = copy_ranges(ranges)
    result = run()
    what = f"counters of kernel {kernel.name}"
    if any(finding.kind in IMMEDIATE_KINDS for finding in result.findings):
        result.failures = (*result.failures, f"{what}: the launch did not run to its end")
        return result
    after = copy_ranges(ranges)
    restore_ranges(ranges, before)
    spec = _counting_spec(replace(analysis.spec, proofs=analysis.proven.proofs))
    with collect() as failures:
        try:
            counted = attempt(what, lambda: _count(specialize(kernel, spec, keep=keep), args, line_bytes, options), None)
        except UnsupportedError as error:
            note([f"{what}: {error}"])
            counted = None
        finally:
            restore_ranges(ranges, after)
    result.counters = counted
    result.failures = (*result.failures, *failures)
    return result


def trace_touched(analysis: LaunchAnalysis, args: Sequence[Bound], keep: bool, **options: Any) -> Touched | None:
    """Returns which bytes a launch would touch of each argument, and leaves memory unchanged; None if it is not known.

    args: without shadows. options: those of `launch.run`.
    """
    kernel = analysis.kernel
    written = [range_of(args[index]) for index in sorted(written_arguments(kernel))]
    if sum(nbytes for _, nbytes in written) > SNAPSHOT_LIMIT:
        return None
    before = copy_ranges(written)
    # Most of the time is spent in the C runtime, which clang has optimised: LLVM would take longer than it saves.
    spec = replace(_counting_spec(replace(analysis.spec, proofs=analysis.proven.proofs)), unoptimised=True)

    def trace() -> Touched | None:
        compiled = specialize(kernel, spec, keep=keep)
        block = _CounterBlock(compiled, args, 64)
        done = launch.run(compiled, args=args, counters=block, **options)
        whole = not any(finding.kind in IMMEDIATE_KINDS or finding.kind is Kind.WATCHDOG for finding in done.findings)
        return block.touched() if whole else None

    with collect():
        try:
            return attempt(f"touched bytes of kernel {kernel.name}", trace, None)
        except UnsupportedError:
            return None
        finally:
            restore_ranges(written, before)


@contextmanager
def counting_groups(
    analysis: LaunchAnalysis,
    args: Sequence[Bound],
    line_bytes: int,
    keep: bool,
    tracing: Tracing,
    **options: Any,
) -> Iterator[Callable[[Sequence[int]], LaunchCounters]]:
    """Within the block, groups of a launch are counted by their linear ids, in code that counts no distinct bytes. Memory is left
    as it was.

    args: without shadows. options: those of `launch.run`. What is yielded raises UnsupportedError if a run does not end.
    """
    written = [range_of(args[index]) for index in sorted(written_arguments(analysis.kernel))]
    before = copy_ranges(written)
    spec = replace(
        _counting_spec(replace(analysis.spec, proofs=analysis.proven.proofs)), sampled=True, texel_blocks=tracing.texel_blocks
    )
    compiled = specialize(analysis.kernel, spec, keep=keep)

    def count(groups: Sequence[int]) -> LaunchCounters:
        return _count(compiled, args, line_bytes, {**options, "chosen": np.asarray(groups, np.uint32)}, tracing.wave_items)

    try:
        yield count
    finally:
        restore_ranges(written, before)


def _counting_spec(spec: Specialization) -> Specialization:
    """Returns what counted code is compiled for: accesses out of bounds have no effect. A run goes on after one."""
    plain = tuple(replace(a, shadow=None, extent=None) if isinstance(a, (BufferArg, ImageArg)) else a for a in spec.args)
    return replace(spec, args=plain, checks="bounds", watch=False, emitter="scalar", count=False, counters=True)


def _count(
    compiled: CompiledKernel, args: Sequence[Bound], line_bytes: int, options: dict[str, Any], wave_items: int | None = None
) -> LaunchCounters:
    """Runs counted code. UnsupportedError if it does not end in time."""
    block = _CounterBlock(compiled, args, line_bytes, wave_items)
    done = launch.run(compiled, args=args, counters=block, **options)
    if any(finding.kind is Kind.WATCHDOG for finding in done.findings):
        raise UnsupportedError(
            f"the counted run, one work-item after the other, did not end in {options['timeout']:g} seconds "
            "(the device's option timeout gives it more)"
        )
    return block.counters()


class _CounterBlock:
    """The counter block of one launch, with the tables and bits that it points to."""

    def __init__(self, compiled: CompiledKernel, args: Sequence[Bound], line_bytes: int, wave_items: int | None = None):
        table = compiled.module.counted
        assert table is not None
        self.table: CountTable = table
        self.compiled, self.args, self.line_bytes = compiled, args, line_bytes
        self.wave_items = wave_items or compiled.spec.wave_size
        self.words = np.zeros(table.words, np.uint64)
        self._waves = np.zeros((2, counting.WAVE_ENTRIES, counting.ENTRY_WORDS), np.uint64)
        self._held = np.zeros((counting.HELD_MOST, 2), np.uint64)
        self._lines = np.zeros((counting.LINE_ENTRIES, counting.ENTRY_WORDS), np.uint64)
        self.spans = np.zeros((len(args), counting.SPAN_WORDS), np.uint64)
        self._bits: dict[tuple[int, int], np.ndarray] = {}
        for index, arg in enumerate(args):
            if isinstance(arg, (BoundBuffer, BoundImage)):
                self._add_span(index, arg)

    def _add_span(self, index: int, arg: BoundBuffer | BoundImage) -> None:
        span = self.spans[index]
        span[counting.SPAN_BASE] = arg.address
        span[counting.SPAN_BYTES] = arg.nbytes if isinstance(arg, BoundBuffer) else 0  # pointers lead to no image
        for word in (counting.SPAN_READ, counting.SPAN_WRITTEN):
            bits = self._bits[index, word] = np.zeros(-(-arg.nbytes // 64) + 1, np.uint64)
            span[word] = bits.ctypes.data

    def start(self, groups: int) -> int:
        """Fills the head for a launch of `groups` groups. Returns the address."""
        most = counting.WAVE_ENTRIES // 4 * 3
        head = {
            counting.TRACE_MOST: min(MOST_GROUPS, groups),
            counting.TRACE_OF: groups,
            counting.WAVE_ITEMS: self.wave_items,
            counting.LINE_SHIFT: self.line_bytes.bit_length() - 1,
            counting.WAVE_TABLE: self._waves[0].ctypes.data,
            counting.WAVE_OTHER: self._waves[1].ctypes.data,
            counting.WAVE_SIZE: counting.LEAST_ENTRIES,
            counting.HELD: self._held.ctypes.data if self.compiled.spec.sampled else 0,
            counting.LINE_TABLE: self._lines.ctypes.data,
            counting.WAVE_MOST: most,
            counting.PLACE_MOST: most // (2 * max(1, len(self.table.places))),
            counting.SPANS: self.spans.ctypes.data,
            counting.SPAN_COUNT: len(self.args),
        }
        for word, value in head.items():
            self.words[word] = value
        self.groups = groups
        return int(self.words.ctypes.data)

    def counters(self) -> LaunchCounters:
        """Returns what was counted."""
        words = [int(word) for word in self.words]
        records = np.asarray(self.words[self.table.first_place :]).reshape(-1, counting.PLACE_WORDS).tolist()
        placed = list(zip(self.table.places, records, strict=True))
        for place, record in placed:
            if place.target == "":
                record[counting.PLACE_RUNS] = words[counting.COUNT_HEAD + place.segment]
            elif place.nbytes is not None:
                record[counting.PLACE_BYTES] = record[counting.PLACE_RUNS] * place.nbytes
        branches = [record for place, record in placed if place.target == ""]
        operations: dict[str, int] = {}
        for mix, runs in zip(self.table.operations, words[counting.COUNT_HEAD : self.table.first_place], strict=True):
            for name, count in mix.items():
                operations[name] = operations.get(name, 0) + count * runs
        runs_of = words[counting.COUNT_HEAD : self.table.first_place]
        targets = dict.fromkeys(place.target for place, record in placed if place.target != "")
        memory = [self._memory(target, placed) for target in sorted(targets, key=_rank)]
        unique = {what: self._count_union(what) for what in _UNIQUE}
        return LaunchCounters(
            work_items=words[counting.COUNTED_ITEMS],
            groups=self.groups,
            operations={name: operations[name] for name in sorted(operations) if operations[name]},
            memory=tuple(row for row in memory if row.reads or row.writes),
            barriers=words[counting.COUNTED_BARRIERS],
            chained=sum(chain * runs for chain, runs in zip(self.table.chains, runs_of, strict=True)),
            awaited=sum(wait * runs for wait, runs in zip(self.table.waits, runs_of, strict=True)),
            slow=sum(slow * runs for slow, runs in zip(self.table.slow, runs_of, strict=True)),
            branches=sum(record[counting.PLACE_RUNS] for record in branches),
            wave_size=self.wave_items,
            line_bytes=self.line_bytes,
            traced_groups=words[counting.TRACED_GROUPS],
            traced_waves=words[counting.TRACED_WAVES],
            traced_branches=sum(record[counting.PLACE_TRACED] for record in branches),
            wave_branches=sum(record[counting.PLACE_WAVES] for record in branches),
            divergent=sum(record[counting.PLACE_LINES] for record in branches),
            places=add_places(self._place(place, record) for place, record in placed if record[counting.PLACE_WAVES]),
            **unique,
        )

    def _place(self, place: CountedSite, record: list[int]) -> PlaceCounters:
        access = "read" if place.reads else "write" if place.writes else "branch"
        name = self._name(place.target) if isinstance(place.target, int) else place.target
        figures = (record[word] for word in (counting.PLACE_WAVES, counting.PLACE_LINES, counting.PLACE_LEAST))
        return PlaceCounters(place.where, "atomic" if place.reads and place.writes else access, name, *figures)

    def _name(self, index: int) -> str:
        return self.compiled.kernel.params[index].name or str(index)

    def _memory(self, target: int | str, placed: Sequence[tuple[CountedSite, list[int]]]) -> MemoryCounters:
        own = [(place, record) for place, record in placed if place.target == target]

        def add(word: int, wanted: Callable[[CountedSite], bool] = lambda place: True) -> int:
            return sum(record[word] for place, record in own if wanted(place))

        row = MemoryCounters(
            name=str(target),
            kind=str(target),
            reads=add(counting.PLACE_RUNS, lambda place: place.reads),
            writes=add(counting.PLACE_RUNS, lambda place: place.writes),
            read_bytes=add(counting.PLACE_BYTES, lambda place: place.reads),
            written_bytes=add(counting.PLACE_BYTES, lambda place: place.writes),
            traced=add(counting.PLACE_TRACED),
            held=add(counting.PLACE_HELD),
            wave_accesses=add(counting.PLACE_WAVES),
            transactions=add(counting.PLACE_LINES),
            least=add(counting.PLACE_LEAST),
        )
        return row if isinstance(target, str) else self._of_argument(target, row)

    def _of_argument(self, index: int, row: MemoryCounters) -> MemoryCounters:
        spec, span = self.compiled.spec.args[index], self.spans[index]
        image = isinstance(spec, ImageArg)
        return replace(
            row,
            name=self._name(index),
            kind="image" if image else "buffer",
            texel_bytes=format_of(spec.order, spec.channel_type).texel_bytes if isinstance(spec, ImageArg) else 0,
            wave_reads=int(span[counting.SPAN_VISITS]),
            wave_lines=int(span[counting.SPAN_LINES]),
            **{what: _count_bits(self._touched(index, what)) for what in _UNIQUE},
        )

    def _touched(self, index: int, what: str) -> np.ndarray:
        """Returns a bit for each byte of an argument, as bytes."""
        parts = [self._bits[index, word] for word in _UNIQUE[what] if (index, word) in self._bits]
        return np.bitwise_or.reduce(parts).view(np.uint8) if parts else np.zeros(0, np.uint8)

    def touched(self) -> Touched:
        """Returns which bytes of each argument were touched."""
        indices = sorted({index for index, _ in self._bits})
        words = (counting.SPAN_READ, counting.SPAN_WRITTEN)
        return {index: tuple(self._bits[index, word].view(np.uint8) for word in words) for index in indices}  # type: ignore[misc]

    def _count_union(self, what: str) -> int:
        """Returns how many bytes were touched through any argument: two arguments may show the same memory."""
        total, base, bits = 0, 0, np.zeros(0, np.uint8)
        views = sorted((arg.address, n) for n, arg in enumerate(self.args) if isinstance(arg, (BoundBuffer, BoundImage)))
        for address, index in views:
            touched = self._touched(index, what)
            at = (address - base) // 8
            if at >= len(bits):
                total, base, bits, at = total + _count_bits(bits), address, touched.copy(), 0
            elif at + len(touched) > len(bits):
                bits = np.concatenate([bits, np.zeros(at + len(touched) - len(bits), np.uint8)])
            bits[at : at + len(touched)] |= touched
        return total + _count_bits(bits)


_UNIQUE = {
    "unique_read_bytes": (counting.SPAN_READ,),
    "unique_written_bytes": (counting.SPAN_WRITTEN,),
    "unique_bytes": (counting.SPAN_READ, counting.SPAN_WRITTEN),
}


def _rank(target: int | str) -> tuple[bool, int | str]:
    """Arguments come first, in their order."""
    return isinstance(target, str), target


def _count_bits(bits: np.ndarray) -> int:
    return int.from_bytes(bits.tobytes(), "little").bit_count()
