"""The table of what was missed and what was told wrongly, by kind of defect and space of memory, and its place in a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.output_file import write_text

from .campaign import Key, Report
from .cases import CELLS, KINDS, SPACES

BEGIN, END = "<!-- table of ci/foundry.sh -->", "<!-- end of the table -->"
COUNTERS = ("planted", "missed", "clean", "false", "others")


def as_json(report: Report, command: dict[str, Any]) -> dict[str, Any]:
    """The counts of a report as JSON data; `command` says what ran."""
    data = {name: {"|".join(key): n for key, n in getattr(report, name).items()} for name in COUNTERS}
    return {**command, **data, "ran": dict(report.ran), "died": report.died, "failures": report.failures}


def from_json(data: dict[str, Any]) -> Report:
    report = Report(failures=list(data["failures"]), died=data["died"])
    for name in COUNTERS:
        for key, n in data[name].items():
            kind, space, level = key.split("|")
            getattr(report, name)[kind, space, level] = n
    report.ran.update(data["ran"])
    return report


def markdown(report: Report) -> str:
    """The table: missed of planted kernels, false alarms of clean twins."""
    lines = [f"| Defect | Level | {' | '.join(SPACES)} |", "|---" * (2 + len(SPACES)) + "|"]
    for kind in KINDS:
        levels = [level for level in ("bounds", "full") if any(level in CELLS.get((kind, space), ()) for space in SPACES)]
        for level in levels:
            cells = [_cell(report, (kind, space, level)) for space in SPACES]
            lines.append(f"| {kind} | {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(report: Report, key: Key) -> str:
    if key[2] not in CELLS.get(key[:2], ()):
        return ""
    text = f"{report.missed[key]} of {report.planted[key]:,}, {report.false[key]} of {report.clean[key]:,}"
    return f"{text}; {report.others[key]} others" if report.others[key] else text


def totals(report: Report) -> str:
    """One line."""
    planted, clean = report.planted.total(), report.clean.total()
    least = min((report.planted[kind, space, level] for (kind, space), levels in CELLS.items() for level in levels), default=0)
    return (
        f"{planted + clean:,} kernels, {report.ran['launches']:,} launches: missed {report.missed.total()} of {planted:,}, "
        f"false {report.false.total()} of {clean:,}, others {report.others.total()}, died {report.died}; "
        f"least in a cell {least:,}"
    )


def write_page(page: Path, report: Report) -> None:
    """Puts the table in its place in a page. Raises AdrenoSimError where the page has no such place."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise AdrenoSimError(f"{page}: expected the lines {BEGIN!r} and {END!r}")
    before, _, rest = text.partition(BEGIN)
    write_text(page, f"{before}{BEGIN}\n{markdown(report)}\n\n{_sentence(report)}\n{END}{rest.partition(END)[2]}")


def _sentence(report: Report) -> str:
    """What ran, for the page."""
    ran = report.ran
    processors = ", ".join(f"{count:,} for {name[3:]}" for name, count in sorted(ran.items()) if name.startswith("on "))
    coarse = sum(count for name, count in ran.items() if name.startswith("coarse"))
    vectors = sum(count for name, count in ran.items() if name.startswith("vectors"))
    threads = ", ".join(f"{count:,} on {name[9:]}" for name, count in sorted(ran.items()) if name.startswith("threads"))
    return (
        f"These are {report.planted.total() + report.clean.total():,} kernels in {ran['launches']:,} launches: {processors};\n"
        f"{threads} threads; {ran['cache on']:,} with a cache.\n"
        f"Vectors ran {vectors:,} times, several groups as one {coarse:,} times."
    )


def describe(report: Report) -> str:
    """What ran, in a few lines."""
    ran = ", ".join(f"{name}: {count:,}" for name, count in sorted(report.ran.items()))
    return f"{markdown(report)}\n\n{ran}\n{totals(report)}"
