"""Numbered kernels of one seed: which kind each is, run batch by batch, failures shrunk, constructs counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .case import Case
from .choices import Choices
from .generate import OPERATIONS, make_case
from .judge import Failure, judge_cases, program
from .judges import Judge, fit_judge, judges_of
from .shrink import shrink

BATCH = 10


@dataclass
class Report:
    """What a part of a campaign found. `failures` are texts, complete with the shrunk kernel.

    left_out: kernels that nobody fit could judge, as who stands in for another gets one of their constructs wrong.
    """

    kernels: int = 0
    left_out: int = 0
    judged_by: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.kernels += other.kernels
        self.left_out += other.left_out
        self.judged_by += other.judged_by
        self.used += other.used
        self.failures += other.failures


def batches(start: int, count: int) -> Iterator[range]:
    """Kernel numbers of each program: aligned, so that a number's judge does not depend on where a run starts."""
    at = start
    while at < start + count:
        end = min((at // BATCH + 1) * BATCH, start + count)
        yield range(at, end)
        at = end


def judge_of(seed: int, number: int, only: str = "") -> Judge:
    """Who judges a kernel; `only`: of this oracle's."""
    return Choices(f"{seed}/batch {number // BATCH}").weighted(judges_of(only))


def numbered(seed: int, number: int, operations: int = OPERATIONS, only: str = "") -> Case:
    """Kernel `number` of a seed."""
    return make_case(f"{seed}/{number}", f"k{number}", judge_of(seed, number, only), operations)


def run_batch(seed: int, numbers: range, operations: int = OPERATIONS, shrunk: bool = True, only: str = "") -> Report:
    """Judge the kernels of one program."""
    judge = fit_judge(judge_of(seed, numbers[0], only))
    made = [numbered(seed, number, operations, only) for number in numbers]
    cases = [case for case in made if judge.can_judge(case.used)]
    report = Report(len(made), len(made) - len(cases), Counter({judge.asked: len(cases)}))
    for case in made:
        report.used.update(case.used)
    for failure in judge_cases(cases, judge) if cases else ():
        report.failures.append(explain(failure, judge, shrunk))
    return report


def explain(failure: Failure, judge: Judge, shrunk: bool) -> str:
    """A failure as text: seed, what differs, and the kernel, shrunk where that is asked for."""
    case = failure.case
    if shrunk:
        case = shrink(case, lambda smaller: any(f.sort == failure.sort for f in judge_cases([smaller], judge)))
        failure = next(iter(judge_cases([case], judge)), failure)
    built = case.build()
    launch = f"global {case.global_size}, local {case.features.local_size}, {judge.options}"
    return f"kernel {case.seed} ({judge.asked}): {failure.sort}\n{failure.text}\n{launch}\n{program([built.text], judge)}"
