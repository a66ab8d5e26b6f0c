"""Memory that the host maps for reading only and changes: reported once, at the call that finds it; reading it is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shim_clients import compile_client, fake_environment, run_client, simulate

from adreno_sim.cli.main import main

CASES = {
    "buffer": ("clEnqueueUnmapMemObject", "4096 to 5120 of a buffer"),
    "host_pointer": ("clEnqueueUnmapMemObject", "0 to 1024 of a buffer"),
    "image": ("clEnqueueUnmapMemObject", "0 to 1024 of the region of an image"),
    "pitched_image": ("clEnqueueUnmapMemObject", "0 to 1024 of the region of an image"),
    "part": ("clEnqueueUnmapMemObject", "0 to 1024 of a buffer"),
    "not_blocking": ("clEnqueueUnmapMemObject", "15360 to 16384 of a buffer"),
    "twice": ("clEnqueueUnmapMemObject", "4096 to 5120 of a buffer"),
    "launch": ("clEnqueueNDRangeKernel", "0 to 1024 of a buffer"),
    "queue": ("clEnqueueUnmapMemObject", "0 to 1024 of a buffer"),
    "never_unmapped": ("clReleaseMemObject", "0 to 1024 of a buffer"),
    "large": ("clEnqueueUnmapMemObject", "8192 to 9216 of a buffer"),
    "read_into": ("clEnqueueUnmapMemObject", "4096 to 8192 of a buffer"),
}
LOST = {"host_pointer", "image", "pitched_image"}
"""The simulator's device has its own copy of the mapped memory; the client checks that."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("read_maps", tmp_path_factory.mktemp("read_maps"))


def message_of(name: str) -> str:
    function, changed = CASES[name]
    what = "does not get the change, and a phone may get it" if name in LOST else "has the change, and a phone may lose it"
    found = f"{function} finds that the host changed some of bytes {changed} which it mapped for reading only"
    return f"{found}; call N made it: here the device {what}"


@pytest.mark.share()
@pytest.mark.parametrize("name", CASES)
def test_a_write_to_what_is_mapped_for_reading_is_told(client: str, name: str, tmp_path: Path) -> None:
    environment = fake_environment(tmp_path)
    told = re.compile(r"fake server: READ_MAP_WRITTEN: (.*)")
    found = told.findall(run_client(client, environment, name).stderr)
    assert [re.sub(r"call \d+", "call N", message) for message in found] == [message_of(name)]
    assert "READ_MAP_WRITTEN" not in run_client(client, environment, name, "well").stderr


def test_it_is_a_finding_of_the_run_and_of_its_replay(client: str, tmp_path: Path) -> None:
    report, again, trace = (tmp_path / file for file in ("report.json", "again.json", "trace.asim"))
    command = ["run", "--checks", "full", "--record", str(trace), "--json", str(report), "--", client]
    for name in ("host_pointer", "pitched_image"):
        done = simulate(*command, name)
        found = [one for one in json.loads(report.read_text())["findings"] if one["kind"] == "read-map-written"]
        assert [re.sub(r"call \d+", "call N", one["message"]) for one in found] == [message_of(name)], done.stderr
        assert done.returncode == 1
        assert "adreno-sim: error: read-map-written: " in done.stderr
    (finding,) = found
    assert main(["replay", str(trace), "--json", str(again)]) == 1
    assert finding in json.loads(again.read_text())["findings"]
