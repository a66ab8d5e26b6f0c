"""Kernels with one planted defect, and their clean twins: the simulator finds what the model finds. `ci/foundry.sh` runs more."""

from __future__ import annotations

import dataclasses

import pytest

from foundry.campaign import Report, run_numbered, setting_of
from foundry.cases import ALL_CELLS, make_case
from foundry.judge import judge
from foundry.model.expect import expect
from foundry.simulate import on_processor, open_simulator, run

SEED = 46
SOME = range(0, len(ALL_CELLS), 6)


def failures(number: int) -> str:
    report = Report()
    run_numbered(SEED, number, report)
    return "\n\n".join(report.failures)


@pytest.mark.share()
@pytest.mark.parametrize("number", SOME)
def test_a_planted_defect_is_found_and_its_twin_is_clean(number: int) -> None:
    assert not failures(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ALL_CELLS), 3 * len(ALL_CELLS)))
def test_two_of_every_cell(number: int) -> None:
    assert not failures(number)


def test_a_case_is_the_same_every_time() -> None:
    one, other = make_case(SEED, 7), make_case(SEED, 7)
    assert one.pair.planted.program.text == other.pair.planted.program.text
    assert one.pair.clean.program.text == other.pair.clean.program.text
    assert setting_of(SEED, 7) == setting_of(SEED, 7)


@pytest.mark.parametrize(
    ("kind", "space"), [("out of range, read", "local"), ("unset element", "global"), ("missing or wrong fence", "local")]
)
def test_the_judge_sees_a_simulator_that_is_blind_or_sees_too_much(kind: str, space: str) -> None:
    """Without checks the defect is missed; the planted kernel's findings are false alarms for its twin."""
    number = next(n for n, cell in enumerate(ALL_CELLS) if (cell.kind, cell.space, cell.level) == (kind, space, "full"))
    case, setting = make_case(SEED, number), dataclasses.replace(setting_of(SEED, number), cache=False)
    planted, clean = (expect(v.program, v.launch, True) for v in (case.pair.planted, case.pair.clean))
    with on_processor(setting.processor, False):
        blind = run(open_simulator(setting, "off"), case.pair.planted)
        seeing = run(open_simulator(setting, "full"), case.pair.planted)
    assert "missed" in {problem.sort for problem in judge(planted, blind)}
    assert "false alarm" in {problem.sort for problem in judge(clean, seeing)}
    assert not judge(planted, seeing)
