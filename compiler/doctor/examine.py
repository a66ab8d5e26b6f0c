"""`examine` the installed TVM: runs each known defect with TVM's own passes, without its fix, and with all fixes."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from typing import Any

from ...device.protocol import Device
from ...records import dataclass
from ..tvm_bridge.versions import import_tvm, tvm_series
from .defects import ABSENT, DEFECTS, OK, Defect, fixes_of

SCHEMA = "adreno-sim/doctor/1"


@dataclass(frozen=True)
class Diagnosis:
    """One defect. stock: the verdict with TVM's passes alone; alone: with every fix but this defect's; fixed: with all.

    present: the defect shows without its fix. is_fixed: the model is right with all fixes.
    """

    name: str
    summary: str
    fix: str
    target: str
    stock: str
    alone: str
    fixed: str
    seconds: float

    @property
    def present(self) -> bool:
        return self.alone != OK

    @property
    def is_fixed(self) -> bool:
        return self.fixed == OK


@dataclass(frozen=True)
class Examination:
    """What was found. tvm, tvm_ffi: versions of the packages; series: as the fixes name them, "0.27"."""

    tvm: str
    tvm_ffi: str
    series: str
    python: str
    device: str
    seconds: float
    defects: tuple[Diagnosis, ...]

    @property
    def ok(self) -> bool:
        """Every model is right with the fixes."""
        return all(diagnosis.is_fixed for diagnosis in self.defects)

    @property
    def present(self) -> tuple[Diagnosis, ...]:
        return tuple(diagnosis for diagnosis in self.defects if diagnosis.present)

    @property
    def complete(self) -> bool:
        """Every known defect was looked for."""
        return {diagnosis.name for diagnosis in self.defects} == {defect.name for defect in DEFECTS}

    @property
    def resembles(self) -> tuple[str, ...]:
        """The TVM series that have exactly these defects; empty where none has, or not all were looked for."""
        if not self.complete:
            return ()
        absent = {diagnosis.name for diagnosis in self.defects if not diagnosis.present}
        return tuple(series for series, missing in ABSENT.items() if missing == absent)

    def as_json(self) -> dict[str, Any]:
        """JSON of schema adreno-sim/doctor/1, whose keys say `mend` and `mended` for a fix."""
        defects = []
        for item in self.defects:
            data = asdict(item)
            data["mend"] = data.pop("fix")
            defects.append({**data, "present": item.present, "mended": item.is_fixed})
        return {"schema": SCHEMA, "ok": self.ok, "resembles": self.resembles, **asdict(self), "defects": defects}


def examine(device: Device, step: Callable[[str], None] = lambda _name: None, only: tuple[str, ...] = ()) -> Examination:
    """Examine the installed TVM on `device`. step: called with each defect's name first. only: names; empty = all.

    Raises AdrenoSimError or UnsupportedError if TVM is missing, unsupported, or paired with an ffi that crashes.
    """
    tvm = import_tvm()
    start = time.perf_counter()
    found = []
    for defect in DEFECTS:
        if not only or defect.name in only:
            step(defect.name)
            found.append(_diagnose(defect, device))
    return Examination(
        str(tvm.__version__), _version("apache-tvm-ffi"), tvm_series(), platform.python_version(), str(device.info.name),
        time.perf_counter() - start, tuple(found),
    )  # fmt: skip


def _diagnose(defect: Defect, device: Device) -> Diagnosis:
    start = time.perf_counter()
    stock = defect.judge(device, "stock", ())
    without = fixes_of(defect)
    fixed = defect.judge(device, "fixed", ())
    alone = stock
    if stock != OK and without:
        alone = defect.judge(device, "fixed", without)
    seconds = time.perf_counter() - start
    return Diagnosis(defect.name, defect.summary, defect.fix, defect.target, stock, alone, fixed, seconds)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
