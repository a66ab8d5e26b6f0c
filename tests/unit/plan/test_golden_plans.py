"""Planners on the saved plans of nine networks: their bytes as recorded, as published, and the bound reached.

The plans lie in golden/plans: TVM 0.27's own for the networks of the onnx package's light test models, and for a public text
detector (common_det.onnx of ddddocr 1.6.1 at 416 x 416) the one of the fixed pipeline, as TVM's own does not compile it.
"""

import json
from dataclasses import replace

import pytest
from plan_figures import FOLDER, figures, regressions

from adreno_sim.compiler.plan.audit import audit
from adreno_sim.compiler.plan.footprint import measure
from adreno_sim.compiler.plan.plan_file import read_plan
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.profiles.profile import load
from adreno_sim.results.snapshots import SnapshotFile

NETWORKS = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "figures")
DEVICES = {"adreno-740": None, "adreno-740 pixels": "pixels", "adreno-740 hardware": "hardware", "adreno-630": None}
PLANNERS = ("naive", "tvm", "tvm-fixed", "relay-1d2d", "unified", "tflite-objects", "tflite-arena", "arena")

# MB of intermediates at rows of 64 bytes: as TVM plans, with right sizes, Relay's planner, naive, lower bound
PUBLISHED = {
    "squeezenet": (15.94, 6.36, 11.14, 18.13, 3.93),
    "resnet50": (39.35, 9.84, 26.91, 46.96, 7.23),
    "vgg19": (106.00, 26.53, 67.65, 75.30, 25.69),
    "densenet121": (28.96, 9.80, 20.07, 258.67, 8.43),
    "inception_v1": (36.22, 9.94, 18.73, 38.51, 6.98),
    "inception_v2": (13.55, 8.09, 12.49, 67.16, 4.82),
    "alexnet": (8.38, 3.43, 5.99, 10.55, 3.36),
    "zfnet512": (13.84, 13.84, 19.40, 26.04, 13.69),
    "text_detector": (34.96, 9.59, 25.56, 60.76, 6.23),
}


def rules(device):
    profile = "adreno-630,driver=mesa" if device == "adreno-630" else device.split()[0]  # it makes no images over buffers
    return DeviceRules.of_profile(load(profile), DEVICES[device])


@pytest.fixture(scope="module")
def golden(request):
    stored = SnapshotFile(FOLDER / "figures.json", bool(request.config.getoption("--update-snapshots")))
    yield stored
    stored.save()


def test_all_networks_are_there():
    assert sorted(PUBLISHED) == NETWORKS


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("network", NETWORKS)
def test_no_planner_takes_more(network, device, golden):
    footprint = measure(read_plan(FOLDER / f"{network}.json"), rules(device), PLANNERS)
    found = figures(footprint)
    name = f"{network} on {device}"
    if golden.update:
        golden.difference(name, found)
        return
    stored = json.loads((FOLDER / "figures.json").read_text())["snapshots"]
    assert name in stored, "run once with --update-snapshots"
    assert regressions(stored[name], found, peak=0.0) == []
    assert all(not row.violations for row in footprint.rows if row.planner != "as compiled")


@pytest.mark.parametrize("network", NETWORKS)
def test_figures_are_as_published(network):
    plan = read_plan(FOLDER / f"{network}.json")
    problem = rules("adreno-740").problem(plan)  # published of the tensors that TVM plans
    placed = replace(problem, items=tuple(item for item in problem.items if not item.left_alone))
    planned = {row.planner: row for row in measure(placed, rules("adreno-740"), PLANNERS).rows}
    tvm, fixed, relay, naive, bound = (round(megabytes * 1e6) for megabytes in PUBLISHED[network])
    assert planned["tvm"].total == pytest.approx(tvm, rel=0.01)
    assert planned["tvm-fixed"].total == pytest.approx(fixed, rel=0.01)
    assert planned["relay-1d2d"].total == pytest.approx(relay, rel=0.01)
    assert planned["naive"].total == pytest.approx(naive, rel=0.01)
    assert planned["tvm"].bound == pytest.approx(bound, rel=0.01)
    by_texels = measure(plan, rules("adreno-740 pixels"), ["tvm-fixed"])
    assert by_texels.of("tvm-fixed").planned == planned["tvm-fixed"].total  # the rows of TVM's runtime, and refused:
    assert not any(row.fits for row in by_texels.rows)
    assert all("refuses the images of" in row.note for row in by_texels.rows)


@pytest.mark.parametrize("network", NETWORKS)
def test_planners_explain_what_was_compiled(network):
    """The planner that reproduces TVM's takes TVM's bytes; the arena takes no more than is live."""
    plan = read_plan(FOLDER / f"{network}.json")
    planned = {row.planner: row for row in measure(plan, rules("adreno-740"), ["tvm", "tvm-fixed", "arena"]).rows}
    source = "tvm-fixed" if network == "text_detector" else "tvm"
    assert planned["as compiled"].total == planned[source].total
    assert planned["as compiled"].planned == planned[source].planned == plan.summary.planned
    assert planned["as compiled"].storages == planned[source].storages
    assert planned["arena"].total == planned["arena"].bound
    assert planned["arena"].storages == 1
    audited = audit(plan, rules("adreno-740"))
    assert audited.findings == ()
    causes = audited.causes
    assert causes["dense"] + causes["padding"] + causes["slots"] + causes["item_size"] == planned["as compiled"].total
    assert causes["unplanned"] == planned["as compiled"].unplanned


def test_what_counts_as_a_regression():
    stored = {"tensors": 3, "lower_bound": 90, "planners": {"tvm": 200, "arena": 100}}
    assert regressions(stored, {**stored, "planners": {"tvm": 200, "arena": 95}}) == []
    assert regressions(stored, {**stored, "planners": {"tvm": 200, "arena": 101}}) == [
        "arena took 100 bytes, takes 101 (allowed: 100)"
    ]
    assert regressions(stored, {**stored, "planners": {"tvm": 200, "arena": 104}}, peak=0.05) == []
    assert regressions(stored, {**stored, "planners": {"tvm": 199, "arena": 100}}) == [
        "tvm took 200 bytes, takes 199: its rules say exactly how much"
    ]
    assert regressions(stored, {**stored, "planners": {"tvm": 200}}) == ["arena took 100 bytes, gives no plan now"]
    assert regressions(stored, {**stored, "lower_bound": 91}) == ["lower_bound was 90, is 91"]
