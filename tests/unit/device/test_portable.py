"""`cl:portable`: which driver it is, by what each is known to get wrong; no driver is loaded here."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from adreno_sim.backends.opencl import drivers, loader, portable, verdicts
from adreno_sim.backends.opencl.open import open_opencl
from adreno_sim.backends.opencl.verdicts import JudgedDevice, Verdict
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.installed.install_line import install_line
from adreno_sim.render.devices import listing as devices

SYSTEM, PIP, INTEL = "/usr/lib/libpocl.so.2\n", "/pypi/libpocl-1.so\n", "/pypi/libintelocl.so\n"
WRONG = "gets loops with barriers wrong (a tiled matrix product: 1 for 2)"


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """machine(files) has these drivers, each with what it gets wrong ("": nothing; "!": it does not start)."""
    for variable in (drivers.VARIABLE, drivers.OURS):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(drivers, "VENDORS", tmp_path)

    def judge(icd):
        said = judge.files[icd]
        if said == "!":
            return Verdict(problem="is not to be opened: its process ended by SIGSEGV")
        platform = "Intel(R) OpenCL" if icd == INTEL else "Portable Computing Language"
        return Verdict((JudgedDevice(platform, f"cpu ({platform})", "OpenCL 3.0", (), tuple(filter(None, [said]))),))

    def make(files):
        judge.files = files
        if SYSTEM in files:
            (tmp_path / "pocl.icd").write_text(SYSTEM)
        there = {"libpocl": PIP, "libintelocl": INTEL}
        installed = {library: Path(icd.strip()) for library, icd in there.items() if icd in files}
        monkeypatch.setattr(drivers.Driver, "find_library", lambda self: installed.get(self.library))
        for module in (portable, verdicts):
            monkeypatch.setattr(module, "judge_driver", judge)

    return make


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({SYSTEM: "", PIP: WRONG, INTEL: ""}, SYSTEM),
        ({SYSTEM: WRONG, PIP: "", INTEL: ""}, PIP),
        ({SYSTEM: WRONG, PIP: WRONG, INTEL: ""}, INTEL),
        ({PIP: "", INTEL: ""}, PIP),
        ({PIP: WRONG, INTEL: ""}, INTEL),
        ({PIP: "!", INTEL: ""}, INTEL),
        ({INTEL: ""}, INTEL),
    ],
)
def test_the_first_that_gives_every_known_answer(machine, files, chosen):
    machine(files)
    driver = loader.find_driver("portable")
    assert driver.icd == chosen
    assert loader.find_driver("PORTABLE") == driver
    assert loader._select_icd_files([driver]) == {driver.name: chosen}


def test_pocl_is_pocl_whatever_it_is_worth(machine):
    machine({PIP: WRONG, INTEL: ""})
    assert loader.find_driver("pocl").name == loader.find_driver("Portable Comp").name == "pocl"
    assert loader._select_icd_files([loader.find_driver("pocl")]) == {"pocl": PIP}


def test_none_that_is_fit_is_refused_with_what_each_gets_wrong(machine):
    machine({PIP: WRONG})
    assert loader.find_driver("portable") is None
    with pytest.raises(AdrenoSimError) as caught:
        open_opencl("portable")
    said = str(caught.value)
    assert said.startswith("no OpenCL platform: no driver gives every known answer: Portable Computing Language (/pypi/libpocl")
    assert WRONG in said
    assert f"Intel(R) OpenCL is not installed: {install_line('oracle')}" in said
    assert "\n" not in said


def test_an_unfit_driver_is_not_loaded_for_another(machine):
    """Where nothing fit is there, and another device is opened with it, the unfit one stays out."""
    machine({PIP: WRONG, INTEL: "!"})
    assert loader.find_driver("portable") is None
    assert loader._select_icd_files([]) is None


def test_the_list_of_devices_says_what_is_wrong_and_which_is_portable(machine):
    machine({PIP: WRONG, INTEL: ""})
    real = list(devices.real_devices())
    assert [(one.device, list(one.wrong)) for one in real] == [("cl:pocl", [WRONG]), ("cl:intel", [])]
    out = io.StringIO()
    found = devices.Devices([], real, "", "cl:intel")
    devices.show(found, out)
    assert f"UNFIT: {WRONG}\n" in out.getvalue()
    assert out.getvalue().endswith("cl:portable is cl:intel\n")
    data = devices.to_json(found)
    assert data["portable"] == "cl:intel"
    assert data["real"][0]["wrong"] == [WRONG]
    assert data["real"][0]["lacks"][0] == WRONG


def test_a_second_pocl_is_listed_where_it_is_the_portable_one(machine):
    machine({SYSTEM: WRONG, PIP: "", INTEL: ""})
    assert [(one.device, bool(one.wrong)) for one in devices.real_devices()] == [
        ("cl:pocl", True), ("cl:intel", False), ("cl:portable", False),
    ]  # fmt: skip


def test_a_driver_that_crashes_is_listed_with_that(machine):
    machine({PIP: "!", INTEL: ""})
    (crashed, _) = devices.real_devices()
    assert crashed.device == "cl:pocl"
    assert crashed.wrong == ("is not to be opened: its process ended by SIGSEGV",)
