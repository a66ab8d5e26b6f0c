"""The picture on the first page: small, well-formed, and nothing of it cut."""

from __future__ import annotations

import xml.etree.ElementTree
from pathlib import Path

PICTURE = Path(__file__).parents[4] / "docs" / "finding.svg"
SVG = "{http://www.w3.org/2000/svg}"
WIDEST = {"code": 7.4, "head": 8.2, "bad": 8.2}
"""Pixels of a letter, in the mean of a line."""


def test_one_texel_four_arrows_and_the_last_value_wins():
    assert PICTURE.stat().st_size < 100_000
    root = xml.etree.ElementTree.parse(PICTURE).getroot()
    arrows = [node.get("class") for node in root.iter(f"{SVG}path") if node.get("marker-end")]
    texts = [
        (node.get("class"), float(node.get("x")), node.get("text-anchor"), node.text or "") for node in root.iter(f"{SVG}text")
    ]
    said = " ".join(text for *_, text in texts)
    assert arrows == ["lost", "lost", "lost", "wins"]
    assert "the last value wins" in said
    assert "ONNX: " in said
    assert "write_imagef(" in said
    assert "line " in said
    assert "..." not in said
    assert "\u2026" not in said
    source = "".join(text for kind, _, _, text in texts if kind == "code" and not text.startswith("$"))
    assert source.startswith("write_imagef(")
    assert source.count("(") == source.count(")")


def test_nothing_hangs_over_the_edge():
    root = xml.etree.ElementTree.parse(PICTURE).getroot()
    width = float(root.get("width"))
    for node in root.iter(f"{SVG}text"):
        long = len(node.text or "") * WIDEST.get(node.get("class"), 7.4)
        left = float(node.get("x")) - (long / 2 if node.get("text-anchor") == "middle" else 0)
        assert left >= 0, node.text
        assert left + long <= width, node.text
