"""Whole networks in halves: right ones pass on both targets, one edited line in one kernel is found.

native: tensors of the model itself are float16; half sums, float sums: a float32 model stored in float16, its sums in either.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import relax_models

import adreno_sim
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.check import prepare as prepared
from adreno_sim.findings import Kind

pytestmark = pytest.mark.tvm

MODES: dict[str, dict[str, str]] = {
    "native": {},
    "half sums": {"dtype": "float16", "accumulate": "float16"},
    "float sums": {"dtype": "float16", "accumulate": "float32"},
}


def light(name: str, dtype: str) -> Any:
    """A network of the onnx package, with seeded weights, in `dtype`; TVM imports LRN in float32 only, so that it stays there."""
    onnx = pytest.importorskip("onnx")
    from adreno_sim.compiler.importers.onnx_graph import simplify
    from adreno_sim.compiler.importers.onnx_weights import seed_placeholders
    from adreno_sim.golden.onnx_model import LargeArrays

    folder = Path(importlib.util.find_spec("onnx").submodule_search_locations[0])
    proto = onnx.load(folder / "backend" / "test" / "data" / "light" / f"light_{name}.onnx")
    if dtype == "float32":
        return proto
    arrays = LargeArrays()
    seed_placeholders(proto, arrays, 0)
    graph = simplify(proto, arrays).graph
    wide, half = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
    for tensor in graph.initializer:
        if tensor.data_type == wide:
            array = arrays.array(tensor).astype(dtype)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.elem_type = half
    nodes = []
    for node in [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]:
        if node.op_type != "LRN":
            nodes.append(node)
            continue
        (given,), (made,) = node.input, node.output
        node.input[0], node.output[0] = f"{given}_wide", f"{made}_wide"
        cast = onnx.helper.make_node
        nodes += [cast("Cast", [given], node.input, to=wide), node, cast("Cast", node.output, [made], to=half)]
    for field, found in ((graph.node, nodes), (graph.value_info, [])):
        del field[:]
        field.extend(found)
    return proto


TERM = {
    "texture": (
        r"(ic_0 < (?P<terms>\d+);.*?for \(int ic_1 = 0; ic_1 < 4; \+\+ic_1\) \{)",
        r"\1 if (ic_0 == 0 && ic_1 == 2) continue;",
    ),
    "buffer": (r"if \(\(convert_int\(get_local_id\(0\)\)\) < (?P<terms>\d+)\) \{(?=\s+in_thread_\w+\[0\] = \(in_thread_)", "-1"),
}
"""One term of a sum, or one for each tap of a filter, is lost."""

LANES = {
    "texture": (r"as_half4\(v__1\)\)", "as_half4(v__1).yxzw)"),
    "buffer": (r"(param_1_ptr\[)(?=\()", r"\g<1>0 * "),
}
"""Two lanes of a texel change places; every channel gets the bias of the first."""

TARGETS = ("texture", "buffer")
NETWORKS: dict[str, tuple[Callable[[str], Any], dict[str, tuple[str, str]]]] = {
    "one block": (lambda dtype: relax_models.mobilenet(dtype=dtype, blocks=1), {**TERM, "texture": LANES["texture"]}),
    "mobilenet": (lambda dtype: relax_models.mobilenet(dtype=dtype), {**TERM, "texture": LANES["texture"]}),
    "decoder": (lambda dtype: relax_models.decoder(dtype=dtype), dict.fromkeys(TERM, TERM["buffer"])),
    "squeezenet": (lambda dtype: light("squeezenet", dtype), LANES),
    "resnet50": (lambda dtype: light("resnet50", dtype), TERM),
    "inception_v1": (lambda dtype: light("inception_v1", dtype), TERM),
}
"""A network in a type, and the defect that it gets."""


def plant(model: CompiledModel, pattern: str, change: str) -> tuple[CompiledModel, str]:
    """The model with one kernel edited at the pattern's first match: that of the longest sums; and the kernel's name."""
    found: dict[str, Any] = {}
    for name, code in model.kernels.items():
        match = re.search(pattern, code.source, re.DOTALL)
        if match is not None and "softmax" not in name:
            found[name] = match
    name = max(found, key=lambda name: int(found[name].groupdict().get("terms", 1)))
    match, source = found[name], model.kernels[name].source
    if change == "-1":
        edited = f"{source[: match.start('terms')]}{int(match['terms']) - 1}{source[match.end('terms') :]}"
    else:
        edited = source[: match.start()] + match.expand(change) + source[match.end() :]
    return replace(model, kernels={**model.kernels, name: replace(model.kernels[name], source=edited)}), name


QUICK = {
    ("one block", "half sums", "texture"), ("one block", "float sums", "texture"), ("decoder", "native", "buffer"),
}  # fmt: skip
"""Each mode, both targets, a network of convolutions and one of matrix products."""
CASES = [
    pytest.param(*case, id="-".join(case), marks=[] if case in QUICK else [pytest.mark.slow])
    for case in itertools.product(NETWORKS, MODES, TARGETS)
    if case in QUICK or case[0] != "one block"
]


@pytest.mark.parametrize(("name", "mode", "target"), CASES)
def test_a_network_in_halves(name: str, mode: str, target: str, adreno: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make, defects = NETWORKS[name]
    model = make("float16" if mode == "native" else "float32")
    right = adreno_sim.check(model, device=adreno, target=target, **MODES[mode])
    assert right.ok, str(right)
    assert {kernel.status for kernel in right.kernels} <= {"ok", "part"}, str(right)
    assert right.outputs, str(right)
    assert not any("low power" in reason for reason in right.unchecked), str(right)

    planted = []

    def extract_wrong(*args: Any) -> CompiledModel:
        wrong, kernel = plant(extract(*args), *defects[target])
        planted.append(kernel)
        return wrong

    extract = prepared.extract_model
    monkeypatch.setattr(prepared, "extract_model", extract_wrong)
    report = adreno_sim.check(model, device=adreno, target=target, **MODES[mode])
    (finding,) = [finding for finding in report.findings if finding.severity.name == "ERROR"]
    assert finding.kind is Kind.WRONG_VALUE, str(report)
    assert planted[0].startswith(finding.detail["function"]), str(report)
