"""A precision report for people: a line for each layer, the runs of the whole network, and which layers to leave alone."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console, teller
from ..table import Column, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.precision.local_error import LayerError
    from ...compiler.precision.report import PrecisionReport


def show(report: PrecisionReport, file: IO[str]) -> None:
    """Print the layers, what was tried, and the layers to keep."""
    console = open_console(file)
    say = teller(console)

    say(f"{report.model}: {report.dtype} operands, {report.out_dtype} results, on {report.device}")
    print_table(console, _columns(report), report.layers, pad_edge=False)
    for skip, error in report.tried:
        layers = f"layers {', '.join(map(str, skip))} kept" if skip else "every layer recast"
        say(f"error of the network {error:.2e}: {layers}")
    for line in report.wrong:
        say(f"wrong: {line}")
    if report.wrong:
        say(f"failed: {report.device} does not compute the recast network; adreno-sim check --dtype names the kernel at fault")
        return
    if report.skip is None:
        say(f"failed: nothing tried stays within {report.bound:g}")
        return
    left = f"leave layers {', '.join(map(str, report.skip))}" if report.skip else "recast every layer"
    say(f"ok: {left}; error {report.error:.2e}, bound {report.bound:g}")


def _columns(report: PrecisionReport) -> list[Column[LayerError]]:
    skipped = set(report.skip or ())
    return [
        Column("layer", lambda layer: str(layer.number), right=True, breaks=True),
        text_column("name", lambda layer: layer.name),
        text_column("operator", lambda layer: layer.operator),
        text_column("result", lambda layer: "x".join(map(str, layer.shape))),
        Column("rms", lambda layer: f"{layer.rms:.3g}", right=True, breaks=True),
        Column("error alone", lambda layer: f"{layer.error:.2e}", right=True, breaks=True),
        text_column("kept", lambda layer: "yes" if layer.number in skipped else ""),
    ]
