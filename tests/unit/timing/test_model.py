"""The model of time: what it says of launches of which one part is known to decide."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.machines import RECORDS
from adreno_sim.timing.model import LaunchTime, Machine, predict, stack

SMALL = LaunchFigures(
    groups=64.0, group_items=64.0, multiply_adds=64.0, texels=0.0, large_texels=0.0, chain=4.0, lines=0.0, local_passes=0.0,
    live_bytes=64.0, touched_bytes=4096.0,
)  # fmt: skip


def test_a_launch_with_little_to_do_takes_what_a_launch_takes():
    made = predict(replace(SMALL, groups=1.0, multiply_adds=1.0, chain=1.0), RECORDS)
    assert made.seconds == pytest.approx(RECORDS.launch + RECORDS.start, rel=0.1)


@pytest.mark.parametrize(("changed", "bound"), [
    ({"multiply_adds": 1e5, "groups": 8192.0}, "operations"),
    ({"integers": 1e6, "groups": 8192.0}, "operations"),
    ({"texels": 1e4, "groups": 8192.0}, "texture reads"),
    ({"lines": 1e7, "chain": 1e5, "groups": 64.0, "multiply_adds": 0.0}, "texture reads"),
    ({"lines": 1e6, "buffer_lines": 1e6}, "buffer lines"),
    ({"touched_bytes": 1e6}, "texture misses"),
    ({"local_passes": 1e7}, "local memory"),
    ({"barriers": 1e3}, "barriers"),
    ({"chain": 1e6, "groups": 8.0}, "latency"),
    ({"waits": 1e4, "groups": 8.0}, "latency"),
    ({"touched_bytes": 1e9}, "DRAM"),
    ({"groups": 1.0, "multiply_adds": 0.0, "chain": 0.0}, "latency"),
])  # fmt: skip
def test_what_there_is_most_of_decides(changed, bound):
    assert predict(replace(SMALL, **changed), RECORDS).find_bound() == bound


def test_a_launch_itself_may_decide():
    free = replace(RECORDS, start=1e-12)
    assert predict(replace(SMALL, groups=1.0, multiply_adds=0.0, chain=0.0, touched_bytes=0.0), free).find_bound() == "launch"


@pytest.mark.parametrize("name", [each.name for each in fields(LaunchFigures) if each.name not in ("group_items", "chain")])
def test_more_work_never_takes_less_time(name):
    some = replace(SMALL, texels=10.0, large_texels=10.0, lines=1e4, local_passes=10.0, buffer_lines=1e3, integers=10.0,
                   waits=10.0, barriers=10.0)  # fmt: skip
    times = [predict(replace(some, **{name: getattr(some, name) * factor}), RECORDS).seconds for factor in (1, 2, 8, 64, 1024)]
    assert times == sorted(times)
    assert times[-1] > times[0]


def test_groups_go_to_units_whole():
    """Nine groups on eight units take as long as sixteen; the ninth waits for one of them."""
    busy = replace(SMALL, multiply_adds=1e5)
    eight, nine, sixteen, seventeen = (predict(replace(busy, groups=float(n)), RECORDS).operations for n in (8, 9, 16, 17))
    assert nine == sixteen == 2 * eight
    assert seventeen == 3 * eight


def test_a_wave_of_which_a_half_has_no_work_items_costs_half():
    busy = replace(SMALL, multiply_adds=1e5)
    whole, more, half, few = (predict(replace(busy, group_items=n), RECORDS).operations for n in (64.0, 33.0, 32.0, 4.0))
    assert more == pytest.approx(whole)
    assert half == few == pytest.approx(whole / 2)


def test_values_beyond_the_registers_cost():
    busy = replace(SMALL, multiply_adds=1e5)
    few, full, beyond = (predict(replace(busy, live_bytes=16.0 * n), RECORDS).operations for n in (4, RECORDS.registers, 128))
    assert few == pytest.approx(few)
    assert full == pytest.approx(few * np.sqrt(2), rel=0.01)
    assert beyond > 10 * few


def test_few_waves_for_want_of_registers_wait_more():
    """Waves that wait for one another hide behind others: 24 find registers where each has four, 2 where each has 48."""
    slow = replace(SMALL, groups=8192.0, waits=100.0, multiply_adds=1e3)
    many, few = (predict(replace(slow, live_bytes=16.0 * n), RECORDS) for n in (4, RECORDS.file / 2.1))
    assert few.latency == pytest.approx(many.latency * 24 / 2.1, rel=0.01)
    fast = replace(RECORDS, wait=0.0, link=0.0, start=0.0)
    busy = replace(slow, multiply_adds=1e5, groups=80000.0)
    many, few = (predict(replace(busy, live_bytes=16.0 * n), fast) for n in (4, RECORDS.file / 2.1))
    for made, waves in ((many, 24), (few, 2.1)):
        throughput = np.sqrt(made.seconds**2 - made.latency**2)
        assert throughput == pytest.approx(made.operations * (1 + RECORDS.idle / waves), rel=0.01)


def test_many_launches_are_predicted_as_each_alone():
    several = [SMALL, replace(SMALL, groups=1000.0, texels=9.0, lines=1e6), replace(SMALL, touched_bytes=1e8)]
    together = predict(stack(several), RECORDS)
    for name in (each.name for each in fields(LaunchTime)):
        assert getattr(together, name).tolist() == [getattr(predict(one, RECORDS), name) for one in several]


def test_every_constant_matters():
    """But for the size of the cache, by which data beyond it are told."""
    some = replace(
        SMALL,
        groups=500.0,
        texels=50.0,
        large_texels=50.0,
        lines=1e7,
        local_passes=1e4,
        waits=9.0,
        barriers=9.0,
        live_bytes=640.0,
        touched_bytes=1e7,
    )
    others = replace(some, live_bytes=16.0)  # of which a unit holds as many as it has slots

    def time(machine: Machine) -> float:
        return sum(predict(one, machine).seconds for one in (some, others))

    for each in fields(Machine):
        assert time(replace(RECORDS, **{each.name: getattr(RECORDS, each.name) * 1.5})) != time(RECORDS), each.name
