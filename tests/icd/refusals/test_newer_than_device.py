"""Functions and extensions that the device does not have, called or enabled all the same; asked for first, nothing is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from shim_clients import compile_client, simulate

from adreno_sim.cli.main import main

LATE = [
    "clCreateBufferWithProperties is a function of OpenCL 3.0, and the device has OpenCL 2.0: its driver has no such function",
    "clCloneKernel is a function of OpenCL 2.1, and the device has OpenCL 2.0: its driver has no such function",
]
UNLISTED = "clGetImageRequirementsInfoEXT is a function of cl_ext_image_requirements_info, which the device does not list"
KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL EXTENSION cl_khr_fp64 : disable
EXTRA
kernel void k(global int *o) { o[get_global_id(0)] = 1; }
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("newer", tmp_path_factory.mktemp("newer"))


@pytest.mark.parametrize("words", [(), ("well",)])
def test_functions_that_the_device_lacks_are_told(client: str, words: tuple[str, ...], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    for device, late in (("adreno-650", LATE), ("adreno-740", [])):
        done = simulate("run", "--device", f"sim:{device}", "--json", str(report), "--", client, *words)
        found = json.loads(report.read_text())["findings"]
        told = [finding["message"] for finding in found if finding["kind"] == "newer-than-device"]
        assert told == ([] if words else late), done.stderr
        unlisted = [finding["message"] for finding in found if finding["kind"] == "extension-not-listed"]
        assert unlisted == ([UNLISTED] if late and not words else []), done.stderr


@pytest.mark.parametrize(("extra", "told"), [("#pragma OPENCL EXTENSION cl_khr_fp64 : enable", 1), ("", 0)])
def test_a_pragma_for_what_is_not_listed_is_told(extra: str, told: int, tmp_path: Path) -> None:
    source, launch, report, program = (tmp_path / name for name in ("k.cl", "k.toml", "report.json", "client.py"))
    source.write_text(KERNEL.replace("EXTRA", extra))
    launch.write_text('global_size = [4]\n[[argument]]\nkind = "buffer"\ndtype = "int32"\ncount = 4\n')
    assert main(["kernel", str(source), "--launch", str(launch), "--json", str(report)]) == 0
    wanted = [(source.name, 6)] * told
    found = [finding for finding in json.loads(report.read_text())["findings"] if finding["kind"] == "extension-not-listed"]
    assert [(Path(finding["file"]).name, finding["line"]) for finding in found] == wanted
    program.write_text(
        "import pyopencl as cl\ncontext = cl.Context(cl.get_platforms()[0].get_devices())\n"
        f"queue = cl.CommandQueue(context)\nkernel = cl.Kernel(cl.Program(context, {source.read_text()!r}).build(), 'k')\n"
        "kernel(queue, (4,), None, cl.Buffer(context, 0, 16))\n"
    )
    done = simulate("run", "--json", str(report), "--", sys.executable, str(program))
    assert done.returncode == 0, done.stderr
    found = [finding for finding in json.loads(report.read_text())["findings"] if finding["kind"] == "extension-not-listed"]
    assert [finding["line"] for finding in found] == [6] * told
