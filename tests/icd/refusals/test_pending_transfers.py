"""Memory of the host that changes while a transfer may still use it: told with the transfer's call; what waits first is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shim_clients import compile_client, fake_environment, run_client

WRITE = (
    "the host changed {} bytes of its memory before it knew that the command which reads them was complete: the device may get "
    "what was there before or what is there now"
)
READ = (
    "the host changed {} bytes of its memory before it knew that the command which writes them was complete: what it wrote there "
    "may be lost"
)
CASES = {
    "two_writes": WRITE.format(4096),
    "deferred_write": WRITE.format(4096),
    "overwritten_read": READ.format(4096),
    "rows": WRITE.format(512),
    "round_trip": WRITE.format(4096),
    "told_otherwise": WRITE.format(4096),
    "other_queue": WRITE.format(4096),
    "unmapped": WRITE.format(8192),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("pending", tmp_path_factory.mktemp("pending"))


@pytest.mark.share()
@pytest.mark.parametrize("name", CASES)
def test_a_change_before_the_host_knows_is_told(client: str, name: str, tmp_path: Path) -> None:
    environment = fake_environment(tmp_path)
    told = re.compile(r"fake server: ([A-Z_]+: .*)")
    assert told.findall(run_client(client, environment, name).stderr) == [f"HOST_MEMORY_CHANGED: {CASES[name]}"]
    assert told.findall(run_client(client, environment, name, "well").stderr) == []
