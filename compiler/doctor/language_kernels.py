"""Defects that kernels of language models show when they run: races, and reads behind the end of a buffer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backends.open import open_device
from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ...findings import Severity
from ..check.kernel import check_kernel
from ..lower.targets import make_target
from ..tvm_bridge.versions import tvm_series

OK = "ok"

Reproducer = Callable[[], tuple[Any, list[Any]]]
"""A PrimFunc, and its arguments."""


def _kernels(name: str) -> Any:
    return importlib.import_module(f"tvm.relax.frontend.nn.llm.{name}")


def merge() -> tuple[Any, list[Any]]:
    """Two results of attention of one row and one head, which 16 work-items merge."""
    function = _kernels("_decode_kernels")._merge_state_inplace(1, 64, "float32", make_target("buffer"))
    rng = np.random.default_rng(1)
    return function, [rng.standard_normal(shape).astype(np.float32) for shape in ((1, 1, 64), (1, 1)) * 2]


def cumsum() -> tuple[Any, list[Any]]:
    """One row of sums, within one work-group."""
    make: Any = importlib.import_module("tvm.relax.backend.gpu_generic.cumsum").gpu_2d_continuous_cumsum
    x = np.random.default_rng(1).random((1, 100), np.float32)
    return make(in_dtype="float32"), [x, np.zeros_like(x)]


def append() -> tuple[Any, list[Any]]:
    """Three tokens of one head are appended to a page: the last group has work-items for a fourth."""
    function = _kernels("_page_kernels")._kv_cache_transpose_append(1, 64, "float32")
    pages, (k, v) = np.zeros((1, 2, 1, 16, 64), np.float32), np.random.default_rng(1).random((2, 3, 1, 64), np.float32)
    return function, [pages, k, v, np.array([2, 0, 5], np.int32)]


def _finding_races(device: Device) -> Device:
    """The same simulated device at level full, which finds races; a real device unchanged."""
    profile = device.info.profile
    return device if profile is None else open_device(f"sim:{profile.name}", checks="full")


def runs(make: Reproducer) -> Callable[[Device, str, tuple[str, ...]], str]:
    """The verdict of the doctor on a kernel: its first error that is not a value. TVM before 0.27 has no such kernels."""

    def judge(device: Device, pipeline: str, without: tuple[str, ...]) -> str:
        if tvm_series() != "0.27":
            return OK
        function, arguments = make()
        given = [None for _ in arguments]  # values are the tests' affair: a race shows on every run, a wrong value on some
        options: dict[str, Any] = {"target": "buffer", "pipeline": pipeline, "without_fix": without, "keep_going": True}
        try:
            report = check_kernel(function, arguments, given, device=_finding_races(device), **options)
        except AdrenoSimError as error:
            return str(error).splitlines()[0][:90]
        errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
        return f"{errors[0].kind.label} in {errors[0].kernel}" if errors else OK

    return judge
