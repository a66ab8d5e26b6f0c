"""What a language model takes of a device's memory: against sums by hand, and against the pool of a run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")
import tvm
from paged_llama import LLAMA_8B, Sizes, export
from validators import validator

import adreno_sim
from adreno_sim import session_footprint
from adreno_sim.cli.main import main
from adreno_sim.compiler.compile import CompiledModel
from adreno_sim.compiler.extract.module import extract_entries
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.run.builtins import call_builtin
from adreno_sim.compiler.run.values import ShapeValue, release
from adreno_sim.compiler.run.vm import VirtualMachine

pytestmark = pytest.mark.tvm

SIZES = Sizes(hidden=64, inner=128, vocabulary=96, layers=2, dtype="float16", quantised=True)
CONTEXT, CHUNK, PAGE = 256, 32, 16

DEPTH_ARRAYS = 5
"""Arrays of a forward that only sequences which share a beginning need."""


def pages(nbytes):
    return -(-nbytes // 4096) * 4096


@pytest.fixture(scope="module")
def exported():
    return export(SIZES, make_target("buffer"), single=True)


@pytest.fixture(scope="module")
def written(exported, tmp_path_factory):
    """The folder of what the command writes of the module, saved as TVM saves it; and what the command printed."""
    folder = tmp_path_factory.mktemp("footprint")
    (folder / "llm.json").write_text(tvm.ir.save_json(exported[0]))
    flags = ["--context", str(CONTEXT), "--chunk", str(CHUNK), "--budget", "100kB"]
    outputs = ["--json", str(folder / "f.json"), "--html", str(folder / "f.html"), "--markdown", str(folder / "f.md")]
    assert main(["footprint", str(folder / "llm.json"), *flags, *outputs]) == 1
    return folder


def test_the_sum_at_the_worst_moment_is_that_by_hand(written, exported):
    """Weights, pages and workspaces of the cache by their shapes; of prefill, what is live in its widest layer."""
    data = json.loads((written / "f.json").read_text())
    validator("session-footprint").validate(data)
    weights = sum(pages(array.nbytes) for array in exported[1].values())
    s = SIZES
    layer = (CONTEXT // PAGE + 1) * 2 * s.kv_heads * PAGE * s.dim * 2
    wide, narrow = CHUNK * s.heads * s.dim * 2, CHUNK * s.kv_heads * s.dim * 2
    workspaces = 2 * pages(wide) + 2 * pages(narrow) + 2 * pages(CHUNK * s.heads * 4)
    assert (data["weights"], data["constants"]) == (weights, 4096)
    assert data["state"] == s.layers * pages(layer) + workspaces + 14 * 4096
    assert data["caches"][0]["pages"] == 17
    by_name = {entry["name"]: entry for entry in data["entries"]}
    assert sorted(by_name) == ["decode", "embed", "prefill"]
    assert by_name["prefill"]["symbols"] == [{"name": "n", "low": 1, "high": CHUNK, "source": "tokens"}]
    kept = weights + data["state"] + data["constants"]
    gate_up, inner = CHUNK * 2 * s.inner * 2, CHUNK * s.inner * 2
    (arena,) = [row for row in by_name["prefill"]["footprint"]["planners"] if row["planner"] == "arena"]
    hidden = CHUNK * s.hidden * 2
    assert arena["bound"] >= gate_up + inner
    assert arena["peak"] >= kept + pages(hidden) + pages(gate_up + inner)
    assert arena["peak"] <= kept + pages(hidden) + pages(2 * hidden + gate_up + inner) + 4096
    assert data["peaks"]["as compiled"]["entry"] == "prefill"


def test_every_format_says_it(written):
    data = json.loads((written / "f.json").read_text())
    peak = f"{data['peaks']['as compiled']['bytes']:,}"
    for name in ("f.md", "f.html"):
        text = (written / name).read_text()
        assert peak in text
        assert "prefill" in text
        assert "n=32 (tokens)" in text
    assert "http" not in (written / "f.html").read_text().replace("http-equiv", "")


def test_what_does_not_fit_the_module_is_refused(written, capsys):
    source = str(written / "llm.json")
    for flags, said in [
        (["--context", "256", "--svg", "x.svg"], "--svg: is for one function"),
        (["--context", "256", "--entry", "decode,encode"], "no function 'encode'"),
        (["--context", "1x"], "expected a number"),
    ]:
        try:
            code = main(["footprint", source, *flags])
        except SystemExit as stopped:
            code = stopped.code
        assert code == 2
        assert said in capsys.readouterr().err


def run_to_the_end(model: CompiledModel, weights, device):
    """Fill the context chunk by chunk, as an application would; the most that the pool of the device had in use."""
    state = "vm.builtin.kv_state_"

    def shape(*dims):
        return ShapeValue(dims)

    with VirtualMachine(model, device) as machine:
        held = {name: machine.upload(name, array, "global") for name, array in weights.items()}

        def call(name, *args):
            return machine.call(name, [*args, *(held[param.name] for param in model.entries[name][len(args) :])])

        cache = call("create_kv_cache", *map(shape, (1, CONTEXT, CHUNK, PAGE, 0)))
        call_builtin(f"{state}add_sequence", [cache, 0], machine)
        for _ in range(CONTEXT // CHUNK):
            call_builtin(f"{state}begin_forward", [cache, shape(0), shape(CHUNK)], machine)
            tokens = machine.upload("tokens", np.zeros((1, CHUNK), "int32"), "global")
            hidden = call("embed", tokens)
            release(tokens)
            release(call("prefill", hidden, cache))
            release(hidden)
            call_builtin(f"{state}end_forward", [cache], machine)
        return device.pool_stats().peak_used


@pytest.mark.slow
def test_a_run_takes_what_was_said(exported):
    module, weights = exported
    said = session_footprint(module, context=CONTEXT, chunk=CHUNK)
    model = extract_entries(lower(module, make_target("buffer")))
    got = run_to_the_end(model, weights, adreno_sim.open_device("sim:adreno-740,checks=off"))
    assert said.peak() == got + DEPTH_ARRAYS * 4096


MEASURE = """
import resource, sys, time
from dataclasses import replace
from adreno_sim import session_footprint
from adreno_sim.compiler.lower.targets import make_target
from paged_llama import LLAMA_8B, export
module, _ = export(replace(LLAMA_8B, layers=int(sys.argv[1])), make_target("buffer"), draw=False, single=True)
begin = time.process_time()
said = session_footprint(module, context=4096, chunk=512)
seconds, memory = time.process_time() - begin, int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1e6
print(seconds, memory, said.weights, said.state, said.peak())
"""


def measure(layers):
    here = Path(__file__).parent
    path = os.pathsep.join(map(str, [Path(adreno_sim.__file__).parents[1], here, here.parents[1] / "models"]))
    command = [sys.executable, "-c", MEASURE, str(layers)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300, check=True)
    return [float(word) for word in ran.stdout.split()[-5:]]


@pytest.mark.slow
def test_eight_billion_parameters_take_seconds_and_no_memory():
    few, many = measure(8), measure(32)
    assert many[0] < 4 * few[0] + 10, "processor seconds of 32 layers against 8"
    assert many[1] < 1.0, "GB of the process"
    s = LLAMA_8B
    per_layer = s.hidden * (s.heads + 2 * s.kv_heads) * s.dim + s.hidden * s.heads * s.dim + 3 * s.hidden * s.inner
    quantised = 32 * per_layer + 2 * s.vocabulary * s.hidden
    assert quantised > 8.0e9
    norms = (2 * 32 + 1) * s.hidden * 2
    assert many[2] == pytest.approx(quantised * (4 + 16 / 32) / 8 + norms, rel=1e-6)
    assert many[3] > 257 * 2 * s.kv_heads * 16 * s.dim * 2 * 32
    assert many[2] + many[3] < many[4] < many[2] + many[3] + 100e6
