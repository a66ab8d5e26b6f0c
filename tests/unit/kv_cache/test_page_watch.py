"""What the page watch finds wrong with a paged KV cache, and that it leaves right ones alone."""

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.run.kv_cache.batch import begin_forward
from adreno_sim.compiler.run.kv_cache.page_watch import PageWatch
from adreno_sim.compiler.run.kv_cache.table import PageTable, UndefinedStateError


@dataclass
class Sizes:
    page_size: int = 4
    pages: int = 24
    layers: range = range(3, 5)


class Cache:
    """A page table and its watch without a device. found: (kind, message) of each finding."""

    def __init__(self, sliding=False):
        self.found = []
        self.sizes = Sizes()
        self.table = PageTable(self.sizes.page_size, self.sizes.pages, sliding, lambda *copy: self.watch.copy(*copy))
        self.watch = PageWatch(self.sizes, self.table, lambda finding: self.found.append((finding.kind.label, finding)))

    def both(self, name, *args):
        getattr(self.table, name)(*args)
        getattr(self.watch, name)(*args)

    def begin(self, numbers, lengths, change=lambda batch: batch):
        self.batch = change(begin_forward(self.table, numbers, lengths))
        self.watch.begin(self.batch)

    def attend(self, layer=None):
        for one in range(len(self.sizes.layers)) if layer is None else [layer]:
            if self.batch.append_first:
                self.watch.append(one)
                self.watch.read(one)
            else:
                self.watch.read(one)
                self.watch.append(one)

    def forward(self, numbers, lengths, change=lambda batch: batch):
        self.begin(numbers, lengths, change)
        self.attend()
        self.watch.end()

    @property
    def labels(self):
        return {label for label, _ in self.found}


@pytest.fixture
def cache():
    cache = Cache()
    cache.both("add", 0)
    cache.both("add", 7)
    cache.forward((0, 7), (6, 9))
    cache.forward((0, 7), (1, 1))
    assert not cache.found
    return cache


def run_random_script(cache, rng):
    """What TVM's runtime does right: no sequence with a window is shortened or forked, or has three blocks."""
    named = 0
    for _ in range(rng.randint(8, 24)):
        live = sorted(cache.table.sequences)
        what = rng.choice(["add", "fork", "pop", "remove", "window", *["forward"] * 5])
        if not live or (what == "add" and len(live) < 4):
            cache.both("add", named)
            named += 1
        elif what == "fork" and len(live) < 4:
            parent = rng.choice(live)
            if cache.table.sequences[parent].window is not None:
                continue
            cache.both("fork", parent, named, rng.choice([-1, rng.randint(0, cache.table.sequences[parent].length)]))
            named += 1
        elif what == "pop":
            number = rng.choice(live)
            if cache.table.sequences[number].window is None:
                cache.both("pop", number, rng.randint(0, cache.table.sequences[number].length))
        elif what == "remove":
            cache.both("remove", rng.choice(live))
        elif what == "window" and cache.table.sliding:
            number = rng.choice(live)
            if len(cache.table.sequences[number].trace()) < 3:
                cache.both("enable_window", number, 12, rng.randint(0, 5))
        elif what == "forward":
            numbers = rng.sample(live, rng.randint(1, len(live)))
            cache.forward(numbers, [rng.randint(1, 7) for _ in numbers] if rng.random() < 0.5 else [1] * len(numbers))


@pytest.mark.parametrize("sliding", [False, True], ids=["whole", "windows"])
def test_right_caches_have_no_findings(sliding):
    ended = 0
    for seed in range(150):
        cache = Cache(sliding)
        try:
            run_random_script(cache, random.Random(seed))
        except AdrenoSimError:  # full, or a call that TVM's runtime refuses
            ended += 1
        assert not cache.found, (seed, cache.found)
    assert ended < 120


def test_a_layer_that_writes_twice(cache):
    cache.begin((0,), (2,))
    cache.attend()
    cache.attend(1)
    (label, finding), *_ = cache.found
    assert label == "store-overwritten"
    assert finding.detail == {"sequence": 0, "page": finding.detail["page"]}
    assert "layer 4: page" in finding.message
    assert "by sequence 0" in finding.message


def test_a_layer_that_writes_nothing_is_read_later(cache):
    cache.begin((0,), (2,))
    cache.attend(0)
    cache.watch.end()
    assert cache.labels == {"uninitialized-read"}
    assert "of layers 4" in cache.found[0][1].message
    cache.found.clear()
    cache.forward((0,), (3,))
    assert cache.labels == {"uninitialized-read"}
    assert "layer 4: position 7 of sequence 0" in cache.found[0][1].message


def spoil(batch, **arrays):
    """The batch with changed arrays: each a function of what it was."""
    return replace(batch, **{name: change(getattr(batch, name).copy()) for name, change in arrays.items()})


def test_two_tokens_at_one_place(cache):
    cache.forward((0,), (3,), lambda batch: spoil(batch, targets=lambda x: np.full_like(x, x[0])))
    assert "store-overwritten" in cache.labels
    assert "two tokens" in cache.found[0][1].message


def test_a_page_of_another_sequence_is_written(cache):
    other = cache.table.sequences[7].last.pages[0]
    cache.forward((0,), (2,), lambda batch: spoil(batch, targets=lambda x: np.arange(len(x), dtype=np.int32) + other * 4))
    label, finding = cache.found[0]
    assert label == "storage-reused-while-live"
    assert finding.detail == {"sequence": 0, "page": other}
    assert f"page {other} is written, and holds position 0 of sequence 7" in finding.message


def test_a_shared_page_is_written(cache):
    cache.both("fork", 7, 8, 8)
    shared = cache.table.sequences[8].last.parent.pages[0]
    cache.forward((8,), (1,), lambda batch: spoil(batch, targets=lambda x: x * 0 + shared * 4))
    assert cache.found[0][0] == "storage-reused-while-live"
    assert "of sequence 7" in cache.found[0][1].message


def test_positions_out_of_range(cache):
    cache.forward((0,), (2,), lambda batch: spoil(batch, targets=lambda x: x + 4 * 24))
    assert "out-of-bounds-write" in cache.labels
    assert "there are 24" in cache.found[0][1].message


def test_a_page_taken_for_another(cache):
    def swap(batch):
        depth = batch.depths[0]
        return replace(batch, depths=(spoil(depth, pages=lambda x: x[::-1].copy()),))

    cache.forward((0, 7), (2, 2), swap)
    assert cache.labels == {"storage-reused-while-live"}
    assert "position 0 of sequence 0 is read from page" in cache.found[0][1].message


def test_too_much_of_the_last_page_is_read(cache):
    cache.forward((0,), (2,), lambda batch: replace(batch, depths=(spoil(batch.depths[0], lengths=lambda x: x + 1),)))
    assert cache.labels == {"out-of-bounds-read"}
    assert "8 positions of sequence 0 are read" in cache.found[0][1].message


def test_a_page_number_that_is_none(cache):
    cache.forward((0,), (2,), lambda batch: replace(batch, depths=(spoil(batch.depths[0], pages=lambda x: x + 99),)))
    assert cache.labels == {"out-of-bounds-read"}
    assert "is read from page" in cache.found[0][1].message


def test_a_leaked_page_is_named_once(cache):
    cache.table.sequences[0].last.pages.pop()
    cache.both("add", 9)
    cache.both("remove", 9)
    cache.both("fork", 7, 10, 0)
    assert [label for label, _ in cache.found] == ["page-leaked"]
    assert cache.found[0][1].detail["page"] is not None


def test_what_was_popped_after_its_window_slid_is_read_wrongly():
    """A defect of TVM's runtime: it counts the pages that are left without the offset of the window."""
    cache = Cache(sliding=True)
    cache.both("add", 0)
    cache.both("enable_window", 0, 10, 2)
    cache.forward((0,), (9,))
    for _ in range(5):
        cache.forward((0,), (1,))
    assert not cache.found
    cache.both("pop", 0, 2)
    cache.forward((0,), (1,))
    assert cache.labels == {"out-of-bounds-read"}
    assert "4 positions of sequence 0 are read, up to page 1; it has 8" in cache.found[0][1].message


def test_a_window_behind_two_shared_blocks_is_read_wrongly():
    """A defect of TVM's runtime: behind two blocks, it takes the sink of the last one for that of them all."""
    cache = Cache(sliding=True)
    cache.both("add", 0)
    cache.forward((0,), (9,))
    cache.both("fork", 0, 1, 4)
    cache.both("fork", 0, 2, 8)
    cache.forward((0,), (3,))
    cache.both("enable_window", 0, 12, 10)
    cache.forward((0,), (4,))
    assert not cache.found
    cache.forward((0,), (1,))
    assert cache.labels == {"storage-reused-while-live"}
    assert "of sequence 0 is read from page" in cache.found[0][1].message


def test_a_window_that_cannot_slide_is_refused():
    cache = Cache(sliding=True)
    cache.both("add", 0)
    cache.forward((0,), (20,))
    cache.both("fork", 0, 1, 16)
    cache.both("enable_window", 1, 6, 0)
    with pytest.raises(UndefinedStateError, match="sequence 1: its window of 6 positions is to leave"):
        cache.forward((1,), (1,))
