"""Cases in several processes. One that crashes or does not end costs its case alone: the next process goes on behind it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SLOWEST = 300.0
"""Seconds a case may take."""


def read_lines(state: Path) -> list[dict[str, object]]:
    """What a file of `note` has."""
    return [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []


def note(state: Path, seed: int, number: int, kind: str, said: str) -> None:
    with state.open("a") as file:
        file.write(json.dumps({"seed": seed, "number": number, "kind": kind, "said": said}) + "\n")


def run_spread(program: Path, seed: int, numbers: range, jobs: int, folder: Path, seconds: float) -> list[dict[str, object]]:
    """The lines of all cases done until `seconds` had gone. Each process keeps those of its part in a file of `folder`."""
    end, share = time.monotonic() + seconds, -(-len(numbers) // jobs)
    parts = [numbers[first : first + share] for first in range(0, len(numbers), share)]
    states = [folder / f"{seed}-{part.start}-{part.stop}.jsonl" for part in parts]
    with ThreadPoolExecutor(jobs) as pool:
        for part, state in zip(parts, states, strict=True):
            pool.submit(_run_part, program, seed, part, state, end)
    return [line for state in states for line in read_lines(state)]


def _run_part(program: Path, seed: int, part: range, state: Path, end: float) -> None:
    while (done := len(read_lines(state))) < len(part) and time.monotonic() < end:
        command = [sys.executable, program, "--seed", seed, "--start", part.start, "--count", len(part), "--state", state]
        ended = _watch([str(word) for word in command], state, end)
        if ended and len(read_lines(state)) < len(part):
            note(state, seed, part.start + max(done, len(read_lines(state))), "error", ended)


def _watch(command: Sequence[str], state: Path, end: float) -> str:
    """How a process ended that did not end by itself; "" where it did, or where the time of all is over."""
    grown, size = time.monotonic(), -1
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            while process.poll() is None:
                time.sleep(0.5)
                now = state.stat().st_size if state.exists() else 0
                if now != size:
                    grown, size = time.monotonic(), now
                if time.monotonic() > end:
                    return ""
                if time.monotonic() - grown > SLOWEST:
                    return f"did not end in {SLOWEST:g} s"
        finally:
            process.kill()
        assert process.stderr
        said = process.stderr.read().strip().splitlines()
    return "" if process.returncode == 0 else f"ended with {process.returncode}: {said[-1] if said else ''}"
