"""The known answers on the drivers that are installed: PyPI's PoCL 3.0 is the live defect, Intel's its clean twin."""

from __future__ import annotations

import json

import judges
import numpy as np
import oracle
import pytest

from adreno_sim.backends.opencl import drivers, loader
from adreno_sim.backends.opencl.known_answers import KNOWN_ANSWERS
from adreno_sim.backends.opencl.verdicts import judge_driver

pytestmark = pytest.mark.device

PRODUCT = KNOWN_ANSWERS[1]
SENTENCE = "gets loops with barriers wrong (a tiled matrix product: element "


@pytest.fixture(scope="session")
def defective(tmp_path_factory) -> str:
    """Text of the .icd file for PyPI's PoCL 3.0."""
    library = drivers.get_driver("pocl").find_library()
    return f"{library}\n" if library else ""


@pytest.fixture
def pip_pocl(defective, request) -> str:
    if not defective:
        reason = "PyPI's PoCL 3.0, whose defect is known, is not installed: pip install -e '.[opencl]'"
    elif not judge_driver(defective).runs:
        reason = f"PyPI's PoCL 3.0, whose defect is known, runs nothing here: {judge_driver(defective).against}"
    else:
        reason = ""
    if reason:
        request.node.user_properties.append((judges.WITHOUT, reason))
        pytest.skip(reason)
    return defective


def test_pips_pocl_is_found_out(pip_pocl):
    verdict = judge_driver(pip_pocl)
    assert "PoCL" in verdict.devices[0].version
    assert [one[: len(SENTENCE)] for one in verdict.devices[0].wrong] == [SENTENCE]


def test_the_tests_find_it_out_as_well(pip_pocl):
    process = oracle._start_or_reason("pocl", pip_pocl)
    (sentence,) = oracle.find_failures(process)
    assert sentence.startswith(SENTENCE)


def test_intels_gives_every_answer(intel):
    (icd, *_) = drivers.icd_texts(drivers.get_driver("intel"))
    assert judge_driver(icd).against == ""
    assert oracle.find_failures(intel) == []


def test_halves_and_images_are_asked_of_intels(intel):
    asked = [known for known in KNOWN_ANSWERS if known.applies(intel.info.extensions, intel.info.images)]
    assert asked == list(KNOWN_ANSWERS)


def test_a_driver_that_cannot_run_a_kernel_is_unfit(intel, monkeypatch):
    """The clean twin is the test above: the same driver, with an answer and a kernel that are wrong."""
    from dataclasses import replace

    other = replace(PRODUCT, expected=PRODUCT.expected + np.float32(1))
    broken = replace(PRODUCT, source="kernel void k() { not_declared(); }")
    monkeypatch.setattr(oracle, "KNOWN_ANSWERS", (other, broken))
    first, second = oracle.find_failures(intel)
    assert first.startswith(f"{SENTENCE}0 is ")
    assert second.startswith("gets loops with barriers wrong (a tiled matrix product: ")


OPEN = """
import sys
from adreno_sim.device import open_device
device = open_device(sys.argv[1])
import pyopencl
print([platform.name for platform in pyopencl.get_platforms()])
print(device.info.name)
print([warning.kind.label for warning in device.take_warnings()])
"""


def test_portable_is_fit_and_alone(opencl_child):
    """The driver that is not chosen stays out of the process, also the one that pyopencl's wheel would load."""
    platforms, name, warnings = opencl_child("cl:portable", code=OPEN).stdout.splitlines()
    driver = loader.find_driver("portable")
    assert platforms == f"['{driver.platform}']"
    assert driver.platform in name
    assert warnings == "[]"


KERNEL = "kernel void twice(global float *x) { int i = get_global_id(0); x[i] = 2 * x[i]; }"
LAUNCH = """global_size = [8]
argument = [{kind = "buffer", dtype = "float32", count = 8, data = "arange"}]
output = [{argument = 0, data = [0, 2, 4, 6, 8, 10, 12, 14]}]
"""
COMMAND = "import sys; from adreno_sim.cli.main import main; sys.exit(main(sys.argv[2:]))"


def test_a_report_on_an_unfit_device_says_so(pip_pocl, opencl_child, tmp_path):
    (tmp_path / "k.cl").write_text(KERNEL)
    (tmp_path / "launch.toml").write_text(LAUNCH)
    folder = tmp_path / "icd"
    folder.mkdir()
    (folder / "pocl.icd").write_text(pip_pocl)
    words = ["kernel", str(tmp_path / "k.cl"), "--launch", str(tmp_path / "launch.toml"), "--device", "cl:pocl"]
    environment = {drivers.VARIABLE: str(folder), drivers.OURS: ""}
    done = opencl_child("cl:pocl", *words, "--json", str(tmp_path / "out.json"), code=COMMAND, env=environment)
    lines = done.stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if "warning: " in line and "[unfit-device]" in line)
    assert SENTENCE in lines[first], done.stdout + done.stderr
    assert "believe none of its results" in lines[first], done.stdout + done.stderr
    assert first < len(lines) - 1, done.stdout + done.stderr
    (finding,) = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert finding["kind"] == "unfit-device"
    assert finding["severity"] == "warning"


def test_a_report_on_a_fit_device_does_not(opencl_child, tmp_path):
    (tmp_path / "k.cl").write_text(KERNEL)
    (tmp_path / "launch.toml").write_text(LAUNCH)
    words = ["kernel", str(tmp_path / "k.cl"), "--launch", str(tmp_path / "launch.toml"), "--device", "cl:portable"]
    done = opencl_child("cl:portable", *words, code=COMMAND)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unfit" not in done.stdout, done.stdout + done.stderr
    assert "1 of 1 outputs right" in done.stdout, done.stdout + done.stderr
