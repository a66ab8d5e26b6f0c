"""Reports as JSON: `adreno-sim/report/1`, `adreno-sim/finding/1`; see the JSON Schemas in adreno_sim/schemas."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from .. import fidelity
from ..allow import describe_expired
from ..base.errors import AdrenoSimError
from ..base.version import __version__
from ..findings import Finding
from .model import Report

REPORT_SCHEMA = "adreno-sim/report/1"


def report_to_json(report: Report) -> dict[str, Any]:
    """The report as JSON-ready data; infinities and NaN as the strings "inf", "-inf", "nan"."""
    from .allow_text import allowed_to_json

    kernels = [{**asdict(kernel), "status": kernel.status} for kernel in report.kernels]
    data = {
        "schema": REPORT_SCHEMA,
        "version": __version__,
        "ok": report.ok,
        "exit_code": report.exit_code,
        "verdict": report.verdict,
        "model": report.model,
        "target": report.target,
        "pipeline": report.pipeline,
        "fixes": list(report.fixes),
        "tuned": report.tuned,
        "scopes": None if report.scopes is None else asdict(report.scopes),
        "tvm_version": report.tvm_version,
        "device": report.device,
        "compared_with": report.compared_with,
        "checks": report.checks,
        "seed": report.seed,
        "strict": report.strict,
        "inputs": [asdict(item) for item in report.inputs],
        "kernels_in_model": report.kernels_in_model,
        "kernels": kernels,
        "subgraphs": [asdict(subgraph) for subgraph in report.subgraphs],
        "kept": [asdict(kept) for kept in report.kept],
        "outputs": [asdict(output) for output in report.outputs],
        "digests": report.digests,
        "findings": [finding_to_json(finding) for finding in report.findings],
        "allowed": allowed_to_json(report.allowed),
        "expired": list(map(describe_expired, report.expired)),
        "reproduction": report.reproduction,
        "plan": None if report.plan is None else plan_to_json(report),
        "timings": report.timings,
        "unchecked": report.unchecked,
        "stopped": report.stopped,
        "fidelity": fidelity.to_json(),
    }
    return plain_json(data)


def plan_to_json(report: Report) -> dict[str, Any]:
    """Totals of the memory plan in bytes, who made it, and what the bytes are spent on."""
    assert report.plan is not None
    plan = {**asdict(report.plan), "inflation": report.plan.inflation}
    return {**plan, "planner": report.planner, "causes": report.plan_causes}


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding; fields that do not apply are left out."""
    data: dict[str, Any] = {
        "kind": finding.kind.label,
        "severity": str(finding.severity),
        "message": finding.message,
        "count": finding.count,
    }
    for key in ("kernel", "tensor", "file", "line", "column"):
        if getattr(finding, key):
            data[key] = getattr(finding, key)
    if finding.work_item is not None:
        data["work_item"] = asdict(finding.work_item)
    if finding.access is not None:
        data["access"] = {key: value for key, value in asdict(finding.access).items() if value is not None}
    if finding.detail:
        data["detail"] = dict(finding.detail)
    return plain_json(data)


def plain_json(value: Any) -> Any:
    """`value` with tuples as lists, numpy scalars as numbers, and non-finite floats as strings."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def print_json(data: dict[str, Any], file: IO[str]) -> None:
    """Print `data` as write_json writes it."""
    file.write(_text(data))


def _text(data: Any) -> str:
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def write_json(path: str | os.PathLike[str], data: dict[str, Any] | list[Any]) -> None:
    """Write `data` to `path`, as write_bytes does."""
    write_text(path, _text(data))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` in UTF-8 to `path`, as write_bytes does."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`; the file appears complete or not at all. Raises AdrenoSimError where it cannot."""
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise AdrenoSimError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise AdrenoSimError(f"cannot write {target}: {error.strerror or error}") from error
