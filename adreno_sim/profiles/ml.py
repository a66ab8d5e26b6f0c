"""What a device's OpenCL ML can do: the interface version and its operators, on-chip memory, the figures of the cost model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import dataclass

EXTENSION = "cl_qcom_ml_ops"
ONCHIP_EXTENSION = "cl_qcom_onchip_global_memory"
RECORDABLE_EXTENSION = "cl_qcom_recordable_queues"

NEWEST = 5

SINCE: Mapping[str, int] = {"clip": 2, "batch_norm": 3, "dequant_matmul": 5}
"""Operator -> first interface version that has it; the others are in every version. Sources: TVM's runtime calls clip from V2
and the dequantised product from V5 on, its tests skip batch normalisation below V3."""


@dataclass(frozen=True, kw_only=True)
class MLCapabilities:
    """OpenCL ML of a device.

    version: 1 to 5. onchip_bytes: of on-chip global memory, 0 = the device has none that a program can place tensors in.
    recordable: command queues that record. The rest are the cost model's: speeds of an OpenCL ML operator and of a kernel of
    TVM's in 10^9 floating-point operations a second, memory in 10^6 bytes a second, nanoseconds that starting each, and a
    copy between layouts, takes.
    """

    version: int
    onchip_bytes: int = 0
    recordable: bool = False
    ml_gflops: int = 1
    kernel_gflops: int = 1
    memory_mbps: int = 1
    ml_start_ns: int = 0
    kernel_start_ns: int = 0

    def lacks(self, operator: str) -> str:
        """Why this version has no such operator; "" if it has."""
        since = SINCE.get(operator, 1)
        return f"{operator} takes interface version {since}, the device has {self.version}" if self.version < since else ""


def of_profile(values: Mapping[str, Any], extensions: frozenset[str]) -> MLCapabilities | None:
    """The capabilities in a profile's values; None for a device without the extension."""
    if EXTENSION not in extensions or not values["ml_interface"]:
        return None
    return MLCapabilities(
        version=values["ml_interface"],
        onchip_bytes=values["ONCHIP_GLOBAL_MEM_SIZE"] if ONCHIP_EXTENSION in extensions else 0,
        recordable=RECORDABLE_EXTENSION in extensions,
        **{key: values[key] for key in COST_FIELDS},
    )


def why_no_graphs(device: str, extensions: frozenset[str]) -> str:
    """Why a device's backend runs no graphs, in words."""
    if EXTENSION in extensions:
        return f"{device} has {EXTENSION}; there subgraphs run under TVM's own runtime (see docs/clml.md), not under this one"
    return f"{device} has no {EXTENSION}: it cannot run subgraphs of OpenCL ML"


COST_FIELDS = ("ml_gflops", "kernel_gflops", "memory_mbps", "ml_start_ns", "kernel_start_ns")
