"""The colours of every page against WCAG AA, in both colour schemes, from the style sheet itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import adreno_sim.render
from adreno_sim.render.plan.html import OTHER, PALE

STYLE = (Path(adreno_sim.render.__file__).parent / "theme" / "theme.css").read_text(encoding="utf-8")
PAIRS = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
SCHEMES = {scheme: {name: pair[number] for name, *pair in PAIRS} for number, scheme in enumerate(("light", "dark"))}
TEXT = ("ink", "soft", "error", "warning", "good", "accent", "peak")
LABEL = "#1f2328"


def measure_light(colour: str) -> float:
    """Relative luminance, as WCAG has it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((measure_light(one), measure_light(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_measure():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the known grey that is just too pale


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_is_legible(scheme):
    colours = SCHEMES[scheme]
    poor = {(t, b) for t in TEXT for b in ("paper", "back") if contrast(colours[t], colours[b]) < 4.5}
    poor |= {("ink", b) for b in ("mark", "shade") if contrast(colours["ink"], colours[b]) < 4.5}
    assert not poor | ({("paper", "good")} if contrast(colours["paper"], colours["good"]) < 4.5 else set())


def test_labels_are_legible_on_boxes():
    assert min(contrast(LABEL, colour) for colour in (*PALE.values(), OTHER)) > 7
