"""What a campaign found, as data and as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from .source import Source

QUICK, LONGEST = 2.0, 5.0
"""CPU seconds that 99.9% of the kernels may take to compile, the front end's for the whole file included, and that any may."""
SHARE = 0.999
WORST = 10


def summarise(sources: Sequence[Source], lines: Sequence[dict[str, Any]], judge: Callable[[Source], str]) -> dict[str, Any]:
    """The summary that is written as JSON. judge: says of a source whether a real compiler takes it."""
    by_name = {source.name: source for source in sources}
    compiled = [line for line in lines if "compiled" in line]
    launched = [line for line in lines if "launched" in line]
    refused = [line for line in lines if "refused" in line and not {"compiled", "launched"} & line.keys()]
    seconds = sorted(line["seconds"] for line in compiled)
    internal = [line for line in lines if "internal" in line]
    return {
        "sources": dict(Counter(source.corpus for source in sources)),
        "kernels": dict(Counter(line["compiled"].partition("/")[0] for line in compiled)),
        "refused sources": [{"source": line["refused"], "why": line["why"], "judge": judge(by_name[line["refused"]])}
                            for line in refused if "why" in line],
        "refused kernels": [line for line in compiled if "refused" in line],
        "compile seconds": {
            "median": _at(seconds, 0.5), "99%": _at(seconds, 0.99), "99.9%": _at(seconds, SHARE), "most": _at(seconds, 1.0),
            f"over {QUICK:g}": sum(second > QUICK for second in seconds),
            f"over {LONGEST:g}": sum(second > LONGEST for second in seconds),
        },
        "slowest": sorted(compiled, key=lambda line: -line["seconds"])[:WORST],
        "launches": len(launched),
        "launches with findings": sum(bool(line.get("findings")) for line in launched),
        "refused launches": [line for line in launched if "refused" in line],
        "internal errors": internal,
        "died": [line for line in lines if "died" in line],
    }  # fmt: skip


def find_faults(summary: dict[str, Any], allowed: Sequence[str]) -> list[str]:
    """A sentence for each thing that should not be. allowed: beginnings of the names of sources that a real compiler takes and
    our device need not."""
    faults = [
        f"{item['source']}: a real compiler takes it, and our device does not: {item['why']}"
        for item in summary["refused sources"]
        if item["judge"] == "accepts" and not item["source"].startswith(tuple(allowed))
    ]
    faults += [
        f"{line.get('compiled', line.get('launched', line.get('refused')))}: {line['internal']}"
        for line in summary["internal errors"]
    ]
    faults += [f"{line['died']}: the process ended: {line['why']}" for line in summary["died"]]
    times = summary["compile seconds"]
    slow, kernels = times[f"over {QUICK:g}"], sum(summary["kernels"].values())
    if slow > math.ceil((1 - SHARE) * kernels):
        faults.append(
            f"{slow} of {kernels} kernels take more than {QUICK:g} s of CPU time to compile: expected {1 - SHARE:.1%} at most"
        )
    if times["most"] > LONGEST:
        faults.append(
            f"{summary['slowest'][0]['compiled']} compiles in {times['most']:.2f} s of CPU time: expected {LONGEST:g} s"
        )
    return faults  # fmt: skip


def describe(summary: dict[str, Any]) -> str:
    """The summary in lines."""
    times = summary["compile seconds"]
    lines = [f"{name}: {count} sources, {summary['kernels'].get(name, 0)} kernels" for name, count in summary["sources"].items()]
    lines.append("compile time, CPU seconds: " + ", ".join(f"{name} {value:.3g}" for name, value in times.items()))
    lines += [
        f"  {line['seconds']:6.2f}  {line['compiled']} (its file's front end {line['build']:.2f})" for line in summary["slowest"]
    ]
    lines += [f"refused: {item['source']}: {item['why']} (judge {item['judge']})" for item in summary["refused sources"]]
    lines += [f"refused: {line['compiled']}: {line['refused']}" for line in summary["refused kernels"]]
    lines += [f"refused launch: {line['launched']}: {line['refused']}" for line in summary["refused launches"]]
    lines.append(f"{summary['launches']} launches at level full, {summary['launches with findings']} with findings")
    return "\n".join(lines)


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
