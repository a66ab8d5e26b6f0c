"""Run the clean twins of the defect corpus on a real device; what each came to, as JSON.

python ci/bench/corpus.py cl:NAME -o corpus.json     # neither TVM nor the simulator is needed

Each launch file says what its kernel computes. A driver that dies takes one case with it: the rest run in a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "kernels" / "corpus"

LOST = ("-9999", "CL_OUT_OF_RESOURCES", "CL_DEVICE_NOT_AVAILABLE")
"""Codes after which a driver's context is of no more use (NVIDIA's -9999 is an illegal access or a dead context)."""

SECONDS = 240
"""For one process."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        run_here(args.device, args.worker)
        return
    found: dict[str, dict[str, Any]] = {}
    name = ""
    left = [path.relative_to(CORPUS).as_posix() for path in sorted(CORPUS.rglob("*.toml"))]
    while left:
        command = [sys.executable, __file__, args.device, "-o", str(args.output), "--worker", *left]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=SECONDS)
            said, end = done.stdout, f"the process ended with {done.returncode}"
        except subprocess.TimeoutExpired as error:
            said, end = (error.stdout or b"").decode(), f"no answer within {SECONDS} s"
        for line in filter(None, said.splitlines()):
            data = json.loads(line)
            name = data.pop("device", name)
            if "case" in data:
                found[data.pop("case")] = data
        lost = bool(said.strip()) and any(code in said.splitlines()[-1] for code in LOST)
        left = [case for case in left if case not in found]
        if left and not name:
            sys.exit(f"{args.device}: {end}")
        if left and not lost:  # the one that it was at
            found[left.pop(0)] = {"status": "crashed", "message": end, "outputs": 0}
    args.output.write_text(json.dumps({"device": name, "cases": found}, indent=1) + "\n", encoding="utf-8")
    statuses = [case["status"] for case in found.values()]
    print(f"{name}: {len(found)} cases:", ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(statuses)))


def run_here(text: str, cases: list[str]) -> None:
    """A line of JSON for the device, then one for each case as it ends."""
    sys.path.insert(0, str(ROOT))
    from adreno_sim import open_device
    from adreno_sim.base.errors import AdrenoSimError
    from adreno_sim.launch_spec.read import read_launch
    from adreno_sim.launch_spec.run import run_launch

    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a driver may write what kernels print to standard output
    device = open_device(text)
    print(json.dumps({"device": device.info.name}), file=told, flush=True)
    for case in cases:
        path = CORPUS / case
        data: dict[str, Any] = {"case": case, "outputs": 0}
        try:
            report = run_launch(read_launch(path, "clean"), path.with_suffix(".cl"), device=device)
            wrong = [output for output in report.outputs if not output.ok]
            data["outputs"] = len(report.outputs)
            status = "no output" if not report.outputs else ("wrong" if wrong else "ok")
            if any(finding.severity.name == "ERROR" for finding in report.findings) and status != "wrong":
                status = "refused"
            data |= {"status": status, "message": "" if status == "ok" else _said(report)}
        except AdrenoSimError as error:
            kind = "unsupported" if error.exit_code == 3 else "refused"
            data |= {"status": kind, "message": str(error).splitlines()[0]}
        print(json.dumps(data), file=told, flush=True)
        if any(code in data.get("message", "") for code in LOST):
            return  # whatever follows in this context fails too


def _said(report: Any) -> str:
    """The first finding, else the verdict."""
    return next((f"{finding.kind.label}: {finding.message}" for finding in report.findings), report.verdict)


if __name__ == "__main__":
    main()
