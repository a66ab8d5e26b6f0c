"""Tables as values: a column is its title and what it shows of a row; terminals, Markdown and pages write the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from ..base.text.spelling import shorten, spell_line
from ..records import dataclass
from .console import write_lines
from .markdown import cell
from .plain_table import list_table_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Row = TypeVar("Row")

_ENDLESS = 10_000
"""Columns: as wide as a table may need to be."""

_INDENT = "  "

LONGEST_CELL = 1200
"""Characters of a cell that are shown."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """show: the text of the cell of a row, shown as it is in every format. right: aligned so. breaks: a cell that is too long
    goes on in the next line. style: how terminals show the cell of a row, in rich's words; None = plainly.
    """

    title: str
    show: Callable[[Row], str]
    right: bool = False
    breaks: bool = False
    style: Callable[[Row], str] | None = None

    def text(self, row: Row) -> str:
        """Returns the cell of a row as one line, without its middle where that is longer than any screen."""
        return shorten(spell_line(self.show(row)), LONGEST_CELL)


def text_column(title: str, show: Callable[[Row], str], style: Callable[[Row], str] | None = None) -> Column[Row]:
    """A column of words, which may be long."""
    return Column(title, show, breaks=True, style=style)


def figure_column(title: str, show: Callable[[Row], str], style: Callable[[Row], str] | None = None) -> Column[Row]:
    """A column of figures, which are never broken."""
    return Column(title, show, right=True, style=style)


def make_table(columns: Sequence[Column[Row]], rows: Iterable[Row], pad_edge: bool = True) -> Table:
    """The table for a terminal."""
    from rich import box
    from rich.table import Column as Shown
    from rich.table import Table
    from rich.text import Text

    def show(column: Column[Row], row: Row) -> Text:
        return Text(column.text(row), style=column.style(row) if column.style else "")

    heads = [
        Shown(
            Text(column.title),
            justify="right" if column.right else "left",
            no_wrap=not column.breaks,
            overflow="fold" if column.breaks else "ellipsis",
        )
        for column in columns
    ]
    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=pad_edge)
    for row in rows:
        table.add_row(*(show(column, row) for column in columns))
    return table


def print_table(console: Console, columns: Sequence[Column[Row]], rows: Sequence[Row], pad_edge: bool = True) -> None:
    """Print the table so that neither a figure nor a word is cut: words go on in the next line where that makes it fit, else
    each row's first cell stands on a separate line above the others."""
    texts = _texts(columns, rows)
    lines = list_table_lines(texts, [column.right for column in columns], pad_edge, console.width)
    if lines is not None and write_lines(console, lines):
        return
    table = make_table(columns, rows, pad_edge)
    natural = [max(map(len, column)) for column in texts]
    spent = console.measure(table, options=console.options.update_width(_ENDLESS)).maximum - sum(natural)
    least = [
        max(len(word) for text in shown for word in text.split() or [""]) if column.breaks else width
        for column, shown, width in zip(columns, texts, natural, strict=True)
    ]
    left = console.width - spent - sum(least)
    if left < 0:
        _print_stacked(console, columns, rows)
        return
    for shown, width, most in zip(table.columns, least, natural, strict=True):
        shown.width = width + min(left, most - width)
        left -= shown.width - width
    console.print(table)


def _texts(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[list[str]]:
    """Every text of each column, its title first."""
    return [[column.title, *map(column.text, rows)] for column in columns]


def _print_stacked(console: Console, columns: Sequence[Column[Row]], rows: Sequence[Row]) -> None:
    """First cells on lines of their own, figures under them side by side, then the other words."""
    from rich.text import Text

    first = columns[0]
    figures = [column for column in columns[1:] if column.right or not column.breaks]
    if sum(max(map(len, texts)) + len(_INDENT) for texts in _texts(figures, rows)) > console.width:
        figures = [column for column in figures if column.right]
    words = [column for column in columns[1:] if column not in figures]
    widths = [max(map(len, texts)) for texts in _texts(figures, rows)]

    def show(column: Column[Row], row: Row, text: str) -> Text:
        return Text(text, style=column.style(row) if column.style else "")

    def say_figures(cells: Sequence[Text]) -> None:
        if not cells:
            return
        line = Text(_INDENT) + Text("  ").join(cells)
        line.rstrip()
        console.print(line, soft_wrap=True)

    console.print(Text(first.title), soft_wrap=True)
    say_figures([Text(_justify(column, column.title, width)) for column, width in zip(figures, widths, strict=True)])
    for row in rows:
        console.print(show(first, row, first.text(row)), soft_wrap=True)
        say_figures([show(c, row, _justify(c, c.text(row), width)) for c, width in zip(figures, widths, strict=True)])
        for column in words:
            if text := column.text(row):
                console.print(show(column, row, f"{_INDENT}{column.title}: {text}"))
    console.print()


def _justify(column: Column[Row], text: str, width: int) -> str:
    return text.rjust(width) if column.right else text.ljust(width)


def list_markdown_lines(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> list[str]:
    """The lines of the table in Markdown."""
    titles, ruler = [column.title for column in columns], ["---:" if column.right else "---" for column in columns]
    cells = ([cell(column.text(row)) for column in columns] for row in rows)
    return [f"| {' | '.join(line)} |" for line in [titles, ruler, *cells]]
