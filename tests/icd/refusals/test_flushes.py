"""Launches that nothing flushes, and waits that a driver which waits for a flush never ends; with flushes nothing is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shim_clients import compile_client, fake_environment, run_client

MANY = "1000 launches were enqueued to queue 1 without clFlush, clFinish or a blocking call between them"
WAITS = "{} waits for a command of queue 2, which waits for one of queue 1 that nothing has flushed"
CASES = {
    "many": [f"QUEUE_NOT_FLUSHED: {MANY}"],
    "finish": [f"WAIT_NOT_FLUSHED: {WAITS.format('clFinish')}"],
    "wait": [f"WAIT_NOT_FLUSHED: {WAITS.format('clWaitForEvents')}"],
    "blocking": [f"WAIT_NOT_FLUSHED: {WAITS.format('clEnqueueReadBuffer')}"],
    "harmless": [],
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("flushes", tmp_path_factory.mktemp("flushes"))


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_flushed_is_told(client: str, name: str, tmp_path: Path) -> None:
    environment = fake_environment(tmp_path)
    told = re.compile(r"fake server: ([A-Z_]+: .*)")
    assert told.findall(run_client(client, environment, name).stderr) == CASES[name]
    assert told.findall(run_client(client, environment, name, "well").stderr) == []
