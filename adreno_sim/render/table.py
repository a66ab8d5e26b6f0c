"""Tables as values: a column is its title and what it shows of a row; terminals, Markdown and pages write the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from .markdown import cell

if TYPE_CHECKING:
    from rich.table import Table

Row = TypeVar("Row")


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
        return Text(column.show(row), style=column.style(row) if column.style else "")

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


def list_markdown_lines(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> list[str]:
    """The lines of the table in Markdown."""
    titles, ruler = [column.title for column in columns], ["---:" if column.right else "---" for column in columns]
    cells = ([cell(column.show(row)) for column in columns] for row in rows)
    return [f"| {' | '.join(line)} |" for line in [titles, ruler, *cells]]
