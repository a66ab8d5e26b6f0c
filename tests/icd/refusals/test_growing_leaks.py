"""Objects that are never released: told where they grow with the launches, and only there; in a run and in its replay."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shim_clients import compile_client, simulate

from adreno_sim.cli.main import main
from adreno_sim.icd.watches.growing_leaks import LEAST, GrowingLeaks
from adreno_sim.memory.storage import MemoryBlock, Storage
from adreno_sim.results.run_report import Leak


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("growing", tmp_path_factory.mktemp("growing"))


def growth_of(report: Path) -> list[str]:
    return [found["message"] for found in json.loads(report.read_text())["findings"] if found["kind"] == "leak-grows"]


def test_only_what_grows_with_launches_is_told(client: str, tmp_path: Path) -> None:
    report, trace = tmp_path / "report.json", tmp_path / "trace.asim"
    for how, leaks in (("leak", 40), ("cache", 10), ("setup", 40), ("layers", 20), ("kernels", 40), ("pool", 20), ("well", 0)):
        done = simulate("run", "--record", str(trace), "--json", str(report), "--", client, how)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(report.read_text())["processes"][0]["leaks"]) == leaks
        if how != "leak":
            assert growth_of(report) == [], how
            continue
        (message,) = told = growth_of(report)
        grows = r"38 objects cl_mem that were made since the first launch are never released: they grow by 2 a launch"
        assert re.fullmatch(grows + r", the first made by call \d+, from \S+ of \S+growing\+0x\w+(, called from .*)?", message)
        assert re.search(r"  40 cl_mem from \S+ of \S+growing\+0x", done.stderr)
        assert main(["replay", str(trace), "--json", str(report)]) == 0
        assert growth_of(report) == told


def test_a_program_that_is_built_again_and_again_grows(client: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = simulate("run", "--json", str(report), "--", client, "rebuilt")
    assert done.returncode == 0, done.stderr
    kinds = [re.match(r"\d+ objects (\w+) .*from \S+ of \S+growing", message) for message in growth_of(report)]
    assert sorted(found[1] for found in kinds if found) == ["cl_kernel", "cl_program"]


@pytest.mark.parametrize("known", [True, False])
def test_a_function_that_makes_objects_for_many_callers_is_not_one_place(known: bool) -> None:
    """Four caches fill one after the other, each from its own line, through one function; then one line goes on."""
    growth, made = GrowingLeaks(), {}
    for step in range(40):
        growth.note_launch(10 * step + 1, "k", "", (16,))
        made[10 * step + 5] = ("a.py:1 in make", f"a.py:{10 + step // 10} in fill")
    leaks = [Leak("cl_mem", f"call {call}, from a.py:1 in make") for call in made]
    told = list(growth.find(leaks, made.get if known else lambda call: ()))
    assert len(told) == (0 if known else 1)
    for call in list(made):
        made[call + 1] = ("a.py:1 in make", "a.py:30 in leak")
    leaks = [Leak("cl_mem", f"call {call}, from a.py:1 in make") for call in made]
    (found,) = growth.find(leaks, made.get)
    assert found.message.startswith("40 objects cl_mem that were made since the first launch are never released: they grow by 1")
    assert found.message.endswith(", from a.py:1 in make, called from a.py:30 in leak")


@pytest.mark.parametrize(("behind", "grows"), [(0, True), (1, True), (LEAST + 2, False)])
def test_memory_that_is_used_again_much_later_is_of_a_pool(behind: int, grows: bool) -> None:
    """Each launch makes a buffer, and uses the one that was made so many launches before."""
    growth, memory, frames = GrowingLeaks(), [], ("a.py:1 in make",)
    for step in range(40):
        memory.append(Storage(64, MemoryBlock(64, 0)))
        growth.note_memory(memory[-1], 10 * step + 1, frames)
        growth.note_launch(10 * step + 2, "k", "", (16,), [memory[-1], memory[max(step - behind, 0)]])
    leaks = [Leak("cl_mem", f"call {10 * step}, from {frames[0]}") for step in range(40)]
    assert bool(list(growth.find(leaks, lambda call: frames))) == grows
    other = ("a.py:1 in make", "a.py:9 in scratch")
    assert len(list(growth.find(leaks, lambda call: other))) == 1
