"""What suite_memory.py runs in processes of their own, so that each one's peak is its own: prints one JSON object.

python memory_worker.py write LIGHT FILE        the network with seeded weights in the file; bytes of the weights
python memory_worker.py import FILE             peak of reading it into TVM
python memory_worker.py check FILE OPTION...    exit code and peak of `adreno-sim check`
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def peak() -> int:
    """The most memory that this process has had, in bytes. (ru_maxrss begins at what the parent had.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def write(light: str, file: str) -> dict[str, Any]:
    import onnx

    from adreno_sim.compiler.importers.onnx_file import read_onnx
    from adreno_sim.compiler.importers.onnx_weights import seed_placeholders

    model = read_onnx(Path(light))
    seed_placeholders(model.proto, model.arrays)
    weights = 0
    for tensor in model.proto.graph.initializer:
        array = model.arrays.array(tensor)
        weights += array.nbytes
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    onnx.save(model.proto, file)
    return {"weights": weights}


def read(file: str) -> dict[str, Any]:
    from adreno_sim.compiler.importers.load import load_model

    load_model(file)
    return {"peak": peak()}


def check(file: str, *options: str) -> dict[str, Any]:
    from adreno_sim.cli.main import main

    start = time.perf_counter()
    code = main(["check", file, *options])
    return {"peak": peak(), "code": code, "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    job, *given = sys.argv[1:]
    print(f"\n{json.dumps({'write': write, 'import': read, 'check': check}[job](*given))}")
