"""Rates of a profile by measured curves: those that ArchProbe published of an Adreno 640 give the built-in profile's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adreno_sim import AdrenoSimError
from adreno_sim.cli.calibrate.command import write_profile
from adreno_sim.cli.main import main
from adreno_sim.profiles.rates import RATES
from adreno_sim.profiles.user_profile import load_profile
from adreno_sim.timing.calibration.probes import chain, multiply, read_buffer
from adreno_sim.timing.calibration.rates import Measured, find_cache, find_rates, find_registers, find_units
from adreno_sim.timing.machines import machine_of_profile

GB = 1e9
BUFFERS = {
    256: 65.2, 512: 70.4, 1 << 10: 59.3, 1 << 11: 96.3, 1 << 13: 96.3, 1 << 15: 95.8, 1 << 16: 95.6, 1 << 17: 86.9, 1 << 18: 57.7,
    1 << 19: 40.7, 1 << 20: 34.8, 1 << 22: 38.8, 1 << 23: 30.5, 1 << 24: 30.1, 1 << 25: 30.3, 1 << 26: 30.4,
}  # fmt: skip
CHAINS = {17: 3207.17, 91: 14040.4, 177: 26788.9, 183: 32718.0, 184: 44463.1}
"""us of 21,539 repetitions."""
ADRENO_640 = Measured(
    buffers={size: rate * GB for size, rate in BUFFERS.items()},
    images={512: 194.5 * GB, 1 << 10: 194.5 * GB},
    groups={count: 1e-3 * -(-count // 6) for count in range(1, 20)},
    chains={live: us * 1e-6 / 21539 / live for live, us in CHAINS.items()},
    flops=890e9,
    launch=1e-5,
)
"""https://github.com/microsoft/ArchProbe, examples/adreno640; groups are not among its probes: steps of six units."""


def test_published_probes_give_the_rates_of_the_chip() -> None:
    found, known = find_rates(ADRENO_640), load_profile("adreno-640")
    assert set(found) == set(RATES)
    for key, value in found.items():
        assert value == pytest.approx(known[key], rel=0.03), key
    assert find_registers(ADRENO_640.chains) == 183


def test_what_shows_no_step_is_taken_as_it_is() -> None:
    flat = dict.fromkeys(BUFFERS, 10000000000.0)
    assert find_cache(flat, 10e9) == 1 << 26
    assert find_registers({1: 1e-9, 64: 1e-9}) is None
    assert find_units({1: 1.0, 2: 1.0, 3: 1.1}) == 3
    assert find_units({1: 1.0, 2: 2.0}) == 1
    rates = find_rates(replace(ADRENO_640, buffers=flat))
    assert rates["time_memory_mbps"] == rates["time_cache_mbps"] == 10_000


def test_times_by_a_written_profile_are_measured(tmp_path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(write_profile("my phone", "adreno-640", "QUALCOMM\nAdreno(TM)", find_rates(ADRENO_640)))
    device = machine_of_profile(load_profile(str(file)))
    assert device.error == "measured"
    assert device.name == "my phone"
    assert device.machine.units == 6
    assert machine_of_profile(load_profile("adreno-640")).error == "scaled"
    with pytest.raises(AdrenoSimError, match="time_mhz"):
        write_profile("mine", "adreno-640", "", {"time_mhz": 0})


def test_kernels_say_what_they_do() -> None:
    assert multiply(3).amount == 2 * multiply(3).source.count("mad(") * 3 * multiply().items
    assert chain(7).source.count("*=") == 7 == chain(7).amount
    assert read_buffer(4096).amount == 16 * 768 * 128


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "sim:adreno-740"], "a simulated one has a model"),
        (["--device", "cl:0", "--base", "mine"], "expected a built-in profile"),
        (["--device", "cl:0", "--name", "adreno-740"], "names no built-in profile"),
        (["--device", "cl:0", "--largest", "48"], "a power of two"),
        ([], "--device"),
    ],
)
def test_bad_words_are_refused(words, said, capsys) -> None:
    assert main(["calibrate", *words]) == 2
    assert said in capsys.readouterr().err
