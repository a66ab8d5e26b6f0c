"""Opens the OpenCL device that a string `cl[:PLATFORM[:DEVICE]]` names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...base.errors import AdrenoSimError, OptionError
from ...base.installed.extras import MissingPackageError, is_installed
from ...base.installed.install_line import install_line
from ...base.run_options import make_options
from . import drivers, loader
from .verdicts import judge_driver

if TYPE_CHECKING:
    from .device import OpenCLDevice

T = TypeVar("T")


def _expected() -> str:
    """What an error asks for where no driver is found."""
    return (
        "expected a driver's .icd file in /etc/OpenCL/vendors or where OCL_ICD_VENDORS points, or a driver from PyPI "
        f"({install_line('opencl', 'oracle')})"
    )


def open_opencl(text: str = "", **options: Any) -> OpenCLDevice:
    """Open the device that `text` ("PLATFORM[:DEVICE]", each an index or a case-insensitive substring) names.

    "" = PYOPENCL_CTX if set, else the first platform's first GPU, or its first device. Keyword options are RunOptions
    fields. Raises AdrenoSimError if pyopencl, a driver, the platform or the device is missing, naming what is there.
    """
    run_options = make_options(options)
    if run_options.counters:
        name = f"cl:{text}" if text else "cl"
        raise OptionError("counters", f"{name} is a real device, which does not show what a kernel does; sim:PROFILE counts")
    platform_text, device_text = _split(text)
    platforms = _platforms(platform_text)
    platform = _choose_platform(platform_text, platforms)
    device = _choose("device", device_text, devices_of(platform))
    from .device import OpenCLDevice

    return OpenCLDevice(device, run_options, wrong_answers(device))


def announce(texts: Iterable[str]) -> None:
    """Register the devices (texts as for `open_opencl`) that this process will open, before it opens the first."""
    loader.announce([_split(text)[0] for text in texts])


def _split(text: str) -> tuple[str, str]:
    platform, _, device = (text or os.environ.get("PYOPENCL_CTX", "")).partition(":")
    return platform, device


def why_unavailable() -> str:
    """The reason why this machine has no OpenCL device; "" if it may have one."""
    if not is_installed("pyopencl"):
        return f"OpenCL devices need PyOpenCL. Run: {install_line('opencl')} (or with [opencl,oracle], to run on the CPU)"
    if not drivers.other_icd_texts() and not any(map(drivers.is_available, drivers.DRIVERS)):
        return f"no OpenCL platform: {_expected()}"
    return ""


def _platforms(wanted: str) -> list[Any]:
    if not is_installed("pyopencl"):
        raise MissingPackageError(why_unavailable())
    if wanted.lower() == loader.PORTABLE and loader.find_driver(wanted) is None:
        raise AdrenoSimError(f"no OpenCL platform: {loader.why_missing(wanted)}")
    loader.prepare(wanted)
    import pyopencl as cl

    loader.hide_shipped_drivers()
    try:
        found = list(cl.get_platforms())
    except cl.Error:
        found = []
    if not found:
        raise AdrenoSimError(f"no OpenCL platform: {loader.why_missing(wanted) or _expected()}")
    return found


def wrong_answers(handle: Any) -> tuple[str, ...]:
    """A sentence for each known answer that the device does not give, or on why its driver was not tried; empty = all right."""
    problems: list[str] = []
    for icd in drivers.icd_texts_of_platform(str(handle.platform.name)):
        verdict = judge_driver(icd)
        for tried in verdict.devices:
            if (tried.platform, tried.version) == (str(handle.platform.name), str(handle.version)):
                return tried.wrong
        problems += filter(None, [verdict.problem])
    return tuple(f"was not tried on the known answers: its driver {problem}" for problem in problems)


def devices_of(platform: Any) -> list[Any]:
    """Devices of a platform, GPUs first."""
    import pyopencl as cl

    try:
        devices = list(platform.get_devices())
    except cl.Error:
        devices = []
    if not devices:
        raise AdrenoSimError(f"OpenCL platform {platform.name!r} has no device")
    return sorted(devices, key=lambda device: not device.type & cl.device_type.GPU)


def _choose_platform(wanted: str, platforms: Sequence[Any]) -> Any:
    """The platform for an index, a platform's name, or a driver's name."""
    driver = loader.find_driver(wanted)
    if driver is not None and wanted.lower() in (driver.name, loader.PORTABLE):
        for platform in platforms:
            if driver.platform in str(platform.name):
                return platform
    return _choose("platform", wanted, platforms)


def _choose(what: str, wanted: str, items: Sequence[T]) -> T:
    """The item at index `wanted`, or the first whose name contains it."""
    if not wanted:
        return items[0]
    names = [str(getattr(item, "name", item)) for item in items]
    if wanted.isdigit() and int(wanted) < len(items):
        return items[int(wanted)]
    for item, name in zip(items, names, strict=True):
        if not wanted.isdigit() and wanted.lower() in name.lower():
            return item
    there = ", ".join(f"{index} {name!r}" for index, name in enumerate(names))
    reason = loader.why_missing(wanted) if what == "platform" else ""
    raise AdrenoSimError(f"no OpenCL {what} {wanted!r}; there are: {there}{f' ({reason})' if reason else ''}")
