"""Which driver the OpenCL loader is pointed to; no driver is loaded here."""

import os
import sys
from pathlib import Path

import pytest

from adreno_sim.backends.opencl import drivers, loader, portable
from adreno_sim.backends.opencl.verdicts import JudgedDevice, Verdict
from adreno_sim.base.installed.install_line import install_line


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """No OCL_ICD_VENDORS, pyopencl not loaded, an empty vendors folder, every driver fit; gives that folder."""
    for variable in (drivers.VARIABLE, drivers.OURS):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
    monkeypatch.setattr(drivers, "VENDORS", tmp_path)
    monkeypatch.setattr(loader, "_announced", {})
    monkeypatch.setattr(portable, "judge_driver", lambda icd: Verdict((JudgedDevice("", "", "", (), ()),)))
    yield tmp_path
    for variable in (drivers.VARIABLE, drivers.OURS):
        os.environ.pop(variable, None)


def pypi(monkeypatch, **paths):
    """PyPI offers these drivers and no others."""
    monkeypatch.setattr(drivers.Driver, "find_library", lambda self: paths.get(self.library))


def chosen():
    """Libraries that the loader is pointed to; None where it is left alone."""
    path = os.environ.get("OCL_ICD_VENDORS")
    return path and {file.read_text().strip() for file in Path(path).glob("*.icd")}


@pytest.mark.parametrize("name", ["Portable", "portable", "Portable Comp", "pocl", "PoCL"])
def test_the_systems_driver_comes_first(environment, monkeypatch, name):
    (environment / "a.icd").write_text("/opt/libother.so\n")
    (environment / "b.icd").write_text("/usr/lib/libpocl.so.2\n")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-1.so"))
    loader.prepare(name)
    assert chosen() == {"/usr/lib/libpocl.so.2"}


def test_a_driver_from_pypi_is_used_alone(environment, monkeypatch):
    (environment / "a.icd").write_text("libother.so\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.prepare("intel")
    assert chosen() == {"/pypi/libintelocl.so"}


def test_without_a_system_any_driver_from_pypi_will_do(environment, monkeypatch):
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.prepare("")
    assert chosen() == {"/pypi/libintelocl.so"}


@pytest.mark.parametrize("platform", ["", "0", "NVIDIA"])
def test_otherwise_the_system_is_left_alone(environment, monkeypatch, platform):
    (environment / "a.icd").write_text("libother.so\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.prepare(platform)
    assert chosen() is None


def test_what_the_user_set_stays(environment, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "mine")
    loader.prepare("intel")
    assert os.environ["OCL_ICD_VENDORS"] == "mine"


def test_a_loaded_loader_is_too_late(environment, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", object())
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.prepare("intel")
    assert chosen() is None


def test_drivers_announced_are_loaded_together(environment, monkeypatch):
    (environment / "b.icd").write_text("/usr/lib/libpocl.so.2\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.announce(["portable", "intel"])
    loader.prepare("portable")
    assert chosen() == {"/usr/lib/libpocl.so.2", "/pypi/libintelocl.so"}


def test_a_system_driver_beside_one_from_pypi(environment, monkeypatch):
    (environment / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-1.so"))
    loader.announce(["NVIDIA", "portable"])
    loader.prepare("NVIDIA")
    assert chosen() == {"libnvidia-opencl.so.1", "/pypi/libpocl-1.so"}


def test_a_child_process_chooses_anew(environment, monkeypatch):
    """It inherits the environment, with a folder that its parent may have removed."""
    (environment / "a.icd").write_text("libother.so\n")
    monkeypatch.setenv(drivers.VARIABLE, "/gone")
    monkeypatch.setenv(drivers.OURS, "/gone")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.prepare("intel")
    assert chosen() == {"/pypi/libintelocl.so"}
    loader._announced.clear()
    loader.prepare("other")
    assert chosen() is None


def test_files_come_from_where_the_user_points(environment, monkeypatch, tmp_path):
    (environment / "b.icd").write_text("/usr/lib/libpocl.so.2\n")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "x.icd").write_text("/opt/libpocl.so\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    assert drivers.icd_texts(drivers.get_driver("pocl")) == ["/usr/lib/libpocl.so.2\n"]
    for place in (mine, mine / "x.icd"):
        monkeypatch.setenv("OCL_ICD_VENDORS", str(place))
        assert drivers.icd_texts(drivers.get_driver("pocl")) == ["/opt/libpocl.so\n"]
        assert not drivers.is_available(drivers.get_driver("intel"))
        assert loader.find_driver("portable").icd == "/opt/libpocl.so\n"


def test_the_file_behind_a_platform_is_the_one_that_was_loaded(environment, monkeypatch):
    (environment / "a.icd").write_text("libacme.so\n")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-1.so"))
    assert drivers.icd_texts_of_platform("Acme CL") == ["libacme.so\n"]
    loader.prepare("pocl")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-2.so"))
    assert drivers.icd_texts_of_platform("Portable Computing Language") == ["/pypi/libpocl-1.so\n"]


def test_the_pocl_beside_pyopencl_is_left_out_where_drivers_were_chosen(environment, monkeypatch):
    monkeypatch.setenv("PYOPENCL_HOME", "wheel")
    loader.hide_shipped_drivers()
    assert os.environ["PYOPENCL_HOME"] == "wheel"
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    loader.prepare("intel")
    loader.hide_shipped_drivers()
    assert os.environ["PYOPENCL_HOME"] == os.environ[drivers.OURS]


def test_the_reason_for_a_missing_driver(environment, monkeypatch):
    pypi(monkeypatch)
    assert loader.why_missing("intel") == f"Intel(R) OpenCL is not installed: {install_line('oracle')}"
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    assert "in a separate process" in loader.why_missing("intel")
    monkeypatch.setenv("OCL_ICD_VENDORS", "mine")
    assert loader.why_missing("intel").startswith("OCL_ICD_VENDORS=mine decides")
    assert loader.why_missing("0") == loader.why_missing("NVIDIA") == ""
