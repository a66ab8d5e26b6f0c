"""Opens the gates of `tvm.testing` for Adreno targets: TVM's own test files ask there whether their device is present."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

from .versions import import_tvm

Gate = Callable[..., Any]


def open_gates(parametrize: Gate) -> None:
    """From now on `tvm.testing` takes OpenCL on Adreno as enabled, and its `parametrize_targets` of that is `parametrize`.

    Other targets are judged as before. TVM 0.26 and 0.27 skip by `device_enabled`. 0.25 skips by its pytest plugin, which the
    conftest.py of its repository loads: it marks each target of a test with what the target requires. Both ask for an OpenCL
    runtime, which TVM's packages do not have, and which nothing here needs.
    """
    import_tvm()
    import tvm.testing

    gates = tvm.testing
    if getattr(gates.device_enabled, "knows_adreno", False):
        return
    gates.device_enabled = _gate(gates.device_enabled, lambda *_: True)
    if hasattr(gates, "parametrize_targets"):
        gates.parametrize_targets = _gate(gates.parametrize_targets, parametrize)
    with contextlib.suppress(ImportError):  # TVM 0.26 and 0.27 have no such plugin
        _open_plugin(importlib.import_module("tvm.testing.plugin"))


def _open_plugin(plugin: Any) -> None:
    """The marks of an Adreno target without its skips; the mark `gpu` stays, by which tests are selected."""
    marks_of: Gate = plugin._target_to_requirement
    plugin._target_to_requirement = _gate(marks_of, lambda target: [mark for mark in marks_of(target) if mark.name != "skipif"])


def _gate(before: Gate, for_adreno: Gate) -> Gate:
    """What calls `for_adreno` where every target is OpenCL on Adreno, else what was there before."""

    @functools.wraps(before)
    def gate(*targets: Any, **keywords: Any) -> Any:
        chosen = for_adreno if targets and all(map(is_adreno_opencl, targets)) else before
        return chosen(*targets, **keywords)

    gate.knows_adreno = True  # type: ignore[attr-defined]
    return gate


def is_adreno_opencl(target: Any) -> bool:
    """A target of TVM's for OpenCL on Adreno: one of its tags, or a Target with that key. Vulkan is not run here."""
    if isinstance(target, str):
        return target.startswith("qcom/adreno-opencl")
    if isinstance(target, dict):
        return target.get("kind") == "opencl" and "adreno" in target.get("keys", ())
    return "adreno" in getattr(target, "keys", ()) and target.kind.name == "opencl"
