"""Text in Markdown."""

from __future__ import annotations

from ..base.text.spelling import spell_line


def cell(text: str) -> str:
    """Text in a table's cell or a line: no line breaks, nothing that Markdown or HTML takes for its own."""
    flat = spell_line(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "|`*_\\[]" else char for char in flat)
