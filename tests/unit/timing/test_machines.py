"""Machines of profiles: the records' machine by rates, and how sure it is."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from adreno_sim import UnsupportedError
from adreno_sim.backends.open import open_device
from adreno_sim.profiles import profile
from adreno_sim.profiles.rates import RATES
from adreno_sim.timing.machines import RECORDS, RECORDS_MHZ, machine_of_profile, scale


def test_the_rates_of_the_records_machine_give_it_back():
    m = RECORDS
    rates = {
        "time_units": m.units,
        "time_gflops": m.operations_per_second / 1e9,
        "time_texture_mbps": 64 * 16 * m.units / m.large_texel / 1e6,
        "time_cache_mbps": 1e-6 / m.cached_byte,
        "time_memory_mbps": 1e-6 / (m.cached_byte + m.memory_byte),
        "time_cache_bytes": m.cache,
        "time_mhz": RECORDS_MHZ,
    }
    assert asdict(scale(RECORDS, rates)) == pytest.approx(asdict(m))


@pytest.mark.parametrize("name", [name for name in profile.names() if name != "reference"])
def test_every_chip_has_a_machine_that_is_one(name):
    made = machine_of_profile(profile.load(name))
    assert all(value > 0 for value in asdict(made.machine).values())
    assert made.error in ("scaled", "guess")


@pytest.mark.parametrize(("device", "error"), [
    ("sim:adreno-640", "scaled"),
    ("sim:adreno-740", "guess"),
    ("sim:adreno-740,time_gflops=1100,time_memory_mbps=50000", "scaled"),
    ("sim:adreno-740," + ",".join(f"{key}={value}" for key, value in RATES.items()), "measured"),
])  # fmt: skip
def test_how_sure_a_machine_is_follows_from_its_rates(device, error):
    made = machine_of_profile(open_device(device).info.profile)
    assert made.error == error
    assert made.spread > 1


def test_a_faster_chip_takes_less_time_in_each_part():
    slow = dict(RATES)
    for key in ("time_gflops", "time_texture_mbps", "time_cache_mbps", "time_memory_mbps", "time_mhz"):
        before, after = asdict(scale(RECORDS, slow)), asdict(scale(RECORDS, {**slow, key: 2 * slow[key]}))
        changed = {name for name in before if after[name] != before[name]}
        assert changed, key
        assert all(after[name] < before[name] for name in changed - {"memory_byte"}), key


def test_the_reference_is_no_chip():
    with pytest.raises(UnsupportedError, match="not a chip"):
        machine_of_profile(profile.load("reference"))
