"""A launch under the debugger leaves in memory what the engine's own launch leaves: kernels of the corpus, and random ones.

With --slow all of the corpus.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import oracle
import pytest
from fuzz import simulator
from fuzz.campaign import judge_of, numbered
from fuzz.judge import program as program_of
from kernels.corpus_cases import CASES

from adreno_sim.backends.open import open_device
from adreno_sim.backends.sim.debugging import build_for_debugging, prepare_debugging
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.debugger.open import open_debuggee
from adreno_sim.findings import Severity
from adreno_sim.launch_spec.bind import BoundArguments, RejectedCall
from adreno_sim.launch_spec.include_folders import add_source_folder
from adreno_sim.launch_spec.read import read_launch

PARTS = [pytest.param(path, marks=[pytest.mark.slow] if number % 5 else []) for number, path in enumerate(CASES)]


def run_engine(path: Path, variant: str) -> list[bytes]:
    spec = read_launch(path, variant)
    device = open_device(spec.device or "sim:adreno-750", defaults={**spec.run, "checks": "bounds"})
    source = path.with_suffix(".cl")
    text = source.read_text()
    program = device.build(text, add_source_folder(spec.options, text, source))
    kernel = program[spec.kernel or program.kernel_names()[0]]
    bound = BoundArguments(device, spec, kernel.params)
    bound.fill()
    device.launch(kernel, spec.global_size, spec.local_size, bound.values)
    return [np.asarray(device.read(bound.values[index])).tobytes() for index in bound.views]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_memory_is_that_of_the_engine(path: Path) -> None:
    spec = read_launch(path, "clean")
    try:
        expected = run_engine(path, "clean")
    except (AdrenoSimError, RejectedCall) as refused:
        with pytest.raises(type(refused)):
            open_debuggee(spec, path.with_suffix(".cl"), device=spec.device or "sim:adreno-750")
        return
    debuggee = open_debuggee(spec, path.with_suffix(".cl"), device=spec.device or "sim:adreno-750")
    run = debuggee.launch.run
    run.start()
    run.go()
    assert run.ended
    assert run.error is None
    assert not run.findings
    views = [arg for arg in debuggee.launch.args if hasattr(arg, "array")]
    assert [view.array().tobytes() for view in views] == expected


@pytest.mark.parametrize("start", range(0, 24, 2))
def test_random_kernels_give_what_the_engine_gives(start: int) -> None:
    device = open_device("sim:reference", contract="off", threads=1, cache=False, checks="bounds", timeout=20)
    for number in range(start, start + 2):
        case = numbered(7, number)
        built, judge = case.build(), judge_of(7, number)
        text = program_of([built.text], judge)
        expected = simulator.run(device.build(text, judge.options)[case.name], case, built, "bounds", device).outputs
        program = build_for_debugging(device, text, judge.options)
        passed = simulator.arguments(device, built.args)
        run = prepare_debugging(
            device, program, program.program[case.name], case.global_size, case.features.local_size, passed
        ).run
        run.start()
        run.go()
        assert run.ended, f"7/{number}"
        assert run.error is None, f"7/{number}"
        assert not [finding for finding in run.findings if finding.severity > Severity.NOTE], f"7/{number}"
        whole = [arg for arg, given in zip(passed, built.args, strict=True) if getattr(given, "output", False)]
        if not any(isinstance(arg, oracle.Part) for arg in built.args):
            assert [view.array().tobytes() for view in whole] == [array.tobytes() for array in expected], f"7/{number}"
        simulator.release(device, passed)
