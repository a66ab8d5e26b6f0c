"""Memory suite: the most memory that `adreno-sim check` takes, over the bytes of the model's weights; nothing is kept on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import ask
from sections import list_wrong, table
from tvm_worker import light_model

NETWORKS = ("squeezenet", "resnet50", "vgg19")
VARIANTS = {
    f"{target} {dtype}": ("--target", target, *options)
    for target in ("texture", "buffer")
    for dtype, options in {"float": (), "half": ("--dtype", "float16")}.items()
}
IMPORT = "import"
MOST = {IMPORT: (1.5, 300 << 20)}
"""What a peak may be: so many times the weights, and so many bytes besides."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the networks whose name holds `only`; `quick`: squeezenet alone. statistic: has no meaning here."""
    rows = []
    for network in NETWORKS[:1] if quick else NETWORKS:
        if only in network:
            rows.append(_row(network, say))
    return {"suite": "memory", "missing": {}, "rows": rows}


def _row(network: str, say: Callable[[str], None]) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / f"{network}.onnx")
        row: Row = {"name": network, **_ask(folder, "write", str(light_model(network)), file), "peak": {}, "wrong": []}
        for name, job in {
            IMPORT: ("import", file),
            **{name: ("check", file, *given) for name, given in VARIANTS.items()},
        }.items():
            found = _ask(folder, *job)
            row["peak"][name] = found["peak"]
            if found.get("code"):
                row["wrong"].append(f"{name}: exit code {found['code']}")
            say(f"{network:12} {name:14} {found['peak'] / 2**20:.0f} MiB, {found['peak'] / row['weights']:.2f} of the weights")
    factor, besides = MOST[IMPORT]
    if row["peak"][IMPORT] > factor * row["weights"] + besides:
        row["wrong"].append(f"{IMPORT}: more than {factor} times the weights and {besides >> 20} MiB")
    return row


def _ask(folder: str, *job: str) -> dict[str, Any]:
    """What the worker says to a job."""
    worker = str(Path(__file__).parents[1] / "memory_worker.py")
    found: dict[str, Any] = ask([worker, *job], folder, ADRENO_SIM_CACHE="off")
    return found


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = [
        "## Memory",
        "",
        "The most memory of a first `adreno-sim check`, in MiB (in times of the weights); of the import alone.",
        "",
    ]
    heads = ["network", "weights MiB", IMPORT, *VARIANTS]
    return [*out, *table(heads, map(_cells, result["rows"])), "", *list_wrong(result["rows"], "name")]


def _cells(row: Row) -> list[str]:
    peaks = [f"{row['peak'][name] / 2**20:.0f} ({row['peak'][name] / row['weights']:.2f})" for name in (IMPORT, *VARIANTS)]
    return [row["name"], f"{row['weights'] / 2**20:.0f}", *peaks]


def exit_code(result: dict[str, Any]) -> int:
    """1 where a check found something, or an import takes more than it may."""
    return int(any(row["wrong"] for row in result["rows"]))
