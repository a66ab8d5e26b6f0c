"""The process that holds TVM, started by children.py: compiles networks for the devices, and runs them on its own llvm target.

python tvm_worker.py tvm FILE_DESCRIPTOR
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from serving import serve

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.importers.inputs import make_inputs
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.importers.model import Model
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

LANES = 32
"""Most elements of the innermost loop that a schedule makes a vector of: two registers of AVX-512 in float."""


class Worker:
    """What the child can be asked. One network is loaded at a time."""

    def __init__(self, _device: str):
        self._network = ""
        self._model: Model | None = None
        self._machine: Any = None
        self._inputs: list[Any] = []

    def prepare(self, network: str, target: str, folder: Path) -> tuple[Path, Path]:
        """Compile a network for Adreno: the paths of its bundle and of its inputs in `folder`."""
        model = self._load(network)
        bundle, inputs = folder / f"{network}-{target}.asim", folder / f"{network}.npz"
        extract(lower(model.module, target), network).save(bundle)
        arrays: dict[str, Any] = dict(make_inputs(model))
        np.savez(inputs, **arrays)
        return bundle, inputs

    def load(self, network: str) -> float:
        """Compile a network for this processor; seconds."""
        tvm = import_tvm()
        model = self._load(network)
        start = time.perf_counter()
        target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "num-cores": threads()})
        self._machine = tvm.relax.VirtualMachine(tvm.compile(_scheduled(model.module, target), target=target), tvm.cpu())
        self._inputs = [tvm.runtime.tensor(array) for array in make_inputs(model).values()]
        return time.perf_counter() - start

    def run(self, count: int) -> list[float]:
        """Seconds of each of `count` runs of the whole network."""
        return [self._once() for _ in range(count)]

    def outputs(self) -> list[np.ndarray]:
        result = self._machine["main"](*self._inputs)
        return [result.numpy()] if hasattr(result, "numpy") else [item.numpy() for item in result]

    def _once(self) -> float:
        start = time.perf_counter()
        self._machine["main"](*self._inputs)
        return time.perf_counter() - start

    def _load(self, network: str) -> Model:
        if self._model is None or network != self._network:
            self._network, self._model = network, load_model(light_model(network))
        return self._model


def threads() -> int:
    return int(os.environ["TVM_NUM_THREADS"])


def light_model(name: str) -> Path:
    """Path of one of the `onnx` package's light models: structure without weights."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    if not path.is_file():
        raise AdrenoSimError(f"network {name!r}: {path.parent} has no {path.name}")
    return path


def _scheduled(module: Any, target: Any) -> Any:
    """The module fused as for the CPU, every loop nest with a default schedule: outer loops in parallel, inner ones vectors.

    TVM brings rules for few operators; without one a nest runs on one thread, which is not a yardstick.
    """
    tvm = import_tvm()
    passes = tvm.relax.transform
    steps = [passes.LegalizeOps(), passes.AnnotateTIROpPattern(), passes.FoldConstant(), passes.FuseOps(), passes.FuseTIR()]
    with target:
        module = tvm.transform.Sequential(steps)(module)
    for var, function in module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc) and "tirx.is_scheduled" not in (function.attrs or {}):
            module[var] = _schedule(function)
    return module


def _schedule(function: Any) -> Any:
    tvm = import_tvm()
    schedule = tvm.s_tir.Schedule(function)
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        before = schedule.copy()
        try:
            _schedule_block(schedule, schedule.get(block).name_hint)
        except (tvm.s_tir.ScheduleError, ValueError):
            schedule = before
    return schedule.mod["main"]


def _schedule_block(schedule: Any, name: str) -> None:
    """Innermost a piece of the last spatial loop as a vector, around it the reduction, around that the rest in parallel."""
    block = schedule.get_sblock(name)
    kinds = [int(var.iter_type) for var in schedule.get(block).iter_vars]
    loops = schedule.get_loops(block)
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == 0]
    reduced = [loop for loop, kind in zip(loops, kinds, strict=True) if kind != 0]
    extent = int(schedule.get(spatial[-1]).extent)
    lanes = max(n for n in range(1, LANES + 1) if extent % n == 0)  # a ragged end would undo the vector
    last, inner = schedule.split(spatial[-1], [None, lanes])
    schedule.reorder(*spatial[:-1], last, *reduced, inner)
    schedule.vectorize(inner)
    schedule.parallel(schedule.fuse(*spatial[:-1], last))
    if reduced:
        schedule.decompose_reduction(block, reduced[0])


if __name__ == "__main__":
    serve(Worker(sys.argv[1]), sys.argv[2])
