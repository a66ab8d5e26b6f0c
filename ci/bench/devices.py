"""Write DEVICES.md from the reports of checks that ran on real devices.

adreno-sim bundle model.onnx -o model.asim --golden          # where TVM is
adreno-sim check model.asim --device cl:NAME --json r.json   # on the device's machine
python ci/bench/corpus.py cl:NAME -o corpus.json
adreno-sim footprint model.asim --device cl:NAME --measure --json measured.json
python ci/bench/devices.py r.json ... --note "driver 1.2" [--refused stderr.txt ...] [--corpus corpus.json] [--measured ...]
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

HEAD = """\
# Checks on real devices

Written by `ci/bench/devices.py` from the reports of `adreno-sim check BUNDLE --device cl:...`. The bundles carry golden
results; neither TVM nor the simulator's compiler was on the device's machine. Every call is given golden inputs and judged
alone: error at most 1e-3 of max(|golden|, rms) for each element.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT.json")
    parser.add_argument("--note", default="", help="of the device: driver version, ...")
    parser.add_argument(
        "--refused", nargs="*", default=[], type=Path, metavar="FILE", help="what checks that ended in exit 3 said"
    )
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="what ci/bench/corpus.py wrote")
    parser.add_argument("--measured", nargs="*", default=[], type=Path, metavar="FILE", help="of footprint --measure")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("DEVICES.md"))
    args = parser.parse_args()
    reports = [json.loads(path.read_text()) for path in args.reports]
    parts = [HEAD]
    for device in dict.fromkeys(report["device"] for report in reports):
        parts.append(f"## {device}{f' ({args.note})' if args.note else ''}\n")
        mine = [report for report in reports if report["device"] == device]
        parts.append(_overview(mine))
        parts += [f"Unsupported: `{path.read_text().strip().splitlines()[-1]}`\n" for path in args.refused]
        parts += [_corpus(json.loads(args.corpus.read_text()))] if args.corpus else []
        parts += [_measured(json.loads(path.read_text())) for path in args.measured]
        parts += [_slowest(report) for report in mine]
    args.output.write_text("\n".join(parts), encoding="utf-8")


def _overview(reports: list[dict[str, Any]]) -> str:
    lines = [
        "| model | target | kernels ok | errors | warnings | worst error / rms | worst ulp | device ms | outputs |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        kernels = report["kernels"]
        good = sum(kernel["status"] in ("ok", "part") for kernel in kernels)
        severities = [finding["severity"] for finding in report["findings"]]
        worst = max((output["max_abs"] / output["rms"] for output in report["outputs"] if output["rms"]), default=math.nan)
        said = ", ".join(f"{output['reference']} {'agrees' if output['ok'] else 'differs'}" for output in report["outputs"])
        seconds = sum(kernel["device_seconds"] or 0 for kernel in kernels)
        cells = [
            report["model"],
            report["target"].removeprefix("qcom/"),
            f"{good} of {report['kernels_in_model']}",
            severities.count("error"),
            severities.count("warning"),
            f"{worst:.1e}",
            max(kernel["max_ulp"] for kernel in kernels),
            f"{seconds * 1e3:.2f}",
            said,
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n\nError / rms is of the model's outputs, ulp of the kernels.\n"


def _corpus(data: dict[str, Any]) -> str:
    """The clean twins of the defect corpus: kernels of every kind, each with the output that its launch file expects."""
    cases = data["cases"]
    good = sum(case["status"] == "ok" for case in cases.values())
    lines = [f"Kernel corpus: {good} of {len(cases)} clean twins compute what their launch files expect; the others:\n"]
    lines += ["| case | result | why |", "|---|---|---|"]
    for name, case in cases.items():
        if case["status"] != "ok":
            lines.append(f"| {name.removesuffix('.toml')} | {case['status']} | {case['message'].replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def _measured(data: dict[str, Any]) -> str:
    """Plans allocated for real."""
    lines = [f"Memory plans of {data['source']}, allocated, written and viewed on the device:\n"]
    names = ["planner", "storages", "bytes asked", "bytes taken", "views", "images apart", "refused"]
    lines += [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for trial in data["measured"]:
        sizes = [f"{trial['asked']:,}", f"{trial['taken']:,}", trial["views"], trial["apart"], len(trial["refused"])]
        lines.append(f"| {' | '.join(map(str, [trial['planner'], trial['storages'], *sizes]))} |")
    return "\n".join(lines) + "\n"


def _slowest(report: dict[str, Any], count: int = 5) -> str:
    """The kernels that take most of the device's time."""
    kernels = sorted(report["kernels"], key=lambda kernel: -(kernel["device_seconds"] or 0))[:count]
    lines = [
        f"{report['model']}, {report['target'].removeprefix('qcom/')}, slowest kernels:\n",
        "| kernel | launches | device ms | max abs | max ulp |",
        "|---|---|---|---|---|",
    ]
    for kernel in kernels:
        milliseconds = f"{(kernel['device_seconds'] or 0) * 1e3:.3f}"
        judged = (f"{kernel['max_abs']:.1e}", kernel["max_ulp"]) if kernel["compared"] else ("in the function", "")
        lines.append(f"| {kernel['name']} | {kernel['launches']} | {milliseconds} | {judged[0]} | {judged[1]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
