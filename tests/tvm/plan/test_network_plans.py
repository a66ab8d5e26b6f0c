"""Real networks compiled: their plans are those saved in golden/plans, and another plan changes no bit of their outputs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plan_figures import FOLDER

from adreno_sim import open_device
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.plan.apply import replan
from adreno_sim.compiler.plan.audit import audit
from adreno_sim.compiler.plan.plan_file import read_plan, write_plan
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run import vm
from adreno_sim.compiler.run.observer import Observer
from adreno_sim.compiler.tvm_bridge.versions import tvm_series
from adreno_sim.findings import Severity

onnx = pytest.importorskip("onnx")
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
FILES = {name: f"light_{name}.onnx" for name in ("squeezenet", "resnet50", "vgg19", "densenet121", "inception_v1")}
FILES |= {"inception_v2": "light_inception_v2.onnx", "alexnet": "light_bvlc_alexnet.onnx", "zfnet512": "light_zfnet512.onnx"}
RULES = DeviceRules.of_device(open_device("sim:adreno-740"))
NETWORKS = [pytest.param(name, marks=() if name == "squeezenet" else pytest.mark.slow) for name in FILES]

pytestmark = pytest.mark.tvm


class Watching(Observer):
    """Counts what must not happen."""

    def __init__(self):
        self.found = []

    def storage_reused(self, tensor, live, where):
        self.found.append(f"{tensor} over {live}")

    def after_launch(self, launch, result):
        self.found += [finding for finding in result.findings if finding.severity is Severity.ERROR]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_plan_is_the_golden_one(network, request):
    if tvm_series() != "0.27":
        pytest.skip("golden plans are those of TVM 0.27")
    plan = compile_model(LIGHT / FILES[network], pipeline="stock").plan
    assert plan is not None
    unnamed = tuple(replace(tensor, producer="", reader="", reads=()) for tensor in plan.tensors)
    fixed = tuple(tensor for tensor in plan.fixed if tensor.kind != "constant")
    plan = replace(plan, model=network, tensors=unnamed, fixed=fixed)
    if request.config.getoption("--update-snapshots"):
        write_plan(FOLDER / f"{network}.json", plan)
    golden = read_plan(FOLDER / f"{network}.json")
    assert plan.summary == golden.summary
    assert plan.storages == golden.storages
    assert plan.tensors == golden.tensors
    assert plan == golden


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_an_arena_changes_no_bit(network):
    if tvm_series() == "0.25":
        pytest.skip("TVM 0.25 does not compile all of them")
    model = compile_model(LIGHT / FILES[network])
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(info.shape, np.float32) for info in model.inputs]
    expected = vm.run(model, inputs, open_device("sim:adreno-740"))
    placed = replan(model, "arena", RULES)
    assert placed.plan is not None
    assert placed.plan.summary.planned == placed.plan.summary.live_lower_bound
    assert audit(placed.plan, RULES, "arena").findings == ()
    watching = Watching()
    got = vm.run(placed, inputs, open_device("sim:adreno-740"), watching)
    assert watching.found == []
    assert [array.tobytes() for array in got] == [array.tobytes() for array in expected]
