"""Draws docs/finding.svg, the picture on the first page: what `adreno-sim check` finds in squeezenet without
the fix texture-store.

python ci/site/finding.py        the texel of the finding, with its four stores; half a minute
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from html import escape
from pathlib import Path

import onnx

import adreno_sim
from adreno_sim.results.evidence import find_element

ROOT = Path(__file__).resolve().parents[2]
MODEL = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
WIDTH, LEFT, LETTER = 860, 24, 7.3
"""Of the picture, of its margin, and of a letter of its code, in pixels."""
STYLE = """
text { font: 14px system-ui, "Segoe UI", Roboto, sans-serif; fill: #1f2328; }
.code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; }
.soft { fill: #59636e; } .bad { fill: #a30f0f; font-weight: 600; }
.good { fill: #0b6b2b; } .head { font-weight: 600; }
.card { fill: #ffffff; stroke: #d1d9e0; } .node { fill: #ddf4ff; stroke: #0a53be; } .store { fill: #f6f8fa; stroke: #8c959f; }
.lost { fill: none; stroke: #8c959f; stroke-width: 1.6; stroke-dasharray: 5 4; }
.wins { fill: none; stroke: #a30f0f; stroke-width: 3; }
.cell { fill: #ffffff; stroke: #1f2328; } .wrong { fill: #ffe3e0; stroke: #a30f0f; stroke-width: 2; }
"""


@dataclass(frozen=True)
class Shown:
    """node: operators of the model. kernel, line, source: of the stores. stores: value and work-item each, in order. got,
    expected: the channels of the texel. index: of the element whose stores they are."""

    node: str
    kernel: str
    line: int
    source: str
    stores: list[tuple[float, str]]
    got: list[float]
    expected: list[float]
    index: tuple[int, ...]
    version: str


def find() -> Shown:
    """Check the network. SystemExit where it does not find what the picture is of."""
    report = adreno_sim.check(MODEL, without_fix=("texture-store",))
    wrong, evidence = report.first_wrong, report.evidence
    if wrong is None or evidence is None:
        raise SystemExit(f"error: expected a wrong value, got: {report.verdict}")
    array = evidence.arrays[evidence.find_array(wrong.tensor, wrong.kernel)]
    begin = find_element(wrong, array.shape, array.got.itemsize) // 4 * 4 - array.first
    assert array.expected is not None
    stores = wrong.detail["stores"]
    call, index = wrong.detail["call"], wrong.detail["index"]
    assert isinstance(stores, list)
    assert isinstance(call, int)
    assert isinstance(index, tuple)
    items = [(store["value"], f"({', '.join(map(str, store['global_id']))})") for store in stores]
    channels = slice(begin, begin + 4)
    return Shown(
        evidence.calls[call].operators, wrong.kernel, wrong.line, stores[-1]["source"], items, array.got[channels].tolist(),
        array.expected[channels].tolist(), index, report.tvm_version,
    )  # fmt: skip


def draw(shown: Shown) -> str:
    parts: list[str] = []

    def say(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> None:
        parts.append(f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text, quote=False)}</text>')

    def box(style: str, x: float, y: float, wide: float, tall: float, round: float = 4) -> None:
        parts.append(f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}" rx="{round:g}"/>')

    say(LEFT, 40, "$ adreno-sim check squeezenet.onnx --without-fix texture-store", "code")
    box("node", LEFT, 58, WIDTH - 2 * LEFT, 34, 17)
    say(WIDTH / 2, 80, f"ONNX: {shown.node}", "head", "middle")
    how = f"TVM {shown.version} makes of it the kernel {shown.kernel}, which stores four times into one texel"
    say(WIDTH / 2, 114, how, "soft", "middle")
    top, step, texel, wide = 140, 46, 566, 352
    for number, (value, item) in enumerate(shown.stores):
        y, last = top + number * step, number == len(shown.stores) - 1
        box("store", LEFT, y, wide, 34)
        say(LEFT + 12, y + 22, f"store {number + 1} by work-item {item}: {value:.3f}", "bad" if last else "")
        begin, end = LEFT + wide + 2, texel - 8
        middle, into = (begin + end) / 2, top + 62 + number * 12
        path = f"M{begin} {y + 17}C{middle:g} {y + 17} {middle:g} {into} {end} {into}"
        parts.append(f'<path class="{"wins" if last else "lost"}" d="{path}" marker-end="url(#{"red" if last else "grey"})"/>')
    say(texel, top + 14, "the texel holds", "head")
    for channel, (got, expected) in enumerate(zip(shown.got, shown.expected, strict=True)):
        x = texel + channel * 68
        wrong = abs(got - expected) > 1e-3 * abs(expected)
        box("wrong" if wrong else "cell", x, top + 24, 66, 100, 0)
        say(x + 33, top + 44, "xyzw"[channel], "soft", "middle")
        say(x + 33, top + 80, f"{got:.3f}", "bad" if wrong else "", "middle")
        say(x + 33, top + 148, f"{expected:.3f}", "good", "middle")
    say(texel, top + 172, "expected, without rounding", "good")
    y = top + 4 * step + 24
    say(LEFT, y, "the last value wins", "bad")
    say(LEFT + 164, y, f"error: wrong-value at {list(shown.index)}: got {shown.got[shown.index[-1]]:.3f}, expected "
        f"{shown.expected[shown.index[-1]]:.3f}")  # fmt: skip
    y += 26
    say(LEFT, y, f"{shown.kernel}, line {shown.line}:", "soft")
    source = re.sub(r"\s+", " ", shown.source)
    for line in textwrap.wrap(source, int((WIDTH - 2 * LEFT) / LETTER), subsequent_indent="    ", break_long_words=True):
        y += 19
        parts.append(f'<text class="code" x="{LEFT}" y="{y}" xml:space="preserve">{escape(line, quote=False)}</text>')
    height = y + 24
    arrows = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" markerHeight="{size}" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for name, colour, size in (("grey", "#8c959f", 7), ("red", "#a30f0f", 5))
    )
    title = "adreno-sim names the kernel, line, work-items and values of four stores into one texel"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
        f"<title>{title}</title>\n<style>{STYLE}</style><defs>{arrows}</defs>\n"
        f'<rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="8"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> int:
    (ROOT / "docs" / "finding.svg").write_text(draw(find()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
