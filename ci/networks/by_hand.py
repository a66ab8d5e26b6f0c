"""Runs a saved bundle once on the simulated device, and its model by ONNX Runtime or PyTorch, on inputs of its own.

python ci/networks/by_hand.py BUNDLE.asim MODEL.onnx|MODEL.pt2 [--input-value NAME=NUMBER]

Prints a line of JSON: of each output the largest difference and the largest value. Nothing of the check takes part: it says
whether a verdict was right.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import adreno_sim
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.run.vm import run


def make_inputs(model: CompiledModel) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    inputs = []
    for info in model.inputs:
        shape = tuple(size if isinstance(size, int) else 1 for size in info.shape)
        if np.issubdtype(np.dtype(info.dtype), np.floating):
            inputs.append(random.uniform(0, 1, shape).astype(np.float16).astype(info.dtype))
        else:
            low, high = info.bounds or (0, 1)
            inputs.append(random.integers(max(low, 0), min(high, 100), shape, endpoint=True).astype(info.dtype))
    return inputs


def run_onnx(path: Path, inputs: dict[str, np.ndarray], values: dict[str, float]) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feed = {}
    for wanted in session.get_inputs():
        kind = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}.get(wanted.type)
        kind = kind or wanted.type.removeprefix("tensor(").removesuffix(")")
        given = inputs[wanted.name] if wanted.name in inputs else np.array(values[wanted.name])
        feed[wanted.name] = given.astype(kind)
    return [np.asarray(value) for value in session.run(None, feed)]


def run_torch(path: Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    import torch

    program = torch.export.load(str(path))
    given = [torch.from_numpy(value.astype(np.float32) if value.dtype == np.float16 else value) for value in inputs]
    with torch.no_grad():
        got = program.module()(*given)
    leaves = torch.utils._pytree.tree_leaves(got)
    return [leaf.detach().numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("model", type=Path)
    parser.add_argument("--input-value", action="append", default=[])
    options, _ = parser.parse_known_args()
    model = CompiledModel.load(options.bundle)
    inputs = make_inputs(model)
    got = run(model, inputs, adreno_sim.open_device("sim:adreno-740", checks="bounds"))
    if options.model.suffix == ".pt2":
        wanted = run_torch(options.model, inputs)
    else:
        values = {name: float(value) for name, value in (pair.split("=") for pair in options.input_value)}
        wanted = run_onnx(options.model, {info.name: value for info, value in zip(model.inputs, inputs, strict=True)}, values)
    rows = []
    for mine, other in zip(got, wanted, strict=True):
        one, two = mine.astype(np.float64).reshape(-1), other.astype(np.float64).reshape(-1)
        same = one.shape == two.shape and bool(np.all(np.isnan(one) == np.isnan(two)))
        difference = float(np.nanmax(np.abs(one - two), initial=0)) if same else float("inf")
        rows.append(
            {"difference": difference, "largest": float(np.nanmax(np.abs(two), initial=0)), "spread": float(np.nanstd(two))}
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
