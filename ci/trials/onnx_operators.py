"""Checks the single-operator cases that come with onnx, on both targets: what is right, refused, wrong, or crashes.

python ci/trials/onnx_operators.py [PATTERN ...] [--most 4] [--jobs 2] [--targets texture,buffer]

A case whose inputs TVM must know is checked once more with all but its first input as constants, as networks have them. Where
ONNX Runtime does not judge a case, its outputs are compared with those that onnx gives. Left out are cases of training, of random
numbers, of bits, and of types that no float or half network holds. Exit code: 0 all are right or refused in one line, else 1.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from onnx import numpy_helper

LEFT_OUT = {"ai.onnx.ml", "ai.onnx.preview.training"}
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
WHOLE = {"BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"}
TRAINING = {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "ImageDecoder"}
TYPES = {"float32", "float16", "int8", "uint8", "int32", "int64", "bool"}


class Case(NamedTuple):
    """A model of one node (serialised), its inputs and expected outputs, and the case's relative tolerance."""

    name: str
    operator: str
    model: bytes
    inputs: list[Any]
    outputs: list[Any]
    rtol: float


class Verdict(NamedTuple):
    """Of one case on one target: "ok", "refused", "WRONG" or "CRASH", and why."""

    case: str
    operator: str
    target: str
    kind: str
    why: str
    seconds: float


def collect(most: int, patterns: list[str]) -> list[Case]:
    """At most so many cases of each operator, those of floats first."""
    from onnx.backend.test.case.node import collect_testcases

    by_operator: dict[str, list[Case]] = defaultdict(list)
    for found in collect_testcases(None):
        case = _take(found)
        if case is not None and (not patterns or any(pattern in case.name for pattern in patterns)):
            by_operator[case.operator].append(case)
    return [case for cases in by_operator.values() for case in _spread(sorted(cases, key=_is_integer), most)]


def _take(found: Any) -> Case | None:
    nodes = found.model.graph.node
    if len(nodes) != 1 or nodes[0].domain in LEFT_OUT or nodes[0].op_type in RANDOM | TRAINING | WHOLE:
        return None
    inputs, outputs = found.data_sets[0]
    if "_expanded" in found.name or not all(_is_tensor(value) for value in (*inputs, *outputs)):
        return None
    return Case(found.name, nodes[0].op_type, found.model.SerializeToString(), list(inputs), list(outputs), max(found.rtol, 1e-3))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and str(value.dtype) in TYPES


def _is_integer(case: Case) -> bool:
    return not any("float" in str(value.dtype) for value in (*case.inputs[:1], *case.outputs[:1]))


def _spread(cases: list[Case], most: int) -> list[Case]:
    return cases if len(cases) <= most else [cases[index * (len(cases) - 1) // (most - 1)] for index in range(most)]


def judge(case: Case, target: str) -> Verdict:
    """Check a case unchanged; where that is refused, with constants."""
    start = time.monotonic()
    kind, why = _check(case, target, constants=False)
    if kind == "refused" and len(case.inputs) > 1:
        again = _check(case, target, constants=True)
        kind, why = again if again[0] != "refused" else (kind, f"{why} || with constants: {again[1]}")
    return Verdict(case.name, case.operator, target, kind, " ".join(why.split()), time.monotonic() - start)


def _check(case: Case, target: str, constants: bool) -> tuple[str, str]:
    import onnx

    import adreno_sim

    model = onnx.load_from_string(case.model)
    names = [info.name for info in model.graph.input]
    inputs = dict(zip(names, map(np.asarray, case.inputs), strict=True))
    if constants:
        for name in names[1:]:
            model.graph.initializer.append(numpy_helper.from_array(inputs.pop(name), name))
        del model.graph.input[1:]
    try:
        report = adreno_sim.check(model, inputs, target=target)
        if not report.ok:
            errors = [finding.message for finding in report.findings if finding.severity.name == "ERROR"]
            return "WRONG", "; ".join(errors or [report.verdict])
        if any(output.reference == "ONNX Runtime" for output in report.outputs):
            return "ok", "ONNX Runtime"
        return _compare(case, model, inputs, target)
    except adreno_sim.UnsupportedError as error:
        return "refused", str(error)
    except adreno_sim.AdrenoSimError as error:
        return "refused", f"usage: {error}"
    except Exception:  # what a user would see as a crash
        return "CRASH", traceback.format_exc()[-1500:]


def _compare(case: Case, model: Any, inputs: dict[str, Any], target: str) -> tuple[str, str]:
    """The outputs of a run on the device against those of the case."""
    import adreno_sim
    from adreno_sim.compiler.compile import compile_model
    from adreno_sim.compiler.run.vm import run

    device = adreno_sim.open_device("sim:adreno-740", checks="bounds")
    compiled = compile_model(model, target=target, limits=device.info.limits)
    got = run(compiled, {info.name: inputs[info.name] for info in compiled.inputs}, device)
    for number, (have, want) in enumerate(zip(got, map(np.asarray, case.outputs), strict=True)):
        if have.shape != want.shape or have.dtype != want.dtype:
            return "WRONG", f"output {number} is {have.dtype}{have.shape}, expected {want.dtype}{want.shape}"
        half = any(value.dtype == np.float16 for value in (have, *inputs.values()))
        if not np.allclose(have, want, rtol=case.rtol, atol=4e-3 if half else 1e-5, equal_nan=True):
            return "WRONG", f"output {number} differs from onnx's by {np.nanmax(np.abs(have.astype('f8') - want.astype('f8'))):g}"
    return "ok", "onnx"


def main() -> int:
    """Print a line for each case and target, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--most", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--targets", default="texture,buffer")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = collect(given.most, given.patterns)
    work = [(case, target) for case in cases for target in given.targets.split(",")]
    print(f"{len(cases)} cases of {len({case.operator for case in cases})} operators", flush=True)
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(given.jobs) as pool:
        for verdict in pool.map(judge, *zip(*work, strict=True)):
            counts[verdict.kind] += 1
            print(
                "\t".join((verdict.kind, verdict.operator, verdict.case, verdict.target, f"{verdict.seconds:.1f}", verdict.why)),
                flush=True,
            )
    print(", ".join(f"{kind}: {count}" for kind, count in counts.most_common()))
    return 0 if set(counts) <= {"ok", "refused"} else 1


if __name__ == "__main__":
    sys.exit(main())
