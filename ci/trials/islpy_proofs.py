"""How proofs by isl (islpy, Presburger sets) compare with the engine's own, on all launches of `launches.py`.

pip install islpy                                # no dependency of this project; docs/trials/islpy.md says what came of it
python ci/trials/islpy_proofs.py                 # a minute; --networks needs TVM, --operations N sets isl's limit for a question
python ci/trials/islpy_proofs.py --random 100    # random kernels, which are run as well; needs the extra `test`

Each access is asked of both from the same affine forms and path conditions, each time as if it were the first at its point.
The first pass is cold: nothing was asked of either before. The last part runs the engine's whole analysis with isl in it. The
exit code is 1 if something is proven that is known to be out of range or to have a race, or if isl refutes a proof of the engine.
Names of the engine that begin with an underscore are used on purpose: the trial sees what its proofs see.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import NamedTuple, TypeVar

import numpy as np
from isl_proofs import are_disjoint, bounds_by_isl, group_ids, is_in_range, never_executes
from isl_systems import Solver
from launches import Launch, known_launches
from paired_bounds import are_disjoint_by_bounds

from adreno_sim.engine.abi.specialization import LocalArg
from adreno_sim.engine.analysis.affine import AffineForms
from adreno_sim.engine.analysis.bounds import Bounds
from adreno_sim.engine.analysis.linear import Linear
from adreno_sim.engine.prove import local_races, single_writer
from adreno_sim.engine.prove.disjoint import AccessRange, injective_symbols
from adreno_sim.engine.prove.in_range import _NO_ACCESS, AccessAnalysis, Goal, prove_in_range
from adreno_sim.engine.shadow.argument_cells import may_change
from adreno_sim.ir import ir
from adreno_sim.ir.provenance import ObjectId

T = TypeVar("T")
OUTCOMES = {(True, True): "both", (True, False): "lost", (False, True): "gained", (False, False): "neither"}
"""By whether the engine shows it, and whether isl does."""
BY_ISL = ("both", "gained", "gained, never executes")
Pair = tuple[AccessRange, AccessRange, frozenset[int]]
"""Two accesses, and the symbols that have one value for both."""


class Answer(NamedTuple):
    """What both say of one question, and their seconds. solved: those of isl itself, without making the sets. boxed: for
    an access in range, whether the ranges of symbols show it. paired: for accesses that are disjoint, whether linear programming
    over two executions shows it, and its seconds."""

    launch: Launch
    place: str
    outcome: str
    own: float = 0.0
    isl: float = 0.0
    solved: float = 0.0
    boxed: bool | None = None
    paired: bool | None = None
    paired_seconds: float = 0.0


@dataclass
class Timed:
    """Calls something, and keeps its seconds: processor time, which other processes do not lengthen."""

    seconds: float = 0.0

    def call(self, function: Callable[[], T]) -> T:
        start = thread_time()
        result = function()
        self.seconds = thread_time() - start
        return result


def compare(solver: Solver, launch: Launch, place: str, own: Callable[[], bool], by_isl: Callable[[], bool]) -> Answer:
    """Asks both one question."""
    mine, theirs, before = Timed(), Timed(), solver.seconds
    outcome = OUTCOMES[mine.call(own), theirs.call(by_isl)]
    return Answer(launch, place, outcome, mine.seconds, theirs.seconds, solver.seconds - before)


def compare_accesses(solver: Solver, launch: Launch) -> Iterator[Answer]:
    """Yields an answer for each access that has to be shown in range."""
    analysis = AccessAnalysis(launch.kernel, launch.spec, launch.facts)
    forms = analysis.forms
    for instr in (i for block in forms.dominators.order for i in block.instrs):
        obstacle = analysis.obstacle_of(instr)
        if obstacle is _NO_ACCESS:
            continue
        bounds, goals = forms.bounds_at(instr), list(analysis.goals(instr))
        place = f"line {instr.loc.line} {instr.op}"
        if any(goal.value is None for goal in goals) and not bounds.unreachable:
            by_isl = is_in_range(solver, analysis, instr, goals)
            yield Answer(launch, place, "gained" if by_isl else "not expressible")
            continue
        answer = compare(
            solver,
            launch,
            place,
            lambda bounds=bounds, goals=goals: _is_shown(Bounds(forms.symbols, None, list(bounds.constraints)), goals),
            lambda instr=instr, goals=goals: is_in_range(solver, analysis, instr, goals),
        )
        # Where it proves the whole kernel, it knows the contradictions that it found at the blocks before.
        outcome = OUTCOMES[obstacle is None, answer.outcome in BY_ISL]
        if outcome == "gained" and never_executes(solver, analysis, instr):
            outcome = "gained, never executes"
        yield answer._replace(outcome=outcome, boxed=_is_shown_by_ranges(bounds, goals))


def _is_shown(bounds: Bounds, goals: Sequence[Goal]) -> bool:
    return bounds.unreachable or all(goal.is_shown(bounds) for goal in goals)


def _is_shown_by_ranges(bounds: Bounds, goals: Sequence[Goal]) -> bool:
    ends = [(bounds.box_range(goal.value), goal.high) for goal in goals if goal.value is not None]
    return all(low >= 0 and most <= high for (low, most), high in ends)


def compare_arguments(solver: Solver, launch: Launch) -> Iterator[Answer]:
    """Yields an answer for each buffer or image that is written: do writes of different work-items keep apart?"""
    analysis = AccessAnalysis(launch.kernel, launch.spec, launch.facts)
    forms = analysis.forms
    by_argument = single_writer.accesses_by_argument(analysis)
    if isinstance(by_argument, ir.Instr):
        yield Answer(launch, "all arguments", "not expressible")
        return
    ids = [number for axis in range(3) for number in (forms.local_id(axis), forms.group_id(axis))]
    for index, accesses in by_argument.items():
        place = f"argument {launch.kernel.params[index].name}"
        if not may_change(launch.kernel, index) or isinstance(launch.spec.args[index], LocalArg):
            continue
        if accesses.other is not None:
            yield Answer(launch, place, "not expressible")
        elif accesses.writes:
            writes = accesses.writes
            pairs: list[Pair] = [(a, b, frozenset()) for n, a in enumerate(writes) for b in writes[n:]]
            own = partial(_have_one_writer, forms, writes, ids)
            yield compare_pairs(solver, launch, place, analysis, pairs, ids, own)


def _have_one_writer(forms: AffineForms, writes: Sequence[AccessRange], ids: Sequence[Linear]) -> bool:
    return injective_symbols(forms, writes, ids) is not None


def compare_local_arrays(solver: Solver, launch: Launch) -> Iterator[Answer]:
    """Yields an answer for each local array that is written: do work-items of a group keep apart between barriers?"""
    analysis = AccessAnalysis(launch.kernel, launch.spec, launch.facts)
    forms = analysis.forms
    accesses = local_races._accesses(analysis, launch.spec)
    if not accesses:
        return
    phases = list(local_races.Phases(forms, accesses).phases())
    ids = [forms.local_id(axis) for axis in range(3)]
    for array in {access.array: None for several in accesses.values() for access in several}:
        here = [[access for access in phase.accesses if access.array == array] for phase in phases]
        if not any(access.write for several in here for access in several):
            continue
        place = f"local {array[1]}"
        pairs: list[Pair] = []
        for phase, several in zip(phases, here, strict=True):
            for a, b in _pairs_with_a_write(several):
                pairs.append((a, b, group_ids(forms) | phase.shared_symbols(a.instr, b.instr)))
        if any(access.write is None and access.read is None for several in here for access in several):
            yield Answer(launch, place, "not expressible")
            continue
        own = partial(_have_no_race, forms, phases, array, ids)
        yield compare_pairs(solver, launch, place, analysis, pairs, ids, own)


def _have_no_race(forms: AffineForms, phases: Sequence[local_races.Phase], array: ObjectId, ids: list[Linear]) -> bool:
    return all(local_races._conflict_in(forms, phase, array, ids) is None for phase in phases)


def compare_pairs(
    solver: Solver,
    launch: Launch,
    place: str,
    analysis: AccessAnalysis,
    pairs: Sequence[Pair],
    ids: Sequence[Linear],
    own: Callable[[], bool],
) -> Answer:
    """Asks whether the accesses of each pair are disjoint if the work-items differ in one of `ids`."""
    answer = compare(solver, launch, place, own, lambda: all(are_disjoint(solver, analysis, a, b, ids, s) for a, b, s in pairs))
    paired = Timed()
    shown = paired.call(lambda: all(are_disjoint_by_bounds(analysis, a, b, ids, s) for a, b, s in pairs))
    return answer._replace(paired=shown, paired_seconds=paired.seconds)


def _pairs_with_a_write(several: Sequence[local_races.LocalAccess]) -> Iterator[tuple[AccessRange, AccessRange]]:
    """Yields the pairs of accesses between two barriers if one of the two is a write."""
    writes = [access.write for access in several if access.write is not None]
    reads = [access.read for access in several if access.write is None and access.read is not None]
    for number, write in enumerate(writes):
        yield from ((write, other) for other in [*writes[number:], *reads])


def compare_whole(solver: Solver, launch: Launch) -> tuple[float, float, int, int, int, int]:
    """Proves all accesses of a launch twice, the second time with isl inside the analyses. Returns seconds, accesses in range and
    operations that do not wrap, each of the engine and with isl."""
    mine, theirs = Timed(), Timed()
    own = mine.call(lambda: prove_in_range(AccessAnalysis(launch.kernel, launch.spec, launch.facts)))
    with bounds_by_isl(solver):
        other = theirs.call(lambda: prove_in_range(AccessAnalysis(launch.kernel, launch.spec, launch.facts)))
    return mine.seconds, theirs.seconds, len(own.in_range), len(other.in_range), len(own.nsw), len(other.nsw)


QUESTIONS: dict[str, Callable[[Solver, Launch], Iterator[Answer]]] = {
    "accesses in range": compare_accesses,
    "arguments without two writers of a byte": compare_arguments,
    "local arrays without races": compare_local_arrays,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=0, help="isl's limit for one question (default: none)")
    parser.add_argument("--only", help="launches of this group")
    parser.add_argument("--networks", action="store_true", help="also the kernels that TVM makes of a network of convolutions")
    parser.add_argument(
        "--random", type=int, default=0, help="so many random kernels of two kinds instead; needs the extra `test`"
    )
    args = parser.parse_args()
    given = [launch for launch in make_launches(args.networks, args.random) if args.only in (None, launch.group)]
    print(f"{len(given)} launches: {dict(Counter(launch.group for launch in given))}")
    solver, wrong_proofs, lost = Solver(args.operations), 0, 0
    gc.disable()
    for what, question in QUESTIONS.items():
        for heat in ("cold", "warm"):
            answers = [answer for launch in given for answer in question(solver, launch)]
            if heat == "cold":
                wrong_proofs += show_outcomes(what, answers)
                lost += sum(answer.outcome == "lost" for answer in answers)
            show_seconds(heat, answers)
            gc.collect()
    show_whole([(launch, compare_whole(solver, launch)) for launch in given])
    if args.operations:
        print(f"\nisl met its limit of {args.operations} operations {solver.exceeded} times")
    if wrong_proofs or (lost and not args.operations):
        sys.exit(f"\n{wrong_proofs} proofs of what is wrong; {lost} proofs of the engine that isl refutes")


def make_launches(networks: bool, random_count: int) -> Iterable[Launch]:
    """Returns what is compared."""
    if not random_count:
        return known_launches(networks)
    from random_launches import random_launches

    return random_launches(random_count)


def show_outcomes(what: str, answers: Sequence[Answer]) -> int:
    """Prints how often both agree by group, each gain and loss, and proofs that are known to be wrong. Returns how many of those
    there are."""
    print(f"\n{what}")
    for group in dict.fromkeys(answer.launch.group for answer in answers):
        here = [answer for answer in answers if answer.launch.group == group]
        unknown = sum(answer.outcome == "neither" and not wrong(answer) for answer in here)
        print(f"  {group}: {dict(Counter(a.outcome for a in here))}; neither, and not known to be wrong: {unknown}")
    paired = Counter(answer.outcome for answer in answers if answer.paired)
    if paired:
        print(f"  of these, linear programming over two executions shows: {dict(paired)}")
    for answer in answers:
        if answer.outcome == "lost" or answer.outcome.startswith("gained"):
            also = ", shown by linear programming over two executions" if answer.paired else ""
            print(f"  {answer.outcome}: {answer.launch.group}: {answer.launch.name}: {answer.place}{also}")
    wrong_proofs = [answer for answer in answers if wrong(answer) and (answer.paired or answer.outcome in BY_ISL)]
    for answer in wrong_proofs:
        print(f"  WRONG: {answer.outcome}: {answer.launch.group}: {answer.launch.name}: {answer.place}")
    return len(wrong_proofs)


def wrong(answer: Answer) -> bool:
    """Returns True if it is known that a proof would be wrong."""
    return any(answer.place == place or answer.place.startswith(f"{place} ") for place in answer.launch.wrong)


def show_seconds(heat: str, answers: Iterable[Answer]) -> None:
    """Prints the median, the 99th percentile and the largest time of an answer in microseconds, and the sums."""
    timed = [answer for answer in answers if answer.own]
    columns = {
        "engine": [a.own for a in timed],
        "isl": [a.isl for a in timed],
        "isl without making the sets": [a.solved for a in timed],
        "engine, where ranges are not enough": [a.own for a in timed if a.boxed is False],
        "isl, where ranges are not enough": [a.isl for a in timed if a.boxed is False],
        "linear programming over two executions": [a.paired_seconds for a in timed if a.paired is not None],
    }
    for name, seconds in columns.items():
        if seconds:
            median, late, most = np.percentile(seconds, [50, 99, 100]) * 1e6
            line = f"median {median:.0f} us, 99 % {late:.0f} us, most {most:.0f} us, all {sum(seconds):.2f} s of {len(seconds)}"
            print(f"  {heat}: {name}: {line}")
    for answer in sorted(timed, key=lambda answer: -answer.isl)[:3]:
        print(f"  {heat}: slow for isl: {answer.launch.name}: {answer.place}: {answer.isl * 1e3:.0f} ms")


def show_whole(found: Sequence[tuple[Launch, tuple[float, float, int, int, int, int]]]) -> None:
    """Prints what isl inside the analyses changes."""
    print("\nthe whole analysis, the engine and with isl inside")
    rows = np.array([row for _, row in found])
    own, other = np.percentile(rows[:, 0], [50, 99, 100]) * 1e3, np.percentile(rows[:, 1], [50, 99, 100]) * 1e3
    print(f"  ms a launch (median, 99 %, most): {own.round(2)} and {other.round(2)}; all {rows[:, :2].sum(axis=0).round(2)} s")
    print(f"  in range {rows[:, 2:4].sum(axis=0).astype(int)}, not wrapping {rows[:, 4:].sum(axis=0).astype(int)}")
    for launch, (_, _, *counts) in found:
        if counts[0] != counts[1] or counts[2] != counts[3]:
            print(f"  {launch.group}: {launch.name}: in range {counts[:2]}, not wrapping {counts[2:]}")


if __name__ == "__main__":
    main()
