"""The pytest plugin, run by pytest in a process of its own as users run it."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.pytest.versions import PYTEST, why_too_old

pytest_plugins = ["pytester"]

INSTALLED = any(entry.name == "adreno_sim" for entry in entry_points(group="pytest11"))

KERNELS = """
import numpy as np
import pytest
from adreno_sim.device import Local

ADD = "kernel void add(global float *y, global const float *x) { int i = get_global_id(0); y[i] += x[i]; }"
HALF = '''
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void twice(global half *x) { int i = get_global_id(0); x[i] = x[i] * 2.0h; }
'''
FILL = '''
kernel void fill(write_only image2d_t y, float a) {
  write_imagef(y, (int2)(get_global_id(0), get_global_id(1)), (float4)(a, 0, 0, get_global_id(0)));
}
'''
X = np.arange(64, dtype="float32")

def test_add(adreno_kernel):
    result = adreno_kernel(ADD, [X.copy(), X], (64,), (16,))
    assert (result.arrays[0] == 2 * X).all() and (result.arrays[1] == X).all()

def test_image(adreno_kernel):
    image = adreno_kernel.Image(np.zeros((1, 4, 8, 4), "float32"))
    (texels,) = adreno_kernel(FILL, [image, np.float32(3)], (8, 4), (8, 1)).arrays
    assert (texels[..., 0] == 3).all() and (texels[0, :, :, 3] == np.arange(8)).all()

@pytest.mark.adreno(requires="fp16")
def test_half(adreno_kernel):
    (y,) = adreno_kernel(HALF, [X.astype("float16")], (64,), (16,)).arrays
    assert (y == X.astype("float16") * 2).all()

@pytest.mark.adreno(requires=["checks"])
def test_expected(adreno_kernel):
    adreno_kernel(ADD, [X.copy(), X[:32]], (64,), (16,), expect=["out-of-bounds-read"])

@pytest.mark.adreno(profile=["adreno-740", "adreno-5*"])
def test_profile(adreno_device):
    assert "740" in adreno_device.info.name
"""

FAILING = """
import numpy as np
import pytest
from test_kernels import ADD, X

def test_outside(adreno_kernel):
    adreno_kernel(ADD, [X.copy(), X[:32]], (64,), (16,))

def test_absent(adreno_kernel):
    adreno_kernel(ADD, [X.copy(), X], (64,), (16,), expect=["data-race"])

def test_no_build(adreno_kernel):
    adreno_kernel("kernel void f(global float *y) { y[0] = z; }", [X], (1,))

def test_two_kernels(adreno_kernel):
    adreno_kernel("kernel void a() {} kernel void b() {}", [], (1,))

@pytest.mark.adreno(requires="magic")
def test_magic(adreno_device):
    pass

@pytest.mark.adreno(device="x")
def test_marker(adreno_device):
    pass
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Child processes find the package where it is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(Path(adreno_sim.__file__).parents[1]), prepend=os.pathsep)


@pytest.fixture
def run(pytester):
    """run(*args): pytest with the plugin in a process of its own, in a folder with the files above."""
    pytester.makepyfile(test_kernels=KERNELS)

    def call(*args):
        plugin = () if INSTALLED else ("-p", "adreno_sim.pytest.plugin")
        return pytester.runpytest_subprocess("--strict-markers", "--strict-config", *plugin, *args)

    return call


def test_fixtures_on_two_devices(run, pytester):
    result = run("-v", "-rs", "--junitxml=out.xml", "--adreno-device=sim:adreno-740", "--adreno-device=sim:adreno-630")
    result.assert_outcomes(passed=9, skipped=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_add?sim:adreno-630? PASSED*",
            "SKIPPED*test_kernels.py:*: needs profile adreno-740 or adreno-5[*], the device is sim:adreno-630",
            "*= adreno =*",
            "sim:adreno-630: 5 tests, 0 failed, 1 skipped",
            "sim:adreno-740: 5 tests, 0 failed, 0 skipped",
        ]
    )
    cases = ET.parse(pytester.path / "out.xml").iter("testcase")
    devices = {case.get("name"): [p.get("value") for p in case.iter("property")] for case in cases}
    assert devices["test_half[sim:adreno-740]"] == ["sim:adreno-740"]


def test_workers_give_the_same_ids_and_summary(run):
    alone = run("--collect-only", "-q", "--adreno-device=sim:adreno-740")
    spread = run("-v", "-n2", "--adreno-device=sim:adreno-740")
    named = [set(re.findall(r"test_kernels.py::\S+", result.stdout.str())) for result in (alone, spread)]
    assert named[0] == named[1]
    assert len(named[0]) == 5
    spread.stdout.fnmatch_lines(["sim:adreno-740: 5 tests, 0 failed, 0 skipped"])


def test_a_real_device_skips_what_it_lacks(run):
    result = run("-rs", "--adreno-device=cl:portable")
    halves = "has no cl_khr_fp16" not in result.stdout.str().partition("= adreno =")[2]
    skipped = 2 if halves else 3
    result.assert_outcomes(passed=5 - skipped, skipped=skipped)
    result.stdout.fnmatch_lines([f"cl:portable: 5 tests, 0 failed, {skipped} skipped", "  does not check accesses*"])
    if not halves:
        result.stdout.fnmatch_lines(["SKIPPED*needs fp16: * has no cl_khr_fp16"])


ATTACHED = """
import numpy as np
from adreno_sim.device import Local, Sampler

SOURCE = '''
kernel void mix(read_only image2d_t x, sampler_t s, local float *part, float4 a, int n, global uchar *y) {
  int i = get_global_id(0);
  part[get_local_id(0)] = read_imagef(x, s, (int2)(i, 0)).x;
  y[i * n] = part[get_local_id(0)] + a.w < 0;
}
'''

def test_outside(adreno_kernel):
    image = adreno_kernel.Image(np.ones((1, 1, 8, 4), "float32"))
    a = np.array([1, 2, 3, 4], "float32")
    adreno_kernel(SOURCE, [image, Sampler(), Local(16), adreno_kernel.Vector(a), np.int32(3), Y], (8,), (4,))

Y = np.zeros(8, "bool")
"""


def test_a_failed_kernel_leaves_a_folder_that_reproduces_it(run, pytester):
    pytester.makepyfile(test_attached=ATTACHED)
    result = run("test_attached.py", "--adreno-device=sim:adreno-740", "--adreno-output=failures")
    result.assert_outcomes(failed=1)
    (folder,) = (pytester.path / "failures").iterdir()
    result.stdout.fnmatch_lines([f"attached: {folder} (report.html, report.json, report.txt, reproduce)"])
    (finding,) = json.loads((folder / "report.json").read_text())["findings"]
    assert finding["kind"] == "out-of-bounds-write"
    assert "out-of-bounds-write" in (folder / "report.html").read_text()
    again = pytester.run(
        sys.executable, "-m", "adreno_sim", "kernel", "--launch", folder / "reproduce" / "launch.toml", "--json", "-"
    )
    assert again.ret == 1
    told = json.loads(again.stdout.str())["findings"]
    assert [(item["kind"], item["line"], item["count"]) for item in told] == [
        (finding["kind"], finding["line"], finding["count"])
    ]


def test_failures_are_short_and_say_what_is_wrong(run, pytester):
    pytester.makepyfile(test_failing=FAILING)
    pytester.makeini("[pytest]\nadreno_device = sim:adreno-740\npythonpath = .")
    result = run("test_failing.py")
    result.assert_outcomes(failed=4, errors=2)
    result.stdout.fnmatch_lines_random(
        [
            "*out-of-bounds-read: reads 4 bytes at offset 128 of x, which has 128 bytes (32 times)",
            "FAILED *::* - *out-of*",
            "  at add:1:*",
            "expected findings that did not appear: data-race",
            "*use of undeclared identifier 'z'*",
            "the source has 2 kernels (a, b): say kernel=...",
            "marker adreno: requires 'magic': expected fp16, *",
            "marker adreno(){'device': 'x'}: expected adreno(profile=None, requires=())*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "During handling" not in result.stdout.str()


@pytest.mark.parametrize(
    ("args", "ini", "expected"),
    [
        (["--adreno-device=sim:adreno-999"], "", "device sim:adreno-999: *adreno-740*"),
        ([], "adreno_checks = some", "*adreno_checks = some: expected one of off, bounds, full*"),
        (["--adreno-update", "-n1"], "", "*--adreno-update: run without -n*"),
        (["--adreno-pipeline=best"], "", "*--adreno-pipeline: invalid choice: 'best'*"),
    ],
    ids=["device", "ini", "update", "pipeline"],
)
def test_wrong_settings_are_refused(run, pytester, args, ini, expected):
    pytester.makeini(f"[pytest]\n{ini}")
    result = run(*args, "-k", "test_profile")
    assert result.ret != 0
    assert re.search(expected.replace("*", ".*"), result.stdout.str() + result.stderr.str())


def test_own_devices_are_judged_too(run, pytester):
    pytester.makepyfile(
        test_own="""
        import pytest
        from adreno_sim import open_device

        @pytest.fixture(scope="module", params=["sim:adreno-740"])
        def adreno_device(request):
            return open_device(request.param)

        def test_it(adreno_device, adreno_kernel):
            assert adreno_device.info.backend == "sim"

        @pytest.mark.adreno(requires="real")
        def test_real(adreno_device):
            pass
        """
    )
    run("test_own.py").assert_outcomes(passed=1, skipped=1)


def test_loading_the_plugin_is_light():
    code = "import sys, pytest, adreno_sim.pytest.plugin; print({'numpy', 'numba', 'llvmlite', 'tvm', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize(
    ("pytest_version", "pluggy_version", "said"),
    [
        ("7.0.0", "1.2.0", ""),
        ("9.2.0", "1.6.0", ""),
        ("10.0.0.dev3", "2.0", ""),
        ("6.2.5", "1.6.0", "needs pytest 7.0 or later, found 6.2.5; next: pip install -U"),
        ("7.2.1", "1.0.0", "needs pluggy 1.2 or later, found 1.0.0; next: pip install -U"),
    ],
)
def test_a_pytest_too_old_is_named(pytest_version, pluggy_version, said):
    reason = why_too_old(pytest_version, pluggy_version)
    assert (said in reason) if said else not reason


@pytest.mark.slow
def test_the_oldest_pytest_runs_the_plugin(tmp_path):
    """A package index gives it; what it lacks is written where no plugin was taken along."""
    packages, tests = tmp_path / "packages", tmp_path / "test_kernels.py"
    wanted = f"pytest=={PYTEST[0]}.{PYTEST[1]}.1"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, wanted], check=True, timeout=300)
    tests.write_text(KERNELS)
    path = os.pathsep.join([str(packages), str(Path(adreno_sim.__file__).parents[1])])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "test_add or test_half", str(tests)]
    command += [] if INSTALLED else ["-p", "adreno_sim.pytest.plugin"]
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "pytest-7.0.1" in done.stdout, done.stdout + done.stderr
