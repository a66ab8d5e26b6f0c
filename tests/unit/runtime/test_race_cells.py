"""Race cells against the list of all accesses: random launches, in which every conflict is known."""

from __future__ import annotations

import ctypes
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from c_functions import WORD, load_functions, shape
from hypothesis import given, settings
from hypothesis import strategies as st
from race_model import (
    Access,
    Found,
    conflicts_with_any_atomic,
    conflicts_with_atomics,
    conflicts_with_reads,
    conflicts_with_writes,
)

from adreno_sim.engine.abi import context
from adreno_sim.engine.abi.kernel_shape import FENCES_GLOBAL, FENCES_LOCAL
from adreno_sim.engine.abi.race_cells import (
    ACCESS,
    ALLOWS_OVERWRITE,
    ATOMIC,
    ATOMIC_CELL_WORDS,
    CELL_BYTES,
    EPOCH_STEP,
    OVERWRITTEN,
    READ,
    READ_AFTER_WRITE,
    SAME,
    UNREAD_CELL_WORDS,
    WRITE_AFTER_READ,
    WRITE_AFTER_WRITE,
)

ITEMS, CELLS, WAVE = 6, 3, 2
BARRIERS = {"local": FENCES_LOCAL, "global": FENCES_GLOBAL, "both": FENCES_LOCAL | FENCES_GLOBAL, "none": 0}
SYNC_POINTS = (0, *BARRIERS.values())
SUBGROUP = "sub-group"
POINTER, VALUES = ctypes.c_void_p, [WORD] * 6
SIGNATURES = {
    "shadow_group": [POINTER, WORD],
    "shadow_tick": [POINTER],
    "shadow_met": [POINTER, WORD],
    "shadow_read": [POINTER, POINTER, *[WORD] * 6, *VALUES],
    "shadow_write": [POINTER, POINTER, *[WORD] * 7, *VALUES],
    "shadow_fill": [POINTER, *[WORD] * 3],
}


@pytest.fixture(scope="module")
def functions():
    """The functions for a kernel without sub-groups, and with sub-groups of WAVE items."""
    return {wave: load_functions(SIGNATURES, shape(items=ITEMS, wave=wave), SYNC_POINTS) for wave in (0, WAVE)}


@dataclass(frozen=True)
class Step:
    """What happens next: an access, or a meeting by name (a barrier, or a synchronisation point of the sub-groups)."""

    meeting: str = ""
    item: int = 0
    cell: int = 0
    count: int = 1
    writes: bool = False
    atomic: bool = False
    same: bool = False
    number: int = 0


@dataclass
class Call:
    """The accesses of one step, one for each cell, and how often each pair was reported meanwhile."""

    accesses: list[Access]
    reported: Counter[Found]


@dataclass
class Launches:
    """Cells of global memory, or of local memory, which begins anew with each group; and what was done to them."""

    functions: Any
    is_local: bool = False
    stride: int = CELL_BYTES
    quiet: bool = False
    words: np.ndarray = field(default_factory=lambda: np.zeros(context.WORDS, np.uint64))
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cells = np.zeros((CELLS, self.stride // 8), np.uint64)
        self.records = np.zeros((context.RACE_CAPACITY, context.RACE_WORDS), np.uint64)
        self.group_epochs = np.zeros(16, np.uint64)
        self.words[context.RACES] = self.records.ctypes.data
        self.words[context.GROUP_EPOCHS] = self.group_epochs.ctypes.data
        self.ctx = self.words.ctypes.data

    def begin(self) -> None:
        """Begins a launch: what was before counts no more."""
        self.words[context.LAUNCH_EPOCH] = int(self.words[context.EPOCH]) + EPOCH_STEP
        self.words[context.RACE_COUNT] = 0
        self.records[:] = 0
        self.calls.clear()

    def run_group(self, group: int, steps: list[Step]) -> None:
        self.functions.shadow_group(self.ctx, group)
        self.functions.shadow_tick(self.ctx)
        interval = 0
        for step in steps:
            if step.meeting in BARRIERS:
                self.functions.shadow_met(self.ctx, 1 + list(BARRIERS).index(step.meeting))
                interval += bool(BARRIERS[step.meeting] & (FENCES_LOCAL if self.is_local else FENCES_GLOBAL))
            if step.meeting:
                self.functions.shadow_tick(self.ctx)
            else:
                self._make_access(group, interval, step)

    def _make_access(self, group: int, interval: int, step: Step) -> None:
        now, before = int(self.words[context.EPOCH]), self.hits()
        mine = now | step.item << 16 | ATOMIC * step.atomic | step.number
        since = int(self.words[context.SINCE_LOCAL if self.is_local else context.SINCE_GLOBAL])
        limit = since if self.is_local else int(self.words[context.LAUNCH_EPOCH])
        count = min(step.count, CELLS - step.cell)
        at, values = self.cells.ctypes.data + step.cell * self.stride, (group, step.item, step.number, 0, 0, 5)
        if step.writes:
            mode = SAME * step.same | ALLOWS_OVERWRITE * self.quiet
            self.functions.shadow_write(self.ctx, at, count, self.stride, mine, limit, since, group, mode, *values)
            self.functions.shadow_fill(at, count, self.stride, mine)
        else:
            self.functions.shadow_read(self.ctx, at, count, self.stride, mine, limit, since, group, *values)
        first = step.cell + (group * CELLS if self.is_local else 0)
        same, silent = step.writes and step.same, self.quiet
        accesses = [
            Access(group, step.item, interval, now // EPOCH_STEP, cell, step.writes, step.atomic, step.number, same, silent)
            for cell in range(first, first + count)
        ]
        self.calls.append(Call(accesses, self.hits() - before))

    def hits(self) -> Counter[Found]:
        """Returns how often each pair was reported."""
        found: Counter[Found] = Counter()
        for record in self.records[: int(self.words[context.RACE_COUNT])].tolist():
            key = record[context.RACE_KEY]
            found[key >> 32, key >> 16 & ACCESS, key & ACCESS] += record[context.RACE_HITS]
        return found


def check(run: Launches, wave: int, is_plain: bool) -> None:
    """Conflicts with the last write are told exactly. Of the reads that race with a write, a cell keeps up to three; at least
    one is told, unless atomic reads or readers of the same sub-group took its place. Of atomics that race with a plain access, a
    long cell keeps up to three, of different work-items; at least one is told, unless a sub-group orders some of them."""
    accesses = [access for call in run.calls for access in call.accesses]
    exact = Counter({pair: count for pair, count in run.hits().items() if pair[0] != WRITE_AFTER_READ})
    if run.stride <= CELL_BYTES:
        assert exact == conflicts_with_writes(accesses, wave)
    else:
        assert exact >= conflicts_with_writes(accesses, wave), "a conflict with the last write is not told"
        check_atomics(run, accesses, wave)
    racing, position = conflicts_with_reads(accesses, wave), 0
    for call in run.calls:
        reads = [racing.get(position + n, []) for n in range(len(call.accesses))]
        position += len(call.accesses)
        told = Counter({pair: count for pair, count in call.reported.items() if pair[0] == WRITE_AFTER_READ})
        assert told <= Counter(pair for pairs in reads for pair in pairs), "told of a read that does not race"
        if is_plain:
            assert told.total() >= sum(map(bool, reads)), "a write races with a read, and nothing is told"


def check_atomics(run: Launches, accesses: list[Access], wave: int) -> None:
    racing, position = conflicts_with_atomics(accesses, wave), 0
    writes = set(conflicts_with_writes(accesses, wave)) | conflicts_with_any_atomic(accesses, wave)
    for call in run.calls:
        atomics = [racing.get(position + n, []) for n in range(len(call.accesses))]
        position += len(call.accesses)
        told = {pair for pair in call.reported if pair[0] in (READ_AFTER_WRITE, WRITE_AFTER_WRITE)}
        assert told <= writes, "told of an atomic that does not race"
        if not wave and any(atomics):
            assert told, "a plain access races with an atomic, and nothing is told"


meetings = st.builds(Step, meeting=st.sampled_from([*BARRIERS, SUBGROUP]))


def accesses(writes: st.SearchStrategy[bool], atomic: st.SearchStrategy[bool]) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        item=st.integers(0, ITEMS - 1),
        cell=st.integers(0, CELLS - 1),
        count=st.integers(1, CELLS),
        writes=writes,
        atomic=atomic,
        same=st.booleans(),
        number=st.integers(0, 4),
    )


def groups(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[list[list[Step]]]:
    return st.lists(st.lists(steps, max_size=14), min_size=1, max_size=4)


def run_launches(run: Launches, earlier: list[list[Step]], steps: list[list[Step]]) -> Launches:
    """Runs a launch that counts no more, and the one that is looked at."""
    for launch in (earlier, steps):
        run.begin()
        for group, group_steps in enumerate(launch):
            run.run_group(group, group_steps)
    return run


PLAIN = st.one_of(meetings, accesses(st.booleans(), st.just(False)), accesses(st.booleans(), st.just(False)))
ANY = st.one_of(meetings, accesses(st.booleans(), st.booleans()), accesses(st.booleans(), st.booleans()))
UNREAD = st.one_of(meetings, accesses(st.just(True), st.booleans()), accesses(st.just(True), st.booleans()))


@settings(max_examples=150, deadline=None)
@given(groups(PLAIN), groups(PLAIN), st.booleans(), st.booleans())
def test_plain_accesses(functions, earlier, steps, is_local, quiet):
    check(run_launches(Launches(functions[0], is_local, quiet=quiet), earlier, steps), 0, is_plain=True)


@settings(max_examples=150, deadline=None)
@given(groups(ANY), groups(ANY), st.booleans(), st.sampled_from([0, WAVE]))
def test_atomics_and_sub_groups(functions, earlier, steps, is_local, wave):
    run = Launches(functions[wave], is_local, stride=ATOMIC_CELL_WORDS * 8)
    check(run_launches(run, earlier, steps), wave, is_plain=False)


@settings(max_examples=100, deadline=None)
@given(groups(UNREAD), groups(UNREAD), st.sampled_from([0, WAVE]))
def test_cells_of_memory_that_nobody_reads(functions, earlier, steps, wave):
    check(run_launches(Launches(functions[wave], stride=UNREAD_CELL_WORDS * 8), earlier, steps), wave, is_plain=False)


W, R = Step(item=1, writes=True, number=1), Step(item=2, number=2)
A1, A2 = (Step(item=item, writes=True, atomic=True, number=item) for item in (1, 2))
CASES = [
    ([R, W], {(WRITE_AFTER_READ, 1, 2)}),
    ([W, R], {(READ_AFTER_WRITE, 2, 1)}),
    ([W, Step("local"), R], {(READ_AFTER_WRITE, 2, 1)}),
    ([W, Step("global"), R], set()),
    ([W, Step(item=2, writes=True, number=3)], {(WRITE_AFTER_WRITE, 3, 1)}),
    ([W, W], {(OVERWRITTEN, 1, 1)}),
    ([W, Step(item=1), W], set()),
    ([Step(item=1, writes=True, atomic=True), Step(item=2, atomic=True)], set()),
    ([A1, A2, Step(item=2, number=3)], {(READ_AFTER_WRITE, 3, 1)}),
    ([A1, A2, Step(item=2, writes=True, number=3)], {(WRITE_AFTER_WRITE, 3, 1), (OVERWRITTEN, 3, 2)}),
    ([A1, A2, A2, A2, Step(item=2, number=3)], {(READ_AFTER_WRITE, 3, 1)}),
    ([A1, A2, Step("global"), A2, Step(item=2, number=3)], set()),
    ([A2, A2, Step(item=2, number=3)], set()),
]


@pytest.mark.parametrize(("steps", "expected"), CASES)
def test_cases_by_hand(functions, steps, expected):
    run = Launches(functions[0], stride=ATOMIC_CELL_WORDS * 8)
    run.begin()
    run.run_group(0, steps)
    assert set(run.hits()) == expected
    check(run, 0, is_plain=True)


def test_an_atomic_of_an_earlier_group_is_kept(functions):
    run = Launches(functions[0], stride=ATOMIC_CELL_WORDS * 8)
    run.begin()
    run.run_group(0, [A1])
    run.run_group(1, [A2, A1, A2, Step("both"), A2, Step(item=2, number=3)])
    assert set(run.hits()) == {(READ_AFTER_WRITE, 3, 1)}
    check(run, 0, is_plain=True)


def test_items_of_a_sub_group_race_until_it_synchronises(functions):
    first, second = Step(item=0, writes=True, number=0), Step(item=1, writes=True, number=1)
    for steps, expected in (([first, second], {(WRITE_AFTER_WRITE, 1, 0)}), ([first, Step(SUBGROUP), second], set())):
        run = Launches(functions[WAVE])
        run.begin()
        run.run_group(0, steps)
        assert set(run.hits()) == expected
        check(run, WAVE, is_plain=False)


def test_a_record_tells_of_the_first_in_work_item_order(functions):
    run = Launches(functions[0])
    run.begin()
    run.run_group(0, [W])
    for group, item in ((2, 4), (1, 5), (1, 3), (2, 0)):
        run.run_group(group, [Step(item=item, number=2)])
    (record,) = run.records[: int(run.words[context.RACE_COUNT])]
    assert record[context.RACE_HITS] == 4
    assert record[context.RACE_SAME] == 0
    assert record[context.RACE_ORDER] == ITEMS * 1 + 3
    assert list(record[[context.RACE_GROUP, context.RACE_LOCAL]]) == [1, 3]
    assert list(record[context.RACE_VALUES : context.RACE_VALUES + 6]) == [1, 3, 2, 0, 0, 5]
    assert record[context.RACE_BEFORE] == int(run.group_epochs[0]) + EPOCH_STEP | 1 << 16 | 1 | READ


def test_writes_of_the_same_value_are_counted(functions):
    run = Launches(functions[0])
    run.begin()
    run.run_group(
        0, [W, *(Step(item=item, writes=True, same=same, number=3) for item, same in ((2, True), (1, True), (2, False)))]
    )
    assert run.hits() == {(WRITE_AFTER_WRITE, 3, 1): 1, (WRITE_AFTER_WRITE, 3, 3): 2}
    same = {int(r[context.RACE_KEY]) & ACCESS: int(r[context.RACE_SAME]) for r in run.records[:2]}
    assert same == {1: 1, 3: 1}


def test_conflicts_beyond_the_room_are_left_out(functions):
    run = Launches(functions[0])
    run.begin()
    steps = [Step(item=number % 2, writes=True, number=number) for number in range(context.RACE_CAPACITY + 20)]
    run.run_group(0, steps)
    assert run.words[context.RACE_COUNT] == context.RACE_CAPACITY
    assert (run.records[:, context.RACE_HITS] == 1).all()
