"""Six charts of measured figures: python ci/bench/charts.py writes docs/benchmarks/*.svg.

They are drawn from the tables of RESULTS.md and PLANS.md beside this file, and from the records in tests/unit/timing, so they say
what was measured last, and nothing else. Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from xml.sax.saxutils import escape

from adreno_sim.base.output_file import write_text
from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.machines import RECORDS
from adreno_sim.timing.model import predict

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks"
RESULTS, PLANS, TIMES = (ROOT / name for name in ("ci/bench/RESULTS.md", "ci/bench/PLANS.md", "tests/unit/timing/records.csv"))
LAUNCHES = 3
"""Of a record of TIMES: two copies into textures, and the convolution."""

WIDTH, LEFT, RIGHT, TOP, ROW, FOOT = 720, 190, 24, 58, 18, 46
STYLE = """
text { font: 12px sans-serif; fill: #1f2328 } .quiet { fill: #57606a } .title { font-size: 15px; font-weight: 600 }
.axis { stroke: #8c959f } .grid { stroke: #d0d7de } .mark { stroke: #57606a; stroke-dasharray: 4 3 }
.a { fill: #0a58ca } .b { fill: #b35900 } .c { fill: #1a7f37 } .page { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9da7b1 } .axis { stroke: #6e7681 }
.grid { stroke: #30363d } .mark { stroke: #9da7b1 } .a { fill: #6cb0ff } .b { fill: #ffb366 } .c { fill: #56d364 }
.page { fill: #0d1117 } }
"""
COLOURS = ("a", "b", "c")


@dataclass(frozen=True)
class Scale:
    """A horizontal axis on which factors are equally long, from least to most at least. ticks: the values that are written."""

    least: float
    most: float
    ticks: Sequence[float]

    def place(self, value: float) -> float:
        """Pixels from the left."""
        share = math.log(value / self.least) / math.log(self.most / self.least)
        return LEFT + share * (WIDTH - LEFT - RIGHT)


def main() -> int:
    PAGE.mkdir(exist_ok=True)
    for name, text in draw_all().items():
        write_text(PAGE / name, text)
        print(PAGE.relative_to(ROOT) / name)
    return 0


def draw_all() -> dict[str, str]:
    """Each chart as the text of an SVG, by the name of its file."""
    cases = [row for row in read_table(RESULTS, "## Kernels", "case") if not row["case"].endswith("*")]
    kernels, checks = (_by_family(cases, column) for column in ("unchecked / PoCL", "full / unchecked"))
    networks = read_table(RESULTS, "## Networks", "network")
    plans = read_table(PLANS, "## Twenty networks", "network")
    clients = read_table(RESULTS, "## Clients", "client")
    return {
        "kernels.svg": dots("Kernels: time over PoCL's (less is faster)", {"": kernels}, Scale(0.01, 2, (0.01, 0.1, 0.5, 1, 2))),
        "checks.svg": dots(
            "Level full: time over the unchecked kernel's", {"": checks}, Scale(0.6, 2.5, (0.75, 1, 1.25, 1.5, 2, 2.5))
        ),
        "networks.svg": dots(
            "Networks: time over another runtime's (less is faster)",
            {
                f"over {other}": {row["network"]: [float(row[f"unchecked / {other}"])] for row in networks}
                for other in ("PoCL", "TVM llvm")
            },
            Scale(0.01, 2, (0.01, 0.1, 0.5, 1, 2)),
        ),
        "clients.svg": dots(
            "Programs bound by compiling: time over PoCL's (less is faster)",
            {f"{run} run": _of_clients(clients, f"this {run}") for run in ("first", "second")},
            Scale(0.1, 2, (0.1, 0.25, 0.5, 1, 2)),
        ),
        "planners.svg": dots(
            "Memory plans: bytes over the live lower bound in the order as compiled",
            {
                name: {row["network"]: [_whole(row[name]) / _whole(row["bound"])] for row in plans}
                for name in ("as compiled", "arena", "arena-reordered")
            },
            Scale(0.25, 2, (0.25, 0.5, 1, 1.5, 2)),
        ),
        "time.svg": scatter("Time on an Adreno: predicted beside measured", list(_read_times())),
    }  # fmt: skip


def read_table(file: Path, section: str, first: str) -> list[dict[str, str]]:
    """The rows of the first table in a section whose first column is called `first`. ValueError if there is none."""
    _, _, rest = file.read_text(encoding="utf-8").partition(f"\n{section}")
    lines = iter(rest.split("\n## ")[0].splitlines())
    for line in lines:
        header = _cells(line)
        if header and header[0] == first:
            next(lines)
            return [dict(zip(header, cells, strict=False)) for cells in iter(lambda: _cells(next(lines, "")), [])]
    raise ValueError(f"{file}: no table of {first} in {section}")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def _of_clients(rows: Sequence[Mapping[str, str]], column: str) -> dict[str, list[float]]:
    """The times of clients over PoCL's, of the rows whose second cell is `column`."""
    return {row["client"]: [float(row["wall / PoCL"])] for row in rows if row[""] == column}


def _by_family(cases: Sequence[Mapping[str, str]], column: str) -> dict[str, list[float]]:
    """The figures of a column by the kernel's name, the family of the least geometric mean first."""
    families: dict[str, list[float]] = {}
    for row in cases:
        families.setdefault(re.split("[/ ]", row["case"])[0], []).append(float(row[column]))
    return dict(sorted(families.items(), key=lambda item: sum(map(math.log, item[1])) / len(item[1])))


def _read_times() -> Iterator[tuple[float, float]]:
    """Measured and predicted seconds of each record."""
    with TIMES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["what"] == "record":
                figures = (
                    LaunchFigures(**{each.name: float(row[f"{each.name}{number}"]) for each in fields(LaunchFigures)})
                    for number in range(LAUNCHES)
                )
                yield float(row["seconds"]), sum(float(predict(one, RECORDS).seconds) for one in figures)


def dots(title: str, series: Mapping[str, Mapping[str, Sequence[float]]], scale: Scale) -> str:
    """A row for each name, with a dot for each figure; a line where figures are 1. series: name of a colour -> rows."""
    names = list(next(iter(series.values())))
    drawn = [value for rows in series.values() for values in rows.values() for value in values]
    scale = replace(scale, least=min(scale.least, *drawn), most=max(scale.most, *drawn))
    bottom = TOP + ROW * len(names)
    body = list(_axis(scale, TOP - 6, bottom))
    for number, name in enumerate(names):
        y = TOP + ROW * number + ROW // 2
        body.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        for colour, rows in zip(COLOURS, series.values(), strict=False):
            body += [_dot(scale.place(value), y, colour, f"{name}: {value:.3g}") for value in rows[name]]
    if len(series) > 1:
        for number, (colour, name) in enumerate(zip(COLOURS, series, strict=False)):
            x = LEFT + 150 * number
            body += [_dot(x, bottom + 34, colour, name), f'<text x="{x + 10}" y="{bottom + 38}">{escape(name)}</text>']
    return _svg(title, bottom + FOOT, body)


def scatter(title: str, pairs: Sequence[tuple[float, float]]) -> str:
    """Predicted over measured, both as factors; the line is where they are equal, and 1.2 either way beside it."""
    side = 420
    least, most = 0.8 * min(map(min, pairs)), 1.25 * max(map(max, pairs))

    def place(value: float) -> float:
        return side * math.log(value / least) / math.log(most / least)

    body = []
    for factor in (1 / 1.2, 1, 1.2):
        ends = [
            (LEFT + place(x), TOP + side - place(x * factor)) for x in (least * max(1, 1 / factor), most * min(1, 1 / factor))
        ]
        kind = "axis" if factor == 1 else "mark"
        body.append(f'<path class="{kind}" d="M{ends[0][0]:.1f} {ends[0][1]:.1f}L{ends[1][0]:.1f} {ends[1][1]:.1f}"/>')
    for tick in (20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3):
        if least < tick < most:
            x, y, label = LEFT + place(tick), TOP + side - place(tick), f"{tick * 1e6:,.0f}"
            body.append(f'<text class="quiet" x="{x:.1f}" y="{TOP + side + 18}" text-anchor="middle">{label}</text>')
            body.append(f'<text class="quiet" x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for measured, predicted in pairs:
        words = f"measured {measured * 1e6:.1f} us, predicted {predicted * 1e6:.1f} us"
        body.append(_dot(LEFT + place(measured), TOP + side - place(predicted), "a", words))
    body.append(f'<text class="quiet" x="{LEFT + side / 2}" y="{TOP + side + 38}" text-anchor="middle">measured us</text>')
    body.append(f'<text class="quiet" x="{LEFT - 60}" y="{TOP + side / 2}" text-anchor="end">predicted us</text>')
    return _svg(title, TOP + side + FOOT, body)


def _axis(scale: Scale, top: float, bottom: float) -> Iterator[str]:
    for tick in scale.ticks:
        x = scale.place(tick)
        yield f'<path class="{"axis" if tick == 1 else "grid"}" d="M{x:.1f} {top}V{bottom}"/>'
        yield f'<text class="quiet" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>'


def _dot(x: float, y: float, colour: str, words: str) -> str:
    return f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4" fill-opacity="0.8"><title>{escape(words)}</title></circle>'


def _svg(title: str, height: int, body: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    page = f'<rect class="page" width="{WIDTH}" height="{height}"/><text class="title" x="16" y="28">{escape(title)}</text>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, *body, "</svg>", ""])


if __name__ == "__main__":
    sys.exit(main())
