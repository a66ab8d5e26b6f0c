"""Models in files, checked in a process that passes for one without TVM, with a cache of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tvm
from branchy_networks import Graph

import adreno_sim
from adreno_sim.base import file_digests
from adreno_sim.compiler.check import prepare
from adreno_sim.compiler.check.cache import key
from adreno_sim.compiler.doctor.models import branches
from adreno_sim.results.encode import report_to_json

NOT_COMPARED = {"timings", "seconds", "device_seconds"}
"""Keys of a report that hold times."""


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    """A network, a sum, and a module with a branch that data decides, as files."""
    g = Graph("small", 4, 16)
    onnx.save(g.model([g.shrink("mean", g.conv("second", g.pool("half", g.conv("first", "x", 8)), 8))]), tmp_path / "small.onnx")
    tiny = Graph("tiny", 4, 2)
    tiny.weights.append(onnx.numpy_helper.from_array(np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2), "w"))
    onnx.save(tiny.model([tiny.plus("sum", "x", "w")]), tmp_path / "tiny.onnx")
    (tmp_path / "branches.json").write_text(tvm.ir.save_json(branches()))
    return {path.stem: path for path in tmp_path.iterdir()}


@pytest.fixture(autouse=True)
def without_tvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    for name in [name for name in os.environ if name.startswith("TVM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(key, "may_be_changed", lambda: False)
    monkeypatch.setattr(file_digests, "SETTLED", -(10**12))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The sources of the models that were imported since."""
    done: list[object] = []
    read = prepare.read_model
    monkeypatch.setattr(prepare, "read_model", lambda source, options: done.append(source) or read(source, options))
    return done


@pytest.fixture
def prepared(adreno: Any) -> Callable[..., prepare.PreparedRun]:
    """prepared(path, **options): what a check of a file has before anything runs on the device."""

    def make(path: Path, **options: Any) -> prepare.PreparedRun:
        wanted = prepare.CheckOptions(**options)
        return prepare.prepare(path, None, wanted, adreno.info, lambda name: nullcontext(), lambda found: found)

    return make


@pytest.fixture
def judged(adreno: Any) -> Callable[..., dict[str, Any]]:
    """judged(path, inputs, **options): the report of a check but for times."""

    def judge(path: Path, inputs: Any = None, **options: Any) -> dict[str, Any]:
        found = strip(report_to_json(adreno_sim.check(path, inputs, device=adreno, **options)))
        assert isinstance(found, dict)
        return found

    return judge


def strip(data: Any) -> Any:
    """A report's JSON without its times."""
    if isinstance(data, dict):
        return {name: strip(value) for name, value in data.items() if name not in NOT_COMPARED}
    return [strip(item) for item in data] if isinstance(data, (list, tuple)) else data


@pytest.fixture
def condition() -> list[np.ndarray]:
    """Inputs of the module with a branch."""
    return [np.array(True), np.random.default_rng(2).standard_normal((16, 16)).astype("float32")]
