"""Which driver the OpenCL loader is pointed to; no driver is loaded here."""

import os
import sys
from pathlib import Path

import pytest

from adreno_sim.backends.opencl import drivers


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """No OCL_ICD_VENDORS, pyopencl not loaded, an empty vendors folder; gives that folder."""
    for variable in (drivers.VARIABLE, drivers.OURS):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
    monkeypatch.setattr(drivers, "VENDORS", tmp_path)
    monkeypatch.setattr(drivers, "_announced", {})
    yield tmp_path
    for variable in (drivers.VARIABLE, drivers.OURS):
        os.environ.pop(variable, None)


def pypi(monkeypatch, **paths):
    """PyPI offers these drivers and no others."""
    monkeypatch.setattr(drivers.Driver, "installed", lambda self: paths.get(self.library))


def chosen():
    """Libraries that the loader is pointed to; None where it is left alone."""
    path = os.environ.get("OCL_ICD_VENDORS")
    return path and {file.read_text().strip() for file in Path(path).glob("*.icd")}


def test_the_systems_driver_comes_first(environment, monkeypatch):
    (environment / "a.icd").write_text("/opt/libother.so\n")
    (environment / "b.icd").write_text("/usr/lib/libpocl.so.2\n")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-1.so"))
    drivers.prepare("Portable")
    assert chosen() == {"/usr/lib/libpocl.so.2"}


def test_a_driver_from_pypi_is_used_alone(environment, monkeypatch):
    (environment / "a.icd").write_text("libother.so\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare("intel")
    assert chosen() == {"/pypi/libintelocl.so"}


def test_without_a_system_any_driver_from_pypi_will_do(environment, monkeypatch):
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare("")
    assert chosen() == {"/pypi/libintelocl.so"}


@pytest.mark.parametrize("platform", ["", "0", "NVIDIA"])
def test_otherwise_the_system_is_left_alone(environment, monkeypatch, platform):
    (environment / "a.icd").write_text("libother.so\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare(platform)
    assert chosen() is None


def test_what_the_user_set_stays(environment, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "mine")
    drivers.prepare("intel")
    assert os.environ["OCL_ICD_VENDORS"] == "mine"


def test_a_loaded_loader_is_too_late(environment, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", object())
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare("intel")
    assert chosen() is None


def test_drivers_announced_are_loaded_together(environment, monkeypatch):
    (environment / "b.icd").write_text("/usr/lib/libpocl.so.2\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.announce(["portable", "intel"])
    drivers.prepare("portable")
    assert chosen() == {"/usr/lib/libpocl.so.2", "/pypi/libintelocl.so"}


def test_a_system_driver_beside_one_from_pypi(environment, monkeypatch):
    (environment / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-1.so"))
    drivers.announce(["NVIDIA", "portable"])
    drivers.prepare("NVIDIA")
    assert chosen() == {"libnvidia-opencl.so.1", "/pypi/libpocl-1.so"}


def test_a_child_process_chooses_anew(environment, monkeypatch):
    """It inherits the environment, with a folder that its parent may have removed."""
    (environment / "a.icd").write_text("libother.so\n")
    monkeypatch.setenv(drivers.VARIABLE, "/gone")
    monkeypatch.setenv(drivers.OURS, "/gone")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare("intel")
    assert chosen() == {"/pypi/libintelocl.so"}
    drivers._announced.clear()
    drivers.prepare("other")
    assert chosen() is None


def test_the_reason_for_a_missing_driver(environment, monkeypatch):
    pypi(monkeypatch)
    assert drivers.not_found("intel") == "Intel(R) OpenCL is not installed: pip install 'adreno-sim[oracle]'"
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    assert "in a process of its own" in drivers.not_found("intel")
    monkeypatch.setenv("OCL_ICD_VENDORS", "mine")
    assert drivers.not_found("intel").startswith("OCL_ICD_VENDORS=mine decides")
    assert drivers.not_found("0") == drivers.not_found("NVIDIA") == ""
