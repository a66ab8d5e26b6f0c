"""The checker checked: a launch runs a second time from the same memory, with code that shares as little as it can with the
first, and bytes, findings and printed text are compared. What differs is an error of this project.

The second code is of one work-item after the other, checks every access, relies on no proof, and LLVM optimises nothing of it: so
it judges proofs, vectors, groups that run as one, and LLVM, which may take a check away if the code around it has undefined
behaviour.

Work-items that race, and values that nobody wrote, may differ rightly. At level full both runs take work-items in one order, and
private memory begins as zeros: only what nobody wrote of local memory may differ, where both runs find that it is read. Below it
a difference is put to code of level full, with race cells, in two opposite orders of work-items: if that finds a race or such a
read, or itself ends in two results, nothing is decided, nor where two arguments share memory that is written, or atomics tell
work-items in which order they came (`order_matters`).

Environment: ADRENO_SIM_SECOND_RUN=all runs every launch twice, =off none; else a few, in up to SHARE of the process' time.
"""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError, UnsupportedError
from ...findings import Kind
from ...ir import ir
from ...ir.queries import globals_of
from ...records import dataclass
from ..abi.bound import Bound
from ..abi.specialization import NOTHING, LocalArg, Specialization, shadow_of
from . import launch, optimistic
from .compiled_kernel import specialize
from .launch import RawResult
from .launch_analysis import LaunchVariant
from .memory_copies import copy_ranges, restore_ranges
from .order_matters import add_race_cells, shows_addresses, shows_order
from .same_values import find_first_difference, has_shared_memory, written_ranges

SWITCH = "ADRENO_SIM_SECOND_RUN"
SHARE = 0.015
"""The part of the process' time, of all its threads, that second runs take at most, unless all are asked for."""
_LEAST = 0.02
"""Seconds that a second run takes at least: with less left, none is thought about."""
_LINES, _ITEMS, _BYTES = 4000, 1 << 14, 1 << 20
"""The longest text, most work-items and most written bytes of launches that run twice unasked."""
_PER_LINE, _PER_STEP = 30e-6, 3e-9
"""Seconds, about: to make the second code for each line of the first, and to run it for each line and work-item."""
_SLOWER = 200.0
"""How many times as long as the first run a second one takes, all threads together, where loops make it long."""
MOST_BYTES = 256 << 20
"""The most bytes that a launch may write to run twice at all."""
_UNSURE = frozenset((Kind.UNINITIALIZED_READ, Kind.DATA_RACE, Kind.DIVERGENT_BARRIER))
"""What makes results of level bounds a matter of order, of what memory held, or undefined."""
_UNCHECKED = frozenset((Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE, Kind.IMAGE_READ_OUT_OF_RANGE))
"""What makes results undefined where nothing is checked."""


@dataclass
class Tally:
    """What second runs said in this process, and what they took of its processor time. undecided: stopped by the watchdog, of
    values that rightly differ, or too large to be run twice."""

    same: int = 0
    undecided: int = 0
    differing: int = 0
    seconds: float = 0.0


tally = Tally()


class CodeDifference(RuntimeError):
    """Two codes of one kernel did different things. It is not an error of the user."""


@functools.cache
def read_switch() -> str:
    """Returns what the environment asks for: "all", "off" or "". It is read once: reading it takes as long as a short launch.
    Raises AdrenoSimError for anything else."""
    text = os.environ.get(SWITCH, "")
    if text not in ("", "all", "off"):
        raise AdrenoSimError(f"{SWITCH}={text}: expected all or off")
    return text


def is_due(variant: LaunchVariant) -> bool:
    """Counts a launch of `variant`, and returns whether `run` may run it twice: looking closer is not for free."""
    variant.launches += 1
    asked = read_switch()
    return asked == "all" or (not asked and variant.launches & (variant.launches - 1) == 0 and not variant.judged)


def run(
    variant: LaunchVariant,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    *,
    save: Callable[[str], str],
    keep: bool = True,
    **options: Any,
) -> RawResult:
    """Runs a launch that `is_due` as `optimistic.run` does, and then a second time if that is cheap. The result, and memory, are
    always those of the first run; its `difference` says what differed.

    save: writes a launch that differed to a folder while memory is as it was before it, and returns the folder's path.
    """
    asked = read_switch()
    once = _Once(variant, global_size, offset, args, keep, options)
    left = math.inf if asked else SHARE * time.process_time() - tally.seconds
    if not (once.fits() if asked else once.is_cheap(left)):
        return optimistic.run(variant, global_size, offset, args, keep=keep, **options)
    variant.judged = True
    before = once.copy_memory()
    result = optimistic.run(variant, global_size, offset, args, keep=keep, **options)
    if result.seconds * _SLOWER <= left:
        begin = time.process_time()
        result.difference = once.judge(result, before, save)
        tally.seconds += time.process_time() - begin
    return result


@dataclass
class _Outcome:
    result: RawResult
    memory: list[np.ndarray]


class _Once:
    """One launch that may run twice."""

    def __init__(
        self,
        variant: LaunchVariant,
        global_size: Sequence[int],
        offset: Sequence[int],
        args: Sequence[Bound],
        keep: bool,
        options: dict[str, Any],
    ):
        self._variant, self._kernel, self._args = variant, variant.analysis.kernel, args
        self._sizes, self._keep, self._options = (global_size, offset), keep, options
        self._ranges = written_ranges(self._kernel, args)

    def copy_memory(self) -> list[np.ndarray]:
        """Returns what is in the memory that the launch may write."""
        return copy_ranges(self._ranges)

    def fits(self) -> bool:
        """Returns whether memory is small enough to be copied."""
        small = sum(nbytes for _, nbytes in self._ranges) <= MOST_BYTES
        tally.undecided += not small
        return small

    def is_cheap(self, left: float) -> bool:
        """Returns whether a second run will take no more than `left` seconds, about."""
        if left < _LEAST:
            return False
        items = int(np.prod(self._sizes[0], dtype=np.int64))
        if items > _ITEMS or sum(nbytes for _, nbytes in self._ranges) > _BYTES:
            return False
        optimistic.compile_first(self._variant, self._keep)
        code = self._variant.fast or (self._variant.coarse and self._variant.coarse.compiled)
        lines = code.module.text.count("\n") if code else 0
        return 0 < lines <= _LINES and lines * (_PER_LINE + items * _PER_STEP) <= left

    def judge(self, result: RawResult, before: list[np.ndarray], save: Callable[[str], str]) -> str:
        """Runs the launch once more from `before`. Returns what differed, and where it is saved; "" for nothing."""
        first = _Outcome(result, self.copy_memory())
        try:
            second = self._run_again(self._plain_spec(), before, result.last_epoch)
            text = None if second is None else self._compare(first, second)
            if text is None or (text and not self._is_determined(before)):
                tally.undecided += 1
                return ""
            if not text:
                tally.same += 1
                return ""
            tally.differing += 1
            restore_ranges(self._ranges, before)
            return f"{text}; {save(text)}"
        finally:
            restore_ranges(self._ranges, first.memory)

    def _plain_spec(self) -> Specialization:
        return replace(self._variant.spec, emitter="scalar", proofs=NOTHING, deferred_checks=False, unoptimised=True)

    def _run_again(
        self, spec: Specialization, before: list[np.ndarray], last_epoch: int, args: Sequence[Bound] | None = None, **changes: Any
    ) -> _Outcome | None:
        """Runs code for `spec` from the memory as it was. Returns None if that took too long, has no code or cannot be run.
        args: with shadows that `spec` has and the launch itself has not."""
        restore_ranges(self._ranges, before)
        epoch = max(self._options.get("first_epoch", 1), last_epoch + 1)
        options = {**self._options, "first_epoch": epoch, **changes}
        try:
            code = specialize(self._kernel, spec, keep=self._keep)
            result = launch.run(code, *self._sizes, self._args if args is None else args, **options)
        except UnsupportedError:
            return None
        if any(finding.kind is Kind.WATCHDOG for finding in result.findings):
            return None
        return _Outcome(result, self.copy_memory())

    def _compare(self, first: _Outcome, second: _Outcome) -> str | None:
        """Returns the first thing in which two runs differ, as a sentence; "" for nothing, None if they may differ."""
        one, other = first.result, second.result
        one.last_epoch = max(one.last_epoch, other.last_epoch)
        if any(finding.kind is Kind.WATCHDOG for finding in one.findings):
            return None
        unset = [any(finding.kind is Kind.UNINITIALIZED_READ for finding in run.findings) for run in (one, other)]
        if all(unset) and _uses_local_memory(self._kernel, self._variant.spec):
            return None
        where = f"kernel {self._kernel.name}, optimised and not"
        if one.findings != other.findings:
            counts = [[f"{finding.kind.label} {finding.count} times" for finding in run.findings] for run in (one, other)]
            return f"{where}: found {' and '.join(', '.join(found) or 'nothing' for found in counts)}"
        whole = {
            index
            for index, arg in enumerate(self._variant.spec.args)
            if one.deferred and (shadow := shadow_of(arg)) is not None and shadow.written_whole
        }
        found = self._find_difference(first, second, whole)
        return found and f"{where}: {found}"

    def _is_determined(self, before: list[np.ndarray]) -> bool:
        """Returns whether the launch has one result, whatever the order of work-items, where memory lies and what it held."""
        if shows_addresses(self._kernel):
            return False
        spec = self._plain_spec()
        if spec.full:
            return True
        if has_shared_memory(self._kernel, self._args) or shows_order(self._kernel):
            return False
        watched = add_race_cells(self._kernel, spec, self._args, MOST_BYTES)
        if watched is None:
            return False
        unsure = _UNSURE | (_UNCHECKED if spec.checks == "off" else frozenset())
        full, args, _owners = watched
        outcomes, epoch = [], 0
        for order in ("ascending", "descending"):
            one = self._run_again(full, before, epoch, args, order=order)
            if one is None or any(finding.kind in unsure for finding in one.result.findings):
                return False
            outcomes.append(one)
            epoch = one.result.last_epoch
        a, b = outcomes
        return not self._find_difference(a, b)

    def _find_difference(self, a: _Outcome, b: _Outcome, whole: Collection[int] = ()) -> str:
        """Returns in what text and memory two runs differ; "" for nothing."""
        if sorted(a.result.printed.splitlines()) != sorted(b.result.printed.splitlines()):
            return "printed different text"
        return find_first_difference(self._kernel, self._variant.spec, a.memory, b.memory, whole)


def _uses_local_memory(kernel: ir.Function, spec: Specialization) -> bool:
    return any(isinstance(arg, LocalArg) for arg in spec.args) or any(g.space == ir.LOCAL for g in globals_of(kernel))
