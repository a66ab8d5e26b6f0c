"""Calls that are refused for a descriptor, a format, flags or properties: each reason says what was expected and what came."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shim_clients import compile_client, simulate

REFUSED = (Path(__file__).parent / "reasons.txt").read_text().splitlines()
"""In the order of the client's calls."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("reasons", tmp_path_factory.mktemp("reasons"))


def run_client(client: str, folder: Path, *words: str) -> tuple[int, list[str], list[str]]:
    """The exit code, the messages of refused calls, and what is unsupported. The client checks the codes itself."""
    report = folder / "report.json"
    done = simulate("run", "--device", "sim:adreno-740", "--checks", "bounds", "--json", str(report), "--", client, *words)
    assert "reasons.c" not in done.stderr
    data = json.loads(report.read_text())
    found = [finding["message"] for finding in data["findings"] if finding["kind"].endswith("-refused")]
    counts = re.compile(r"(call|lists the) \d+")
    return done.returncode, [counts.sub(r"\1 N", message) for message in found], data["processes"][0]["unsupported"]


def test_each_reason_is_of_the_call(client: str, tmp_path: Path) -> None:
    code, found, unsupported = run_client(client, tmp_path)
    assert [re.sub(r" \(-\d+\)", "", message, count=1) for message in found] == REFUSED
    assert (code, unsupported) == (1, [])


def test_right_calls_are_not_refused(client: str, tmp_path: Path) -> None:
    assert run_client(client, tmp_path, "well") == (0, [], [])


def test_an_image_over_an_image_is_unsupported(client: str, tmp_path: Path) -> None:
    code, found, (unsupported,) = run_client(client, tmp_path, "srgb")
    why = "an image over another image (mem_object of clCreateImage); make it over a buffer, or copy the texels"
    assert found == [f"clCreateImage gives CL_OUT_OF_RESOURCES (-5): {why}"]
    assert (code, unsupported.partition(": ")[2]) == (1, why)
