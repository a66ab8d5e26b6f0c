"""`footprint --time`: the steps of the plan that runs, in its order."""

import json

import handmade
import pytest
from plan_figures import FOLDER
from validators import validator

from adreno_sim.cli.main import main

DEVICE = ("--device", "sim:adreno-740")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.asim"
    handmade.texture().save(path)
    return str(path)


def test_steps_have_times_and_memory(model, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["footprint", model, *DEVICE, "--time", "--plan", "arena", "--json", str(out)]) == 0
    data = json.loads(out.read_text())
    validator("footprint").validate(data)
    steps, memory = data["time"]["kernels"], data["memory"]
    assert len(steps) == len(memory) > 1
    assert [int(step["name"].split()[0]) for step in steps] == [*range(1, len(steps) + 1)]
    assert data["time"]["seconds"] == pytest.approx(sum(step["seconds"] for step in steps))
    peak = next(row["peak"] for row in data["planners"] if row["planner"] == "arena")
    assert all(0 < used <= peak for used in memory)
    shown = capsys.readouterr().out
    assert "under the plan arena" in shown
    assert "predicted time on adreno-740" in shown


def test_what_has_no_steps(model, capsys):
    assert main(["footprint", str(FOLDER / "squeezenet.json"), "--time"]) == 2
    assert "is for models" in capsys.readouterr().err
    assert main(["footprint", model, "--device", "sim:reference", "--time"]) == 3
    assert "is not a chip" in capsys.readouterr().err
