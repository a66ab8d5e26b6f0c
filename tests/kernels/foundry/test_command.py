"""`ci/foundry.sh`: what it refuses, its table and its page, several processes, a process that dies, a Dask scheduler."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from foundry import spread, table
from foundry.campaign import Report
from foundry.cases import ALL_CELLS

ROOT = Path(__file__).resolve().parents[3]


def foundry(*args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", str(ROOT / "ci/foundry.sh"), *args], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--case", "7"], "expected SEED/NUMBER"),
        (["--cell", "unset element/local/bounds"], "expected one of"),
        (["--table", "nowhere.json"], "expected a file of --json"),
    ],
)
def test_what_the_command_refuses(args: list[str], said: str) -> None:
    done = foundry(*args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_counts_of_two_runs_are_put_into_a_page(tmp_path: Path) -> None:
    cell = ALL_CELLS[0]
    key = (cell.kind, cell.space, cell.level)
    report = Report()
    report.planted[key] = report.clean[key] = 700
    report.missed[key] = 1
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        file.write_text(json.dumps(table.as_json(report, {})))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nbehind\n")
    done = foundry("--table", *map(str, files), "--page", str(page))
    assert done.returncode == 1, "something was missed"
    assert "| out of range, read | bounds | 2 of 1,400, 0 of 1,400 |" in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith(f"{table.END}\nbehind\n")
    page.write_text("no place\n")
    assert foundry("--table", str(files[0]), "--page", str(page)).returncode == 2


@pytest.mark.parametrize("given", [(0, 106, 2), (0, 29680, 128), (5, 100, 2), (1, 10600, 16, 53)])
def test_every_case_is_in_one_part(given: tuple[int, ...]) -> None:
    start, count, _, *step = given
    parts = spread.split(*given)
    assert [number for part in parts for number in part] == list(range(start, start + count, *step))


def test_a_process_that_dies_takes_only_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, part: range) -> Report | None:
        return None if 5 in part else Report(ran=Counter(launches=len(part)))

    monkeypatch.setattr(spread, "_try", run)
    report = Report()
    for part in spread.on_this_machine(1, [range(0, 4), range(4, 8)], 2):
        report.add(part)
    assert report.died == 1
    assert report.ran["launches"] == 7
    assert "case 1/5" in report.failures[0]


CLUSTER = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


@pytest.mark.slow
def test_workers_of_a_scheduler(tmp_path: Path) -> None:
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("dask distributed is not installed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout
        done = foundry("--scheduler", cluster.stdout.readline().strip(), "--count", "4", "--json", str(tmp_path / "found.json"))
        cluster.communicate("\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(json.loads((tmp_path / "found.json").read_text())["planted"].values()) == 4
