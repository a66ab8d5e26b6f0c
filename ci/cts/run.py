"""Runs the conformance suites under `adreno-sim run` and prints a Markdown table: what passed, failed, was skipped, did not run.

A test that crashes or takes too long is named so, and the suite goes on behind it in a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from adreno_sim.icd.build import build_libraries

CHECKS = os.environ.get("ADRENO_SIM_CTS_CHECKS", "bounds")
DEVICE = os.environ.get("ADRENO_SIM_CTS_DEVICE", "sim:adreno-740")
SUITE_SECONDS = float(os.environ.get("ADRENO_SIM_CTS_SECONDS", "0"))
"""A limit for each suite instead of its own."""
TEST_SECONDS = float(os.environ.get("ADRENO_SIM_CTS_TEST_SECONDS", "900"))
"""A test that does not end for so long is stopped."""


CONVERSIONS = (
    "uchar_sat_rte_float", "char_sat_rtz_half", "short_sat_uint", "ushort_rtp_float", "int_sat_rtn_float", "uint_sat_rtp_half",
    "long_sat_rtz_float", "ulong_sat_long", "float_rte_ulong", "float_rtz_int", "half_rtn_int", "half_rtp_float",
)  # fmt: skip
"""Of the thousands: each type, rounding mode and saturation, in every vector size."""


@dataclass(frozen=True)
class Suite:
    """name: on the command line. target: of the build, and its program. place: folder of the program. arguments: of the program.
    selects: it takes names of tests; one that takes other words runs all of them. seconds: after which what is left does not
    run."""

    name: str
    target: str
    place: str
    arguments: tuple[str, ...] = ()
    selects: bool = True
    seconds: int = 600


_LONG = 1800
"""Seconds for a suite that makes thousands of images, or computes its references with many digits."""

SUITES = (
    Suite("api", "test_api", "api"),
    Suite("basic", "test_basic", "basic"),
    Suite("buffers", "test_buffers", "buffers"),
    Suite("events", "test_events", "events"),
    Suite("computeinfo", "test_computeinfo", "computeinfo"),
    Suite("SVM", "test_svm", "SVM"),
    Suite("mem_host_flags", "test_mem_host_flags", "mem_host_flags"),
    Suite("compiler", "test_compiler", "compiler"),
    Suite("select", "test_select", "select", ("-w",)),
    Suite("relationals", "test_relationals", "relationals"),
    Suite("allocations", "test_allocations", "allocations", ("single", "5", "all")),
    Suite("non_uniform_work_group", "test_non_uniform_work_group", "non_uniform_work_group"),
    Suite("clCopyImage", "test_cl_copy_images", "images/clCopyImage", ("small_images",), seconds=_LONG),
    Suite("clFillImage", "test_cl_fill_images", "images/clFillImage", ("small_images",), seconds=_LONG),
    Suite("clReadWriteImage", "test_cl_read_write_images", "images/clReadWriteImage", ("small_images",)),
    Suite("clGetInfo", "test_cl_get_info", "images/clGetInfo", ("small_images",), seconds=_LONG),
    Suite("kernel_image_methods", "test_kernel_image_methods", "images/kernel_image_methods", ("small_images",), seconds=_LONG),
    Suite(
        "kernel_read_write",
        "test_image_streams",
        "images/kernel_read_write",
        ("small_images", "CL_FILTER_NEAREST", "CL_RGBA", "CL_HALF_FLOAT"),
        seconds=_LONG,
    ),
    Suite("samplerlessReads", "test_samplerless_reads", "images/samplerlessReads", ("small_images", "CL_RGBA"), seconds=_LONG),
    Suite("integer_ops", "test_integer_ops", "integer_ops", ("-w",)),
    Suite("conversions", "test_conversions", "conversions", ("-w", "-[2^12]", *CONVERSIONS), selects=False),
    Suite("math_brute_force", "test_bruteforce", "math_brute_force", ("-w", "-[2^10]"), seconds=_LONG),
)

_BEGINS = re.compile(r"^(\w+)\.\.\.$")


@dataclass
class Outcome:
    """results: pass, fail, skip, crash, timeout or "not run", by test."""

    results: dict[str, str] = field(default_factory=dict)
    findings: Counter[str] = field(default_factory=Counter)
    seconds: float = 0


def main() -> int:
    """Run the suites that were asked for; 1 where a test failed, crashed or hung."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", action="store_true", help="print what the build has to make, and run nothing")
    parser.add_argument("words", nargs="*", metavar="FOLDER SUITE")
    given = parser.parse_args()
    words = given.words if given.targets else given.words[1:]
    unknown = set(words) - {suite.name for suite in SUITES}
    if unknown:
        print(f"error: {', '.join(sorted(unknown))}: expected one of {', '.join(s.name for s in SUITES)}", file=sys.stderr)
        return 2
    suites = [suite for suite in SUITES if suite.name in words or not words]
    if given.targets:
        print("\n".join(suite.target for suite in suites))
        return 0
    print("| suite | passed | failed | skipped | not run | findings | seconds |\n|---|---|---|---|---|---|---|")
    bad: dict[str, dict[str, str]] = {}
    for suite in suites:
        outcome = run(suite, Path(given.words[0]))
        print(row_of(suite, outcome), flush=True)
        bad[suite.name] = {test: how for test, how in outcome.results.items() if how in ("fail", "crash", "timeout")}
    for name, tests in bad.items():
        for test, how in tests.items():
            print(f"{name} {test}: {how}")
    return int(any(bad.values()))


def row_of(suite: Suite, outcome: Outcome) -> str:
    """A row of the table. A crash and a timeout are failures."""
    count = Counter("fail" if how in ("crash", "timeout") else how for how in outcome.results.values())
    found = ", ".join(f"{kind}: {number}" for kind, number in sorted(outcome.findings.items())) or "none"
    cells = [count["pass"], count["fail"], count["skip"], count["not run"], found, f"{outcome.seconds:.0f}"]
    return f"| {suite.name} | {' | '.join(map(str, cells))} |"


def run(suite: Suite, folder: Path) -> Outcome:
    """Run a suite, in as many processes as it has crashes."""
    program = folder / "build/test_conformance" / suite.place / suite.target
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    for old in logs.glob(f"{suite.name}.*"):
        old.unlink()
    left = list_tests(program)
    outcome, start = Outcome(), time.monotonic()
    end = start + (SUITE_SECONDS or suite.seconds)
    while left and time.monotonic() < end:
        stem = logs / f"{suite.name}.{len(list(logs.glob(f'{suite.name}.*.txt')))}"
        found = run_some(program, suite, left, stem, end)
        if not found and time.monotonic() < end:  # it ended before the first test
            outcome.results[left[0]] = "crash"
        outcome.results.update(found)
        outcome.findings.update(findings_of(stem.with_suffix(stem.suffix + ".report.json")))
        left = [test for test in left if test not in outcome.results]
    outcome.results.update(dict.fromkeys(left, "not run"))
    outcome.seconds = time.monotonic() - start
    (logs / f"{suite.name}.results.json").write_text(json.dumps(outcome.results, indent=1))
    return outcome


def list_tests(program: Path) -> list[str]:
    """The names of a program's tests, in the order of names."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build_libraries().loader)}
    done = subprocess.run([program, "--list"], env=environment, capture_output=True, text=True, check=False)
    names = [line.strip() for line in done.stdout.splitlines() if line.startswith("\t")]
    if not names:
        raise SystemExit(f"error: {program} --list: expected names of tests: {done.stderr.strip()}")
    return names


def run_some(program: Path, suite: Suite, tests: list[str], stem: Path, end: float) -> dict[str, str]:
    """Run tests in one process until the first that crashes or hangs. Returns the results of those that began."""
    saved, log = (stem.with_suffix(stem.suffix + ending) for ending in (".saved.json", ".txt"))
    report = stem.with_suffix(stem.suffix + ".report.json")
    command = [sys.executable, "-m", "adreno_sim", "run", "--checks", CHECKS, "--device", DEVICE, "--json", str(report), "--"]
    environment = {**os.environ, "CL_CONFORMANCE_RESULTS_FILENAME": str(saved)}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, str(program), *suite.arguments, *(tests if suite.selects else ())],
            stdout=out,
            stderr=out,
            env=environment,
            cwd=program.parent,
            start_new_session=True,
        )
        how = watch(process, log, end)
    if saved.exists():
        return dict(json.loads(saved.read_text())["results"])
    began = tests_begun(log, tests)
    found = {test: ended_as(log, test) for test in began}
    if began:
        found[began[-1]] = how
    return {test: how for test, how in found.items() if how != "not run"}


def watch(process: subprocess.Popen[bytes], log: Path, end: float) -> str:
    """Wait for a process. Returns why it is over: "crash", "timeout" of a test, or "not run": the suite's time is over."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = time.monotonic()
        if len(tests_begun(log)) != size:
            size, since = len(tests_begun(log)), now
        if now > end or now - since > TEST_SECONDS:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "not run" if now > end else "timeout"
    return "crash"


def tests_begun(log: Path, known: list[str] | None = None) -> list[str]:
    """Names of tests that the log says began, in that order."""
    lines = log.read_text(errors="replace").splitlines()
    found = dict.fromkeys(match[1] for match in map(_BEGINS.match, lines) if match)
    return [name for name in found if known is None or name in known]


def ended_as(log: Path, test: str) -> str:
    """What the log says of a test that ended."""
    text = log.read_text(errors="replace")
    if re.search(rf"^{test} FAILED", text, re.MULTILINE):
        return "fail"
    return "pass" if re.search(rf"^{test} passed", text, re.MULTILINE) else "skip"


def findings_of(report: Path) -> Counter[str]:
    """Kinds of findings in a report, with the number of places."""
    if not report.exists():
        return Counter()
    return Counter(finding["kind"] for finding in json.loads(report.read_text())["findings"])


if __name__ == "__main__":
    raise SystemExit(main())
