"""No file lowers a check: every option against every kind of file, by the one table and by the readers that ask it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.run_options import NAMES, RunOptions, make_options
from adreno_sim.base.trust import table as trust
from adreno_sim.base.trust.table import LIMITS, MAY_SET, Input, take_device, take_options
from adreno_sim.icd.trace.archive import Trace
from adreno_sim.icd.trace.replay_settings import choose_settings
from adreno_sim.launch_spec.read import read_tables
from adreno_sim.launch_spec.run import _open

VALUES = {
    "checks": ["off", "bounds", "full"],
    "seed": [0, 7, -1],
    "threads": [0, 1, 64, 1000, 10**9],
    "timeout": [0.1, 60, 61, 1e9],
    "order": ["shuffled", "ascending", "descending"],
    "contract": ["on", "off"],
    "flush_denormals": [True, False],
    "finite_math": ["kept", "folded"],
    "filter_bits": [0, 8, 16],
    "pitch_rule": ["bytes", "pixels"],
    "pool": ["paged", "none"],
    "cache": [True, False],
    "emitter": ["scalar", "spmd"],
    "count_accesses": [True, False],
    "counters": [True, False],
    "all_drivers": [True, False],
    "unsafe_includes": [True, False],
}
ORDER = ("off", "bounds", "full")
PAIRS = [(name, value) for name, values in VALUES.items() for value in values]


def guards_hold(options: RunOptions) -> bool:
    """Nothing that watches a kernel is below what a command has without being asked."""
    usual = RunOptions()
    watched = ORDER.index(options.checks) >= ORDER.index(usual.checks) and options.timeout <= usual.timeout
    return watched and not options.unsafe_includes and options.cache and options.threads <= 256


def test_every_option_has_a_row_and_every_kind_of_file_too() -> None:
    assert set(LIMITS) == set(NAMES) == set(VALUES)
    assert set(MAY_SET) == set(Input)
    assert all(options <= set(NAMES) for options in MAY_SET.values())


@pytest.mark.share()
@pytest.mark.parametrize("source", Input)
@settings(max_examples=40)
@given(asked=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4)))
def test_no_kind_of_file_lowers_a_guard(source: Input, asked: dict[str, int]) -> None:
    chosen = {name: VALUES[name][place % len(VALUES[name])] for name, place in asked.items()}
    taken = take_options(source, chosen)
    assert guards_hold(make_options(taken.options))
    assert taken.options.keys() <= MAY_SET[source]
    assert taken.options.keys() | taken.refused.keys() == chosen.keys()
    assert not taken.options.keys() & taken.refused.keys()


@pytest.mark.parametrize(("name", "value"), PAIRS)
def test_a_launch_file_sets_an_option_or_is_refused(name: str, value: object) -> None:
    """In [run] and in the device string: what is taken holds, what is not names the command line."""
    said = str(value).lower() if isinstance(value, bool) else value
    for tables in ({"run": {name: value}}, {"device": f"sim:adreno-650,{name}={said}"}):
        try:
            spec = read_tables({"global_size": [1], **tables}, Path("launch.toml"))
        except AdrenoSimError as error:
            assert "the command line may (--" in str(error)
            assert "\n" not in str(error)
            assert not guards_hold(make_options({name: value})) or name in ("cache", "unsafe_includes")
            continue
        opened = _open(spec, None, None, {})
        assert guards_hold(opened.options)
        assert getattr(opened.options, name) == (getattr(make_options({name: value}), name) if name != "checks" else "full")


def test_what_a_command_says_goes_before_what_a_launch_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = read_tables({"global_size": [1], "run": {"checks": "full", "timeout": 5, "seed": 3}}, Path("launch.toml"))
    lower = read_tables({"global_size": [1], "run": {"checks": "bounds"}}, Path("launch.toml"))
    named = read_tables({"global_size": [1], "device": "sim:adreno-650", "run": {"seed": 3}}, Path("launch.toml"))
    assert [_open(file, None, None, {}).options.checks for file in (spec, lower)] == ["full", "full"]
    assert _open(spec, None, "off", {}).options.checks == "off"
    opened = _open(spec, "sim:adreno-740,checks=bounds,timeout=90", None, {}).options
    assert (opened.checks, opened.timeout, opened.seed) == ("bounds", 90, 3)
    assert _open(lower, "sim:adreno-740,checks=full", None, {}).options.checks == "full"
    monkeypatch.setenv("ADRENO_SIM_DEVICE", "sim:adreno-740,checks=full,seed=9")
    assert _open(lower, None, None, {}).options.checks == "full"
    opened = _open(named, None, None, {})
    assert (opened.info.name, opened.options.checks, opened.options.seed) == ("adreno-650", "full", 3)


def settings_of(recorded: str, level: str, **given: Any) -> tuple[RunOptions, list[str], str]:
    """What a replay of a recording is opened with."""
    settings, _, notes = choose_settings(Trace(("x",), recorded, level), "t.asim", **given)
    opened = open_device(settings.device, checks=settings.checks)
    return opened.options, notes, opened.info.name


@pytest.mark.parametrize(("name", "value"), PAIRS)
@pytest.mark.parametrize("checks", ORDER)
def test_a_recording_sets_an_option_or_says_that_it_does_not(name: str, value: object, checks: str) -> None:
    said = str(value).lower() if isinstance(value, bool) else value
    options, notes, _ = settings_of(f"sim:adreno-650,{name}={said}", checks)
    assert guards_hold(options)
    asked = {checks, value} if name == "checks" else {checks}
    assert options.checks == ("full" if "full" in asked and checks != "bounds" else "bounds")
    held = name == "checks" or getattr(options, name) == getattr(make_options({name: value}), name)
    assert held or [note for note in notes if note.startswith(f"not as recorded: {name}=")]
    assert bool([note for note in notes if "checks=off" in note]) == (checks == "off" or (name, value) == ("checks", "off"))


def test_what_a_command_says_goes_before_what_a_recording_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of("sim:adreno-740", "off", checks="off")[:2] == (make_options({"checks": "off"}), [])
    assert settings_of("sim:adreno-740,checks=off,seed=4", "off", checks="full", seed=5)[0] == make_options(
        {"checks": "full", "seed": 5}
    )
    options, notes, name = settings_of("sim:adreno-740", "bounds", device="sim:adreno-650,checks=full")
    assert (options.checks, notes, name) == ("full", [], "adreno-650")
    monkeypatch.setenv("ADRENO_SIM_DEVICE", "sim:adreno-740,checks=full")
    assert settings_of("sim:adreno-650,seed=2", "bounds")[0] == make_options({"checks": "full", "seed": 2})


@pytest.mark.parametrize(
    "device",
    ["cl", "cl:0", "cl:pocl", "CL:0", "sim:/etc/phone.toml", "sim:phone.toml", "sim:../phone.toml", "sim: phone.toml ,seed=1",
     "sim:dump.json", "", "x:y"],
)  # fmt: skip
def test_a_recording_names_no_real_device_and_no_file(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "phone.toml").write_text('[profile.phone]\nbase = "adreno-740"\n')
    with pytest.raises(AdrenoSimError, match=r"^t.asim: device .*a recording may name .*command line"):
        settings_of(device, "bounds")
    assert settings_of(device, "bounds", device="sim:phone.toml")[2] == "phone"


def test_a_launch_file_names_profiles_of_its_own_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    for folder in (tmp_path, inside):
        (folder / "phone.toml").write_text('[profile.phone]\nbase = "adreno-740"\n')
    (inside / "link.toml").symlink_to(tmp_path / "phone.toml")
    monkeypatch.chdir(tmp_path)

    def opened(device: str) -> str:
        spec = read_tables({"global_size": [1], "device": device}, inside / "launch.toml")
        return _open(spec, None, None, {}).info.name

    for device in ("sim:phone.toml", f"sim:{inside}/phone.toml", "sim:inside/phone.toml"):
        assert opened(device) == "phone"
    for device in ("sim:../phone.toml", f"sim:{tmp_path}/phone.toml", "sim:link.toml", "cl:0", "cl", "cl:pocl"):
        with pytest.raises(AdrenoSimError, match=r"device: device .*a launch file may name .*--device"):
            opened(device)


@given(text=st.text(max_size=40) | st.from_regex(r"\A(sim|cl):[a-z0-9-]{0,8}(,[a-z]{1,8}=[a-z0-9]{0,4}){0,3}\Z"))
def test_any_device_text_is_taken_or_refused_in_one_error(text: str) -> None:
    for source in Input:
        try:
            taken = take_device(source, text)
        except AdrenoSimError:
            continue
        assert source in trust.MAY_NAME_DEVICE
        assert taken.text.startswith("sim:")
        assert guards_hold(make_options(taken.options))


def test_the_schema_of_launch_files_has_the_same_options() -> None:
    schema = json.loads((Path(adreno_sim.__file__).parent / "schemas" / "launch.json").read_text())
    properties = schema["$defs"]["run"]["properties"]
    assert properties.keys() == MAY_SET[Input.LAUNCH]
    assert tuple(properties["checks"]["enum"]) == LIMITS["checks"].allowed


def test_an_option_without_a_row_is_the_command_line_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever adds an option to RunOptions, and forgets the table, adds nothing to what files may set."""
    monkeypatch.setattr(trust, "LIMITS", {name: limit for name, limit in LIMITS.items() if name != "seed"})
    assert take_options(Input.LAUNCH, {"seed": 1}).options == {}
    assert {field.name for field in dataclasses.fields(RunOptions)} == set(NAMES)
