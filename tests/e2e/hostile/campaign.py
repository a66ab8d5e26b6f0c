"""Runs hostile cases in processes side by side and says which ended as no run should."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from adreno_sim.base import disk_cache

from .case import Case, Outcome, complaints
from .files import ALLOW, KERNEL, LAUNCH, PROFILE, TRACE, files, models
from .programs import programs

HERE = Path(__file__).resolve().parent


@dataclass
class Report:
    """codes: how often each exit code came. slowest, largest: CPU seconds and bytes of the worst, with its name."""

    cases: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    failures: list[tuple[Case, Outcome, list[str]]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")

    def add(self, case: Case, outcome: Outcome) -> None:
        self.cases += 1
        self.codes[outcome.code] += 1
        self.slowest = max(self.slowest, (outcome.seconds, case.name))
        self.largest = max(self.largest, (outcome.peak, case.name))
        if found := complaints(case, outcome):
            self.failures.append((case, outcome, found))

    def summary(self) -> str:
        """A line of figures."""
        codes = ", ".join(f"{count} ended with {code}" for code, count in sorted(self.codes.items()))
        return (
            f"{self.cases} cases, {len(self.failures)} failures; {codes}; at most {self.slowest[0]:.1f} s of CPU time "
            f"({self.slowest[1]}) and {self.largest[0] >> 20} MiB ({self.largest[1]})"
        )


def make_cases(seed: int, kind: str = "") -> list[Case]:
    """Every program and every file; those of one kind."""
    return [case for case in programs(seed) + files(seed, kind) if case.name.startswith(kind)]


def run_cases(cases: Sequence[Case], jobs: int = 1) -> Report:
    """Every case, in as many processes side by side."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, ThreadPoolExecutor(jobs) as pool:
        parts = [cases[start::jobs] for start in range(jobs)]
        for part, outcomes in zip(parts, pool.map(lambda n: _serve(Path(folder, str(n)), parts[n]), range(jobs)), strict=True):
            for case, outcome in zip(part, outcomes, strict=True):
                report.add(case, outcome)
    return report


def describe(case: Case, outcome: Outcome, found: list[str]) -> str:
    """A failure: what is wrong, the command, and what it said."""
    told = (outcome.err + outcome.out)[:1500]
    return f"{case.name}: {'; '.join(found)}\n  adreno-sim {' '.join(case.args)}\n  exit code {outcome.code}\n{told}"


def write_case(case: Case, folder: Path) -> None:
    """The files of a case, to run it by hand."""
    for name, data in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _serve(folder: Path, cases: Sequence[Case]) -> list[Outcome]:
    folder.mkdir()
    (folder / "cases").write_bytes(pickle.dumps([_warm_ups({case.args[0] for case in cases}), *cases]))
    environment = {**os.environ, "HOSTILE_CACHE": str(disk_cache.root())}
    command = [sys.executable, str(HERE / "server.py"), str(folder / "cases"), str(folder / "outcomes")]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = []
    with (folder / "outcomes").open("rb") as file:
        for _ in cases:
            outcomes.append(pickle.load(file))
    return outcomes


def _warm_ups(commands: set[str]) -> list[Case]:
    """Good runs of these commands: what they import and leave in the cache, every other run finds."""
    launch = LAUNCH.replace('data = {file = "x.npy"}', 'count = 4\ndata = "ones"').encode()
    given = {"k.cl": KERNEL, "launch.toml": launch, "adreno-sim.toml": ALLOW.encode(), "p.toml": PROFILE.encode()}
    runs = [
        Case("kernel", ("kernel", "k.cl", "--launch", "launch.toml", "--device", "sim:p.toml"), given),
        Case("full", ("kernel", "k.cl", "--launch", "launch.toml", "--checks", "full", "--explain"), given),
        Case("check", ("check", "m.asim"), {"m.asim": models()["branch"]}),
        Case("footprint", ("footprint", "t.csv", "--html", "/dev/null"), {"t.csv": TRACE.encode()}),
        Case("devices", ("devices", "--profile", "p.toml"), given),
    ]
    return [run for run in runs if run.args[0] in commands]
