"""What a program does against the rules of OpenCL: told with the function it called, and not told of the same done well."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shim_clients import compile_client, fake_environment, run_client, simulate

from adreno_sim.cli.main import main

CASES = {
    "use_after_release": "USE_AFTER_RELEASE: clGetMemObjectInfo uses a cl_mem that was released; call 4 made it",
    "released_too_often": "USE_AFTER_RELEASE: clReleaseEvent uses a cl_event that was released; call 4 made it",
    "released_argument": "USE_AFTER_RELEASE: clEnqueueNDRangeKernel uses a cl_mem that was released; call 4 made it",
    "argument_not_set": "ARGUMENT_NOT_SET: argument 1 (v) of append was never set, and nothing is launched",
    "used_while_mapped": "USED_WHILE_MAPPED: a launch begins on a buffer that the host has mapped for writing and not unmapped; "
    "call 4 made it",
    "part_used_while_mapped": "USED_WHILE_MAPPED: a transfer begins on a buffer that the host has mapped for writing in part "
    "(a sub-buffer or an image over it) and not unmapped; call 4 made it",
    "unmapped_in_time": "USED_WHILE_MAPPED: a launch begins on a buffer that the host has mapped for writing and not unmapped; "
    "call 4 made it",
    "mapped_later": "USED_WHILE_MAPPED: a launch begins on a buffer that the host has mapped for writing and not unmapped; "
    "call 4 made it",
    **{
        name: f"USED_WHILE_MAPPED: a mapping for writing begins on bytes of {what} that the host has mapped for writing and not "
        "unmapped; call 4 made it: a phone may refuse it with CL_INVALID_OPERATION"
        for name, what in (("mapped_for_writing_twice", "a buffer"), ("image_mapped_for_writing_twice", "an image"))
    },
    "host_memory_changed": "HOST_MEMORY_CHANGED: clEnqueueMapBuffer finds bytes 4096 to 8192 of the host's memory of a buffer "
    "changed since it was made or unmapped; call 4 made it with CL_MEM_USE_HOST_PTR",
    "never_unmapped": "NEVER_UNMAPPED: a buffer is released while it is mapped; call 4 made it",
    "unordered_transfer": "UNORDERED_TRANSFER: it reads memory of the host that call 10 still writes, and nothing orders the two",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("misuse", tmp_path_factory.mktemp("misuse"))


def told(text: str) -> list[str]:
    return re.findall(r"fake server: ([A-Z_]+: .*)", text)


@pytest.mark.parametrize("name", CASES)
def test_a_misuse_is_told_once(client: str, name: str, tmp_path: Path) -> None:
    numbers = re.compile(r"call \d+")  # which number is the fake server's affair; those of the driver are tested below
    found = told(run_client(client, fake_environment(tmp_path), name).stderr)
    assert [numbers.sub("call", line) for line in found] == [numbers.sub("call", CASES[name])]


@pytest.mark.parametrize("name", CASES)
def test_the_same_done_well_is_not(client: str, name: str, tmp_path: Path) -> None:
    assert told(run_client(client, fake_environment(tmp_path), name, "well").stderr) == []


@pytest.mark.parametrize("name", ["use_after_release", "argument_not_set"])
def test_a_misuse_is_a_finding_of_the_run_and_of_its_replay(client: str, name: str, tmp_path: Path) -> None:
    report, again, trace = (tmp_path / file for file in ("report.json", "again.json", "trace.asim"))
    words = ["run", "--device", "sim:adreno-740", "--record", str(trace)]
    done = simulate(*words, "--json", str(report), "--", client, name)
    label = name.replace("_", "-")
    assert done.returncode == 1, done.stderr
    assert f"adreno-sim: error: {label}: " in done.stderr
    assert re.search(r"^  at call \d+ of thread \d+$", done.stderr, re.M)
    data = json.loads(report.read_text())
    (finding,) = data["findings"]
    assert finding["kind"] == label
    assert finding.get("kernel", "") == ("append" if name == "argument_not_set" else "")
    assert main(["replay", str(trace), "--json", str(again)]) == 1
    replayed = json.loads(again.read_text())
    assert replayed["findings"] == [finding]
    assert replayed["processes"][0]["leaks"] == data["processes"][0]["leaks"]
