"""The shape of the launches of a compiled function, before it runs: work-groups, and the local memory of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...records import dataclass
from ..artifact.host_function import Const, HostFunction, Launch
from ..tvm_bridge import read


@dataclass(frozen=True)
class LaunchShape:
    """One launch of a kernel. groups, local: work-groups of the launch, work-items of a group. local_bytes: of a group."""

    kernel: str
    groups: tuple[int, int, int]
    local: tuple[int, int, int]
    local_bytes: int

    @property
    def group_items(self) -> int:
        """Work-items of a group."""
        return math.prod(self.local)


def launch_shapes(host: HostFunction, tir: Any) -> list[LaunchShape]:
    """The launches of `host`, whose kernels are in the module `tir` as tirx.SplitHostDevice left it."""
    kernels = {var.name_hint: function for var, function in tir.functions_items() if read.is_kernel(function)}
    return [_shape(launch, kernels[launch.kernel]) for launch in host.launches()]


def _shape(launch: Launch, kernel: Any) -> LaunchShape:
    return LaunchShape(launch.kernel, _sizes(launch.groups), _sizes(launch.local), sum(map(_local_bytes, read.walk(kernel.body))))


def _sizes(extents: tuple[Any, ...]) -> tuple[int, int, int]:
    """Extents of a launch; one that is not a constant counts as 1."""
    x, y, z = (int(extent.value) if isinstance(extent, Const) else 1 for extent in extents)
    return x, y, z


def _local_bytes(node: Any) -> int:
    """Bytes of local memory that a node allocates."""
    if read.kind(node) == "AllocBuffer":
        info = read.buffer_info(node.buffer)
        return math.prod(int(size) for size in info.shape) * _bytes(info.dtype) if info.scope.startswith("shared") else 0
    if read.kind(node) == "Allocate" and str(read.pointer_type(node.buffer_var).storage_scope).startswith("shared"):
        return math.prod(int(size) for size in node.extents) * _bytes(str(node.dtype))
    return 0


def _bytes(dtype: str) -> int:
    name, lanes = read.scalar_dtype(dtype, "an allocation")
    return np.dtype(name).itemsize * lanes
