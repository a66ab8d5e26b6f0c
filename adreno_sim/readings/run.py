"""Runs a launch again under each reading that can matter to it, from the memory as it was, and tells what changes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol

from ..backends.simulated import vary_device
from ..base.errors import AdrenoSimError, BuildError, DeviceError
from ..device.protocol import Device, StoreEvent
from ..findings import Finding, Kind, Severity
from ..records import dataclass
from ..results.readings import ReadingsReport
from .difference import Arrays, Judging, ReadingDifference, find_differences
from .reading import Choice, Reading
from .rounding import Nudge, measure
from .subject import Subject

_PLAIN: Mapping[str, Any] = {"checks": "bounds", "threads": 1, "counters": False, "count_accesses": False, "pool": "none"}
"""Options of the runs that are compared. One thread runs work-groups in the order of their ids: each run has one result."""

_UNDEFINED = (Kind.UNINITIALIZED_READ, Kind.DATA_RACE)
"""What makes a result no matter of a reading."""


@dataclass(frozen=True)
class ReadingsOutcome:
    """What one run leaves: the arguments that the kernel may write, by position; findings; the stores that were watched."""

    arrays: Arrays
    findings: Sequence[Finding] = ()
    stores: Sequence[StoreEvent] = ()


class LaunchOnce(Protocol):
    """One launch that can be run on any simulated device, from the memory as it was."""

    def run(
        self, device: Device, group: tuple[int, int, int], *, watched: tuple[int, int] | None = None, nudge: Nudge | None = None
    ) -> ReadingsOutcome:
        """Run it in work-groups of `group`. watched: argument and element whose stores are recorded. nudge: what changes the
        contents of its inputs. Raises AdrenoSimError if the device refuses it."""
        ...

    def name_argument(self, index: int) -> str:
        """What an argument is called."""
        ...


@dataclass
class ReadingRun:
    """Tries readings of one launch. findings: what depends on one; report: what was tried."""

    subject: Subject
    launch: LaunchOnce
    device: Device
    judging: Judging
    findings: list[Finding] = field(default_factory=list)
    report: ReadingsReport = field(default_factory=ReadingsReport)
    _present: ReadingsOutcome | None = None
    _rounding: dict[int, Any] | None = None
    _undefined: frozenset[Kind] | None = None

    def try_all(self, readings: Sequence[Reading]) -> None:
        """Try each choice of each reading that can matter, and note why another cannot."""
        start = time.perf_counter()
        for reading in readings:
            reason = reading.why_not(self.subject)
            if reason:
                self._leave_out(reading, reason)
                continue
            for choice in reading.choices(self.subject):
                found = len(self.findings)
                self._try(reading, choice)
                if reading.is_of_order and len(self.findings) > found:
                    break  # any other order says the same
        self.report.seconds = time.perf_counter() - start

    def _leave_out(self, reading: Reading, reason: str) -> None:
        self.report.leave_out([reading.name], reason)

    def _try(self, reading: Reading, choice: Choice) -> None:
        try:
            present = self._run_present()
        except AdrenoSimError as error:
            self._leave_out(reading, f"the launch does not run once more: {str(error).splitlines()[0]}")
            return
        try:
            other = self._run(choice)
        except AdrenoSimError as error:
            if isinstance(error, (DeviceError, BuildError)) and reading.may_refuse:
                self._note(reading, choice, [self._refused(reading, choice, error)])
                return
            self._leave_out(reading, f"{choice.label}: {str(error).splitlines()[0]}")
            return
        if any(finding.kind is Kind.WATCHDOG for finding in other.findings):
            self._leave_out(reading, f"{choice.label}: the launch did not end in its time")
            return
        found = [self._born(reading, choice, finding) for finding in _new_errors(present, other, choice)]
        differences = self._differences(present, other)
        undefined = self._find_undefined() if differences else frozenset()
        if undefined and not (reading.is_of_order and Kind.UNINITIALIZED_READ not in undefined):
            kinds = " and ".join(sorted(kind.label for kind in undefined))
            self._leave_out(reading, f"{choice.label}: what the launch leaves is undefined in any case ({kinds} at level full)")
            return
        found += [self._differs(reading, choice, difference) for difference in differences]
        self._note(reading, choice, found)

    def _note(self, reading: Reading, choice: Choice, found: Sequence[Finding]) -> None:
        self.report.note(reading.name, reading.present(self.subject), choice.label, bool(found))
        self.findings += found

    # -- runs

    def _run(self, choice: Choice, **asked: Any) -> ReadingsOutcome:
        device = vary_device(self.device, choice.profile, {**_PLAIN, **choice.options})
        self.report.launches += 1
        return self.launch.run(device, choice.group or self.subject.group, **asked)

    def _run_present(self) -> ReadingsOutcome:
        if self._present is None:
            self._present = self._run(Choice("present"))
        return self._present

    def _differences(self, present: ReadingsOutcome, other: ReadingsOutcome) -> list[ReadingDifference]:
        """Returns what differs by more than tolerance, and by more than rounding."""
        found = find_differences(present.arrays, other.arrays, self.judging)
        if not self.subject.reads_floats or not any(present.arrays[one.argument].dtype.kind == "f" for one in found):
            return found
        return find_differences(present.arrays, other.arrays, self.judging, self._measure_rounding(present))

    def _measure_rounding(self, present: ReadingsOutcome) -> dict[int, Any]:
        if self._rounding is None:
            found = measure(lambda nudge: self._run(Choice("present"), nudge=nudge).arrays, present.arrays)
            self._rounding = {index: sensitivity.allowed() for index, sensitivity in found.items()}
        return self._rounding

    def _find_undefined(self) -> frozenset[Kind]:
        """Returns what makes the results of the launch undefined under any reading."""
        if self._undefined is None:
            try:
                found = self._run(Choice("present", options={"checks": "full", "order": "ascending"})).findings
            except AdrenoSimError:  # level full has limits of its own
                found = ()
            self._undefined = frozenset(finding.kind for finding in found if finding.kind in _UNDEFINED)
        return self._undefined

    # -- findings

    def _refused(self, reading: Reading, choice: Choice, error: AdrenoSimError) -> Finding:
        why = str(error).splitlines()[0]
        return self._find(
            reading, choice, f"runs with {reading.present(self.subject)}, and is refused with {choice.label}: {why}"
        )

    def _born(self, reading: Reading, choice: Choice, finding: Finding) -> Finding:
        text = f"has {finding.kind.label} with {choice.label}, and not with {reading.present(self.subject)}: {finding.message}"
        return replace(self._find(reading, choice, text), line=finding.line, column=finding.column)

    def _differs(self, reading: Reading, choice: Choice, difference: ReadingDifference) -> Finding:
        name = self.launch.name_argument(difference.argument)
        values = tuple(f"{value:.9g}" for value in (difference.present, difference.other))
        present = reading.present(self.subject)
        text = (
            f"{name}[{difference.index}] is {values[0]} with {present} and {values[1]} with {choice.label}; "
            f"{difference.wrong} of {difference.elements} elements differ"
        )
        found = self._find(reading, choice, text)
        found.detail.update(
            argument=name, index=difference.index, values=[difference.present, difference.other], differ=difference.wrong,
            elements=difference.elements,
        )  # fmt: skip
        store = self._find_store(choice, difference) or self._find_store(Choice("present"), difference)
        return found if store is None else replace(found, line=store.line, column=store.column)

    def _find_store(self, choice: Choice, difference: ReadingDifference) -> StoreEvent | None:
        """Returns the last store into the element that differs most."""
        try:
            stores = self._run(choice, watched=(difference.argument, difference.index)).stores
        except AdrenoSimError:
            return None
        return max(stores, key=lambda event: event.order, default=None)

    def _find(self, reading: Reading, choice: Choice, text: str) -> Finding:
        detail: dict[str, object] = {
            "reading": reading.name, "present": reading.present(self.subject), "choice": choice.label, "address": reading.source,
        }  # fmt: skip
        message = f"{text}. Left to the device: {reading.leaves_open}"
        return Finding(Kind.DEPENDS_ON_READING, message, kernel=self.subject.function.name, detail=detail)


def _new_errors(present: ReadingsOutcome, other: ReadingsOutcome, choice: Choice) -> Iterator[Finding]:
    """Yields the errors that occur only under a choice. A run at level full has more of them, which its own level tells."""
    if choice.options.get("checks") == "full":
        return
    seen = {(finding.kind, finding.line) for finding in present.findings}
    for finding in other.findings:
        if finding.severity is Severity.ERROR and (finding.kind, finding.line) not in seen:
            yield finding
