"""Planners on whole networks, each plan applied and run: python ci/bench/plans_networks.py [NAME ...] [--target TARGET]

A row for each network: the least bytes of its tensors in the order as compiled, what the compiled plan, arena and
arena-reordered take, and whether a run under each gives the same outputs bit by bit as the model as compiled.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "models"))

import branchy_networks
import relax_models

from adreno_sim import open_device
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.plan.apply import apply
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.footprint import measure
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run import vm

DEVICE = "sim:adreno-740"
PLANNERS = ("arena", "arena-reordered")
LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
"""ONNX's networks whose weights are left open."""


def sources() -> dict[str, Callable[[], Any]]:
    """Every network by name."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    light = {name: lambda name=name: str(folder / f"light_{name}.onnx") for name in LIGHT}
    own = {made.__name__: made for made in (relax_models.convolutions, relax_models.mobilenet, relax_models.decoder)}
    return {**branchy_networks.NETWORKS, **own, **light}


def inputs_of(model: CompiledModel) -> list[np.ndarray]:
    """Random inputs; integers are in the range that the model takes."""
    rng, found = np.random.default_rng(0), []
    for info in model.inputs:
        shape = tuple(int(size) for size in info.shape)
        if info.dtype.startswith("float"):
            found.append(rng.standard_normal(shape).astype(info.dtype))
        else:
            low, high = info.bounds or (0, 1)
            found.append(rng.integers(low, high, shape, endpoint=True).astype(info.dtype))
    return found


def run(model: CompiledModel) -> list[bytes]:
    """The outputs of one run without checks."""
    return [out.tobytes() for out in vm.run(model, inputs_of(model), open_device(DEVICE, checks="off"))]


def print_row(name: str, source: Any, target: str) -> None:
    """Compile, plan, apply and run one network."""
    device = open_device(DEVICE)
    rules = DeviceRules.of_device(device)
    model = compile_model(source, target=target, limits=device.info.limits)
    start = time.perf_counter()
    footprint = measure(extract_plan(model), rules, PLANNERS, model=model)
    seconds = time.perf_counter() - start
    compiled, arena, reordered = footprint.rows
    expected = run(model)
    allocations = [footprint.of(planner) for planner in PLANNERS]
    same = all(run(apply(model, allocation, rules)) == expected for allocation in allocations)
    gain = 1 - reordered.total / arena.total
    print(
        f"| {name} | {len(footprint.problem.items)} | {footprint.problem.lower_bound():,} | {compiled.total:,} | {arena.total:,} "
        f"| {arena.ratio:.4f} | {reordered.total:,} | {gain:.1%} | {'equal' if same else 'DIFFERENT'} | {seconds:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sources()
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)} (default: all)")
    parser.add_argument("--target", default="texture", choices=("texture", "buffer"))
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
    print("| network | tensors | bound | as compiled | arena | over the bound | arena-reordered | less | outputs | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in options.names or known:
        print_row(name, known[name](), options.target)


if __name__ == "__main__":
    main()
