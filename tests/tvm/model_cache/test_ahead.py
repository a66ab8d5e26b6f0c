"""What a run launches is known before it: another process compiles it, and the run finds all of it on disk."""

from __future__ import annotations

from typing import Any

import pytest

import adreno_sim
from adreno_sim.base.processes.beside import doing_beside
from adreno_sim.compiler.check import ahead
from adreno_sim.compiler.check.wide_precision_rerun import WidePrecisionRerun
from adreno_sim.compiler.run.observer import LaunchCall, Observer
from adreno_sim.compiler.run.rehearsal import Rehearsal
from adreno_sim.compiler.run.vm import VirtualMachine
from adreno_sim.engine import codegen
from adreno_sim.engine.llvm.objects import keeping_others_out
from adreno_sim.engine.run import compiled_kernel

pytestmark = pytest.mark.tvm


class Launches(Observer):
    def __init__(self) -> None:
        self.found: list[tuple[Any, ...]] = []

    def before_launch(self, launch: LaunchCall) -> None:
        args = tuple(getattr(arg, "spec", arg) for arg in launch.args)
        self.found.append((launch.code.name, launch.global_size, launch.local_size, args))


@pytest.mark.parametrize("options", [{}, {"target": "buffer"}], ids=["textures", "buffers"])
def test_a_rehearsal_notes_the_launches_of_a_run(options, models, prepared, adreno):
    ready = prepared(models["small"], **options)
    launches, rehearsal = Launches(), Rehearsal(adreno)
    with VirtualMachine(ready.compiled, adreno, launches) as machine:
        machine.run(ready.arrays)
    with VirtualMachine(ready.compiled, rehearsal) as machine:
        machine.run(ready.arrays)
    noted = [(launch.kernel, launch.global_size, launch.local_size, launch.args) for launch in rehearsal.noted]
    assert noted == launches.found
    assert len(noted) > 3


@pytest.fixture
def nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels whose code is emitted from now on in this process, which has forgotten what it has compiled."""
    emitted: list[str] = []
    emit = codegen.emit_module
    monkeypatch.setattr(codegen, "emit_module", lambda kernel, spec: emitted.append(kernel.name) or emit(kernel, spec))
    compiled_kernel._compiled.clear()
    return emitted


@pytest.mark.parametrize(
    ("checks", "options"),
    [
        pytest.param("bounds", {"dtype": "float16"}, id="halves"),
        pytest.param("bounds", {}, id="bounds", marks=pytest.mark.slow),
        pytest.param("full", {}, id="full", marks=pytest.mark.slow),
    ],
)
def test_a_run_emits_nothing_that_was_compiled_ahead(checks, options, models, prepared, nothing_in_memory):
    device = adreno_sim.open_device("sim:adreno-740", checks=checks)
    ready = prepared(models["small"], **options)
    rerun = WidePrecisionRerun(ready.compiled, ready.kernels)
    with VirtualMachine(ready.compiled, device) as machine:
        for name in ready.compiled.kernels:
            machine.kernel(name)
        with keeping_others_out(), doing_beside(lambda: ahead.compile_backwards(machine, ready.arrays, rerun)) as compiled:
            compiled()
        assert not nothing_in_memory  # the child has
    report = adreno_sim.check(models["small"], device=device, **options)
    assert report.exit_code == 0
    assert not nothing_in_memory


def test_what_a_rehearsal_cannot_follow_is_compiled_by_the_run(models, prepared, adreno, monkeypatch):
    def stop(self, *args, **more):
        raise adreno_sim.AdrenoSimError("it ends here")

    ready = prepared(models["tiny"])
    monkeypatch.setattr(Rehearsal, "launch", stop)
    with VirtualMachine(ready.compiled, adreno) as machine:
        ahead.compile_backwards(machine, ready.arrays, None)
        assert len(machine.run(ready.arrays)) == 1
