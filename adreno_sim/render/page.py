"""Pages that ask for nothing from anywhere: their frame, what is escaped in them, and small pictures.

Foreign text comes into a page in two ways: escaped, as text or between the quotation marks of an attribute, or as data of its
script. The page's policy names its style and its script by their digests, so that no other runs.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from ..base.json_io import dump_json
from ..base.text.spelling import spell_lines
from ..base.version import __version__

_HOLE = re.compile(r"@([A-Z]+)@")

SWATCH_STYLE = ".swatch { width: 12px; height: 12px; border-radius: 2px; margin: 0 6px 0 0; vertical-align: -1px; }\n"
BAR_STYLE = ".parts { display: block; width: 100%; height: 22px; border-radius: 4px; background: var(--line); }\n"

_THINNEST = 0.15
"""Percent of a bar that a piece takes at least, so that it is seen."""


def escape(text: str) -> str:
    """Text as an element's or as the value of an attribute in quotation marks; its control characters are shown."""
    return html.escape(spell_lines(text))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put HTML in the places @NAME@ of a template, in one pass: what is put in is not examined. KeyError for an unknown name."""
    return _HOLE.sub(lambda hole: values[hole[1]], template)


def script_data(name: str, data: Any) -> str:
    """An element that holds data for the script, whatever text is in it."""
    text = dump_json(data, separators=(",", ":")).replace("<", "\\u003c")  # no name may end the element, or begin a comment
    return f'<script type="application/json" id="{name}">{text}</script>'


def document(title: str, style: str, parts: Iterable[str], script: str = "", command: str = "") -> str:
    """A page of these parts, which are HTML. style, script: this project's own text, behind that of every page. command: the line
    that made the page, "" if none did."""
    style, script = _of_every_page("theme.css") + style, _of_every_page("theme.js") + script
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    rules += [f"style-src '{_digest(style)}'", f"script-src '{_digest(script)}'"]
    made_by = f"adreno-sim {__version__}" + (f": <code>{escape(command)}</code>" if command else "")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n<p>{made_by}</p>\n"
        '<button id="scheme" type="button" hidden>auto</button>\n</header>\n<main>\n'
        + "\n".join(parts)
        + f"\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


@cache
def _of_every_page(name: str) -> str:
    return resources.files(f"{__package__}.theme").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """A text as a policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def swatch(colour: str) -> str:
    """A small square of a colour, for a legend."""
    return f'<svg class="swatch" viewBox="0 0 1 1"><rect width="1" height="1" fill="{colour}"/></svg>'


def bar(pieces: Iterable[tuple[float, str, str]], label: str) -> str:
    """A bar across the page. pieces: share of its width, colour, and what the piece is."""
    at, drawn = 0.0, []
    for share, colour, says in pieces:
        width = max(100 * share, _THINNEST)
        drawn.append(f'<rect x="{at:.3f}" width="{width:.3f}" height="1" fill="{colour}"><title>{escape(says)}</title></rect>')
        at += width
    frame = f'<svg class="parts" viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
    return f"{frame}{''.join(drawn)}</svg>"
