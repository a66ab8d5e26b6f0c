"""Runs kernels on the simulator and on another implementation, and says where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import oracle

from adreno_sim.base.errors import AdrenoSimError

from . import simulator
from .case import Built, Case
from .judges import Judge
from .prelude import HALF, NO_CONTRACTION, functions_used
from .references import wrong_lanes
from .tree import Slot

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Failure:
    """`sort` is one of "mismatch", "findings", "simulator", "oracle"; a smaller kernel that fails so fails the same way."""

    case: Case
    sort: str
    text: str


def program(texts: Sequence[str], half: bool) -> str:
    """The source of some kernels."""
    whole = "\n".join(texts)
    return (HALF if half else "") + NO_CONTRACTION + functions_used(whole) + whole


def judge_cases(cases: Sequence[Case], judge: Judge) -> list[Failure]:
    """Run all, built as one program; where that fails to build, each alone."""
    built = [case.build() for case in cases]
    source = program([one.text for one in built], judge.half)
    try:
        ours = _simulate(source, cases, built, judge)
    except AdrenoSimError as error:
        if len(cases) == 1:
            return [Failure(cases[0], "simulator", f"{type(error).__name__}: {error}")]
        return [failure for case in cases for failure in judge_cases([case], judge)]
    theirs = _ask(source, cases, built, judge)
    found = []
    for case, one, own, other in zip(cases, built, ours, theirs, strict=True):
        failure = _compare(case, one, own, other)
        if failure is not None:
            found.append(failure)
    return found


def _simulate(source: str, cases: Sequence[Case], built: Sequence[Built], judge: Judge) -> list[simulator.Result | Exception]:
    """Per kernel its outputs and findings, or the error."""
    made = simulator.device(judge.checks).build(source, judge.options)
    results: list[simulator.Result | Exception] = []
    for case, one in zip(cases, built, strict=True):
        try:
            results.append(simulator.run(made[case.name], case, one, judge.checks))
        except Exception as error:  # whatever it is, it is the simulator's failure on this kernel
            results.append(error)
    return results


def _ask(source: str, cases: Sequence[Case], built: Sequence[Built], judge: Judge) -> list[Arrays | oracle.OracleError]:
    """Per kernel the oracle's outputs, or its error. A crash or a time-out takes the others of the request with it."""
    opened = oracle.open_oracle(judge.asked)
    runs = [
        oracle.Run(source, case.name, case.global_size, one.args, case.features.local_size, judge.options)
        for case, one in zip(cases, built, strict=True)
    ]
    try:
        answers: list[Arrays | oracle.OracleError] = list(opened.run_many(runs))
    except oracle.OracleError as error:
        answers = [error for _ in cases]
    if len(cases) > 1 and any(isinstance(answer, Exception) for answer in answers):
        return [_ask(program([one.text], judge.half), [case], [one], judge)[0] for case, one in zip(cases, built, strict=True)]
    return answers


def _compare(case: Case, built: Built, ours: simulator.Result | Exception, theirs: Arrays | oracle.OracleError) -> Failure | None:
    if isinstance(theirs, Exception):
        lines = [line for line in str(theirs).splitlines() if not line.startswith("remark")]
        return Failure(case, "oracle", "\n".join(lines[-12:]))
    if isinstance(ours, Exception):
        return Failure(case, "simulator", _described(ours))
    if ours.findings:
        return Failure(case, "findings", "\n".join(ours.findings[:5]))
    names = [name for name, arg in zip(built.names, built.args, strict=True) if getattr(arg, "output", False)]
    sides = list(zip(names, ours.outputs, theirs, strict=True))
    wrong = [_difference(*one, ~same(*one[1:])) for one in sides if not one[0].startswith("out_") and not same(*one[1:]).all()]
    buffers = {name: (own, other) for name, own, other in sides}
    wrong += _wrong_slots(built.slots, buffers, case.features.items)
    return Failure(case, "mismatch", "\n".join(wrong[:5])) if wrong else None


def _described(error: Exception) -> str:
    """The error and where in the simulator it arose."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" ({Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno})" if at is not None else ""
    return f"{type(error).__name__}: {error}{place}"


def same(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Equal bits, or NaN on both sides."""
    bits = f"u{own.dtype.itemsize}"
    equal = own.view(bits) == other.view(bits)
    return equal | (np.isnan(own) & np.isnan(other)) if own.dtype.kind == "f" else equal


def _wrong_slots(slots: Sequence[Slot], buffers: dict[str, tuple[np.ndarray, np.ndarray]], items: int) -> list[str]:
    wrong = []
    for index, slot in enumerate(slots):
        own, other = (_lanes(slot, side, items) for side in buffers[f"out_{slot.type.kind}"])
        if slot.check is None:
            bad = ~same(own, other)
        else:
            given = slots[index - slot.check.operands : index]
            operands = [_lanes(one, buffers[f"out_{one.type.kind}"][0], items) for one in given]
            bad = wrong_lanes(slot.check.function, operands, own) & ~same(own, other)
        if bad.any():
            wrong.append(_difference(slot.text, own, other, bad))
    return wrong


def _lanes(slot: Slot, buffer: np.ndarray, items: int) -> np.ndarray:
    """The results of one output: (work-items, lanes)."""
    return buffer[slot.offset :][: items * slot.type.width].reshape(items, slot.type.width)


def _difference(what: str, own: np.ndarray, other: np.ndarray, bad: np.ndarray) -> str:
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{what}\n    at {first}: simulator {own[first]!r}, oracle {other[first]!r}; {bad.sum()} of {bad.size} differ"
