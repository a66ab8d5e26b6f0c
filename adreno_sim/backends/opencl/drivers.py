"""Finds OpenCL drivers, those from PyPI included, so that `cl:portable` and `cl:intel` work without root.

An OpenCL loader reads a folder of .icd files when the first platform is asked for; OCL_ICD_VENDORS may name one file
instead. PoCL and Intel's runtime from PyPI ship no .icd file that points to where they lie, so one is written.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDORS = Path("/etc/OpenCL/vendors")


@dataclass(frozen=True)
class Driver:
    """A driver that PyPI offers: its platform name, the distribution, and how its library's file name starts."""

    platform: str
    distribution: str
    library: str

    def installed(self) -> Path | None:
        """Path of the driver's library; None where the distribution is not installed."""
        try:
            files = importlib.metadata.files(self.distribution) or []
        except importlib.metadata.PackageNotFoundError:
            return None
        name = re.compile(rf"{self.library}(-\w+)?\.so(\.\d+)*")
        found = [Path(str(file.locate())).resolve() for file in files if name.fullmatch(file.name)]
        return next((path for path in sorted(found) if path.exists()), None)


DRIVERS = (
    Driver("Portable Computing Language", "pocl-binary-distribution", "libpocl"),
    Driver("Intel(R) OpenCL", "intel-opencl-rt", "libintelocl"),
)


def prepare(platform: str) -> None:
    """Point the OpenCL loader to the driver that `platform` (index, substring or "") means, before pyopencl loads it.

    One driver alone where it is known by name: two drivers in a process means two copies of LLVM in it. Leaves the
    environment alone if the user set OCL_ICD_VENDORS or pyopencl is loaded already.
    """
    if "OCL_ICD_VENDORS" in os.environ or "pyopencl" in sys.modules:
        return
    system = _system_files()
    for driver in DRIVERS:
        if platform and not platform.isdigit() and platform.lower() in driver.platform.lower():
            vendors = _system_file(driver, system) or _written(driver)
            break
    else:
        vendors = None if system else next((path for driver in DRIVERS if (path := _written(driver))), None)
    if vendors is not None:
        os.environ["OCL_ICD_VENDORS"] = str(vendors)


def _system_files() -> list[Path]:
    return sorted(VENDORS.glob("*.icd")) if VENDORS.is_dir() else []


def _system_file(driver: Driver, files: list[Path]) -> Path | None:
    """The system's .icd file of a driver, told by the library it names."""
    for file in files:
        if Path(file.read_text().strip()).name.startswith(driver.library):
            return file
    return None


def _written(driver: Driver) -> Path | None:
    """An .icd file for a driver from PyPI, gone when the process ends."""
    library = driver.installed()
    if library is None:
        return None
    with tempfile.NamedTemporaryFile("w", prefix="adreno-sim-", suffix=".icd", delete=False) as file:
        file.write(f"{library}\n")
    path = Path(file.name)
    atexit.register(path.unlink, missing_ok=True)
    return path
