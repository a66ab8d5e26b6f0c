"""One version's side of compare_versions.py: runs all cases and writes what each comes to, as pickles, to a file descriptor.

    python compare_worker.py PACKAGE FILE_DESCRIPTOR FIRST PARTS RANDOM SEED

The kernels, and this file, are those of the tree that it is in; `adreno_sim` is that of the folder PACKAGE.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [sys.argv[1], *(str(ROOT / folder) for folder in ("tests/kernels", "tests", "ci/bench"))]

import numpy as np  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.device.protocol import Device, LaunchResult  # noqa: E402
from adreno_sim.findings import Finding  # noqa: E402

Record = dict[str, Any]
"""What a case comes to, by the place where it is seen: text, or an array."""

LEVELS = ("bounds", "full")
NETWORKS = (("squeezenet", "buffer"), ("squeezenet", "texture"), ("inception_v1", "texture"))
BATCH = 10
"""Random kernels of one program: clang needs as long for ten as for two alone."""
LARGE = 1 << 16
"""Bytes from which on a digest stands for an array."""


def all_cases(parts: Sequence[str], count: int, seed: int) -> Iterator[tuple[str, Callable[[], Record]]]:
    """Each case's name and what runs it, in the same order in every process."""
    if "corpus" in parts:
        for path in sorted((ROOT / "tests/kernels/corpus").rglob("*.toml")):
            for variant in ("", "clean"):
                for checks in LEVELS:
                    name = f"corpus {path.parent.name}/{path.stem} {variant or 'defect'} {checks}"
                    yield name, lambda path=path, variant=variant, checks=checks: run_corpus(path, variant, checks)
    if "random" in parts:
        for start in range(0, count, BATCH):
            numbers = range(start, min(start + BATCH, count))
            yield f"random {seed}/{numbers[0]}..{numbers[-1]}", lambda numbers=numbers: run_random(seed, numbers)
    if "networks" in parts:
        for network, target in NETWORKS:
            yield f"network {network}/{target}", lambda network=network, target=target: run_network(network, target)


class Recorder:
    """A device that notes what each launch does. Everything else is the device's own."""

    def __init__(self, device: Device, record: Record, prefix: str = ""):
        self._device, self._record, self._prefix, self._count = device, record, prefix, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, kernel: Any, global_size: Any, local_size: Any, args: Any, **options: Any) -> LaunchResult:
        where = f"{self._prefix}launch {self._count} of {kernel.name}"
        self._count += 1
        try:
            result = self._device.launch(kernel, global_size, local_size, args, **options)
        except Exception as error:
            self._record[f"{where}: error"] = f"{type(error).__name__}: {error}"
            raise
        note_launch(self._record, where, result)
        if not any(finding.kind.label == "watchdog" for finding in result.findings):  # else the clock decides what ran
            for index, arg in enumerate(args):
                if hasattr(arg, "storage"):
                    note_array(self._record, f"{where}: argument {index}", self._device.read(arg))
        return result


def note_launch(record: Record, where: str, result: LaunchResult) -> None:
    """Notes all that a launch reports except for times."""
    record[f"{where}: findings"] = "\n".join(map(finding_text, result.findings))
    record[f"{where}: stores"] = "\n".join(map(str, result.stores))
    record[f"{where}: printed"] = result.printed
    record[f"{where}: proven"] = str(result.accesses)
    record[f"{where}: failures of analyses"] = "\n".join(result.failures)


def finding_text(finding: Finding) -> str:
    place = f"line {finding.line}:{finding.column}, {finding.work_item}, count {finding.count}, {finding.access}"
    return f"{finding.kind.label} at {place}: {finding.message}"


def note_array(record: Record, where: str, array: np.ndarray) -> None:
    large = array.nbytes > LARGE
    record[where] = f"sha256 {hashlib.sha256(array.tobytes()).hexdigest()}" if large else array


def run_corpus(path: Path, variant: str, checks: str) -> Record:
    from adreno_sim.launch_spec.read import read_launch
    from adreno_sim.launch_spec.run import run_launch

    record: Record = {}
    spec = read_launch(path, variant)
    options = {**spec.run, "checks": checks, "threads": 1}  # on several threads a race decides what is computed
    device = Recorder(adreno_sim.open_device(spec.device or "sim:adreno-740", **options), record)
    report = run_launch(spec, path.with_suffix(".cl"), device=device, variant=variant)
    record["verdict"], record["refused"] = report.verdict, report.refused
    told = [*report.findings, *report.expected, *report.allowed]
    record["all findings"] = "\n".join(sorted(map(finding_text, told)))
    record["missing"] = "\n".join(report.missing)
    return record


def run_random(seed: int, numbers: range) -> Record:
    """Runs the kernels of one program, at each level on a device that nothing ran on before."""
    from fuzz import simulator
    from fuzz.campaign import judge_of, numbered
    from fuzz.judge import program

    judge = judge_of(seed, numbers[0])
    cases = [numbered(seed, number) for number in numbers]
    built = [case.build() for case in cases]
    source = program([one.text for one in built], judge)
    record: Record = {"source": hashlib.sha256(source.encode()).hexdigest()}
    for checks in LEVELS:
        simulator.device.cache_clear()
        device = Recorder(simulator.device(checks), record, f"{checks}, ")
        made = device.build(source, judge.options)
        for case, one in zip(cases, built, strict=True):
            args = simulator.arguments(device, one.args)
            with contextlib.suppress(Exception):  # the record names it
                device.launch(made[case.name], case.global_size, case.features.local_size, args)
            simulator.release(device, args)
    return record


def run_network(network: str, target: str) -> Record:
    """Compiles a network with this version, and runs it at each level."""
    from tvm_worker import light_model

    from adreno_sim.compiler.extract.module import extract
    from adreno_sim.compiler.importers.inputs import make_inputs
    from adreno_sim.compiler.importers.load import load_model
    from adreno_sim.compiler.lower.pipeline import lower
    from adreno_sim.compiler.run.vm import run

    source = load_model(light_model(network))
    model = extract(lower(source.module, target), network)
    record: Record = {}
    for checks in LEVELS:
        device = adreno_sim.open_device("sim:adreno-740", checks=checks, threads=1)
        outputs = run(model, dict(make_inputs(source)), Recorder(device, record, f"{checks}, "))
        for index, array in enumerate(outputs):
            note_array(record, f"{checks}: output {index}", array)
    return record


def main() -> None:
    package, descriptor, first, parts, count, seed = sys.argv[1:]
    found = Path(adreno_sim.__file__).parents[1]
    if found != Path(package):
        sys.exit(f"adreno_sim comes from {found}, not from {package}")
    with os.fdopen(int(descriptor), "wb") as stream:
        for number, (name, run) in enumerate(all_cases(parts.split(","), int(count), int(seed))):
            if number < int(first):
                continue
            pickle.dump((number, name, None), stream)  # what it is at, should it die
            stream.flush()
            try:
                record = run()
            except Exception as error:
                record = {"error": f"{type(error).__name__}: {error}"}
            pickle.dump((number, name, record), stream)
            stream.flush()


if __name__ == "__main__":
    main()
