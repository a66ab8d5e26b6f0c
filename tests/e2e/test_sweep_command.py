"""`adreno-sim sweep`: tables, failures on their own, a kill and what follows, workers of a Dask scheduler."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import handmade
import pytest
from validators import validator

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.cli.sweep import devices_of
from adreno_sim.sweep.case import cases

pytestmark = pytest.mark.e2e

PROFILES = ["adreno-740", "adreno-650", "adreno-530"]

CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """A folder of its own; child processes find the package where it is not installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(adreno_sim.__file__).parents[1]), prepend=os.pathsep)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)


@pytest.fixture
def models(tmp_path):
    """Two bundles, which need no TVM."""
    for name, made in (("double", handmade.texture()), ("choice", handmade.branch())):
        made.save(tmp_path / f"{name}.asim")
    return ["choice.asim", "double.asim"]


def start(*args):
    command = [sys.executable, "-m", "adreno_sim", "sweep", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read(path="sweep.json"):
    data = json.loads(Path(path).read_text())
    validator("sweep").validate(data)
    return data


def facts(data):
    """What must not depend on how a sweep went."""
    return [{key: value for key, value in case.items() if key not in ("seconds", "resumed")} for case in data["cases"]]


def wait_for(condition, process=None, seconds=60):
    """Until `condition`, while `process` runs."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come"
        assert process is None or process.poll() is None, "did not come"
        time.sleep(0.05)


def done_cases(folder="adreno-sweep"):
    return list(Path(folder).glob("*.case.json"))


def test_one_table_and_failures_on_their_own(models, capsys):
    Path("broken.asim").write_bytes(b"not a bundle")
    args = ["sweep", *models, "broken.asim", "--profiles", "adreno-740", "--json", "sweep.json", "--jobs", "2"]
    assert main(args) == 2
    data = read()
    assert [(case["model"], case["status"]) for case in data["cases"]] == [
        ("choice", "ok"),
        ("double", "ok"),
        ("broken", "failed"),
    ]
    shown = capsys.readouterr().out
    assert "3 cases: 2 ok, 1 failed" in shown
    assert "broken on sim:adreno-740: " in shown
    assert all(Path("adreno-sweep", f"{case['key']}.report.json").exists() for case in data["cases"][:2])
    assert main(args) == 2
    assert all(case["resumed"] for case in read()["cases"])
    assert "3 of them done before" in capsys.readouterr().out


def test_a_time_limit_is_a_result_and_retry_runs_it_again(models):
    args = ["sweep", models[0], "--json", "sweep.json"]
    assert main([*args, "--time-limit", "0.05"]) == 1
    (case,) = read()["cases"]
    assert case["status"] == "hung"
    assert "did not end within 0.05 s" in case["message"]
    assert case["plan"] is None
    assert main(args) == 1
    assert read()["cases"][0]["resumed"]
    assert main([*args, "--retry"]) == 0
    assert not read()["cases"][0]["resumed"]


def test_findings_for_code_hosts(models, capsys):
    """A kernel that writes outside is one result at the model's file, with the devices; a broken file is an annotation."""
    made = handmade.texture()
    code = made.kernels["twice"]
    made.kernels["twice"] = replace(code, source=code.source.replace("(y, at,", "(y, at + (int4)(1, 0, 0, 0),"))
    made.save("wrong.asim")
    Path("broken.asim").write_bytes(b"not a bundle")
    args = ["wrong.asim", "broken.asim", "--profiles", *PROFILES[:2], "--sarif", "out.sarif", "--annotations"]
    assert main(["sweep", *args]) == 1
    results = json.loads(Path("out.sarif").read_text())["runs"][0]["results"]
    (result,) = [result for result in results if result["ruleId"] == "image-write-out-of-range"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "wrong.asim"
    assert result["locations"][0]["logicalLocations"][0]["name"] == "twice"
    assert "; on sim:adreno-740, sim:adreno-650" in result["message"]["text"]
    shown = capsys.readouterr().out
    assert shown.count("::error file=wrong.asim,line=1,title=image-write-out-of-range::kernel twice: ") == 1
    assert shown.count("::error file=broken.asim::") == 2
    assert main(["sweep", *args]) == 1  # the same from what is on disk
    assert json.loads(Path("out.sarif").read_text())["runs"][0]["results"] == results


def children(process):
    listed = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(child) for file in listed for child in file.read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_killed_and_resumed(models):
    args = [models[1], "--profiles", *PROFILES[:2], "--jobs", "1", "--json", "sweep.json"]
    first = start(*args)
    wait_for(lambda: done_cases() and children(first), first)
    running = children(first)
    first.kill()
    first.communicate()
    before = len(done_cases())
    assert before == 1
    assert not Path("sweep.json").exists()
    wait_for(lambda: not any(map(alive, running)), seconds=10)  # what it had started went with it
    assert main(["sweep", *args]) == 0
    resumed = read()
    assert sum(case["resumed"] for case in resumed["cases"]) == before
    assert resumed["counts"]["ok"] == len(resumed["cases"]) == 2
    assert main(["sweep", *args[:-1], "fresh.json", "--fresh"]) == 0
    assert facts(resumed) == facts(read("fresh.json"))


@pytest.fixture
def scheduler():
    """Address of a scheduler with two worker processes."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("dask distributed is not installed")
    process = subprocess.Popen([sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.stdin.close()
    assert process.wait(60) == 0


def kill_a_busy_worker(address, sweep):
    """SIGKILL to the process of a worker that runs a case; the name of that case."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:

        def busy():
            found = {worker: [str(key) for key in keys] for worker, keys in client.processing().items() if keys}
            return next(((worker, keys[0]) for worker, keys in found.items() if not keys[0].startswith("model")), None)

        wait_for(lambda: done_cases() and busy(), sweep)
        worker, case = busy()
        os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
    return case


@pytest.mark.slow
def test_a_worker_of_dask_is_killed_and_nothing_lost(models, scheduler):
    args = [*models, "--profiles", *PROFILES[:2], "--json", "sweep.json", "--scheduler", scheduler]
    running = start(*args)
    lost = kill_a_busy_worker(scheduler, running)
    said, _ = running.communicate(timeout=200)
    assert running.returncode == 0, said
    data = read()
    assert data["counts"]["ok"] == len(data["cases"]) == 4
    assert lost in {case["key"] for case in data["cases"]}
    assert main(["sweep", *args[:-2]]) == 0
    assert all(case["resumed"] for case in read()["cases"])
    assert facts(data) == facts(read())


@pytest.mark.slow
@pytest.mark.tvm
def test_networks_with_a_killed_worker_and_a_killed_sweep(scheduler):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("tvm")
    light = Path(onnx.__file__).parent / "backend/test/data/light"
    networks = [str(light / f"light_{name}.onnx") for name in ("squeezenet", "shufflenet", "bvlc_alexnet", "zfnet512")]
    args = [*networks, "--profiles", *PROFILES, "--json", "sweep.json"]
    first = start(*args, "--scheduler", scheduler)
    wait_for(lambda: len(done_cases()) >= 3, first, 600)
    kill_a_busy_worker(scheduler, first)
    wait_for(lambda: len(done_cases()) >= 6, first, 600)
    first.kill()
    first.communicate()
    before = len(done_cases())
    second = start(*args, "--scheduler", scheduler)
    said, _ = second.communicate(timeout=1200)
    assert second.returncode == 0, said
    data = read()
    assert data["counts"]["ok"] == len(data["cases"]) == 12
    assert 6 <= before <= sum(case["resumed"] for case in data["cases"]) < 12
    assert all(case["checked"] == case["kernels"] > 10 for case in data["cases"])


def test_devices():
    assert devices_of(["adreno-5*"]) == [f"sim:adreno-{model}" for model in (505, 506, 530, 540)]
    assert devices_of(["adreno-740,pitch_rule=pixels,wave_size=64", "cl:intel"]) == [
        "sim:adreno-740,pitch_rule=pixels,wave_size=64",
        "cl:intel",
    ]
    assert devices_of(["sim:adreno-740", "adreno-740"]) == ["sim:adreno-740"] == devices_of([])
    with pytest.raises(AdrenoSimError, match=r"adreno-99.*there are: adreno-505"):
        devices_of(["adreno-99*"])


def test_a_case_is_told_from_others(models):
    one, two = cases(models[:1], ["sim:adreno-740"], ["texture"]), cases(models[:1], ["sim:adreno-740"], ["buffer"])
    assert one[0].key == two[0].key  # a bundle has its own target
    other = cases(models[:1], ["sim:adreno-740"], ["texture"], ["--strict"])
    Path("adreno-sim.toml").write_text('[[allow]]\nkernel = "k"\nkind = "wrong-value"\nreason = "known"\nexpires = 2099-01-01\n')
    allowed = cases(models[:1], ["sim:adreno-740"], ["texture"])
    handmade.texture().save(models[0])
    changed = cases(models[:1], ["sim:adreno-740"], ["texture"])
    assert len({case[0].key for case in (one, other, allowed, changed)}) == 4


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["absent.onnx"], "model absent.onnx: expected a file, found nothing"),
        (["."], "model .: expected a file, found a folder"),
        (["choice.asim", "--profiles", "adreno-741"], "did you mean adreno-740"),
        (["choice.asim", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"], "--jobs: is for this machine"),
        (["choice.asim", "--jobs", "0"], "expected a number of 1 or more"),
        (["choice.asim", "--json", "no/such/file"], "cannot write no/such/file"),
        (["choice.asim", "--results", "choice.asim"], "folder of results choice.asim"),
    ],
)
def test_bad_input(models, capsys, args, said):
    assert main(["sweep", *args]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert not done_cases()


def test_no_scheduler_there(models, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("adreno_sim.sweep.engines.CONNECT_SECONDS", 0.5)
    assert main(["sweep", models[0], "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_predicted_times(models, capsys):
    """A column where they are asked for, and in the JSON."""
    flags = ["--profiles", "adreno-740", "--json", "sweep.json", "--markdown", "sweep.md"]
    models = models[:1]
    assert main(["sweep", *models, *flags, "--time", "--max-time", "1ms"]) == 0
    data = json.loads(Path("sweep.json").read_text())
    validator("sweep").validate(data)
    assert all(0 < case["time"]["low"] < case["time"]["seconds"] < case["time"]["high"] for case in data["cases"])
    assert "predicted" in capsys.readouterr().out
    assert "predicted" in Path("sweep.md").read_text()
    assert main(["sweep", *models, *flags, "--time"]) == 0
    assert main(["sweep", *models, *flags, "--time", "--max-time", "1us"]) == 1
    assert main(["sweep", *models, *flags, "--max-time", "1us"]) == 2
    assert "needs --time" in capsys.readouterr().err
