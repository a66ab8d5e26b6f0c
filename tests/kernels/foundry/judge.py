"""Compares what the simulator says of a launch with what the model says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adreno_sim.findings import Finding

from .launches import Launch
from .model.expect import Expected
from .model.memories import Violation
from .simulate import Run

RACES = ("data-race", "same-value-race")


@dataclass(frozen=True)
class Problem:
    """sort: "missed", "false alarm", "wrong place", "wrong bytes" or "broke"."""

    sort: str
    text: str

    @property
    def kind(self) -> tuple[str, str]:
        """The sort, and the kind of finding that it is about."""
        return self.sort, self.text.split(" in line ")[0].split(":")[0]


def judge(expected: Expected, run: Run) -> list[Problem]:
    """What is wrong with the verdict on a launch."""
    if run.result is None:
        return [Problem("broke", f"the compiler refused lines {run.refused}")]
    launch = expected.outcome.memories.launch
    findings = [f for f in run.result.findings if not _follows_divergence(expected, f, launch)]
    plain = [f for f in findings if f.kind.label not in (*RACES, "divergent-barrier", "storage-reused-while-live")]
    problems = _judge_violations(expected, plain, launch)
    problems += _judge_races(expected, [f for f in findings if f.kind.label in RACES], launch, run.result.failures)
    problems += _judge_barriers(expected, [f for f in findings if f.kind.label == "divergent-barrier"], launch)
    problems += _judge_overlaps(expected, [f for f in findings if f.kind.label == "storage-reused-while-live"])
    problems += [Problem("broke", f"not checked: {text}") for text in run.result.failures if not expected.races]
    if expected.is_defined:
        problems += _judge_bytes(expected, run)
    return problems


def _follows_divergence(expected: Expected, finding: Finding, launch: Launch) -> bool:
    """Whether a work-item is of a group that has parted: what it does after that is its own affair."""
    if not expected.diverged or finding.kind.label == "divergent-barrier" or finding.work_item is None:
        return False
    parted = {group for _, group in expected.diverged}
    earlier = finding.detail.get("earlier")
    ids = [finding.work_item.global_id, *([tuple(earlier["global_id"])] if isinstance(earlier, dict) else [])]
    return any(_group_of(launch, id_) in parted for id_ in ids)


def _group_of(launch: Launch, global_id: tuple[int, ...]) -> int:
    x, y, z = (at // size for at, size in zip(global_id, launch.group, strict=True))
    return (z * launch.groups[1] + y) * launch.groups[0] + x


def _judge_violations(expected: Expected, findings: list[Finding], launch: Launch) -> list[Problem]:
    problems = []
    found: dict[tuple[str, int], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.kind.label, finding.line), []).append(finding)
    for key in sorted(found.keys() - expected.violations.keys()):
        lines = {line for _, line in expected.violations}
        # Bytes that nobody wrote, or of another field, may be no float that an int holds.
        follows = key[0] == "undefined-conversion" and (
            expected.outcome.undefined or expected.outcome.trace.statements or key[1] in lines
        )
        if not follows and not (key[0] == "uninitialized-read" and (expected.races or expected.diverged)):
            problems.append(Problem("false alarm", f"{key[0]} in line {key[1]}: {found[key][0].message}"))
    for key, violations in sorted(expected.violations.items()):
        if key not in found:
            if not (expected.diverged or (key[0] == "uninitialized-read" and expected.races)):
                problems.append(Problem("missed", f"{key[0]} in line {key[1]}: {violations[0]}, {len(violations)} times"))
            continue
        problems += _judge_places(
            violations, found[key], launch, counted=not (expected.races or expected.overlaps or expected.diverged)
        )
    return problems


def _judge_places(violations: list[Violation], findings: list[Finding], launch: Launch, counted: bool) -> list[Problem]:
    """Each finding's work-item and access are of a violation; all of them are counted."""
    problems = []
    for finding in findings:
        items = {item: v for v in violations if (item := launch.item(v.item))}
        if finding.work_item is None:
            continue  # certain when compiling
        if finding.work_item.global_id not in items and counted:
            said = f"{finding.kind.label} in line {finding.line}: work-item {finding.work_item.global_id}"
            problems.append(Problem("wrong place", f"{said}, expected one of {sorted(items)[:4]}"))
            continue
        if finding.access is None or not counted:
            continue
        own = [v for v in violations if launch.item(v.item) == finding.work_item.global_id]
        places = set().union(*(v.places for v in own))
        view = finding.access.view.rpartition(".")[2]
        if (view, finding.access.offset, finding.access.coordinate) not in places:
            said = f"{view} at {finding.access.offset} {finding.access.coordinate}"
            problems.append(Problem("wrong place", f"{finding.kind.label} in line {finding.line}: {said}, expected {places}"))
    count, wanted = sum(f.count for f in findings), len(violations)
    if counted and count != wanted and all(f.work_item for f in findings):
        problems.append(
            Problem("wrong place", f"{findings[0].kind.label} in line {findings[0].line}: {count} times, expected {wanted}")
        )
    return problems


def _judge_races(expected: Expected, findings: list[Finding], launch: Launch, failures: tuple[str, ...]) -> list[Problem]:
    problems = []
    number_of = {launch.item(n): n for n in range(launch.items)} if findings else {}
    known: dict[tuple[int, int, int, int], list[bool]] = {}
    for race in expected.races:
        (a, b), (line_a, line_b) = race.items, race.lines
        for key in ((a, line_a, b, line_b), (b, line_b, a, line_a)):
            known.setdefault(key, []).append(race.same)
    for finding in findings:
        earlier = finding.detail["earlier"]
        assert isinstance(earlier, dict)
        assert finding.work_item
        one, other = number_of[finding.work_item.global_id], number_of[tuple(earlier["global_id"])]
        key = one, finding.line, other, int(earlier["line"])
        if key not in known:
            problems.append(Problem("false alarm", f"{finding.kind.label} in line {finding.line}: {finding.message} ({key})"))
        elif finding.kind.label == "same-value-race" and finding.count == 1 and not all(known[key]):
            problems.append(Problem("wrong place", f"{finding.kind.label} in line {finding.line}: the values differ"))
    if expected.races and not findings and not expected.diverged:
        race = expected.races[0]
        problems.append(Problem("missed", f"race: {race}, one of {len(expected.races)}; not checked: {failures}"))
    if any(not race.same for race in expected.races) and findings and all(f.kind.label == "same-value-race" for f in findings):
        problems.append(
            Problem("missed", f"data-race: {next(r for r in expected.races if not r.same)}, told as one of the same value")
        )
    return problems


def _judge_barriers(expected: Expected, findings: list[Finding], launch: Launch) -> list[Problem]:
    lines, groups = {line for line, _ in expected.diverged}, {group for _, group in expected.diverged}
    barriers = expected.outcome.barriers
    problems = []
    for finding in findings:
        if finding.work_item is None or _group_of(launch, finding.work_item.global_id) not in groups:
            problems.append(Problem("false alarm", f"divergent-barrier in line {finding.line}: {finding.message}"))
        elif finding.line not in barriers:
            problems.append(Problem("wrong place", f"divergent-barrier in line {finding.line}, expected one of {barriers}"))
    if lines and not findings:
        problems.append(Problem("missed", f"divergent-barrier in line {sorted(lines)}"))
    return problems


def _judge_overlaps(expected: Expected, findings: list[Finding]) -> list[Problem]:
    found = {f.access.view for f in findings if f.access}
    expected_names = {pair[0] for pair in expected.overlaps}
    problems = [Problem("missed", f"storage-reused-while-live of {name}") for name in sorted(expected_names - found)]
    return problems + [Problem("false alarm", f"storage-reused-while-live of {name}") for name in sorted(found - expected_names)]


def _judge_bytes(expected: Expected, run: Run) -> list[Problem]:
    problems = []
    for name, (bytes_, known) in expected.contents.items():
        wrong = np.flatnonzero(known & (bytes_ != run.contents[name]))
        if len(wrong):
            at = int(wrong[0])
            said = f"{len(wrong)} bytes of {name} differ from byte {at} on: {run.contents[name][at]}, expected {bytes_[at]}"
            problems.append(Problem("wrong bytes", said))
    return problems
