"""Which tensors lie on the chip: never two in one place, never more than there is, near the most that any choice keeps."""

import itertools
import random

import pytest

from adreno_sim.compiler.plan.chip.place import choose
from adreno_sim.compiler.plan.problem import Item

ROOM = 8


def items(seed, count=5, unit=1):
    rng = random.Random(seed)
    found = []
    for number in range(count):
        start = rng.randint(0, 6)
        size = rng.randint(1, 5) * unit
        recording = (0, 12) if rng.random() < 0.9 else ()
        traffic = size * rng.randint(2, 5)
        made = Item(str(number), size, start, start + rng.randint(1, 5), alignment=unit, recording=recording, traffic=traffic)
        found.append(made)
    return found


def wrong_with(found, given, room):
    for number, offset in found.items():
        item = given[number]
        if not item.recording or offset < 0 or offset % item.alignment or offset + item.size > room:
            return f"{number} at {offset}"
    for one, other in itertools.combinations(found, 2):
        a, b = given[one], given[other]
        apart = found[one] + a.size <= found[other] or found[other] + b.size <= found[one]
        if not apart and a.start < b.end and b.start < a.end:
            return f"{one} and {other} meet"
    return ""


def most_traffic(given, room):
    """The most of any choice and any places, by trying all."""
    best = 0
    wanted = [number for number, item in enumerate(given) if item.recording]

    def go(left, places, traffic):
        nonlocal best
        best = max(best, traffic)
        if not left or traffic + sum(given[number].traffic for number in left) <= best:
            return
        first, rest = left[0], left[1:]
        for offset in range(room - given[first].size + 1):
            if not wrong_with({**places, first: offset}, given, room):
                go(rest, {**places, first: offset}, traffic + given[first].traffic)
        go(rest, places, traffic)

    go(wanted, {}, 0)
    return best


def test_small_choices_are_valid_and_near_the_most():
    kept = most = best = 0
    for seed in range(60):
        given = items(seed)
        found = choose(given, ROOM)
        assert wrong_with(found, given, ROOM) == ""
        assert choose(given, ROOM) == found
        traffic, limit = sum(given[number].traffic for number in found), most_traffic(given, ROOM)
        assert traffic <= limit
        kept, most, best = kept + traffic, most + limit, best + (traffic == limit)
    assert kept >= 0.98 * most, (kept, most, best)
    assert best >= 54, (kept, most, best)


@pytest.mark.parametrize("seed", range(20))
def test_large_choices_are_valid(seed):
    given = items(seed, count=80, unit=128)
    found = choose(given, 3000)
    assert found
    assert wrong_with(found, given, 3000) == ""


def test_what_may_not_lie_there_does_not():
    texture = Item("t", 64, 0, 2, scope="global.texture", dtype="float32", shape=(1, 1, 4), recording=(0, 9), traffic=9)
    alone = Item("a", 64, 0, 2, traffic=9)
    large = Item("l", 65, 0, 2, recording=(0, 9), traffic=9)
    assert choose([texture, alone, large], 64) == {}
    assert choose([texture, alone, Item("b", 64, 0, 2, recording=(0, 9), traffic=9)], 64) == {2: 0}
