"""Put one defect after the other into a copy of the project, and see which tests notice: the fast set, or only the others.

    python ci/mutants/run.py FOLDER --count 200 --seed 1 --jobs 16 --seconds 580

FOLDER gets the copy, results.json and table.md; run again, a campaign goes on where it ended. Each mutant meets the tests that
execute its line, fast ones first, until one fails. Those that the fast set leaves meet the others once all have met the fast set.
"""

from __future__ import annotations

import argparse
import contextlib
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
from selection.choice import split_files  # noqa: E402
from selection.durations import Durations, split_id  # noqa: E402
from selection.plugin import parse_shard  # noqa: E402
from table import write_table  # noqa: E402
from weave import Mutant, choose_mutants, weave  # noqa: E402

MOST_MEMORY = 24 << 30
MOST_FAST, MOST_OTHERS = 80.0, 80.0
"""Seconds of tests, as measured, that one mutant meets of the fast set and of the others."""
GROUPS = 3
"""Groups of test files for each process of the survey: a few that end early leave others to run."""


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
        """Run the fast set and one test of each other function, with no mutant on, for at most half of the time.

        One process says which tests there are; then processes take groups of files, so that one that crashes or hangs loses the
        rest of its group alone. What has ended counts, also where a campaign begins again.
        """
        hits, file = self._folder / "hits", self._folder / "survey.json"
        hits.mkdir(exist_ok=True)
        end = time.monotonic() + self.left() / 2
        if not file.exists():
            extra = {"MUTANT_SURVEY": str(file), **({"MUTANT_FAST_ALONE": "1"} if fast_alone else {})}
            with (self._folder / "survey.txt").open("wb") as log:
                self._start(["--collect-only", *(self._tests or ["tests"])], extra, self.left() / 2, log=log)
            if not file.exists():
                raise SystemExit(f"the tests were not found within the time; see {log.name}")
        durations = Durations.read()
        nodes = set(json.loads(file.read_text(encoding="utf-8"))["kept"]) - set(read_outcomes(file))
        groups = [files for files in split_files(sorted(nodes), durations, GROUPS * jobs) if files]
        listed = [[node for node in sorted(nodes) if split_id(node)[0] in files] for files in groups]
        listed.sort(key=lambda group: -sum(durations.of(node) for node in group))
        extra = {"ADRENO_MUTANT_HITS": str(hits), "MUTANT_SURVEY": str(file), "ADRENO_SIM_CACHE_DIR": str(self._folder / "cache")}
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda group: self._run_listed(group, extra, end - time.monotonic()), listed))
        return Survey(file, hits, durations)

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
        place = self._find_place()
        survey = place / "survey.json"
        extra = {"ADRENO_MUTANT": str(number), "MUTANT_SURVEY": str(survey), "ADRENO_SIM_CACHE_DIR": str(place / "cache")}
        status = self._run_listed(nodes, extra, seconds, "-x")
        ran = read_outcomes(survey)
        failed = next((node for node, outcome in ran.items() if outcome == "failed"), "")
        return status, failed, len(ran)

    def _find_place(self) -> Path:
        """A folder of this thread's own; its path is short, because sockets are below it."""
        with self._lock:
            return self._places.setdefault(threading.get_ident(), self._folder / f"r{len(self._places)}")

    def _run_listed(self, nodes: list[str], extra: dict[str, str], seconds: float, *options: str) -> int | None:
        """Run `nodes` in this order, in a new folder for what they write; the exit status, or None if they took too long."""
        if seconds < 5:
            return None
        place = self._find_place()
        shutil.rmtree(place, ignore_errors=True)
        (place / "tmp").mkdir(parents=True)
        (place / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
        extra = {"MUTANT_TESTS": str(place / "nodes.json"), "TMPDIR": str(place / "tmp"), **extra}
        with (place / "log.txt").open("wb") as output:
            files = sorted({node.partition("::")[0] for node in nodes})
            return self._start([*options, "-p", "no:xdist", *files], extra, seconds, log=output)

    def _start(self, arguments: list[str], extra: dict[str, str], seconds: float, *, log: object) -> int | None:
        """Run pytest in the tree; the whole group of its processes ends with it."""
        paths = os.pathsep.join(str(path) for path in (self.tree, self.tree / "ci/mutants", self.tree / "tests"))
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "ordered", "-p", "no:cacheprovider", *arguments]
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
    parser.add_argument("--shard", type=parse_shard, metavar="I/N", help="try every N-th mutant from the I-th on, for N machines")
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
    todo = [outcome for outcome in outcomes if is_asked(outcome.mutant.number, given.only, given.shard)]
    later = []
    with ThreadPoolExecutor(given.jobs) as pool:

        def meet_fast_set(outcome: Outcome) -> None:
            meet(campaign, survey, "fast", outcome)
            if outcome.state == "survived" and not given.fast_alone:
                later.append(pool.submit(meet, campaign, survey, "complete", outcome))

        list(pool.map(meet_fast_set, todo))
        for future in later:
            future.result()
    (folder / "results.json").write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1), encoding="utf-8")
    (folder / "table.md").write_text(write_table(outcomes), encoding="utf-8")
    print((folder / "table.md").read_text(encoding="utf-8"))
    return 0


def is_asked(number: int, only: list[int] | None, shard: tuple[int, int] | None) -> bool:
    index, count = shard or (1, 1)
    return number % count == index - 1 and (only is None or number in only)


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
