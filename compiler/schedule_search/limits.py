"""Lists the device limits that a compiled function breaks, before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...findings import Finding, Kind
from ..artifact.host_function import AllocImage, Const, HostFunction
from .launch_shapes import LaunchShape

IMAGE_LIMITS = (("width", "IMAGE2D_MAX_WIDTH"), ("height", "IMAGE2D_MAX_HEIGHT"), ("layers", "IMAGE_MAX_ARRAY_SIZE"))


def broken_limits(host: HostFunction, launches: Sequence[LaunchShape], limits: Mapping[str, Any], device: str) -> list[Finding]:
    """Findings of kind limit-exceeded: work-groups, local memory and images that the device (its name) does not take."""
    found = [Finding(Kind.LIMIT_EXCEEDED, f"{text} on {device}", kernel=kernel) for kernel, text in _launches(launches, limits)]
    return found + [Finding(Kind.LIMIT_EXCEEDED, f"{text} on {device}", tensor=name) for name, text in _images(host, limits)]


def _launches(launches: Sequence[LaunchShape], limits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    most = limits.get("MAX_WORK_GROUP_SIZE")
    sizes = limits.get("MAX_WORK_ITEM_SIZES") or ()
    local = limits.get("LOCAL_MEM_SIZE")
    for launch in launches:
        shape = " x ".join(map(str, launch.local))
        if most and launch.group_items > most:
            yield launch.kernel, f"a work-group of {shape} = {launch.group_items} work-items: MAX_WORK_GROUP_SIZE is {most}"
        for axis, (size, limit) in enumerate(zip(launch.local, sizes, strict=False)):
            if size > limit:
                yield launch.kernel, f"a work-group of {shape}: MAX_WORK_ITEM_SIZES[{axis}] is {limit}"
        if local and launch.local_bytes > local:
            yield launch.kernel, f"{launch.local_bytes} bytes of local memory: LOCAL_MEM_SIZE is {local}"


def _images(host: HostFunction, limits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for stmt in host.body:
        if isinstance(stmt, AllocImage):
            for side, limit in IMAGE_LIMITS:
                extent, most = getattr(stmt, side), limits.get(limit)
                if most and isinstance(extent, Const) and int(extent.value) > most:
                    yield stmt.name, f"texture {stmt.name} of {side} {extent.value}: {limit} is {most}"
