"""Inputs that neither the device nor the host holds are refused before they are made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from adreno_sim.base import archive
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.importers.inputs import require_room
from adreno_sim.compiler.importers.model import ModelInput


def model(*shape: int | str) -> Any:
    return SimpleNamespace(inputs=(ModelInput("x", shape, "float32"), ModelInput("y", (2, 2), "int64")), module=None)


def test_what_the_device_does_not_hold_is_refused() -> None:
    with pytest.raises(AdrenoSimError, match=r"of 17,179,869,216 bytes \(x of 4194304x1024 in float32, .* = 5,000,000,000"):
        require_room(model(1 << 22, 1024), None, {"GLOBAL_MEM_SIZE": 5_000_000_000})
    with pytest.raises(AdrenoSimError, match="x of 4194304x1024"):
        require_room(model("n", 1024), {"x": (1 << 22, 1024)}, {"GLOBAL_MEM_SIZE": 5_000_000_000})


def test_what_the_host_does_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "available_bytes", lambda: 1 << 20)
    with pytest.raises(AdrenoSimError, match="the host has 1,048,576 bytes of memory free"):
        require_room(model(1 << 10, 1024), None, {})


def test_what_fits_passes_and_a_small_device_is_found_as_it_runs() -> None:
    require_room(model("n", 1024), None, {"GLOBAL_MEM_SIZE": 1 << 30})
    require_room(model(1024, 1024), None, {"GLOBAL_MEM_SIZE": 1 << 10})
