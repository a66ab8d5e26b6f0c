"""Which driver the OpenCL loader is pointed to; no driver is loaded here."""

import os
import sys
from pathlib import Path

import pytest

from adreno_sim.backends.opencl import drivers


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """No OCL_ICD_VENDORS, pyopencl not loaded, an empty vendors folder; gives that folder."""
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
    monkeypatch.setattr(drivers, "VENDORS", tmp_path)
    yield tmp_path
    os.environ.pop("OCL_ICD_VENDORS", None)


def pypi(monkeypatch, **paths):
    """PyPI offers these drivers and no others."""
    monkeypatch.setattr(drivers.Driver, "installed", lambda self: paths.get(self.library))


def chosen():
    path = os.environ.get("OCL_ICD_VENDORS")
    return path and Path(path).read_text().strip()


def test_the_systems_driver_comes_first(environment, monkeypatch):
    (environment / "a.icd").write_text("/opt/libother.so\n")
    (environment / "b.icd").write_text("/usr/lib/libpocl.so.2\n")
    pypi(monkeypatch, libpocl=Path("/pypi/libpocl-1.so"))
    drivers.prepare("Portable")
    assert os.environ["OCL_ICD_VENDORS"] == str(environment / "b.icd")


def test_a_driver_from_pypi_is_used_alone(environment, monkeypatch):
    (environment / "a.icd").write_text("libother.so\n")
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare("intel")
    assert chosen() == "/pypi/libintelocl.so"


def test_without_a_system_any_driver_from_pypi_will_do(environment, monkeypatch):
    pypi(monkeypatch, libintelocl=Path("/pypi/libintelocl.so"))
    drivers.prepare("")
    assert chosen() == "/pypi/libintelocl.so"


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
