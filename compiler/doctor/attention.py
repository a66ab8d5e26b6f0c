"""Defects that attention kernels of `relax.frontend.nn.llm` show: whether these compile for Adreno."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ..lower.pipeline import PipelineName, lower
from ..lower.targets import make_target
from ..tvm_bridge.versions import import_tvm, tvm_series

OK = "ok"


def paged_prefill(target: Any) -> Any:
    """Attention over a paged cache, which walks over tiles."""
    kernels: Any = importlib.import_module("tvm.relax.frontend.nn.llm._prefill_kernels")
    return kernels._attention_prefill(2, 4, 64, "float16", False, {}, target)


def sequence_prefill(target: Any) -> Any:
    """Attention over whole sequences, whose results are stored as vectors behind a modulo."""
    kernels: Any = importlib.import_module("tvm.relax.frontend.nn.llm._prefill_kernels")
    return kernels._attention_sequence_prefill(2, 4, 64, "float16", target)


def compiles(make: Callable[[Any], Any]) -> Callable[[Device, str, tuple[str, ...]], str]:
    """The verdict of the doctor on a kernel: whether it compiles. TVM before 0.27 has no such kernels."""

    def judge(_device: Device, pipeline: str, without: tuple[str, ...]) -> str:
        if tvm_series() != "0.27":
            return OK
        name: PipelineName = "stock" if pipeline == "stock" else "fixed"
        target = make_target("buffer")
        module = import_tvm().IRModule({"attention": make(target).with_attr("global_symbol", "attention")})
        try:
            lower(module, target, name, without)
        except AdrenoSimError as error:
            said = str(error).partition("fails on this module: ")[2] or str(error).removeprefix("unsupported: ")
            return f"does not compile ({said if len(said) <= 90 else said[:87] + '...'})"
        return OK

    return judge
