"""Speed against PoCL, as ratios within one run: python ci/bench/run.py [--suite NAME ...] [--only TEXT] [--quick]

Every device has a separate process; all take turns, two threads each, arguments resident, caches off. A time is the wall
time of launch and finish, the median of ten or more after a warm-up. --markdown writes RESULTS.md beside this file, where a
suite that did not run keeps its section; --json prints everything. Where PoCL or Oclgrind is missing, the tables say so and
have no such ratio.

Exit code: 0 measured, 1 a result was wrong or a kernel failed, 2 usage or bad input.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from children import YARDSTICK, ChildError, opened
from suites import (
    suite_before,
    suite_checks,
    suite_clients,
    suite_compile,
    suite_decode,
    suite_drawn,
    suite_driver,
    suite_install,
    suite_judge,
    suite_kernels,
    suite_memory,
    suite_networks,
    suite_scaling,
    suite_sizes,
    suite_waiting,
)

from adreno_sim import AdrenoSimError

RESULTS = Path(__file__).with_name("RESULTS.md")
SUITES = {
    "kernels": suite_kernels, "network": suite_networks, "scaling": suite_scaling, "compile": suite_compile, "sizes": suite_sizes,
    "decode": suite_decode, "checks": suite_checks, "drawn": suite_drawn, "driver": suite_driver, "memory": suite_memory,
    "judge": suite_judge, "clients": suite_clients, "install": suite_install, "waiting": suite_waiting, "before": suite_before,
}  # fmt: skip


def main() -> int:
    options = _options()
    say = _sayer(options.json)
    machine = _machine()
    results = {}
    for name in options.suite or list(SUITES):
        start = time.perf_counter()
        results[name] = SUITES[name].run(options.only, options.quick, "least" if options.best else "median", say)
        results[name]["took"] = time.perf_counter() - start
        say(f"suite {name}: {results[name]['took']:.0f} s")
    sections = [_section(name, results[name], machine) for name in results]
    text = "\n".join([*HEADING, *sections])
    if options.markdown:
        _write(RESULTS, sections)
    print(json.dumps({"schema": "adreno-sim/bench/1", "machine": machine, "suites": results}) if options.json else text)
    return max(SUITES[name].exit_code(result) for name, result in results.items())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", choices=SUITES, help="may be given several times (default: all)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name holds this")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, few samples: a look, not a result")
    parser.add_argument("--best", action="store_true", help="ratios of the fastest launches: for a machine that is busy")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--markdown", action="store_true", help=f"write {RESULTS.name}")
    return parser.parse_args()


def _sayer(quiet_output: bool) -> Any:
    stream = sys.stderr if quiet_output or not sys.stdout.isatty() else sys.stdout
    return lambda text: print(text, file=stream, flush=True)


def _section(name: str, result: dict[str, Any], machine: dict[str, Any]) -> str:
    measured = (
        f"Measured on {machine['date']} with {machine['processor']}, {machine['cores']} cores, Python {machine['python']}; load "
        f"average {machine['load']:.1f} when it began, took {result['took']:.0f} s. Yardstick: {machine['yardstick']}."
    )
    return "\n".join([*SUITES[name].markdown(result), measured, ""])


def _machine() -> dict[str, Any]:
    """What the figures depend on besides this project."""
    with opened([YARDSTICK]) as (children, missing):
        version = missing.get(YARDSTICK) or children[YARDSTICK].call("open_device")["version"]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "yardstick": version,
    }


def _processor() -> str:
    """The processor's name, as Linux gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


HEADING = (
    "# Speed against PoCL",
    "",
    "Written by `python ci/bench/run.py --markdown`; with `--suite` it replaces the sections of those suites.",
    "",
    "Ratios are times of the first over the second, so less is faster for this project except over Oclgrind. Every device "
    "has a process of its own and two threads; they take turns launch by launch. Times are medians of ten or more launches "
    "(enqueue and finish, arguments resident, first launches left out; fewer at level full, and for networks as many "
    "rounds as the table says). Half kernels are compared with PoCL's run of the same kernel in float, as PoCL has no half "
    "on a CPU.",
    "",
)


def _write(path: Path, sections: list[str]) -> None:
    """Replaces these sections of the file, and keeps its others."""
    kept = path.read_text(encoding="utf-8").split("\n## ")[1:] if path.exists() else []
    titled = {text.partition("\n")[0]: text.rstrip("\n") for text in [*kept, *(section[3:] for section in sections)]}
    part = path.with_suffix(".part")
    part.write_text("\n".join([*HEADING, *(f"## {text}\n" for text in titled.values())]), encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AdrenoSimError, ChildError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
