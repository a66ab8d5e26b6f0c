"""The outputs of a whole model against references that saw none of the passes for the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Union

import numpy as np

from ...findings import Finding, Kind
from ...records import dataclass
from ...results.comparison import WHY_OPEN, compare, largest_difference, tolerated
from ...results.expected import Expected
from ...results.model import OutputReport

Golden = Mapping[str, Sequence[np.ndarray | Expected]]
"""Outputs of a whole model by the reference that gave them."""


LLVM, ONNX_RUNTIME, PYTORCH = "TVM llvm", "ONNX Runtime", "PyTorch"
OWN = (ONNX_RUNTIME, PYTORCH)
"""References that run a model as its author gave it; what TVM computes for the CPU has been through TVM's importer and passes."""

KERNELS, PASS = "; every kernel computes what its PrimFunc says", ", so a pass before scheduling changed the meaning"

SHARE_OF_MOVEMENT = 0.5
"""An output says nothing where its reference itself moves by this share of the difference: a few runs see most of what the last
places of all numbers can do, and not all."""

Movement = Callable[[str], Union[Sequence[float], None]]
"""How far one unit in the last place of the weights and inputs moves each output of a reference; None if it is not known."""


@dataclass(frozen=True)
class Circumstances:
    """What is known beside the outputs. kernels_agree: every kernel computed what its PrimFunc says. bound: relative tolerance in
    place of the element type's. rounding: kernels that round more than their PrimFuncs; if every kernel agrees except for that, a
    difference of outputs is a warning."""

    kernels_agree: bool
    bound: float | None = None
    rounding: Sequence[str] = ()

    def explain_difference(self) -> tuple[Kind, str]:
        """The kind of an output's difference, and what the kernels say of it."""
        if self.kernels_agree and self.rounding:
            return Kind.LARGE_ROUNDING, f"; every kernel agrees except for rounding, which is large in {', '.join(self.rounding)}"
        return Kind.WRONG_VALUE, ""

    @property
    def earlier(self) -> bool:
        """Whether what makes an output wrong lies before the kernels."""
        return self.kernels_agree and not self.rounding


@dataclass(frozen=True)
class _Row:
    """One output against one reference, and what is found. report: None if they have no elements in common to compare.
    difference: the largest, inf where one of them alone is not finite. earlier: though every kernel agrees, so that what went
    wrong lies before them."""

    report: OutputReport | None
    found: tuple[Finding, ...] = ()
    output: str = ""
    reference: str = ""
    difference: float = 0.0
    earlier: bool = False

    @property
    def is_wrong(self) -> bool:
        return any(finding.kind is Kind.WRONG_VALUE for finding in self.found)

    @property
    def ok(self) -> bool:
        return self.report is not None and self.report.ok

    @property
    def agrees(self) -> bool:
        return self.report is not None and self.report.ok and not self.report.vacuous


def judge_outputs(
    references: Golden,
    names: Sequence[str],
    got: Sequence[np.ndarray],
    known: Circumstances,
    truth: Callable[[], Golden] | None = None,
    movement: Movement | None = None,
    wrong_pass: Callable[[], str] | None = None,
) -> tuple[list[OutputReport], list[Finding]]:
    """The outputs against every reference.

    truth: the same references, computed only if an output is wrong: they know how far rounding may take it beyond what the type
    allows; None if a kernel is wrong. movement: how far one unit in the last place of the weights and inputs moves each output
    of a reference, asked only if an output is wrong; None if that is not known. wrong_pass: the name of the pass that changed
    the meaning, "" if it is not found, asked only if one did.
    """

    def compare_all(golden: Golden) -> list[_Row]:
        whole = [_compare_rows(name, names, got, outputs, known) for name, outputs in golden.items()]
        return [row for rows in whole for row in rows]

    rows = compare_all(references)
    if truth is not None and not all(row.ok for row in rows) and (wider := truth()):
        by_type = compare_all({name: list(map(_as_its_type_allows, outputs)) for name, outputs in wider.items()})
        usual, known_alone = _by_place(rows), _by_place(by_type)
        rows = compare_all({name: list(map(_no_stricter, outputs)) for name, outputs in wider.items()})
        rows = [_explain_rounding(row, usual, known_alone) for row in rows]
    rows = [_settle(row, rows, names, movement) for row in rows]
    return _listed(_with_stages(rows, wrong_pass))


def _with_stages(rows: Sequence[_Row], wrong_pass: Callable[[], str] | None = None) -> list[_Row]:
    """The rows, each that is wrong though every kernel agrees with the stage that changed the meaning.

    TVM for the CPU, and the truth, begin with the imported model: where one of them agrees with the device, and the model's own
    runtime does not, the import is wrong. Else it is a pass.
    """
    from_import = {
        row.report.output: row.report.reference
        for row in rows
        if row.report is not None and row.agrees and row.report.reference not in OWN
    }
    name = ""
    found: list[_Row] = []
    for row in rows:
        if not row.earlier:
            found.append(row)
            continue
        same = from_import.get(row.output, "") if row.reference in OWN else ""
        if not same and not name and wrong_pass is not None:
            name, wrong_pass = wrong_pass(), None
        wrong = f"{PASS}: {name}" if name else PASS
        stage = f", and so does {same}: TVM's import of the model changed the meaning" if same else wrong
        said = [replace(finding, message=f"{finding.message}{KERNELS}{stage}") for finding in row.found]
        found.append(replace(row, found=tuple(said)))
    return found


def _listed(rows: Sequence[_Row]) -> tuple[list[OutputReport], list[Finding]]:
    return [row.report for row in rows if row.report is not None], [finding for row in rows for finding in row.found]


def _by_place(rows: Sequence[_Row]) -> dict[tuple[str, str], _Row]:
    return {(row.report.output, row.report.reference): row for row in rows if row.report is not None}


def _explain_rounding(row: _Row, usual: Mapping[tuple[str, str], _Row], known_alone: Mapping[tuple[str, str], _Row]) -> _Row:
    """A warning for an output that rounding alone takes further than its type allows, or that is different where it may be
    anything. usual: as their types judged them; known_alone: without unknown elements."""
    report = row.report
    place = ("", "") if report is None else (report.output, report.reference)
    before = usual.get(place)
    if report is None or not row.agrees or before is None or before.ok:
        return row
    if place in known_alone and known_alone[place].ok:
        message = f"{report.output} differs from {report.reference} where it may be anything: {WHY_OPEN}"
        return _Row(report, (*row.found, Finding(Kind.UNINFORMATIVE, message, tensor=report.output)))
    message = (
        f"{report.output} is off from {report.reference} by {report.max_abs:.3g} at {list(report.worst_index)} "
        f"(rms {report.rms:.3g}): more than is usual for its type, and no more than rounding may take it there"
    )
    return _Row(report, (*row.found, Finding(Kind.LARGE_ROUNDING, message, tensor=report.output)))


def _settle(row: _Row, rows: Sequence[_Row], names: Sequence[str], movement: Movement | None) -> _Row:
    """The row unchanged, or one that says nothing: of a reference that contradicts what the model's own runtime computes and the
    device agrees with, or of one that does not settle the output itself."""
    report = row.report
    if report is None or not row.is_wrong:
        return row
    same = (other.report for other in rows if other.agrees and other.report is not None and other.report.output == report.output)
    own = [other.reference for other in same if other.reference in OWN]
    if report.reference == LLVM and own:
        return _silence(report, f"it differs by {row.difference:.3g}, and contradicts {own[0]}, with which the device agrees")
    moved = None if movement is None else movement(report.reference)
    if moved is None:
        return row
    change = moved[names.index(report.output)]
    if not change >= SHARE_OF_MOVEMENT * row.difference:
        return row
    where = f"one unit in the last place of its weights and inputs moves {report.reference} by {change:.3g} itself"
    return _silence(report, f"{where}, where the device has an error of {row.difference:.3g}")


def _silence(report: OutputReport, why: str) -> _Row:
    message = f"{report.output} against {report.reference}: {why}"
    return _Row(replace(report, ok=True, vacuous=why), (Finding(Kind.UNINFORMATIVE, message, tensor=report.output),))


def count_open(references: Golden) -> int:
    """Unknown elements of the outputs, from the reference that knows the fewest."""
    allowed = [
        [x.allowed for x in outputs if isinstance(x, Expected) and x.allowed is not None] for outputs in references.values()
    ]
    return max((sum(int(np.isinf(array).sum()) for array in arrays) for arrays in allowed), default=0)


def _no_stricter(known: np.ndarray | Expected) -> np.ndarray | Expected:
    """What an appeal allows: at least what the type does, by which every element was judged first."""
    if not isinstance(known, Expected) or known.allowed is None or known.allowed.shape != known.array.shape:
        return known
    return replace(known, allowed=np.maximum(known.allowed, tolerated(known.array)))


def _as_its_type_allows(known: np.ndarray | Expected) -> np.ndarray | Expected:
    """The error of an element's type, except for unknown elements, whose number says it."""
    if not isinstance(known, Expected) or known.allowed is None or known.allowed.shape != known.array.shape:
        return known
    return replace(known, allowed=np.where(np.isinf(known.allowed), np.inf, tolerated(known.array)))


def compare_outputs(
    reference: str,
    names: Sequence[str],
    got: Sequence[np.ndarray],
    golden: Sequence[np.ndarray | Expected],
    known: Circumstances,
) -> tuple[list[OutputReport], list[Finding]]:
    """Each output against `golden`, in order."""
    return _listed(_with_stages(_compare_rows(reference, names, got, golden, known)))


def _compare_rows(
    reference: str,
    names: Sequence[str],
    got: Sequence[np.ndarray],
    golden: Sequence[np.ndarray | Expected],
    known: Circumstances,
) -> list[_Row]:
    if len(got) != len(golden):
        message = f"{reference} gives {len(golden)} outputs, the compiled model {len(got)}"
        return [_Row(None, (Finding(Kind.WRONG_VALUE, message),))]
    return [_compare_one(reference, name, mine, whole, known) for name, mine, whole in zip(names, got, golden, strict=True)]


def _compare_one(
    reference: str,
    name: str,
    mine: np.ndarray,
    golden: np.ndarray | Expected,
    known: Circumstances,
) -> _Row:
    expected = golden.array if isinstance(golden, Expected) else golden
    if mine.shape != expected.shape or mine.dtype != expected.dtype:
        shapes = f"{expected.dtype}{list(expected.shape)} from {reference}, {mine.dtype}{list(mine.shape)} from the model"
        finding = Finding(Kind.WRONG_VALUE, f"{name}: {shapes}", tensor=name)
        return _Row(None, (finding,), name, reference, earlier=known.earlier)
    result = compare(mine, golden, known.bound)
    report = OutputReport(
        name, reference, result.ok, result.uninformative, result.max_abs, result.max_ulp, result.worst, result.rms
    )
    if not result.ok:
        kind, why = known.explain_difference()
        finding = Finding(kind, f"{name} differs from {reference}: {result}{why}", tensor=name)
        difference = largest_difference(mine, expected)
        return _Row(report, (finding,), name, reference, difference, known.earlier)
    if result.uninformative:
        return _Row(report, (Finding(Kind.UNINFORMATIVE, f"{name} against {reference}: {result.uninformative}", tensor=name),))
    return _Row(report)
