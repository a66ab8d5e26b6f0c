"""A table as lines of text, character by character what rich writes where no cell has to be broken or shown otherwise."""

from __future__ import annotations

from collections.abc import Sequence

_EDGE, _GAP, _RULE = " ", "   ", "─"


def list_table_lines(texts: Sequence[Sequence[str]], right: Sequence[bool], pad_edge: bool, width: int) -> list[str] | None:
    """The lines of a table. None where it is for rich: it is wider than `width`, or a character may take no column, or two.

    texts: of each column, its title first. right: which columns are aligned so. pad_edge: as rich's.
    """
    widths = [max(map(len, column)) for column in texts]
    around = _EDGE + " " * pad_edge
    whole = sum(widths) + len(_GAP) * (len(widths) - 1) + 2 * len(around)
    plain = all(text.isascii() and text.isprintable() for column in texts for text in column)
    if not all(widths) or whole > width or not plain:
        return None
    cells = [
        [text.rstrip().rjust(size) if is_right else text.ljust(size) for text in column]
        for column, size, is_right in zip(texts, widths, right, strict=True)
    ]
    head, *rows = (f"{around}{_GAP.join(row)}{around}" for row in zip(*cells, strict=True))
    blank = " " * whole
    return [blank, head, f"{_EDGE}{_RULE * (whole - 2 * len(_EDGE))}{_EDGE}", *rows, blank]
