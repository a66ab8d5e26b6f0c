"""The launches whose proofs are compared: the kernels that `tests/proof_counts.py` counts, and the rows of
`tests/in_range_cases.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "models"))

import cases
from in_range_cases import DOUBTFUL, HEAD, ITEMS, LOCAL, LOOPS, RULES

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.device.protocol import Device, Kernel
from adreno_sim.engine.abi.bound import BoundBuffer
from adreno_sim.engine.abi.launch_facts import LaunchFacts, facts_of
from adreno_sim.engine.abi.specialization import BufferArg, ScalarArg, Specialization
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.memory_ops import touches_memory
from adreno_sim.launch_spec.bind import BoundArguments, RejectedCall
from adreno_sim.launch_spec.read import read_launch

CORPUS = Path(__file__).parents[2] / "tests" / "kernels" / "corpus"
USES = {"in range": "a[{0}] |= 1;", "one too high": "a[({0}) + 1] |= 1;", "one too low": "a[({0}) - 1] |= 1;"}
"""How a row's index is used. Those of RULES and LOOPS reach both ends of `a`, so that only the first use is in range."""


class Launch(NamedTuple):
    """What a proof is about. wrong: what is known to be out of range ("line 3") or to have a race ("argument a"): a proof of it
    would be wrong."""

    group: str
    name: str
    kernel: ir.Function
    spec: Specialization
    facts: LaunchFacts
    wrong: frozenset[str] = frozenset()


def known_launches(networks: bool = False) -> Iterator[Launch]:
    """Yields the launches; one that is refused before any code runs is left out. `networks`: those of a network too, for which
    TVM is needed."""
    yield from _corpus_launches()
    yield from _measured_launches()
    yield from _row_launches()
    if networks:
        yield from _network_launches()


def launch_on(device: Device, kernel: Kernel, global_size: Any, local_size: Any, arguments: Any, names: tuple[str, str]):
    """Yields what a device makes of a launch; nothing of one without work-items."""
    analysis = device.prepare(kernel, global_size, local_size, arguments).config.analysis  # type: ignore[attr-defined]
    if analysis is not None:
        yield Launch(*names, analysis.kernel, analysis.spec, analysis.facts)


def _corpus_launches() -> Iterator[Launch]:
    for path in sorted(CORPUS.rglob("*.toml")):
        for variant in ("", "clean"):
            spec = read_launch(path, variant)
            source, names = path.with_suffix(".cl"), ("corpus", f"{path.parent.name}/{path.stem} {variant or 'defect'}")
            try:
                device = adreno_sim.open_device(spec.device or None, **{**spec.run, "checks": "full"})
                program = device.build(source.read_text(), f"{spec.options} -I {source.parent}")
                kernel = program[spec.kernel or program.kernel_names()[0]]
                values = BoundArguments(device, spec, kernel.params).values
                yield from launch_on(device, kernel, spec.global_size, spec.local_size, values, names)
            except (AdrenoSimError, RejectedCall):
                continue


def _measured_launches() -> Iterator[Launch]:
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    for case in cases.all_cases():
        kernel = device.build(case.source, case.options)[case.kernel]
        given = [_make_argument(device, case, argument) for argument in case.arguments]
        names = "bench", f"{case.kernel} {case.dtype} {case.size}"
        yield from launch_on(device, kernel, case.global_size, case.local_size, given, names)


def _make_argument(device: Device, case: cases.Case, argument: Any) -> Any:
    if not isinstance(argument, cases.Tensor):
        return argument
    spec = argument.spec(cases.ELEMENT[case.dtype])
    return device.view(device.allocate(device.view_nbytes(spec)), spec)


def _row_launches() -> Iterator[Launch]:
    for use, text in USES.items():
        for name, (make, elements) in RULES.items():
            yield row_launch("rules", name, use, f"{HEAD} long E; {make} {text.format('E')} }}", elements)
        for name, (loop, elements) in LOOPS.items():
            source = f"{HEAD} long X; {loop.replace('USE', text.format('X'))} }}"
            yield row_launch("loops", name, use, source, elements)
    for name, (make, elements) in DOUBTFUL.items():
        use = USES["in range"]
        source = f"#define STORE(j) {use.format('j')}\n{HEAD} long E; {make} {use.format('E')} }}"
        yield row_launch("doubtful", name, "", source, elements)


def row_launch(group: str, name: str, use: str, source: str, elements: int) -> Launch:
    """A launch with a buffer `a` of so many ints, a buffer `b` of as many as work-items, and 7 and 5 for `n` and `u`."""
    kernel = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
    specs = BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4)
    spec = Specialization(local_size=(LOCAL, 1, 1), args=specs)
    numbers = (7).to_bytes(4, "little"), (5).to_bytes(4, "little")
    facts = facts_of(kernel, spec, (ITEMS, 1, 1), (0, 0, 0), [BoundBuffer(0, 4 * elements), BoundBuffer(0, 256), *numbers])
    lines = {f"line {i.loc.line}" for block in kernel.blocks for i in block.instrs if touches_memory(i)}
    return Launch(group, f"{name} {use}".strip(), kernel, spec, facts, frozenset(lines if use.startswith("one too") else ()))


def _network_launches() -> Iterator[Launch]:
    import relax_models

    from adreno_sim.compiler.extract.module import extract
    from adreno_sim.compiler.importers.inputs import make_inputs
    from adreno_sim.compiler.importers.load import load_model
    from adreno_sim.compiler.lower.pipeline import lower
    from adreno_sim.compiler.run.observer import LaunchCall, Observer
    from adreno_sim.compiler.run.vm import run

    found: list[Launch] = []

    class Collecting(Observer):
        def before_launch(self, launch: LaunchCall) -> None:
            names = "tvm", f"{target} {launch.index} {launch.code.name}"
            found.extend(launch_on(device, launch.kernel, launch.global_size, launch.local_size, launch.args, names))

    for target in ("buffer", "texture"):
        device = adreno_sim.open_device("sim:adreno-740", checks="full")
        source: Any = load_model(relax_models.convolutions())
        run(extract(lower(source.module, target), "convolutions"), dict(make_inputs(source)), device, Collecting())
    yield from found
