"""JSON Schemas (draft 2020-12) of every JSON this project writes; NAME.json describes "adreno-sim/NAME/1"."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

NAMES = (
    "calibration",
    "counters",
    "devices",
    "doctor",
    "failure",
    "finding",
    "footprint",
    "launch",
    "launch-report",
    "layers",
    "layout",
    "machine-code",
    "plan",
    "precision",
    "profile",
    "readings",
    "report",
    "run",
    "scopes",
    "session-footprint",
    "snapshots",
    "sweep",
    "time",
    "trace",
    "tune",
)


def load(name: str) -> dict[str, Any]:
    """The schema called `name`, one of NAMES. Its references are to the `$id` of the others.

    "bundle" describes model.json of a saved bundle; it is made from the dataclasses that the file is read into.
    """
    if name == "bundle":
        from ..compiler.artifact.model import bundle_schema

        return bundle_schema()
    folder = resources.files(__package__)
    file = folder.joinpath("failures" if name == "failure" else "").joinpath(f"{name}.json")
    text = file.read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
