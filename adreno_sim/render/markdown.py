"""What Markdown tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Text in a table's cell or a line: no line breaks, nothing that Markdown or HTML takes for its own."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "|`*_\\[]" else char for char in flat)


def table(names: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> list[str]:
    """Lines of a table; the first `texts` columns are left-aligned, the others, of figures, right-aligned."""
    ruler = ["---" if index < texts else "---:" for index in range(len(names))]
    return [f"| {' | '.join(row)} |" for row in [names, ruler, *rows]]
