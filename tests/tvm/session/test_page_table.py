"""The host side of the paged KV cache against TVM's own, call by call, over random scripts."""

import random

import numpy as np
import pytest

pytest.importorskip("tvm")
from recording_cache import DIM, HEADS, RecordingCache

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.run.kv_cache.attention import Operands, Rotation, attention_calls
from adreno_sim.compiler.run.kv_cache.batch import begin_forward
from adreno_sim.compiler.run.kv_cache.table import PageTable, UndefinedStateError

pytestmark = pytest.mark.tvm

SCRIPTS = 1000
SEQUENCES, TOKENS, CHUNK = 4, 72, 40


class Twins:
    """Our table and TVM's cache under the same calls."""

    def __init__(self, theirs, page_size, sliding):
        self.theirs, self.size, self.sliding = theirs, page_size, sliding
        pages = -(-TOKENS // page_size) + 1 + 2 * SEQUENCES * sliding
        self.copies = []
        self.ours = PageTable(page_size, pages, sliding, lambda *copy: self.copies.append(("copy", copy)))
        theirs.call("kv_state_clear")
        theirs.take()

    def both(self, name, change, *args):
        """One change to both; True if it is made. Neither, or both, refuse it."""
        try:
            change(*args)
            refused = ""
        except UndefinedStateError:
            return False
        except AdrenoSimError as error:
            refused = str(error)
        try:
            self.theirs.call(name, *args)
        except Exception as error:  # TVM's own kind
            assert refused, f"only TVM refuses {name}{args}: {str(error).splitlines()[-1]}"
        else:
            assert not refused, f"only ours refuses {name}{args}: {refused}"
        assert [(role, tuple(args[1:])) for role, args in self.theirs.take()] == self.copies
        self.copies.clear()
        return not refused

    def forward(self, numbers, lengths):
        batches = []
        made = self.both(
            "kv_state_begin_forward", lambda *_: batches.append(begin_forward(self.ours, numbers, lengths)), numbers, lengths
        )
        if not made:
            return False
        tokens = sum(lengths)
        self.theirs.attend(tokens)
        pages = (self.ours.pages, 2, HEADS, self.size, DIM)
        narrow, sums = (tokens, HEADS, DIM), (tokens, HEADS)
        operands = Operands((tokens, 3 * HEADS, DIM), narrow, pages, narrow, narrow, narrow, narrow, sums, sums)
        rotation = Rotation(2 if self.sliding else 1, 1.0, 10000.0)
        assert_equal(self.theirs.take(), list(attention_calls(batches[0], rotation, 1.0, operands)))
        return True

    def compare_state(self):
        assert self.theirs.call("attention_kv_cache_get_num_available_pages") == len(self.ours.free)
        lengths = sum(sequence.length for sequence in self.ours.sequences.values())
        assert self.theirs.call("attention_kv_cache_get_total_sequence_length") == lengths


def assert_equal(theirs, ours):
    assert [role for role, _ in theirs] == [role for role, _ in ours]
    for (role, expected), (_, got) in zip(theirs, ours, strict=True):
        assert len(expected) == len(got), role
        for position, (one, other) in enumerate(zip(expected, got, strict=True)):
            if isinstance(one, np.ndarray):
                np.testing.assert_array_equal(one, other, f"argument {position} of {role}")
                assert one.dtype == other.dtype
            else:
                assert one == other, (role, position)


def run_script(twins, rng):
    """Some of add, remove, fork, pop, window and forward; ends early where both refuse one."""
    named = 0
    for _ in range(rng.randint(6, 16)):
        live = sorted(twins.ours.sequences)
        what = rng.choice(["add", "fork", "fork", "pop", "remove", "window", *["forward"] * 6])
        if not live or (what == "add" and len(live) < SEQUENCES):
            twins.both("kv_state_add_sequence", twins.ours.add, named)
            named += 1
        elif what == "fork" and len(live) < SEQUENCES:
            parent = rng.choice(live)
            length = twins.ours.sequences[parent].length
            at = rng.choice([-1, length, length // twins.size * twins.size, rng.randint(0, length)])
            if not twins.both("kv_state_fork_sequence", twins.ours.fork, parent, named, at):
                return
            named += 1
        elif what == "pop":
            number = rng.choice(live)
            if not twins.both("kv_state_popn", twins.ours.pop, number, rng.randint(0, twins.ours.sequences[number].length)):
                return
        elif what == "remove":
            twins.both("kv_state_remove_sequence", twins.ours.remove, rng.choice(live))
        elif what == "window" and twins.sliding:
            window = rng.randint(2, 20)
            sink = rng.randint(0, window - 1)
            twins.both(
                "attention_kv_cache_enable_sliding_window_for_seq", twins.ours.enable_window, rng.choice(live), window, sink
            )
        elif what == "forward":
            chosen = tuple(rng.sample(live, rng.randint(1, len(live))))
            most = CHUNK // len(chosen)
            lengths = tuple(1 for _ in chosen) if rng.random() < 0.5 else tuple(rng.randint(1, most) for _ in chosen)
            if not twins.forward(chosen, lengths):
                return
        twins.compare_state()


@pytest.mark.each_value
@pytest.mark.parametrize("sliding", [False, True], ids=["whole", "windows"])
@pytest.mark.parametrize("page_size", [1, 4, 16])
def test_arrays_are_those_of_tvms_own_cache(page_size, sliding):
    theirs = RecordingCache(page_size, TOKENS, CHUNK, SEQUENCES, sliding)
    for seed in range(-(-SCRIPTS // 6)):
        rng = random.Random(f"{seed} {page_size} {sliding}")
        try:
            run_script(Twins(theirs, page_size, sliding), rng)
        except AssertionError as error:
            raise AssertionError(f"script {seed}: {error}") from error


def test_a_shared_beginning_that_many_decode_from_is_one_prefill():
    """More than 32 sequences of one beginning: their decodes at its depth become one row."""
    theirs = RecordingCache(4, 800, 80, 40, False)
    twins = Twins(theirs, 4, False)
    twins.ours = PageTable(4, 201, False, lambda *copy: twins.copies.append(("copy", copy)))
    twins.both("kv_state_add_sequence", twins.ours.add, 0)
    assert twins.forward((0,), (70,))
    for child in range(1, 38):
        assert twins.both("kv_state_fork_sequence", twins.ours.fork, 0, child, 68)
    twins.compare_state()
    assert twins.forward(tuple(range(1, 38)), (1,) * 37)
    twins.compare_state()
