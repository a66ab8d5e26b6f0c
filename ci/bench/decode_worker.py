"""One decode step of a quantised Llama, checked, in a separate process: python decode_worker.py LEVEL LAYERS VOCABULARY

Prints JSON: processor seconds of the check from the module on (children among them), gigabytes of this process at most, kernels
by their verdict, and processor seconds of the largest layer's GEMV beside those of NumPy's float32 product of as many elements.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "models"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "tvm" / "session"))

import paged_llama
from tvm.target import Target

from adreno_sim import Session, open_device
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.check.session.cache_kernels import pair_cache_kernels
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.run.vm import VirtualMachine
from adreno_sim.findings import Severity

ROUNDS = 11
STATE = "vm.builtin.kv_state_"


def seconds() -> float:
    """Processor seconds of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def decode(level: str, layers: int, vocabulary: int) -> dict[str, Any]:
    """Check one step after one token."""
    sizes = replace(paged_llama.LLAMA_1B, layers=layers, vocabulary=vocabulary)
    module, weights = paged_llama.export(sizes, make_target("buffer"), single=True)
    cpu, _ = paged_llama.export(sizes, Target("llvm"), draw=False, single=True)
    references = pair_cache_kernels(module, cpu)
    before = seconds()
    with Session(module, weights, target="buffer", checks=level, references=references) as session:
        cache = session.call("create_kv_cache", (1,), (64,), (16,), (16,), (0,))
        session.call(f"{STATE}add_sequence", cache, 0)
        session.call(f"{STATE}begin_forward", cache, (0,), (1,))
        hidden = session.call("embed", np.array([[3]], np.int32))
        session.call("decode", hidden, cache)
        session.call(f"{STATE}end_forward", cache)
        report = session.report()
        taken = seconds() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    errors = [f"{f.kernel}: {f.message}" for f in report.findings if f.severity is Severity.ERROR]
    status = Counter(kernel.status for kernel in report.kernels)
    gemv, plain = measure_gemv(session.model, level, weights)
    return {"seconds": taken, "memory": memory, "status": status, "errors": errors, "gemv": gemv, "numpy": plain}


def measure_gemv(model: CompiledModel, level: str, weights: dict[str, np.ndarray]) -> tuple[float, float]:
    """Processor seconds of a launch of the largest product of a layer, and of NumPy's on a float32 matrix; medians, in turns."""
    weight, scale = weights["blocks.0.gate_up.weight"], weights["blocks.0.gate_up.scale"]
    rows, columns = len(weight), weight.shape[1] * 8
    rng = np.random.default_rng(0)
    x, matrix = rng.standard_normal((1, 1, columns)), rng.standard_normal((rows, columns), dtype=np.float32)
    arrays = [weight, scale, x.astype(np.float16), np.zeros((1, 1, rows), np.float16)]
    shapes = [array.shape for array in arrays]  # that of prefill has a symbol
    function = next(f for f in model.host_functions.values() if [shape_of(param) for param in f.params] == shapes)
    vector, taken = x.reshape(-1).astype(np.float32), []
    with VirtualMachine(model, open_device(f"sim:adreno-740,checks={level}")) as machine:
        tensors = [machine.upload(f"t{number}", array, "global") for number, array in enumerate(arrays)]
        for _ in range(ROUNDS):
            begin = seconds()
            machine.run_function(function.name, [*tensors])
            machine.device.finish()
            between = seconds()
            matrix @ vector
            taken.append((between - begin, seconds() - between))
        for tensor in tensors:
            tensor.release()
    ours, theirs = zip(*taken[1:], strict=True)  # the first compiles
    return statistics.median(ours), statistics.median(theirs)


def shape_of(param: Any) -> tuple[Any, ...]:
    """The constant dimensions of a parameter."""
    return tuple(getattr(dim, "value", None) for dim in getattr(param, "shape", ()))


if __name__ == "__main__":
    level, layers, vocabulary = sys.argv[1:]
    print(json.dumps(decode(level, int(layers), int(vocabulary))))
