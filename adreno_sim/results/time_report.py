"""Predicted times of kernels as a result: what each takes, their sum, how sure that is, and its JSON, `adreno-sim/time/1`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from ..base.errors import DeviceError, UnsupportedError
from ..base.json_io import plain_json
from ..base.specs import Argument
from ..base.version import __version__
from ..device.group_sample import SlowCall
from ..device.protocol import Kernel
from ..records import dataclass
from ..timing.launches import LaunchTimer, TimeEstimate
from ..timing.machines import SPREAD, ErrorClass, TimedDevice

SCHEMA = "adreno-sim/time/1"


@dataclass
class KernelTime:
    """The predicted time of all launches of a kernel.

    parts: seconds of what it is made of, each as if it were alone, by name; bound: the part that decides. error: what the
    constants behind it are from. unknown: why it is a guess, where it is one for what the kernel does. operations: on floats;
    bytes: of arguments, distinct ones of each launch. before: seconds of the same kernel in a baseline, None without one.
    """

    name: str
    error: ErrorClass
    launches: int = 0
    seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    operations: float = 0.0
    bytes: float = 0.0
    before: float | None = None

    def add(self, estimate: TimeEstimate) -> None:
        """One more launch."""
        self.launches += 1
        self.seconds += estimate.seconds
        self.operations += estimate.operations
        self.bytes += estimate.bytes
        self.unknown = tuple(dict.fromkeys((*self.unknown, *estimate.unknown)))
        if estimate.unknown:
            self.error = "guess"
        for name, seconds in estimate.parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + seconds

    def merge(self, other: KernelTime) -> None:
        """Add the launches of a kernel of the same name in another process."""
        self.add(TimeEstimate(other.seconds, other.parts, "", other.unknown, other.operations, other.bytes))
        self.launches += other.launches - 1

    @property
    def bound(self) -> str:
        """What decides: the longest part of all launches."""
        return max(self.parts, key=self.parts.__getitem__) if self.parts else ""

    @property
    def low(self) -> float:
        """The lower end of the interval in which nine of ten times lie."""
        return self.seconds / SPREAD[self.error]

    @property
    def high(self) -> float:
        """The upper end."""
        return self.seconds * SPREAD[self.error]


@dataclass(frozen=True)
class CallTime:
    """The predicted time of a call of a session: of all its launches."""

    function: str
    seconds: float
    low: float
    high: float


@dataclass
class TimeReport:
    """Predicted times of a run on one device. kernels: in order of first launch. missing: sentences on what has no time. calls:
    of a session, in order. slow_calls: by kernel. best_operations, best_bytes: that the model takes for the most in a second.

    The sum supposes that errors of kernels go the same way, as those of a device's rates do.
    """

    device: str
    error: ErrorClass
    best_operations: float
    best_bytes: float
    kernels: dict[str, KernelTime] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    calls: list[CallTime] = field(default_factory=list)
    slow_calls: dict[str, tuple[SlowCall, ...]] = field(default_factory=dict)
    before: float | None = None

    @staticmethod
    def of(device: TimedDevice) -> TimeReport:
        """Returns a report without kernels."""
        rate, byte = device.machine.operations_per_second, device.machine.bytes_per_second
        return TimeReport(device.name, device.error, float(rate), float(byte))

    def add(self, kernel: str, estimate: TimeEstimate) -> None:
        """One more launch of a kernel."""
        self.kernels.setdefault(kernel, KernelTime(kernel, self.error)).add(estimate)
        if estimate.slow_calls:
            self.slow_calls[kernel] = estimate.slow_calls

    def add_launch(
        self,
        timer: LaunchTimer,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        args: Sequence[Argument],
        name: str = "",
    ) -> None:
        """Times a launch that is about to run. A reason that prevents this is named, and left to the launch to report."""
        name = name or kernel.name
        try:
            estimate = timer.time(kernel, global_size, local_size, args)
        except (DeviceError, UnsupportedError) as error:
            self.say_missing(f"{name}: {error}")
            return
        if estimate is not None:
            self.add(name, estimate)

    def end_call(self, function: str) -> None:
        """Ends a call of a session: it launched what no call before did."""
        earlier = [sum(getattr(call, name) for call in self.calls) for name in ("seconds", "low", "high")]
        now = self.seconds - earlier[0], self.low - earlier[1], self.high - earlier[2]
        self.calls.append(CallTime(function, *(max(0.0, some) for some in now)))

    def say_missing(self, sentence: str) -> None:
        """Says once what has no time."""
        if sentence not in self.missing:
            self.missing.append(sentence)

    @property
    def rows(self) -> Sequence[KernelTime]:
        return list(self.kernels.values())

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)

    @property
    def low(self) -> float:
        return sum(row.low for row in self.rows)

    @property
    def high(self) -> float:
        return sum(row.high for row in self.rows)


def time_to_json(report: TimeReport | None) -> dict[str, Any] | None:
    """Returns JSON-ready data; None if nothing was timed."""
    if report is None:
        return None
    data = {
        "schema": SCHEMA,
        "version": __version__,
        "device": report.device,
        "error": report.error,
        "seconds": report.seconds,
        "low": report.low,
        "high": report.high,
        "before": report.before,
        "best_operations": report.best_operations,
        "best_bytes": report.best_bytes,
        "kernels": [
            {
                "name": row.name,
                "launches": row.launches,
                "seconds": row.seconds,
                "low": row.low,
                "high": row.high,
                "bound": row.bound,
                "error": row.error,
                "unknown": list(row.unknown),
                "parts": row.parts,
                "operations": row.operations,
                "bytes": row.bytes,
                "before": row.before,
                "slow_calls": [asdict(call) for call in report.slow_calls.get(row.name, ())],
            }
            for row in report.rows
        ],
        "calls": [asdict(call) for call in report.calls],
        "missing": report.missing,
    }
    encoded: dict[str, Any] = plain_json(data)
    return encoded


_OF_KERNEL = ("name", "error", "launches", "seconds", "parts", "operations", "bytes")


def time_from_json(data: Mapping[str, Any]) -> TimeReport:
    """What `time_to_json` made, without a baseline. KeyError or TypeError for anything else."""
    report = TimeReport(data["device"], data["error"], data["best_operations"], data["best_bytes"])
    for row in data["kernels"]:
        report.kernels[row["name"]] = KernelTime(**{name: row[name] for name in _OF_KERNEL}, unknown=tuple(row["unknown"]))
        if row["slow_calls"]:
            report.slow_calls[row["name"]] = tuple(SlowCall(**call) for call in row["slow_calls"])
    report.missing = list(data["missing"])
    report.calls = [CallTime(**call) for call in data["calls"]]
    return report


def merge_times(reports: Iterable[TimeReport]) -> TimeReport | None:
    """Returns the times of several processes on one device as those of one; None without any."""
    merged: TimeReport | None = None
    for report in reports:
        if merged is None:
            merged = TimeReport(report.device, report.error, report.best_operations, report.best_bytes)
        for name, row in report.kernels.items():
            merged.kernels.setdefault(name, KernelTime(name, merged.error)).merge(row)
        merged.slow_calls |= report.slow_calls
        for sentence in report.missing:
            merged.say_missing(sentence)
    return merged
