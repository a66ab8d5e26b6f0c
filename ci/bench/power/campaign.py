"""The runs of a campaign, in order: every kernel right and, on the same inputs, with a planted defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adreno_sim.golden.truth.units import Units

from . import linear, rows
from .bench import Bench, Planted, make_references, open_devices
from .inputs import SIGNS, draw_inputs
from .problem import ORDERS, Defect, Problem

FAMILIES = (*linear.FAMILIES, *rows.FAMILIES)

DETECTABLE = 4.0
"""How far a defect must move some element, in units of the largest error of the right kernel in its rerun."""


@dataclass(frozen=True)
class Run:
    """A right run and one with a defect, on the same inputs.

    alarm: the judge found something wrong with the right kernel. rounding: it warned that this rounds more than expected.
    vague: it said that the right result tells nothing. z, wide_z: errors over sigma of the right kernel and of its rerun in
    floats. moved: largest change by the defect, in that rerun; noise: largest error of the right kernel there. by_bound,
    by_rerun, by_exact: who found the defect; none: it was missed. no_rerun: why one of the two runs had none.
    """

    problem: Problem
    sign: str
    planted: Planted
    alarm: bool
    rounding: bool
    vague: bool
    z: np.ndarray
    wide_z: np.ndarray
    moved: float
    noise: float
    by_bound: bool
    by_rerun: bool
    by_exact: bool
    no_rerun: str

    @property
    def detectable(self) -> bool:
        return self.moved > DETECTABLE * self.noise

    @property
    def found(self) -> bool:
        return self.by_bound or self.by_rerun or self.by_exact


def choose_problems(quick: bool, only: str) -> list[Problem]:
    """Every family, size, dtype and order; quick: one size of each, in turn."""
    found = []
    for family in FAMILIES:
        for number, (dtype, order) in enumerate((dtype, order) for dtype in family.dtypes for order in ORDERS):
            turn = number + FAMILIES.index(family)
            terms = [family.terms[turn % len(family.terms)]] if quick else family.terms
            found += [family.make(count, dtype, order) for count in terms]
    return [problem for problem in found if only in problem.name]


def run_campaign(
    problems: Sequence[Problem],
    repeats: int,
    seed: int,
    say: Callable[[str], None],
    signs: Sequence[str] = SIGNS,
    driver: bool = False,
) -> Iterator[Run]:
    """repeats: runs of each problem with inputs of each of `signs`.

    driver: the defects are a real device's own; kernels that whole numbers do not make exact are left out.
    """
    device, twin_device = open_devices()
    references = make_references(problems, Units.of_device(device.info))
    problems = [problem for problem in problems if not driver or references.has_bound(problem.golden)]
    for number, problem in enumerate(problems):
        say(f"{number + 1}/{len(problems)} {problem.name}")
        bench = Bench(problem, references, device, twin_device, driver)
        kinds = [*problem.defects, Defect.DROPPED_TERM]  # the one that hides best comes twice
        try:
            for turn in range(repeats):
                for place, sign in enumerate(signs):
                    rng = np.random.default_rng([seed, number, turn, place])
                    yield _run_once(bench, sign, rng.choice(kinds), rng, everywhere=driver)
        finally:
            bench.close()


def _run_once(bench: Bench, sign: str, kind: int, rng: np.random.Generator, everywhere: bool) -> Run:
    """everywhere: the defect hits all outputs, as what a driver makes of one line does."""
    problem = bench.problem
    arrays = draw_inputs(problem, sign, rng)
    where = int(rng.integers(problem.outputs)) if rng.integers(2) and not everywhere else -1
    planted = Planted(Defect(int(kind)), int(rng.integers(problem.places)), where)
    right, wrong = bench.judge(arrays, Planted()), bench.judge(arrays, planted)
    truth, wide_truth = bench.truth(arrays, wide=False), bench.truth(arrays, wide=True)
    if problem.dtype == "float16":
        right_wide, wrong_wide = bench.run_wide(arrays, Planted()), bench.run_wide(arrays, planted)
    else:
        right_wide, wrong_wide = right.got, wrong.got
    with np.errstate(invalid="ignore"):
        moved = np.abs(wrong_wide.astype(np.float64) - right_wide.astype(np.float64))
        noise = np.abs(right_wide.astype(np.float64) - wide_truth.value)
    return Run(
        problem, sign, planted, right.found, right.rounding, right.told_nothing, _scores(right.got, truth.value, truth.sigma),
        _scores(right_wide, wide_truth.value, wide_truth.sigma), float(np.nanmax(moved)), float(np.nanmax(noise)),
        wrong.by_bound, wrong.by_rerun, bool(wrong.by_exact), right.no_rerun or wrong.no_rerun,
    )  # fmt: skip


def _scores(got: np.ndarray, value: np.ndarray, sigma: np.ndarray | None) -> np.ndarray:
    """Errors over sigma, where one is known and not zero, and where nothing is flushed: that is always an error of 4 sigma."""
    if sigma is None:
        return np.zeros(0)
    normal = np.abs(value) >= 2 * float(np.finfo(got.dtype).smallest_normal)
    known = np.isfinite(sigma) & (sigma > 0) & np.isfinite(got) & normal
    return (got[known].astype(np.float64) - value[known]) / sigma[known]
