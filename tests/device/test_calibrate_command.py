"""A calibration runs on a real driver, with less of everything; its profile serves predicted times."""

from __future__ import annotations

import json

import jsonschema

from adreno_sim import schemas
from adreno_sim.profiles.rates import RATES
from adreno_sim.profiles.user_profile import load_profile
from adreno_sim.timing.machines import machine_of_profile

SMALL = """
import sys
from adreno_sim.cli.calibrate import command
from adreno_sim.cli.main import main
from adreno_sim.timing.calibration import measure
measure.LIVE, measure.LIMITED, measure.MOST_UNITS, command.LEAST = (1, 16), (4, 16), 4, 1e-5
sys.exit(main(["calibrate", *sys.argv[1:]]))
"""


def test_a_driver_is_measured(opencl_child, tmp_path) -> None:
    toml, report = tmp_path / "mine.toml", tmp_path / "report.json"
    words = ["--device", "cl:portable", "--largest", "16", "--toml", str(toml), "--json", str(report)]
    done = opencl_child(*words, code=SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "time_gflops" in done.stdout, done.stdout + done.stderr
    data = json.loads(report.read_text())
    jsonschema.validate(data, schemas.load("calibration"))
    assert set(data["rates"]) == set(RATES)
    assert [one["floats"] for one in data["group_limits"]] == [4, 16]
    assert all(one["work_items"] >= 1 for one in data["group_limits"])
    assert data["launch_seconds"] > 0
    assert [one["bytes"] for one in data["buffers"]][-1] == 16 << 20
    profile = load_profile(str(toml))
    assert machine_of_profile(profile).error == "measured"
    assert profile["time_gflops"] == data["rates"]["time_gflops"]
