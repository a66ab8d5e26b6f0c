"""Models of degenerate sizes: each is right, and said to be, against ONNX's evaluator in float64; without a fix some are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
pytest.importorskip("onnx")

from adreno_sim.compiler.compile import compile_model
from degenerate.cases import draw
from degenerate.judge import judge
from degenerate.spread import run_spread

pytestmark = pytest.mark.tvm

FAST, ALL, SEED = 5, 50, 7


@pytest.mark.share(4)
@pytest.mark.parametrize("number", [pytest.param(n, marks=[] if n < FAST else [pytest.mark.slow]) for n in range(ALL)])
def test_a_model_of_degenerate_sizes(number: int, adreno: Any) -> None:
    found = judge(draw(SEED, number), adreno)
    assert not found.is_failure, str(found)


def test_a_case_comes_again_from_its_number() -> None:
    one, other = draw(SEED, 3), draw(SEED, 3)
    assert one.model.SerializeToString() == other.model.SerializeToString()
    assert all(np.array_equal(one.inputs[name], other.inputs[name]) for name in one.inputs)
    assert one.said != draw(SEED, 4).said


def test_the_judge_finds_what_a_fix_mends(adreno: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix product with K = 1 and what follows it, compiled without the fix: ONNX's evaluator says that it is wrong."""
    case = next(case for case in (draw(SEED, n) for n in range(1000, 4000)) if _adds_to_one_term(case))
    monkeypatch.setattr("degenerate.judge.compile_model", lambda *given, **options: compile_model(
        *given, **options, without_fix=("one-term-reduction",)
    ))  # fmt: skip
    found = judge(case, adreno)
    assert found.kind == "missed", str(found)  # `check` itself compiles with all fixes here
    assert "elements are off" in found.why


WORKER = """
import os, sys
from degenerate.spread import note, read_lines
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
state, first, count = Path(words["--state"]), int(words["--start"]), int(words["--count"])
for number in range(first + len(read_lines(state)), first + count):
    if number == 3:
        sys.exit("no such operator") if int(words["--seed"]) else os.abort()
    note(state, 1, number, "right", "")
"""


@pytest.mark.parametrize(("seed", "said"), [(0, "ended with -6: "), (1, "ended with 1: no such operator")])
def test_a_crash_costs_one_case(seed: int, said: str, tmp_path: Path) -> None:
    program = tmp_path / "worker.py"
    home = str(Path(__file__).resolve().parents[1])
    program.write_text(f"import sys; sys.path.insert(0, {home!r}); from pathlib import Path{WORKER}")
    lines = run_spread(program, seed, range(1, 7), 2, tmp_path, 60)
    assert [line["number"] for line in lines] == list(range(1, 7))
    assert [(line["number"], line["said"]) for line in lines if line["kind"] == "error"] == [(3, said)]


def _adds_to_one_term(case: Any) -> bool:
    return case.dtype == "float32" and case.target == "buffer" and ", 1) MatMul, Add ->" in case.said
