"""Speed against PoCL, as ratios within one run: python ci/bench/run.py [NETWORK ...] (default squeezenet)

Compiles each network for the buffer and the texture target, then times its kernels on the simulator without checks and on
PoCL, two threads each, each in a process of its own with its caches off. Writes RESULTS.md beside this file. Where PoCL is
missing, it says so and gives no ratio.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.extract import extract
from adreno_sim.compiler.importers import load_model
from adreno_sim.compiler.inputs import make_inputs
from adreno_sim.compiler.pipeline import lower

HERE = Path(__file__).parent
THREADS = 2
REPEATS = 7
SIMULATOR = f"sim:adreno-740,checks=off,threads={THREADS},cache=false"
YARDSTICK = "cl:portable"
FUSED = "conv2d"
"""Kernels whose name holds this are the yardstick's: the fused convolutions."""

Times = dict[str, dict[str, float]]


def light_model(name: str) -> Path:
    """Path of one of the `onnx` package's light models."""
    import onnx

    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    if not path.is_file():
        raise AdrenoSimError(f"network {name!r}: {path.parent} has no {path.name}")
    return path


def measure(device: str, bundle: Path, inputs: Path) -> dict[str, Any]:
    """worker.py's result. Raises AdrenoSimError with its last line where it fails."""
    environment = {**os.environ, "POCL_MAX_PTHREAD_COUNT": str(THREADS), "POCL_KERNEL_CACHE": "0"}
    command = [sys.executable, str(HERE / "worker.py"), device, str(bundle), str(inputs), str(REPEATS)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise AdrenoSimError(f"{device}: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def compare(network: str, target: str, folder: Path) -> tuple[list[str], str]:
    """The section of RESULTS.md about one network on one target, and the yardstick's version ("missing ..." without one)."""
    model = load_model(light_model(network))
    compiled = extract(lower(model.module, target), network)
    bundle, inputs = folder / "model.asim", folder / "inputs.npz"
    compiled.save(bundle)
    arrays: dict[str, Any] = make_inputs(model)
    np.savez(inputs, **arrays)
    mine = measure(SIMULATOR, bundle, inputs)
    try:
        other = measure(YARDSTICK, bundle, inputs)
    except AdrenoSimError as error:
        return [f"## {network}, {target}", "", "No ratio: the yardstick is missing.", ""], f"missing ({error})"
    return section(network, target, mine["kernels"], other["kernels"]), other["version"]


def section(network: str, target: str, mine: Times, other: Times) -> list[str]:
    """A table of the fused convolutions, slowest first, and the ratios over them and over all kernels."""
    rows = sorted((name for name in mine if FUSED in name), key=lambda name: -other[name]["run"])
    out = [f"## {network}, {target}", ""]
    out.append("| | compile ratio, median | compile ratio, worst | run ratio, total | run ratio, median | run ratio, worst |")
    out.append("|---|---|---|---|---|---|")
    for label, names in (("fused convolutions", rows), ("all kernels", list(mine))):
        cold = [compile_seconds(mine[name]) / compile_seconds(other[name]) for name in names]
        warm = [mine[name]["run"] / other[name]["run"] for name in names]
        total = sum(mine[name]["run"] for name in names) / sum(other[name]["run"] for name in names)
        values = (statistics.median(cold), max(cold), total, statistics.median(warm), max(warm))
        out.append(f"| {label} ({len(names)}) | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    out += ["", "| fused convolution | compile ms | PoCL | ratio | run ms | PoCL | ratio |", "|---|---|---|---|---|---|---|"]
    for name in rows:
        pairs = [(compile_seconds(mine[name]), compile_seconds(other[name]), 0), (mine[name]["run"], other[name]["run"], 2)]
        cells = [f"{a * 1e3:.{digits}f} | {b * 1e3:.{digits}f} | {a / b:.2f}" for a, b, digits in pairs]
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*out, ""]


def compile_seconds(times: dict[str, float]) -> float:
    """Build and first launch (where the work-group size is known and machine code is made), less one plain run."""
    return times["build"] + max(times["first"] - times["run"], 0.0)


def heading(yardstick: str, load: float) -> list[str]:
    """What was measured, where, and how to read it."""
    when = datetime.datetime.now(datetime.timezone.utc).date()
    return [
        "# Speed against PoCL",
        "",
        f"Written by `python ci/bench/run.py` on {when}: {processor()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}; load average {load:.1f} when it began. Yardstick: {yardstick}.",
        "",
        f"Ratios are this project's time over PoCL's, so less is faster. Both use {THREADS} threads, no checks and no caches on "
        f"disk. Compile: build plus first launch less one run. Run: the fastest of {REPEATS} launches after the first.",
        "",
    ]


def processor() -> str:
    """The processor's name, as Linux gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main(networks: list[str]) -> int:
    lines: list[str] = []
    yardstick, load = "missing", os.getloadavg()[0]
    for network in networks:
        for target in ("buffer", "texture"):
            with tempfile.TemporaryDirectory() as folder:
                part, yardstick = compare(network, target, Path(folder))
                lines += part
    text = "\n".join([*heading(yardstick, load), *lines])
    (HERE / "RESULTS.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or ["squeezenet"]))
    except AdrenoSimError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
