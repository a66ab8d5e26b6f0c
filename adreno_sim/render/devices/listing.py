"""The devices there are: simulated profiles, and the OpenCL devices that installed drivers offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

from ...backends.open import open_device
from ...records import dataclass

SCHEMA = "adreno-sim/devices/1"


@dataclass(frozen=True)
class ListedDevice:
    """One device, by the string that opens it. wrong: a sentence for each known answer that it does not give."""

    device: str
    name: str
    version: str
    lacks: Sequence[str]
    wrong: Sequence[str] = ()


@dataclass(frozen=True)
class Devices:
    """What was found. no_opencl: why `real` is empty. portable: the device of `real` that `cl:portable` is, or ""."""

    simulated: Sequence[ListedDevice]
    real: Sequence[ListedDevice]
    no_opencl: str
    portable: str = ""
    phones: Sequence[ListedDevice] = ()


def collect() -> Devices:
    """Look for every device."""
    from ...backends.opencl.open import why_unavailable

    reason = why_unavailable()
    found = [] if reason else list(real_devices())
    portable = _portable() if found else None
    return Devices(list(simulated_devices()), found, reason, portable[0] if portable else "", list(simulated_phones()))


def simulated_devices() -> Iterator[ListedDevice]:
    """Every built-in profile."""
    from ...profiles.profile import names

    for name in names():
        info = open_device(f"sim:{name}").info
        yield ListedDevice(f"sim:{name}", info.name, info.version, info.lacks)


def simulated_phones() -> Iterator[ListedDevice]:
    """Phones and boards whose dumps are public, by what they are sold as."""
    from ...profiles.builtin import phone
    from ...profiles.profile import phones

    for name in phones():
        table = phone(name)
        info = open_device(f"sim:{name}").info
        yield ListedDevice(
            f"sim:{name}", f"{table['product']}: {table['chip']}, driver {table['driver']}", info.version, info.lacks
        )


def real_devices() -> Iterator[ListedDevice]:
    """Every OpenCL device, those of drivers from PyPI included, after its trial on the known answers.

    Each driver is loaded by a separate process: one that crashes or hangs is listed with that.
    """
    from ...backends.opencl import drivers
    from ...backends.opencl.verdicts import judge_driver

    known = [(f"cl:{driver.name}", files[0]) for driver in drivers.DRIVERS if (files := drivers.icd_texts(driver))]
    if (portable := _portable()) and portable[0] not in dict(known):
        known.append(portable)
    for platform, icd in [*known, *(("", icd) for icd in drivers.other_icd_texts())]:
        verdict = judge_driver(icd)
        if verdict.problem:
            yield ListedDevice(platform or "cl", icd.strip(), "", (), (verdict.problem,))
        counts: dict[str, int] = {}
        for tried in verdict.devices:
            text = platform or f"cl:{tried.platform}"
            index = counts[text] = counts.get(text, -1) + 1
            yield ListedDevice(f"{text}:{index}" if index else text, tried.name, tried.version, tried.lacks, tried.wrong)


def _portable() -> tuple[str, str] | None:
    """The device that `cl:portable` is and its .icd file's text; called so where its driver's name means another file."""
    from ...backends.opencl import drivers, loader

    driver = loader.find_driver(loader.PORTABLE)
    if driver is None:
        return None
    return f"cl:{driver.name if drivers.icd_texts(driver)[0] == driver.icd else loader.PORTABLE}", driver.icd


def show(devices: Devices, file: IO[str]) -> None:
    """Print both kinds, each with what it gets wrong and what it lacks."""
    print("simulated:", file=file)
    for one in devices.simulated:
        _describe(one, file)
    print("simulated phones and boards:", file=file)
    for one in devices.phones:
        _describe(one, file)
    print("real OpenCL devices:", file=file)
    for one in devices.real:
        _describe(one, file)
    if devices.no_opencl:
        print(f"  none: {devices.no_opencl}", file=file)
    else:
        print(f"cl:portable is {devices.portable or 'none of them: each gets something wrong'}", file=file)


def _describe(one: ListedDevice, file: IO[str]) -> None:
    print(f"  {one.device:<22} {', '.join(filter(None, [one.name, one.version]))}", file=file)
    for sentence in one.wrong:
        print(f"  {'':<22}   UNFIT: {sentence}", file=file)
    for sentence in one.lacks:
        print(f"  {'':<22}   {sentence}", file=file)


def to_json(devices: Devices) -> dict[str, Any]:
    """The same as `adreno-sim/devices/1`."""

    def to_entry(one: ListedDevice) -> dict[str, Any]:
        return {"device": one.device, "name": one.name, "version": one.version, "lacks": [*one.wrong, *one.lacks]}

    return {
        "schema": SCHEMA,
        "simulated": [to_entry(one) for one in devices.simulated],
        "phones": [to_entry(one) for one in devices.phones],
        "real": [{**to_entry(one), "wrong": list(one.wrong)} for one in devices.real],
        "no_opencl": devices.no_opencl,
        "portable": devices.portable,
    }
