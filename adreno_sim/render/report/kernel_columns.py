"""What a table of kernels shows of each, on terminals and in pages."""

from __future__ import annotations

from ...results.model import KernelReport
from ..table import Column, figure_column, text_column

STATUS_STYLE = {"ok": "green", "wrong": "bold red", "vacuous": "yellow", "part": "", "unchecked": "yellow"}


def _if_compared(kernel: KernelReport, shown: str) -> str:
    return shown if kernel.compared else ""


def _worst_index(kernel: KernelReport) -> str:
    return ",".join(map(str, kernel.worst_index)) if kernel.compared and kernel.max_abs else ""


def _count_findings(kernel: KernelReport) -> str:
    counts = [(kernel.errors, "error"), (kernel.warnings, "warning")]
    return ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in counts if n)


def _compare_devices(kernel: KernelReport) -> str:
    peer = kernel.peer
    if peer is None:
        return ""
    if peer.differ:
        return f"{peer.differ} of {peer.compared} differ"
    return "same bits" if peer.equal == peer.compared else f"{peer.max_ulp} ulp"


NAME: Column[KernelReport] = text_column("kernel", lambda kernel: kernel.name)
LAUNCHES: Column[KernelReport] = figure_column("launches", lambda kernel: str(kernel.launches))
SECONDS: Column[KernelReport] = figure_column("ms", lambda kernel: f"{kernel.seconds * 1e3:.2f}")
DEVICE_SECONDS: Column[KernelReport] = figure_column(
    "device ms", lambda kernel: "" if kernel.device_seconds is None else f"{kernel.device_seconds * 1e3:.2f}"
)
DIFFERENCES: list[Column[KernelReport]] = [
    figure_column("max abs", lambda kernel: _if_compared(kernel, f"{kernel.max_abs:.2e}")),
    figure_column("max ulp", lambda kernel: _if_compared(kernel, str(kernel.max_ulp))),
    Column("worst at", _worst_index, right=True, breaks=True),
]
FINDINGS: Column[KernelReport] = figure_column("findings", _count_findings)
ERRORS: Column[KernelReport] = figure_column("errors", lambda kernel: str(kernel.errors or ""))
WARNINGS: Column[KernelReport] = figure_column("warnings", lambda kernel: str(kernel.warnings or ""))
STATUS: Column[KernelReport] = figure_column(
    "golden", lambda kernel: kernel.status, style=lambda kernel: STATUS_STYLE[kernel.status]
)


def beside(device: str) -> Column[KernelReport]:
    """How its results compare with those of another device."""
    return figure_column(f"beside {device}", _compare_devices)
