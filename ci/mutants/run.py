"""Put one defect after the other into a copy of the project, and see which tests notice: the fast set, or only the others.

    python ci/mutants/run.py FOLDER --count 200 --seed 1 --jobs 16 --seconds 580

FOLDER gets the copy, results.json and table.md; run again, a campaign goes on where it ended. Each mutant meets the tests that
execute its line, fast ones first, until one fails.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

from candidates import Survey, read_outcomes  # noqa: E402
from selection.durations import Durations  # noqa: E402
from table import write_table  # noqa: E402
from weave import Mutant, choose_mutants, weave  # noqa: E402

MOST_MEMORY = 24 << 30
MOST_FAST, MOST_OTHERS = 80.0, 80.0
"""Seconds of tests, as measured, that one mutant meets of the fast set and of the others."""


@dataclass
class Outcome:
    """`state`: killed, hung, survived, unreached, untried. `seen`: fast or complete, by the test `by`. `whole`: all was tried."""

    mutant: Mutant
    state: str = "untried"
    seen: str = ""
    by: str = ""
    tests: int = 0
    seconds: float = 0.0
    whole: bool = False


class Campaign:
    """The tree with its mutants, and the processes that run tests in it."""

    def __init__(self, folder: Path, deadline: float, tests: list[str]):
        self.tree, self._folder, self._deadline, self._tests = folder / "tree", folder, deadline, tests
        self._lock = threading.Lock()
        self._right: dict[tuple[str, ...], bool] = {}
        self._places: dict[int, Path] = {}

    def left(self) -> float:
        return self._deadline - time.monotonic()

    def survey(self, jobs: int, fast_alone: bool) -> Survey:
        """Run the fast set and one test of each other function, with no mutant on, for at most half of the time."""
        hits, file = self._folder / "hits", self._folder / "survey.json"
        if not file.exists():
            hits.mkdir(exist_ok=True)
            extra = {"ADRENO_MUTANT_HITS": str(hits), "MUTANT_SURVEY": str(file)}
            if fast_alone:
                extra["MUTANT_FAST_ALONE"] = "1"
            options = ["-n", str(jobs), "--dist", "loadfile", "--no-loadscope-reorder", *self._tests]
            with (self._folder / "survey.txt").open("wb") as log:
                self._start(options, extra, self.left() / 2, log=log)
            if not file.exists():
                raise SystemExit(f"the tests did not begin within the time; see {log.name}")
        return Survey(file, hits, Durations.read())

    def try_tests(self, outcome: Outcome, survey: Survey, nodes: list[str], most: float, seen: str) -> None:
        """Run `nodes` until one notices the mutant of `outcome`; what fails without it as well has not noticed."""
        outcome.state, before = "survived", time.monotonic()
        for part in survey.split(nodes, most):
            while part and outcome.state == "survived":
                if self.left() < 5:
                    outcome.state = "untried"
                    break
                expected = sum(survey.seconds(node) for node in part)
                status, failed, count = self._run(part, outcome.mutant.number, min(self.left(), 60 + 8 * expected))
                outcome.tests += count
                if status == 0:
                    break
                if status is not None and not self._is_right(survey, [failed] if failed else part):
                    part = part[part.index(failed) + 1 :] if failed else []
                    continue
                outcome.state, outcome.seen, outcome.by = ("hung" if status is None else "killed"), seen, failed
                if status is None and self.left() < 5:
                    outcome.state = "untried"
        outcome.seconds += time.monotonic() - before

    def _is_right(self, survey: Survey, nodes: list[str]) -> bool:
        """Whether tests pass without a mutant."""
        if all(node in survey.passing for node in nodes) and len(nodes) == 1:
            return True
        key = tuple(nodes)
        if key not in self._right:
            self._right[key] = self._run(nodes, -1, 120.0)[0] == 0
        return self._right[key]

    def _run(self, nodes: list[str], number: int, seconds: float) -> tuple[int | None, str, int]:
        """Exit status (None: out of time), the test that failed, and how many ran."""
        with self._lock:  # a short path, because sockets lie below it
            place = self._places.setdefault(threading.get_ident(), self._folder / f"r{len(self._places)}")
        shutil.rmtree(place, ignore_errors=True)
        (place / "cache").mkdir(parents=True)
        (place / "tmp").mkdir()
        (place / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
        log, survey = place / "log.txt", place / "survey.json"
        extra = {
            "ADRENO_MUTANT": str(number), "MUTANT_TESTS": str(place / "nodes.json"), "MUTANT_SURVEY": str(survey),
            "ADRENO_SIM_CACHE_DIR": str(place / "cache"), "TMPDIR": str(place / "tmp"),
        }  # fmt: skip
        files = sorted({node.partition("::")[0] for node in nodes})
        with log.open("wb") as output:
            status = self._start(["-x", "-p", "no:xdist", *files], extra, seconds, log=output)
        ran = read_outcomes(survey)
        failed = next((node for node, outcome in ran.items() if outcome == "failed"), "")
        return status, failed, len(ran)

    def _start(self, arguments: list[str], extra: dict[str, str], seconds: float, *, log: object) -> int | None:
        """Run pytest in the tree; the whole group of its processes ends with it."""
        paths = os.pathsep.join(str(path) for path in (self.tree, self.tree / "ci/mutants", self.tree / "tests"))
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "ordered", "-p", "no:cacheprovider", "--complete", *arguments]
        process = subprocess.Popen(
            command, cwd=self.tree, env={**variables, "PYTHONPATH": paths, **extra}, stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_limit_memory,
        )  # fmt: skip
        try:
            return process.wait(max(1.0, seconds))
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def main() -> int:
    parser = argparse.ArgumentParser(description="Which tests notice seeded mutants?")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=3600.0, help="the campaign ends after so many seconds")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the mutants to try")
    parser.add_argument("--fast-alone", action="store_true", help="try the fast set only")
    parser.add_argument("--tests", nargs="*", default=[], help="folders of tests in place of all")
    given = parser.parse_args()
    deadline = time.monotonic() + given.seconds
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    mutants = choose_mutants(ROOT, given.count, given.seed)
    if not (folder / "tree").exists():
        weave(ROOT, mutants, folder / "tree")
    campaign = Campaign(folder, deadline, given.tests)
    survey = campaign.survey(given.jobs, given.fast_alone)
    print(
        f"{len(survey.passing)} tests pass without a mutant, {len(survey.failing)} fail; {campaign.left():.0f} s are left",
        flush=True,
    )
    outcomes = read_results(folder / "results.json", mutants)
    for part in ("fast",) if given.fast_alone else ("fast", "complete"):
        todo = [outcome for outcome in outcomes if given.only is None or outcome.mutant.number in given.only]
        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(functools.partial(meet, campaign, survey, part), todo))
        (folder / "results.json").write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1), encoding="utf-8")
        (folder / "table.md").write_text(write_table(outcomes), encoding="utf-8")
    print((folder / "table.md").read_text(encoding="utf-8"))
    return 0


def meet(campaign: Campaign, survey: Survey, part: str, outcome: Outcome) -> None:
    """Have the fast set, or what is not of it, meet one mutant."""
    number = outcome.mutant.number
    if not survey.is_reached(number):
        outcome.state = "unreached"
        return
    candidates = survey.find_candidates(number)
    if part == "fast" and outcome.state == "untried":
        campaign.try_tests(outcome, survey, candidates.fast, MOST_FAST, part)
    elif part == "complete" and outcome.state == "survived" and not outcome.whole:
        campaign.try_tests(outcome, survey, candidates.others, MOST_OTHERS, part)
        outcome.whole = outcome.state != "untried"
        outcome.state = outcome.state if outcome.whole else "survived"
    else:
        return
    print(f"{number} {part}: {outcome.state} {outcome.by} {outcome.tests} tests, {outcome.seconds:.0f} s", flush=True)


def read_results(file: Path, mutants: list[Mutant]) -> list[Outcome]:
    """What an earlier run of the same campaign knows of each mutant."""
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    rows = {row["mutant"]["number"]: {name: value for name, value in row.items() if name != "mutant"} for row in known}
    return [Outcome(mutant, **rows.get(mutant.number, {})) for mutant in mutants]


if __name__ == "__main__":
    sys.exit(main())
