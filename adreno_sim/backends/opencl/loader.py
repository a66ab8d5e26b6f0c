"""Points the OpenCL loader to the drivers of the devices that a process opens, before it reads any."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ...base.processes.scratch import make_scratch_folder
from . import drivers, portable
from .drivers import Driver

PORTABLE = "portable"
"""The name of whichever driver is the best that gives every known answer (`portable.py`)."""

_announced: dict[str, None] = {}


def announce(platforms: Iterable[str]) -> None:
    """Register the platforms (index, substring or "") that this process will open: the loader is set up once, for all."""
    _announced.update(dict.fromkeys(platforms))


def find_driver(platform: str) -> Driver | None:
    """The driver for its name, or for a part of its platform's name; None for an index, "" or another platform.

    "portable" is the best driver that gives every known answer; drivers without a verdict are tried for it.
    """
    if not platform or platform.isdigit():
        return None
    if platform.lower() == PORTABLE:
        return portable.choose()
    text = platform.lower()
    return next((driver for driver in drivers.DRIVERS if text == driver.name or text in driver.platform.lower()), None)


def prepare(platform: str) -> None:
    """Point the OpenCL loader to the drivers of `platform` and of the announced platforms, before pyopencl loads it.

    Drivers known by name are loaded without others beside them: each driver in a process means one more copy of LLVM in
    it. Leaves the environment alone if the user set OCL_ICD_VENDORS or pyopencl is loaded already.
    """
    if drivers.is_set_by_user() or "pyopencl" in sys.modules:
        return
    platforms = dict.fromkeys([*_announced, platform])
    known = [(text, find_driver(text)) for text in platforms]
    chosen = _select_icd_files([driver for text, driver in known if driver is not None or text.lower() != PORTABLE])
    if chosen is None:
        if os.environ.pop(drivers.OURS, None) is not None:
            del os.environ[drivers.VARIABLE]
        return
    os.environ[drivers.VARIABLE] = os.environ[drivers.OURS] = str(_write_icd_folder(chosen))


def hide_shipped_drivers() -> None:
    """Keep the loader in pyopencl's wheel from loading the PoCL that PyPI put beside it, where drivers were chosen here.

    That loader looks in PYOPENCL_HOME too, at the first question for platforms; importing pyopencl sets it.
    """
    if os.environ.get(drivers.OURS) and not drivers.is_set_by_user():
        os.environ["PYOPENCL_HOME"] = os.environ[drivers.OURS]


def why_missing(platform: str) -> str:
    """The reason why the loader did not provide a platform that is known by name; "" for other platforms."""
    driver = find_driver(platform)
    if driver is None and platform.lower() == PORTABLE:
        return f"no driver gives every known answer: {portable.explain()}"
    if driver is None:
        return ""
    if drivers.is_set_by_user():
        return f"OCL_ICD_VENDORS={os.environ[drivers.VARIABLE]} decides which drivers are loaded"
    if not drivers.is_available(driver):
        return f"{driver.platform} is not installed: {driver.install}"
    return (
        "the OpenCL loader reads its drivers once, and was set up for others earlier in this process: name all devices in "
        f"adreno_sim.device.announce_devices([..., 'cl:{driver.name}']) before the first is opened, or open it in a "
        "separate process"
    )


def _select_icd_files(wanted: list[Driver | None]) -> dict[str, str] | None:
    """Name -> text of the .icd files for the loader; None = the loader reads its own folder."""
    system = [file.read_text() for file in drivers.system_files()]
    files = {driver.name: text for driver in wanted if driver is not None and (text := _icd_text(driver))}
    if None not in wanted:
        return files or None
    if system and set(files.values()) <= set(system):
        return None
    if system:
        return {**files, **{f"system-{number}": text for number, text in enumerate(system) if text not in files.values()}}
    default = [find_driver(PORTABLE), *drivers.DRIVERS]
    return files or next(({driver.name: text} for driver in default if driver is not None and (text := _icd_text(driver))), None)


def _icd_text(driver: Driver) -> str:
    """Text of the .icd file of a driver: the one that was chosen, else the first there is; "" if there is none."""
    return driver.icd or next(iter(drivers.icd_texts(driver)), "")


def _write_icd_folder(files: dict[str, str]) -> Path:
    """Write the .icd files to a folder of this process; returns it."""
    folder = make_scratch_folder("vendors")
    for name, text in files.items():
        (folder / f"{name}.icd").write_text(text)
    return folder
