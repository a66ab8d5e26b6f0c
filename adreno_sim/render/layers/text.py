"""The layers of a model as a table."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console, teller
from ..table import Column, figure_column, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.layers.listing import Layer, LayerList

COLUMNS: list[Column[Layer]] = [
    figure_column("layer", lambda layer: str(layer.number)),
    figure_column("from the end", lambda layer: str(layer.from_end)),
    text_column("operator", lambda layer: layer.operator),
    text_column("result", lambda layer: f"{layer.result}: {layer.dtype} {'x'.join(layer.shape)}"),
    text_column("operands", lambda layer: "; ".join(layer.operands)),
    text_column("layout", lambda layer: layer.layout),
]


def show(found: LayerList, file: IO[str]) -> None:
    """Print the layers, and how many calls of every operator there are."""
    console = open_console(file)
    say = teller(console)
    say(f"{found.model}: {len(found.layers)} layers ({', '.join(found.operators)})")
    if found.layers:
        print_table(console, COLUMNS, found.layers, pad_edge=False)
    say("calls: " + (", ".join(f"{count} {name}" for name, count in found.counts.items()) or "none"))
