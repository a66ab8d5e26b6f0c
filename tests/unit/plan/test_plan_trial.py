"""`footprint --measure`: plans allocated on a device, and what it refuses."""

import json
from dataclasses import replace

import handmade
import pytest
from plan_figures import FOLDER
from validators import validator

from adreno_sim import open_device
from adreno_sim.backends.sim.device import SimDevice
from adreno_sim.base.errors import DeviceError
from adreno_sim.cli.main import main
from adreno_sim.compiler.artifact.memory_plan import PlannedTensor
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.trial import try_plan


@pytest.fixture
def plan():
    return extract_plan(handmade.texture())


def test_a_plan_that_fits(plan):
    device = open_device("sim:adreno-740")
    trial = try_plan(plan, device, "x")
    assert not trial.refused
    assert (trial.storages, trial.views) == (len(plan.storages), len(plan.tensors))
    assert trial.asked == sum(storage.planned_bytes for storage in plan.storages)
    assert trial.taken == 4096 * trial.storages
    assert trial.apart == 0
    assert device.pool_stats().used == 0  # given back
    assert try_plan(plan, device, "x").taken == 0  # the pool had kept them


def test_images_that_are_memory_of_their_own(plan):
    trial = try_plan(plan, open_device("sim:adreno-650"), "x")
    textures = [tensor for tensor in plan.tensors if tensor.scope != "global"]
    assert not trial.refused
    assert trial.apart == len(textures)
    assert trial.apart_bytes == sum(tensor.dense_bytes for tensor in textures)


def test_what_a_device_refuses(plan):
    small = open_device("sim:adreno-740,MAX_MEM_ALLOC_SIZE=700")
    trial = try_plan(plan, small, "x")
    assert {refusal.code for refusal in trial.refused} == {"CL_INVALID_BUFFER_SIZE"}
    assert small.pool_stats().used == 0
    by_texels = open_device("sim:adreno-740", pitch_rule="pixels")  # the row pitch that TVM's runtime passes is none of its
    trial = try_plan(plan, by_texels, "x")
    assert {refusal.code for refusal in trial.refused} == {"CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"}
    assert trial.refused
    layered = open_device("sim:adreno-740", pitch_rule="hardware")  # the storages were planned for layers without padding
    trial = try_plan(plan, layered, "x")
    assert {refusal.code for refusal in trial.refused} == {"CL_INVALID_IMAGE_SIZE"}
    assert trial.refused
    crooked = replace(plan, tensors=tuple(replace(t, offset=t.offset + 4) for t in plan.tensors))
    assert try_plan(crooked, open_device("sim:adreno-740"), "x").refused


def test_tensors_of_a_trace_are_bytes(plan):
    bare = [PlannedTensor(t.id, t.storage, 0, (), "", "global", 64, 64, t.first, t.last) for t in plan.tensors]
    assert not try_plan(replace(plan, tensors=tuple(bare)), open_device("sim:reference"), "x").refused


def test_the_command(tmp_path, capsys):
    out = tmp_path / "out.json"
    args = ["footprint", str(FOLDER / "squeezenet.json"), "--planners", "tvm-fixed,arena", "--measure", "--json", str(out)]
    assert main(args) == 0
    data = json.loads(out.read_text())
    validator("footprint").validate(data)
    totals = {row["planner"]: row["total"] for row in data["planners"]}
    for trial in data["measured"]:
        assert 0 <= trial["asked"] - totals[trial["planner"]] <= 4000
        assert trial["taken"] >= trial["asked"]
        assert not trial["refused"]
    assert "allocated on adreno-740" in capsys.readouterr().out


def test_refusals_and_whose_they_are(tmp_path, capsys, monkeypatch):
    """With layers of 4096 bytes the storages as compiled are too small: told; an arena of right sizes is accepted."""
    path = tmp_path / "model.asim"
    handmade.texture().save(path)
    args = ["footprint", str(path), "--measure"]
    assert main([*args, "--pitch-rule", "hardware"]) == 0
    shown = capsys.readouterr().out
    assert "as compiled: t1 (float32 2x3x5x4): CL_INVALID_IMAGE_SIZE" in shown
    assert "refused by the device" not in shown
    assert "arena: t" not in shown
    view = SimDevice.view

    def refusing(self, storage, spec, offset=0):
        if getattr(spec, "width", 0) == 5:
            raise DeviceError("CL_OUT_OF_RESOURCES", "as a driver may")
        return view(self, storage, spec, offset)

    monkeypatch.setattr(SimDevice, "view", refusing)
    assert main(args) == 1
    assert "failed: arena: refused by the device: CL_OUT_OF_RESOURCES: as a driver may" in capsys.readouterr().out
