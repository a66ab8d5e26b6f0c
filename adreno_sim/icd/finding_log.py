"""What a session found: findings with the host's call that enqueued them, printed once for each kernel, kind and line, and
of many that are alike a few; notes are only in the report."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from ..base.errors import DeviceError
from ..base.rejected_call import rejected_call
from ..base.text.line_markers import number_lines
from ..base.text.spelling import OutputGuard, spell_line
from ..findings import Finding, Kind, place_of
from ..records import dataclass
from ..results import finding_text
from ..results.listing.shown import ShownFindings
from ..results.notes.source_notes import add_source_notes
from ..results.run_report import (
    HostCall,
    KernelCount,
    Leak,
    ProcessReport,
    host_call_of,
    maker_of,
    with_host_call,
)
from ..results.verdict.finding_json import finding_to_json
from .calls.places import Places
from .journal import CHANGED, Journal
from .watches.growing_leaks import GrowingLeaks

MOST_FINDINGS = 10_000
"""The most places whose findings a session keeps; more are only counted."""

SHOWN_FRAMES = 5
"""Of a place in the host's program that are printed; a report has them all."""

_printed = OutputGuard(is_shared=True)


def print_line(text: str) -> None:
    """Print to standard error; a client's that is gone is not our error."""
    with contextlib.suppress(OSError):
        os.write(2, _printed.show(f"{text}\n").encode())


@dataclass
class FindingLog:
    """report: filled while the session goes on. say: prints a finding's lines (`quiet` runs say nothing). journal: gets new
    findings, if there is one. most_said: findings that are printed, None: all. calls: if it is there, the kinds of findings of
    each call of the host are counted in it. places: where calls of the host came from. growth: is notified of launches.
    """

    report: ProcessReport
    say: Callable[[str], None] = print_line
    journal: Journal | None = None
    most_said: int | None = None
    calls: dict[int, Counter[str]] | None = None
    places: Places = field(default_factory=Places)
    growth: GrowingLeaks = field(default_factory=GrowingLeaks)
    _said: int = 0
    _frozen: bool = False
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)
    _sentences: set[str] = field(default_factory=set)
    _shown: ShownFindings = field(default_factory=ShownFindings)

    def freeze(self) -> None:
        """The report is to be written: what comes later, of a launch that outlives its client, is not in it. Findings that were
        not printed are, in few lines."""
        self._frozen = True
        for line in self._shown.rest():
            self.say(f"adreno-sim: {spell_line(line)}")

    def count_launch(self, kernel: str, seconds: float) -> None:
        """One more launch of a kernel."""
        if self._frozen:
            return
        known = self.report.kernels.get(kernel)
        if known is None:
            known = self.report.kernels[kernel] = KernelCount()
        known.launches += 1
        known.seconds += seconds
        if self.journal is not None:
            self.journal.count()

    def count_checked(self, checked: bool) -> None:
        """Whether a launch that came is one that is checked."""
        if not self._frozen:
            self.report.checked_launches += checked
            self.report.left_out += not checked

    def add(self, finding: Finding, source: str, call: Callable[[], HostCall] | None) -> Finding | None:
        """A finding of a command. source: of its kernel. call: describes the host's call, asked only at the first finding of a
        place; None: it is about none. Returns the finding as it is reported, if it is the first of its place."""
        if self._frozen:
            return None
        if self.calls is not None and call is not None:
            self.calls.setdefault(call().number, Counter())[finding.kind.label] += finding.count
        place = place_of(finding)
        known = self._places.get(place)
        if known is not None:
            first = self.report.findings[known]
            self.report.findings[known] = replace(first, count=first.count + finding.count)
            if self.journal is not None:
                self.journal.count()
            return None
        if len(self._places) >= MOST_FINDINGS:
            self.note(f"more than {MOST_FINDINGS} places with findings: the others are not in the report")
            return None
        self._places[place] = len(self.report.findings)
        shown = _with_source(finding, source)
        if call is not None:
            described = call()
            shown = with_host_call(shown, replace(described, where=self.places.find(described.number)))
        self.report.findings.append(shown)
        if self.journal is not None:
            self.journal.add_finding(shown)
        if finding.kernel and source and finding.kernel not in self.report.sources:
            self.report.sources[finding.kernel] = source
            self._keep("sources", {finding.kernel: source})
        if self._shown.is_new(finding) and (self.most_said is not None or self._shown.takes(finding)):
            self._say(shown)
        return shown

    def change_kind(self, shown: Finding, kind: Kind) -> None:
        """What came later says that a finding, as `add` returned it, is of another kind."""
        if self._frozen:
            return
        place = self._places.pop(place_of(shown), None)
        if place is None:
            return
        changed = replace(self.report.findings[place], kind=kind)
        self.report.findings[place] = changed
        self._places[place_of(changed)] = place
        self._keep(CHANGED, {"place": place, "finding": finding_to_json(changed)})

    def add_rejected(self, error: DeviceError, kernel: str, source: str, call: Callable[[], HostCall]) -> None:
        """A command that the device refuses."""
        self.add(replace(rejected_call(error), kernel=kernel), source, call)

    def add_unsupported(self, what: str) -> None:
        """Something that the program may do, and this version does not."""
        if what not in self._sentences:
            self._sentences.add(what)
            self.report.unsupported.append(what)
            self._keep("unsupported", what)
            self.say(f"adreno-sim: {spell_line(what)}")

    def note(self, sentence: str) -> None:
        """Something that this session says nothing about."""
        if sentence not in self._sentences:
            self._sentences.add(sentence)
            self.report.unchecked.append(sentence)
            self._keep("unchecked", sentence)

    def add_leaks(self, leaks: list[tuple[str, str]]) -> None:
        """Objects that the client never released, each with where it was made."""
        for kind, where in leaks:
            self.report.leaks.append(Leak(kind, where))
            self._keep("leaks", {"type": kind, "where": where})
        for finding in self.growth.find(self.report.leaks, self.places.find):
            self.add(finding, "", None)

    def _say(self, finding: Finding) -> None:
        """Print a finding, or once that those which come are not printed."""
        self._said += 1
        if self.most_said is None or self._said <= self.most_said:
            self.say("\n".join(("adreno-sim: " + "\n".join(finding_text.lines(finding)), *map(spell_line, _call_line(finding)))))
        elif self._said == self.most_said + 1:
            self.say(f"adreno-sim: more than {self.most_said} findings: the others are not printed (--max-findings)")

    def _keep(self, field: str, value: Any) -> None:
        if self.journal is not None:
            self.journal.add(field, value)


def _with_source(finding: Finding, source: str) -> Finding:
    """The finding with the text of its line, where the program's source holds it, and what the source says of it."""
    finding = add_source_notes(finding, source) if source else finding
    text = "" if "source" in finding.detail or not source else number_lines(source, finding.file).get(finding.line, "")
    return replace(finding, detail={**finding.detail, "source": text.strip()}) if text else finding


def _call_line(finding: Finding) -> list[str]:
    """What the host's program did, and where: the call that enqueued, and the one that made the memory."""
    call = host_call_of(finding)
    lines = [] if call is None else [f"  {call}", *(f"    from {frame}" for frame in call.where[:SHOWN_FRAMES])]
    made = maker_of(finding)
    return lines if made is None else [*lines, f"  {made[0]}", *(f"    from {frame}" for frame in made[1][:SHOWN_FRAMES])]
