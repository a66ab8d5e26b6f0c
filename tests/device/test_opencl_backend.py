"""The Device protocol on real OpenCL implementations: PoCL and Intel's CPU runtime."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import judges
import pytest

from adreno_sim.backends.opencl import loader

pytestmark = pytest.mark.device

CHECKS = Path(__file__).with_name("opencl_checks.py")
NAMES = sorted(
    node.name
    for node in ast.parse(CHECKS.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
)


@pytest.fixture(scope="session")
def outcomes_on(opencl_child):
    """outcomes_on(driver) is the name of each check -> "" or the traceback of its failure."""

    @cache
    def run(driver: str) -> dict[str, str]:
        done = opencl_child(f"cl:{driver}")
        found = dict(json.loads(line) for line in done.stdout.splitlines())
        return {name: found.get(name, f"the process ended with {done.returncode}\n{done.stderr[-3000:]}") for name in NAMES}

    return run


@pytest.mark.share(2.5)
@pytest.mark.parametrize("driver", ["pocl", "intel"])
@pytest.mark.parametrize("name", NAMES)
def test_on_device(name, driver, outcomes_on, request):
    judges.skip_without(request.node, driver)
    outcome = outcomes_on(driver)[name]
    assert not outcome, outcome


OPEN = """
import sys
from adreno_sim import AdrenoSimError, open_device
try:
    print(open_device(sys.argv[1]).info.version)
except AdrenoSimError as error:
    print("refused:", error)
"""


def test_a_platform_is_an_index_or_a_substring(opencl_child):
    by_index = opencl_child("cl:0:0", code=OPEN).stdout
    assert "refused" not in by_index
    assert opencl_child("cl", code=OPEN).stdout == by_index
    portable = opencl_child("cl:portable", code=OPEN).stdout
    assert "refused" not in portable
    assert opencl_child("cl:PORTABLE", code=OPEN).stdout == portable
    assert opencl_child("cl", code=OPEN, env={"PYOPENCL_CTX": "portable:0"}).stdout == portable


@pytest.mark.parametrize("name", ["pocl", "Portable Computing", "Intel"])
def test_a_driver_is_had_by_its_name_whatever_it_is_worth(opencl_child, name, request):
    driver = loader.find_driver(name)
    judges.skip_without(request.node, driver.name)
    said = opencl_child(f"cl:{name}", code=OPEN).stdout
    assert "refused" not in said
    assert ("PoCL" in said) == (driver.name == "pocl")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cl:acme", "no OpenCL platform 'acme'; there are: 0 '"),
        ("cl:99", "no OpenCL platform '99'"),
        ("cl:portable:turbo", "no OpenCL device 'turbo'; there are: 0 '"),
    ],
)
def test_what_is_missing_is_named_with_what_is_there(opencl_child, device, message):
    done = opencl_child(device, code=OPEN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"refused: {message}" in done.stdout, done.stdout + done.stderr


def test_without_any_driver(opencl_child, tmp_path):
    (tmp_path / "nothing.icd").write_text("/nowhere/libnothing.so\n")
    done = opencl_child("cl", code=OPEN, env={"OCL_ICD_VENDORS": str(tmp_path / "nothing.icd")})
    assert "refused: no OpenCL platform: expected a driver's .icd file" in done.stdout, done.stdout + done.stderr


def test_without_pyopencl(opencl_child):
    done = opencl_child("cl", code="import sys; sys.modules['pyopencl'] = None\n" + OPEN)
    assert re.search(r"Run: pip install \S.*\[opencl\]", done.stdout), done.stdout + done.stderr  # as it was installed itself
