"""How much is proven of every kernel of the corpus and of ci/bench: golden/data/proof-counts.json holds the numbers.

A proof that is lost costs speed, which no other test sees. What is proven anew is recorded with --update-snapshots.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernels.corpus_cases import CASES
from proof_counts import GOLDEN, Counts, compare_proofs, count_proofs, lost_proofs

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.device.protocol import Device
from adreno_sim.launch_spec.bind import BoundArguments, RejectedCall
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.results.snapshots import SnapshotFile

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

import cases


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest) -> Iterator[SnapshotFile]:
    file = SnapshotFile(GOLDEN, bool(request.config.getoption("--update-snapshots")))
    yield file
    file.save()


@pytest.mark.share(3)
@pytest.mark.parametrize("folder", sorted({path.parent.name for path in CASES}))
def test_proofs_of_the_corpus(folder: str, stored: SnapshotFile) -> None:
    launches = [(path, variant) for path in CASES if path.parent.name == folder for variant in ("", "clean")]
    counted = {f"{path.stem} {variant or 'defect'}": _count_corpus(path, variant) for path, variant in launches}
    compare_proofs(stored, f"corpus/{folder}", {name: counts for name, counts in counted.items() if counts})


@pytest.mark.share(3)
@pytest.mark.parametrize("kernel", cases.FAMILIES)
def test_proofs_of_the_measured_kernels(kernel: str, stored: SnapshotFile) -> None:
    found = {
        f"{dtype} {size}": _count_measured(cases.case_of(kernel, dtype, size)) for dtype in cases.ELEMENT for size in cases.SIZES
    }
    compare_proofs(stored, f"bench/{kernel}", found)


def test_what_counts_as_lost() -> None:
    before = {"access sites": 4, "in range": 3}
    assert lost_proofs("k", before, {"access sites": 3, "in range": 3}) == []
    assert lost_proofs("k", before, {"access sites": 4, "in range": 5}) == []
    assert lost_proofs("k", before, {"access sites": 4, "in range": 2}) == ["  k: in range: was 3, is 2"]
    assert lost_proofs("k", before, {}) == ["  k: in range: was 3, is 0"]


def _count_corpus(path: Path, variant: str) -> Counts:
    """What is proven of the launch; nothing where it is refused before any code runs."""
    spec = read_launch(path, variant)
    device = adreno_sim.open_device(spec.device or None, **{**spec.run, "checks": "full"})
    source = path.with_suffix(".cl")
    try:
        program = device.build(source.read_text(), f"{spec.options} -I {source.parent}")
        kernel = program[spec.kernel or program.kernel_names()[0]]
        values = BoundArguments(device, spec, kernel.params).values
        return count_proofs(device, kernel, spec.global_size, spec.local_size, values)
    except (AdrenoSimError, RejectedCall):
        return {}


def _count_measured(case: cases.Case) -> Counts:
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    kernel = device.build(case.source, case.options)[case.kernel]
    arguments = [_make_argument(device, case, argument) for argument in case.arguments]
    return count_proofs(device, kernel, case.global_size, case.local_size, arguments)


def _make_argument(device: Device, case: cases.Case, argument: Any) -> Any:
    if not isinstance(argument, cases.Tensor):
        return argument
    spec = argument.spec(cases.ELEMENT[case.dtype])
    return device.view(device.allocate(device.view_nbytes(spec)), spec)
