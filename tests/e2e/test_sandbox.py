"""The commands behind the wall, as processes; where there is none, a line says why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from adreno_sim.base.wall import landlock
from adreno_sim.icd.build import DRIVER, ICD, build_libraries

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(landlock.find_version() == 0, reason="this kernel has no Landlock")]

KERNEL = "kernel void twice(global const float *x, global float *y) { int i = get_global_id(0); y[i] = 2 * x[i]; }"
LAUNCH = """source = "twice.cl"
global_size = [8]
argument = [
  {kind = "buffer", dtype = "float32", count = 8, data = {fill = "arange"}},
  {kind = "buffer", dtype = "float32", count = 8},
]
"""
PROBE = """
import os, socket, subprocess, sys
from adreno_sim.cli import kernel
from adreno_sim.cli.main import main

def probe(args):
    def tried(action):
        try:
            action()
        except OSError:
            return "closed"
        return "open"
    print(tried(lambda: open(sys.argv[1])), tried(lambda: open("beside.txt", "w")), tried(lambda: open(args.launch)),
          tried(lambda: subprocess.run(["/bin/true"])), tried(lambda: socket.socket()), "TOKEN" in os.environ)
    return 0

kernel._run = kernel._kernel = probe
add = kernel.add
def added(commands):
    add(commands)
    commands.choices["kernel"].set_defaults(run=probe)
kernel.add = added
sys.exit(main(sys.argv[2:], is_program=True))
"""

SPOILED = """
import ctypes, sys
from adreno_sim.cli import sandbox
from adreno_sim.cli.main import main
enter = sandbox.enter_sandbox

def entered(args, is_program):
    enter(args, is_program)
    from adreno_sim.engine.run import optimistic  # behind the wall: it begins threads
    plain = optimistic.run

    def run(variant, global_size, offset, args, **options):
        result = plain(variant, global_size, offset, args, **options)
        ctypes.memmove(args[1].address, bytes([7]), 1)
        return result

    optimistic.run = run

sandbox.enter_sandbox = entered
sys.exit(main(sys.argv[1:], is_program=True))
"""


@pytest.fixture(scope="module")
def driver():
    """The folder of the compiled OpenCL driver, in the cache of all tests: compiling it takes longer than a test."""
    return build_libraries().driver.parent


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a launch, and beside it a folder with a secret, from which commands are run."""
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("secret")
    (tmp_path / "project" / "twice.cl").write_text(KERNEL)
    (tmp_path / "project" / "twice.toml").write_text(LAUNCH)
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.delenv("ADRENO_SIM_SANDBOX", raising=False)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300)


def adreno(*words: str) -> subprocess.CompletedProcess[str]:
    return run("-m", "adreno_sim", *words)


def test_a_command_closes_what_it_does_not_need(place):
    launch, secret = str(place / "project" / "twice.toml"), str(place / "elsewhere" / "secret.txt")
    hidden = place / "project" / ".ssh"
    hidden.mkdir()
    (hidden / "key").write_text("secret")
    for path in (secret, str(hidden / "key")):
        walled = run("-c", PROBE, path, "kernel", "--launch", launch)
        assert walled.stdout.split() == ["closed", "closed", "open", "closed", "closed", "False"], walled.stderr
    free = run("-c", PROBE, secret, "kernel", "--launch", launch, "--sandbox", "off")
    assert free.stdout.split() == ["open", "open", "open", "open", "open", "True"], free.stderr
    assert sorted(os.listdir(place / "elsewhere")) == ["beside.txt", "secret.txt"]  # no scratch folder is left


def test_a_kernel_runs_behind_it_and_writes_its_outputs(place):
    launch, report = str(place / "project" / "twice.toml"), place / "elsewhere" / "report.json"
    outputs = ("--json", str(report), "--html", "page.html", "--save-outputs", "arrays.npz")
    done = adreno("kernel", "--launch", launch, *outputs, "--explain")
    assert done.returncode == 0, done.stderr
    assert "sandbox" not in done.stderr, done.stderr
    assert sorted(os.listdir(place / "elsewhere")) == ["arrays.npz", "page.html", "report.json", "secret.txt"]
    assert report.stat().st_size > 100
    assert (place / "cache" / "objects").is_dir()
    piped = adreno("kernel", "--launch", launch, "--json", "/dev/stdout")
    assert piped.returncode == 0, piped.stderr
    assert '"schema"' in piped.stdout, piped.stderr


def test_the_folder_of_a_difference_outlasts_the_command(place, monkeypatch):
    """Behind the wall, where the folder for temporary files goes with the process, it lies in the cache."""
    monkeypatch.setenv("ADRENO_SIM_SECOND_RUN", "all")
    command = ("kernel", "--launch", str(place / "project" / "twice.toml"))
    for more, where in (((), place / "cache" / "differences"), (("--sandbox", "off"), place / "elsewhere")):
        done = run("-c", SPOILED, *command, *more)
        assert "y differs in 1 bytes from byte 0 on" in done.stderr, done.stderr
        (folder,) = where.glob("adreno-sim-difference-*")
        assert str(folder) in done.stderr
        assert folder.stat().st_mode & 0o777 == 0o700
    again = adreno("kernel", "--launch", str(next((place / "cache" / "differences").glob("*/launch.toml"))))
    assert again.returncode == 0, again.stderr
    done = run("-c", SPOILED, *command, "--no-cache")
    assert "y differs in 1 bytes from byte 0 on" in done.stderr, done.stderr
    assert "could not be kept" in done.stderr, done.stderr


def test_an_input_file_reads_nothing_beside_its_folder(place):
    (place / "project" / "twice.toml").write_text(LAUNCH.replace("twice.cl", str(place / "elsewhere" / "secret.txt")))
    done = adreno("kernel", "--launch", str(place / "project" / "twice.toml"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "secret\n" not in done.stderr + done.stdout


def test_before_a_program_of_the_users_own_it_steps_aside(place):
    (place / "project" / "model.py").write_text("import subprocess\nsubprocess.run(['/bin/touch', 'made'], check=True)\n")
    done = adreno("check", str(place / "project" / "model.py"))
    assert done.returncode == 2
    assert "sandbox" not in done.stderr
    assert "made" in os.listdir(place / "elsewhere")


def test_a_real_device_has_none_and_a_line_says_so(place):
    real = adreno("kernel", "--launch", str(place / "project" / "twice.toml"), "--device", "cl:none such")
    assert real.stderr.count("note: sandbox: none, since a real device's driver") == 1
    assert "Traceback" not in real.stderr


def test_include_folders_of_the_command_line_are_open(place):
    (place / "headers").mkdir()
    (place / "headers" / "two.h").write_text("#define TWO 2\n")
    (place / "project" / "twice.cl").write_text('#include "two.h"\n' + KERNEL.replace("2 *", "TWO *"))
    (place / "project" / "twice.toml").write_text('options = "-I ../headers"\n' + LAUNCH)
    launch = str(place / "project" / "twice.toml")
    for words, code in (((), 2), (("--root", str(place)), 0)):
        done = adreno("kernel", "--launch", launch, *words)
        assert done.returncode == code, done.stderr + done.stdout
    (place / "project" / "twice.toml").write_text(LAUNCH)
    (place / "project" / "twice.cl").write_text(f'#include "{place}/headers/two.h"\n' + KERNEL.replace("2 *", "TWO *"))
    assert adreno("kernel", "--launch", launch).returncode == 2
    assert adreno("kernel", "--launch", launch, "--unsafe-includes").returncode == 0


CLIENT = """
import ctypes, os, pathlib
from adreno_sim.icd.build import build_libraries
platform, count = ctypes.c_void_p(), ctypes.c_uint()
assert ctypes.CDLL(str(build_libraries().driver)).clIcdGetPlatformIDsKHR(1, ctypes.byref(platform), ctypes.byref(count)) == 0
import time
mine = []
for _ in range(200):
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            words = (status.parent / "cmdline").read_bytes().split(b"\\0")
            environment = (status.parent / "environ").read_bytes()
            text = status.read_text()
        except OSError:
            continue
        if b"adreno_sim.icd" in b" ".join(words) and os.environ["MARK"].encode() in environment:
            mine = [line.split()[1] for line in text.splitlines() if line.startswith(("NoNewPrivs", "Seccomp:"))]
    if mine:
        break
    time.sleep(0.05)
print("server", mine)
"""


@pytest.mark.parametrize(("switch", "state"), [("on", ["1", "2"]), ("off", ["0", "0"])])
def test_the_drivers_server_is_behind_it_and_the_client_is_not(place, driver, switch, state, monkeypatch):
    kept = place / "cache" / "driver" / driver.name
    shutil.copytree(driver, kept, ignore=shutil.ignore_patterns("named"))  # a link of another test's, which comes and goes
    (kept / ICD).write_text(f"{kept / DRIVER}\n")
    monkeypatch.setenv("MARK", f"ADRENO_SIM_ICD_REPORTS={place}")  # the folder of reports lies in TMPDIR
    script = place / "project" / "client.py"
    script.write_text(CLIENT)
    done = adreno("run", "--sandbox", switch, "--", sys.executable, str(script))
    assert f"server {state}" in done.stdout, done.stdout + done.stderr
    assert "sandbox" not in done.stderr
