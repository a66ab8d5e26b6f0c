"""What the tests of this folder share: the operator table, one simulated device, verdicts as plain text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.reduce_failure import search
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytest.importorskip("tvm")
collect_ignore_glob = [] if tvm_series() == "0.27" else ["clml/*"]  # refused there: see test_targets.py
sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the shared `operators` module off the path


@pytest.fixture(scope="session")
def adreno() -> Any:
    """A simulated Adreno 740 with every access checked."""
    return adreno_sim.open_device("sim:adreno-740", checks="bounds")


@pytest.fixture(scope="session")
def verdict(adreno: Any) -> Callable[..., str]:
    """verdict(module, target, pipeline, **options): "ok", "unsupported", or kind and kernel of the first error."""

    def judge(module: Any, target: str, pipeline: str, **options: Any) -> str:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(search, "find_culprit", lambda *given: None)  # takes longer than the check, and changes no verdict
                report = adreno_sim.check(module, device=adreno, target=target, pipeline=pipeline, **options)
        except UnsupportedError:
            return "unsupported"
        except AdrenoSimError as error:
            return f"{type(error).__name__}: {str(error).partition(':')[0]}"
        errors = [finding for finding in report.findings if finding.severity.name == "ERROR"]
        if not errors:
            return "ok" if report.ok else "not ok"
        return f"{errors[0].kind.label} in {errors[0].kernel}"

    return judge
