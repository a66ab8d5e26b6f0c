"""A launch of the engine without a device: kernel, specialization and bound arguments are the test's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from adreno_sim.engine.abi.bound import Bound
from adreno_sim.engine.abi.launch_facts import facts_of
from adreno_sim.engine.abi.specialization import Specialization
from adreno_sim.engine.run import optimistic, second_run
from adreno_sim.engine.run.launch import RawResult
from adreno_sim.engine.run.launch_analysis import analyze_launch
from adreno_sim.ir import ir


def launch_kernel(
    kernel: ir.Function,
    spec: Specialization,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    **options: Any,
) -> RawResult:
    """Analyses the launch and runs it as a device does; `options` are those of `optimistic.run`."""
    variant = analyze_launch(kernel, spec, facts_of(kernel, spec, global_size, offset, args), keep=True).variant()
    run = optimistic.run
    if options.get("watch_range") is None and second_run.is_due(variant):
        run = partial(second_run.run, save=lambda why: "not saved")
    result = run(variant, global_size, offset, args, **options)
    assert not result.difference, result.difference
    return result
