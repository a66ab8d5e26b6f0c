"""Runs kernels on the simulator and on another implementation, and says where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import oracle

from adreno_sim.base.errors import AdrenoSimError

from . import simulator
from .case import Built, Case
from .generator import Features
from .judges import Judge
from .prelude import HALF, NO_CONTRACTION, extensions_used, functions_used
from .tree import Slot
from .truth.collectives import COLLECTIVES, wrong_items
from .truth.references import wrong_lanes

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Failure:
    """`sort` is one of "mismatch", "findings", "simulator", "oracle"; a smaller kernel that fails so fails the same way."""

    case: Case
    sort: str
    text: str


def program(texts: Sequence[str], judge: Judge) -> str:
    """The source of some kernels."""
    whole = "\n".join(texts)
    contraction = "" if judge.licence in ("mad", "relaxed") else NO_CONTRACTION
    return (HALF if judge.half else "") + extensions_used(whole) + contraction + functions_used(whole) + whole


def judge_cases(cases: Sequence[Case], judge: Judge) -> list[Failure]:
    """Run all, built as one program; where that fails to build, each alone."""
    built = [case.build() for case in cases]
    source = program([one.text for one in built], judge)
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
        return [_ask(program([one.text], judge), [case], [one], judge)[0] for case, one in zip(cases, built, strict=True)]
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
    signs = case.features.licence != "relaxed"
    wrong = []
    for what, own, other in _parts(built, sides):
        if not (equal := same(own, other, signs)).all():
            wrong.append(_difference(what, own, other, ~equal))
    buffers = {name: (own, other) for name, own, other in sides}
    wrong += _wrong_slots(built.slots, buffers, case.features)
    return Failure(case, "mismatch", "\n".join(wrong[:5])) if wrong else None


def _parts(built: Built, sides: list[tuple[str, np.ndarray, np.ndarray]]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """What is compared whole: the outputs beside the slots, and the fields of those that are records."""
    for name, own, other in sides:
        layout = built.layouts.get(name)
        if layout is not None:
            for leaf in layout.names or ():
                yield f"{name}, {leaf}", *(np.ascontiguousarray(side.view(layout)[leaf]) for side in (own, other))
        elif not name.startswith("out_"):
            yield name, own, other


def _described(error: Exception) -> str:
    """The error and where in the simulator it arose."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" ({Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno})" if at is not None else ""
    return f"{type(error).__name__}: {error}{place}"


def same(own: np.ndarray, other: np.ndarray, signs: bool = True) -> np.ndarray:
    """Equal bits, or NaN on both sides; without `signs`, or zero on both."""
    bits = f"u{own.dtype.itemsize}"
    equal = own.view(bits) == other.view(bits)
    if own.dtype.kind != "f":
        return equal
    return equal | (np.isnan(own) & np.isnan(other)) | (not signs) & (own == 0) & (other == 0)


def _wrong_slots(slots: Sequence[Slot], buffers: dict[str, tuple[np.ndarray, np.ndarray]], features: Features) -> list[str]:
    wrong = []
    items = features.items
    for index, slot in enumerate(slots):
        own, other = (_lanes(slot, side, items) for side in buffers[f"out_{slot.type.kind}"])
        if slot.check is not None and not slot.check.function:
            continue
        if slot.check is None:
            bad = ~same(own, other, features.licence != "relaxed")
        else:
            given = slots[index - slot.check.operands : index]
            operands = [_lanes(one, buffers[f"out_{one.type.kind}"][0], items) for one in given]
            if slot.check.function in COLLECTIVES:
                bad = wrong_items(slot.check.function, operands, own, features.group_items)
            else:
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
