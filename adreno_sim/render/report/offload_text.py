"""Lines on the subgraphs that ran as OpenCL ML and on the operators that fell back to TVM's kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...results.model import FallbackReport, Report, SubgraphReport


def lines(report: Report) -> Iterator[str]:
    """A line for each subgraph, and one for each reason to keep operators."""
    for subgraph in report.subgraphs:
        yield subgraph_line(subgraph)
    for kept in report.kept:
        yield fallback_line(kept)


def subgraph_line(graph: SubgraphReport) -> str:
    """One subgraph: operators, why, copies, memory."""
    bound = f", {graph.bound} bound without a copy" if graph.bound else ""
    on_chip = f"on-chip {graph.on_chip_peak:,} of {graph.on_chip_size:,} bytes at the peak ({graph.on_chip:,} in all)"
    rejected = f", {graph.rejected:,} because of too little room" if graph.rejected else ""
    memory = f"{on_chip if graph.on_chip_size else 'no on-chip memory'}, device buffers {graph.buffers:,}{rejected}"
    if graph.placed:
        memory = f"{graph.placed} tensors in the memory plan"
    return (
        f"offloaded {graph.name} (OpenCL ML {graph.interface}): {count_names(graph.operators)}; {graph.reason}; "
        f"copies {graph.copies_in} in, {graph.copies_out} out, {graph.copied_bytes:,} bytes{bound}; "
        f"{memory}{f'; {graph.tuned}' if graph.tuned else ''}"
    )


def fallback_line(kept: FallbackReport) -> str:
    what = f"{kept.name}: " if kept.name else ""
    return f"kept in kernels: {what}{count_names(kept.operators)}: {kept.reason}"


def count_names(operators: tuple[str, ...]) -> str:
    """ "26 conv2d, softmax": names with how often each is there."""
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in Counter(operators).items())
