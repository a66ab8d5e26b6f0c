"""What compiling keeps: TVM holds on to the classes of Python passes, of which there must be no more for each module."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_process import call_in_fresh_process

from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

pytestmark = pytest.mark.tvm

MEGABYTES = 32


def resident() -> float:
    """Megabytes of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def module() -> Any:
    """One function that multiplies by a constant of MEGABYTES."""
    tvm = import_tvm()
    relax = tvm.relax
    builder = relax.BlockBuilder()
    typed = relax.TensorStructInfo if hasattr(relax, "TensorStructInfo") else relax.TensorType
    x = relax.Var("x", typed([1, 1024], "float32"))
    weight = np.random.default_rng(0).random((1024, MEGABYTES * 256), dtype=np.float32)
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.matmul(x, relax.const(weight)))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_module_that_was_lowered_goes(target: str) -> None:
    megabytes, classes = call_in_fresh_process(measure, target)
    assert megabytes < 2.5 * MEGABYTES, f"{megabytes} MB more after five modules"
    assert classes == 0, f"{classes} classes more after five modules"


def count_classes() -> int:
    return sum(isinstance(found, type) for found in gc.get_objects())


def measure(target: str) -> tuple[float, int]:
    """Megabytes and classes that five more modules leave."""
    lower(module(), target)
    before, classes = resident(), count_classes()
    for _ in range(5):
        lower(module(), target)
    return resident() - before, count_classes() - classes
