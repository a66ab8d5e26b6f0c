"""The defect corpus: every case gives exactly the findings its launch file announces, its clean twin none at all.

A case that cannot be read fails the first of these tests, and is left out of the others.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kernels.corpus_cases import ALL, BROKEN, CASES, CORPUS, require_readable
from validators import validator

from adreno_sim.cli.main import main
from adreno_sim.findings import Kind
from adreno_sim.icd.protocol import Misuse
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch
from adreno_sim.results import finding_text
from adreno_sim.results.launch_report import LaunchReport

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CLASSES = {
    "clamped-read", "data-race", "depends-on-reading", "divergent-barrier", "division-by-zero",
    "division-overflow", "driver-erratum", "format-mismatch", "format-reinterpreted",
    "image-read-and-written", "image-read-out-of-range", "image-write-out-of-range",
    "limit-exceeded", "local-memory", "misaligned-access",
    "misaligned-view", "no-image-from-buffer", "nonfinite-born",
    "out-of-bounds-read", "out-of-bounds-write", "overwide-shift", "pitch-differs",
    "pitch-rules-disagree", "printf-argument-size",
    "private-memory", "refused", "same-value-race", "storage-reused-while-live",
    "outside-extent-read", "outside-extent-write", "store-overwritten", "sub-object-overrun", "tensor-not-read",
    "undefined-conversion", "undefined-sampler",
    "uninitialized-read", "vacuous-comparison", "view-larger-than-storage", "watchdog", "wrong-argument", "wrong-value",
}  # fmt: skip


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def run(path: Path, variant: str, checks: str | None = None) -> LaunchReport:
    report = run_launch(read_launch(path, variant), path.with_suffix(".cl"), variant=variant, checks=checks)
    told = "\n".join(line for finding in report.findings for line in finding_text.lines(finding))
    assert report.ok, f"{report.verdict}\nmissing: {report.missing}\n{told}"
    return report


@pytest.mark.share(6)
@pytest.mark.parametrize("path", ALL, ids=name)
def test_exactly_the_expected_findings(path: Path) -> None:
    require_readable(path, BROKEN)
    report = run(path, "")
    assert report.is_test
    assert report.expected or report.refused
    for finding in report.expected:
        assert finding.file == str(path.with_suffix(".cl"))
        assert finding.kernel


@pytest.mark.share(6)
@pytest.mark.parametrize("path", CASES, ids=name)
def test_clean_twin_is_silent_and_right(path: Path) -> None:
    check_clean(run(path, "clean"))


@pytest.mark.parametrize("path", [path for path in CASES if read_launch(path).run.get("checks") == "full"], ids=name)
def test_clean_twin_of_level_full_is_silent_at_bounds(path: Path) -> None:
    check_clean(run(path, "clean", "bounds"))


def check_clean(report: LaunchReport) -> None:
    """Values that say nothing may be those that are right: many cases fill their inputs with ones."""
    said = {finding.kind for finding in report.findings}
    assert not report.expected
    assert said <= {Kind.UNINFORMATIVE}
    assert not report.allowed
    assert not report.refused
    assert report.outputs, "expected an [[output]] or [[variant.clean.output]]: what the clean twin computes"
    assert all(output.ok for output in report.outputs)


def test_cases_are_many_and_complete() -> None:
    launches = validator("launch")
    assert len(ALL) >= 60
    assert {path.parent.name for path in ALL} == CLASSES
    assert set(CORPUS.rglob("*.cl")) <= {path.with_suffix(".cl") for path in ALL}
    for path in CASES:
        launches.validate(launch := tomllib.loads(path.read_text()))
        assert list(launch["variant"]) == ["clean"], path
        clean = read_launch(path, "clean")
        assert clean.findings == (), path
        assert not clean.refused, path


def test_every_kind_a_launch_can_have_is_there() -> None:
    """The others are of a whole model (its plan, its comparisons), of a real device, or of a program's calls."""
    of_others = {
        Kind.WRONG_ACCESS_QUALIFIER, Kind.PLAN_INFLATED,
        Kind.REUSE_RULE, Kind.STORAGE_UNALLOCATED, Kind.LARGE_ROUNDING, Kind.PAGE_LEAKED,
        Kind.DEVICES_DIFFER, Kind.DEVICE_CRASHED, Kind.DEVICE_HUNG, Kind.UNFIT_DEVICE, Kind.UNORDERED_ACCESS,
        Kind.GROUP_MAY_BE_REFUSED,  # where the extra isa is there
        Kind.CALL_REFUSED, Kind.PROBE_REFUSED, Kind.NOTHING_LAUNCHED, Kind.LEAK_GROWS, Kind.LAUNCHES_LEFT_OUT,
        Kind.UNWRITTEN_READ_BACK, Kind.ON_CHIP_LOST, Kind.EXTENSION_NOT_LISTED, Kind.AGAINST_MEMORY_FLAGS,
        Kind.TOO_SLOW, Kind.SLOWER, Kind.SLOW_BUILTIN,  # where times are asked for
        *(Kind[misuse.name] for misuse in Misuse),
    }  # fmt: skip
    announced = {finding.kind for path in CASES for finding in read_launch(path).findings or ()}
    not_there = {kind.label for kind in set(Kind) - of_others} - announced
    assert not_there <= {path.parent.name for path in BROKEN}
    assert not announced & {kind.label for kind in of_others}


@pytest.mark.parametrize("case", ["image-write-out-of-range/row_overrun", "out-of-bounds-write/two_defects"])
@pytest.mark.parametrize("variant", ["", "clean"])
def test_from_the_command_line(case: str, variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = CORPUS / f"{case}.toml"
    assert main(["kernel", str(path.with_suffix(".cl")), "--launch", str(path), "--variant", variant]) == 0
    verdict = capsys.readouterr().out.splitlines()[-1]
    assert verdict.startswith("ok: 0 errors, 0 warnings")
    assert ("as expected" in verdict) is (variant == "")
