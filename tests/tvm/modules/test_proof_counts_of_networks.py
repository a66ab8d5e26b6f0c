"""How much is proven of kernels that TVM generates: golden/data/proof-counts.json holds the numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import relax_models
from proof_counts import GOLDEN, Counts, compare_proofs, count_proofs

import adreno_sim
from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.importers.inputs import make_inputs
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.run.observer import LaunchCall, Observer
from adreno_sim.compiler.run.vm import run
from adreno_sim.compiler.tvm_bridge.versions import tvm_series
from adreno_sim.results.snapshots import SnapshotFile

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from tvm_worker import light_model

pytestmark = pytest.mark.skipif(tvm_series() != "0.27", reason="each TVM generates kernels of its own; 0.27's are counted")


class Counting(Observer):
    """Counts what is proven of each launch; one after another with the same kernel has its number."""

    def __init__(self) -> None:
        self.device = adreno_sim.open_device("sim:adreno-740", checks="full")
        self.found: dict[str, Counts] = {}

    def before_launch(self, launch: LaunchCall) -> None:
        counts = count_proofs(self.device, launch.kernel, launch.global_size, launch.local_size, launch.args)
        self.found[f"{launch.index} {launch.code.name}"] = counts


@pytest.mark.parametrize("target", ["buffer", "texture"])
@pytest.mark.parametrize("network", ["convolutions", pytest.param("squeezenet", marks=pytest.mark.slow)])
def test_proofs_of_networks(network: str, target: str, request: pytest.FixtureRequest) -> None:
    stored = SnapshotFile(GOLDEN, bool(request.config.getoption("--update-snapshots")))
    source: Any = load_model(light_model(network) if network == "squeezenet" else relax_models.convolutions())
    model, counting = extract(lower(source.module, target), network), Counting()
    run(model, dict(make_inputs(source)), counting.device, counting)
    compare_proofs(stored, f"tvm/{network}/{target}", counting.found)
    stored.save()
