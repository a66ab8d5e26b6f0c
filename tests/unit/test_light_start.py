"""What opening a device and starting a program must not import: it is half of the time that they would take."""

import subprocess
import sys

OPENED = """
import sys
import numpy as np
from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

device = open_device("sim:adreno-740")
view = device.view(device.allocate(32), BufferSpec(32, "float32"))
device.write(view, np.arange(8, dtype=np.float32))
print(device.read(view).sum(), "numba" in sys.modules)
"""

MULTIPLIED = """
import sys
import numpy as np
from adreno_sim.mlops.arithmetic import product

a = np.ones((2, 3), np.float32)
for mode in ("float32", "float16-acc32", "float16"):
    print(product(a, a.T, mode).sum(), "numba" in sys.modules)
"""

STARTED = """
import sys
from adreno_sim.cli.main import main

code = main(["run", "--", "true"])
print(code, sorted(name for name in ("numpy", "llvmlite", "email.message", "adreno_sim.engine.codegen") if name in sys.modules))
"""

JUDGED = """
import gc, sys
from adreno_sim.__main__ import run_here

end = sys.argv.index("--not")
names = sys.argv[end + 1 :]
sys.argv = ["adreno-sim", "kernel", *sys.argv[1:end]]
code = run_here()
print("judged", code, gc.isenabled(), gc.get_freeze_count() > 10_000)
print([name for name in names if name in sys.modules])
"""

NOT_FOR_A_VERDICT = (
    "numba", "jsonschema", "importlib.metadata", "html", "http", "email.message", "tvm", "adreno_sim.cli.check",
    "adreno_sim.cli.run", "adreno_sim.isa.translate.translation", "adreno_sim.render.launch.encode",
    "adreno_sim.render.launch.html", "adreno_sim.render.table", "adreno_sim.results.model", "adreno_sim.timing.model",
    "adreno_sim.base.array_files", "adreno_sim.base.processes.isolation", "adreno_sim.device.machine_code",
    "adreno_sim.engine.run.race_findings", "adreno_sim.launch_spec.mending.offer", "adreno_sim.results.evidence",
    "adreno_sim.results.run_report", "rich", "adreno_sim.engine.debugging",
    "adreno_sim.frontend.image_access", "adreno_sim.frontend.compiler_crash",
)  # fmt: skip
NOT_WITH_A_LAUNCH_FILE = (
    "adreno_sim.launch_spec.inferred.run", "adreno_sim.launch_spec.skeleton.guess", "adreno_sim.engine.counting",
)  # fmt: skip
NOT_A_SECOND_TIME = (
    "adreno_sim.frontend.link", "adreno_sim.frontend.llvm_reader.reader", "adreno_sim.engine.codegen",
    "adreno_sim.frontend.constant_arithmetic",
)  # fmt: skip

LAUNCH = """
source = "k.cl"
global_size = [8]

[[argument]]
name = "a"
kind = "buffer"
dtype = "float32"
count = 8
data = {fill = "random", seed = 1}
"""


def lines_of(code: str, *arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_opening_a_simulated_device_needs_no_numba():
    assert lines_of(OPENED) == ["28.0 False"]


def test_products_in_halves_alone_need_numba():
    assert lines_of(MULTIPLIED) == ["12.0 False", "12.0 False", "12.0 True"]


def test_starting_a_program_needs_neither_the_engine_nor_numpy():
    assert lines_of(STARTED) == ["2 []"]


def test_a_verdict_imports_what_it_needs_and_collects_no_garbage_before_its_work(tmp_path):
    (tmp_path / "k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] = 1; }")
    lines = lines_of(JUDGED, str(tmp_path / "k.cl"), "--sizes", "8", "--not", *NOT_FOR_A_VERDICT)
    assert lines[-2:] == ["judged 0 True True", "[]"]


def test_a_verdict_by_a_launch_file_imports_less_and_a_second_one_reads_no_kernel(tmp_path, monkeypatch):
    (tmp_path / "k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] = 1; }")
    (tmp_path / "k.toml").write_text(LAUNCH)
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    given = ("--launch", str(tmp_path / "k.toml"), "--not")
    unneeded = (*NOT_FOR_A_VERDICT, *NOT_WITH_A_LAUNCH_FILE)
    first = lines_of(JUDGED, *given, *unneeded, *NOT_A_SECOND_TIME)
    assert first[-2:] == ["judged 0 True True", str(list(NOT_A_SECOND_TIME))]
    second = lines_of(JUDGED, *given, *unneeded, *NOT_A_SECOND_TIME)
    assert second[-2:] == ["judged 0 True True", "[]"]
