"""Device strings and run options of the simulated device."""

import math

import pytest

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.run_options import RunOptions, make_options
from adreno_sim.device.protocol import Device


def test_a_device_string_with_options_and_profile_fields():
    device = adreno_sim.open_device(
        "sim:adreno-650, checks=full, threads=1, LOCAL_MEM_SIZE=0x1000, wave_size=64, pitch_rule=pixels"
    )
    assert isinstance(device, Device)
    assert (device.options.checks, device.options.threads) == ("full", 1)
    assert device.info.limits["LOCAL_MEM_SIZE"] == 4096
    assert device.profile["wave_sizes"] == (64,)
    assert device.profile["pitch_rule"] == "pixels"


def test_keywords_go_before_keys():
    assert adreno_sim.open_device("sim:,seed=1", seed=2).options.seed == 2


def test_the_default_device(monkeypatch):
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    assert adreno_sim.open_device().info.name == "adreno-740"
    monkeypatch.setenv("ADRENO_SIM_DEVICE", "sim:adreno-640")
    assert adreno_sim.open_device().info.name == "adreno-640"


def test_info_says_what_the_device_lacks():
    assert adreno_sim.open_device("sim:adreno-740").info.lacks == ()
    assert "makes no image arrays over buffers" in adreno_sim.open_device("sim:adreno-650").info.lacks[0]
    assert adreno_sim.open_device("sim:adreno-630,driver=mesa").info.lacks[0].startswith("makes no images over buffers")


@pytest.mark.parametrize(
    "text, says",
    [
        ("sim:adreno-999", "there are: adreno-505"),
        ("sim:adreno-740,checks", "expected key=value"),
        ("sim:adreno-740,=3", "expected key=value"),
        ("sim:adreno-740,thread=3", "did you mean threads"),
        ("sim:adreno-740,LOCALMEMSIZE=3", "did you mean LOCAL_MEM_SIZE"),
        ("sim:adreno-740,checks=some", "expected off, bounds, full"),
        ("sim:adreno-740,seed=x", "expected an integer"),
        ("sim:adreno-740,timeout=0", "more than 0"),
        ("sim:adreno-740,timeout=soon", "expected a number"),
        ("sim:adreno-740,threads=-1", "0 or more"),
        ("sim:adreno-740,cache=maybe", "true or false"),
        ("sim:adreno-740,LOCAL_MEM_SIZE=4k", "expected an integer"),
        ("sim:adreno-740,wave_size=0", "expected one or more sizes of 1 to 4096"),
        ("sim:./absent.toml", "cannot be read"),
        ("gpu", "expected sim:PROFILE"),
    ],
)
def test_a_wrong_device_string_is_refused_in_one_line(text, says):
    with pytest.raises(AdrenoSimError, match=says) as refused:
        adreno_sim.open_device(text)
    assert "\n" not in str(refused.value)


def test_options_from_values_and_from_text():
    given = {"checks": "off", "seed": "0x10", "timeout": "1.5", "cache": "false", "flush_denormals": "None", "pool": "none"}
    assert make_options(given) == RunOptions(checks="off", seed=16, timeout=1.5, cache=False, pool="none")
    assert make_options({"flush_denormals": True, "timeout": 2}) == RunOptions(flush_denormals=True, timeout=2.0)
    assert make_options({}) == RunOptions()


@pytest.mark.parametrize(
    "given", [{"seed": 1.5}, {"seed": True}, {"timeout": math.nan}, {"pool": 3}, {"threads": None}, {"cash": True}]
)
def test_wrong_options_are_refused(given):
    with pytest.raises(AdrenoSimError, match=next(iter(given))):
        make_options(given)
