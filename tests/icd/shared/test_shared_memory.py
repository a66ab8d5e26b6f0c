"""Shared virtual memory through the driver: right programs as on PoCL and Intel's driver, and what wrong ones are told."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # importlib mode leaves the shared modules off the path

from shim_clients import FLAGS, compile_client, compilers, run, simulate

from adreno_sim.backends.opencl import drivers

CASES = {
    "unwritten": "uninitialized-read",
    "unwritten_fine": "uninitialized-read",
    "unmapped": "host-memory-changed",
    "unmapped_at_first": "host-memory-changed",
    "still_mapped": "used-while-mapped",
    "read_map": "read-map-written",
    "bounds": "out-of-bounds-write",
    "race": "data-race",
    "not_told": "out-of-bounds-read",
    "freed_in_list": "out-of-bounds-read",
    "freed": "use-after-release",
    "refused_pointer": "argument-not-set",
}
SECOND = {"unwritten_fine", "unmapped_at_first", "freed_in_list"}
"""Of the same kind as another one that is told in the same way."""

TOLD = {
    ("uninitialized-read", "twice"),
    ("host-memory-changed", "twice"),
    ("used-while-mapped", "twice"),
    ("read-map-written", ""),
    ("out-of-bounds-write", "late"),
    ("data-race", "same"),
    ("out-of-bounds-read", "walk"),
    ("out-of-bounds-write", "walk"),
    ("use-after-release", ""),
    ("call-refused", "copy"),
    ("argument-not-set", "copy"),
}
"""Kinds and kernels of what the others are told, all in one process."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("shared", tmp_path_factory.mktemp("shared"))


def run_client(folder: Path, *words: str, device: str = "adreno-740", more: tuple[str, ...] = ()):
    report = folder / "report.json"
    done = simulate("run", "--device", f"sim:{device}", "--checks", "full", "--json", str(report), *more, "--", *words)
    return done, json.loads(report.read_text()) if report.is_file() else {}


@pytest.mark.parametrize("device", ["adreno-740", "adreno-650"])
def test_right_programs_are_right_and_silent(client: str, device: str, tmp_path: Path) -> None:
    done, report = run_client(tmp_path, client, device=device)
    assert done.returncode == 0, done.stderr
    assert report["findings"] == []
    assert not report["processes"][0]["leaks"]


def test_wrong_calls_are_refused_as_drivers_do(client: str, tmp_path: Path) -> None:
    done, report = run_client(tmp_path, client, "errors")
    assert "shared.c" not in done.stderr
    assert {finding["kind"] for finding in report["findings"]} <= {"call-refused", "probe-refused", "nothing-launched"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_wrong_program_is_told(client: str, name: str, tmp_path: Path) -> None:
    done, report = run_client(tmp_path, client, name)
    assert done.returncode == 1, done.stderr
    assert CASES[name] in {finding["kind"] for finding in report["findings"]}


def test_what_is_wrong_is_told_each_by_its_kind_and_kernel(client: str, tmp_path: Path) -> None:
    done, report = run_client(tmp_path, client, *(name for name in CASES if name not in SECOND))
    assert done.returncode == 1, done.stderr
    assert {(finding["kind"], finding.get("kernel") or "") for finding in report["findings"]} == TOLD
    (message,) = (finding["message"] for finding in report["findings"] if finding["kind"] == "argument-not-set")
    wanted = (
        "argument 1 (from) of copy was never set (call N that sets it gives CL_INVALID_ARG_VALUE, -50), and nothing is launched"
    )
    assert re.sub(r"call \d+", "call N", message) == wanted


def test_the_same_done_well_is_silent(client: str, tmp_path: Path) -> None:
    done, report = run_client(tmp_path, client, "well", *CASES)
    found = [finding for finding in report["findings"] if finding["kind"] != "nothing-launched"]  # as some calls are tried alone
    assert (done.returncode, found) == (0, []), done.stderr


def test_a_recording_shows_the_same_again(client: str, tmp_path: Path) -> None:
    trace, again = tmp_path / "trace.asim", tmp_path / "again.json"
    _, report = run_client(tmp_path, client, "not_told", more=("--record", str(trace)))
    done = simulate("replay", str(trace), "--json", str(again))
    assert done.returncode == 1, done.stderr
    assert [f["kind"] for f in json.loads(again.read_text())["findings"]] == [f["kind"] for f in report["findings"]]


def test_a_device_without_it_has_none(client: str, tmp_path: Path) -> None:
    """Under Windows an X1 has no shared virtual memory."""
    done, _ = run_client(tmp_path, client, device="adreno-x1-85")
    assert "shared.c" in done.stderr
    assert "found" in done.stderr


@pytest.mark.parametrize("judge", ["pocl", "intel"])
def test_judges_run_the_right_programs(judge: str, tmp_path: Path) -> None:
    driver = next(one for one in drivers.DRIVERS if one.name == judge)
    loader = Path(sys.prefix, "lib", "libOpenCL.so.1").resolve()
    texts = drivers.icd_texts(driver)
    if not texts or not loader.is_file():
        pytest.skip(f"{judge} or a loader is not installed")
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors" / "judge.icd").write_text(texts[-1])
    program, folder = str(tmp_path / "shared"), str(loader.parent)
    source = str(Path(__file__).parents[1] / "clients" / "shared.c")
    built = run([*next(compilers()), *FLAGS, source, str(loader), f"-Wl,-rpath-link,{folder}", "-o", program])
    assert built.returncode == 0, built.stderr
    judged = {"LD_LIBRARY_PATH": folder, "OCL_ICD_VENDORS": str(tmp_path / "vendors"), "OCL_ICD_FILENAMES": ""}
    for words in ([], ["errors"] if judge == "intel" else []):
        done = run([program, *words], env={**os.environ, **judged})
        assert done.returncode == 0, done.stderr
