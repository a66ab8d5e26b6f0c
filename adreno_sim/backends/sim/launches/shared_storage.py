"""Arguments of one launch that share a storage: what one of them writes, another must not access."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....base.run_options import RunOptions
from ....engine.abi.accessed_bytes import AccessedBytes, ByteRange
from ....engine.run.counted import Touched
from ....engine.run.launch_analysis import LaunchAnalysis
from ....findings import Access, Finding, Kind
from ....ir import ir
from ....ir.data_dependence import accesses_depend_on_memory
from ....memory.storage import StorageView
from ..program import SimKernel
from .launch_config import PreparedLaunch
from .touched_bytes import find_touched_bytes

_NOT_TRACED: Touched | None = {}


def find_shared(launch: PreparedLaunch, options: RunOptions) -> list[Finding]:
    """Returns a finding for each two arguments of a launch if one writes bytes that the other accesses. The launch is about to
    run.

    Two buffers over exactly the same bytes are allowed, because OpenCL C defines what they do. Of other buffers those bytes count
    that the launch accesses, which running it once more without effect tells where those meet that it may access; of images all.
    options: the device's.
    """
    analysis = launch.config.analysis
    if analysis is None or options.checks == "off":
        return []
    if launch.shared is not None:
        return launch.shared
    traced = False

    def trace() -> Touched | None:
        nonlocal traced
        traced = True
        return find_touched_bytes(launch, options, has_run=False)

    found = _find_overlaps(launch.kernel, launch.args, analysis, trace)
    if not (traced and accesses_depend_on_memory(launch.kernel.function)):
        launch.shared = found
    return found


def _find_overlaps(
    kernel: SimKernel, args: Sequence[Any], analysis: LaunchAnalysis, trace: Callable[[], Touched | None]
) -> list[Finding]:
    views = [(index, arg) for index, arg in enumerate(args) if isinstance(arg, StorageView)]
    if len({id(view.storage) for _, view in views}) == len(views):
        return []
    pairs = [
        (one, other)
        for one, other in itertools.combinations(views, 2)
        if one[1].storage is other[1].storage
        and one[1].overlaps(other[1])
        and (kernel.writes(one[0]) or kernel.writes(other[0]))
        and not _are_same_buffer(one[1], other[1])
    ]
    accessed = analysis.accessed if pairs else {}
    found, touched = [], _NOT_TRACED
    for one, other in pairs:
        uses = [_accessed_of(kernel, *numbered, accessed) for numbered in (one, other)]
        if _intersect(uses[0].written, uses[1].any) or _intersect(uses[1].written, uses[0].any):
            if one[1].layout is None and other[1].layout is None:
                touched = trace() if touched is _NOT_TRACED else touched
                if touched is not None and not _meet(touched, one, other):
                    continue
            found.append(_finding(kernel, [one, other], uses))
    return found


def _meet(touched: Touched, one: tuple[int, StorageView], other: tuple[int, StorageView]) -> bool:
    """Whether one of two buffers is written where the other is accessed."""
    low = max(view.offset for _, view in (one, other))
    high = min(view.offset + view.nbytes for _, view in (one, other))
    (read, written), (reads, writes) = (
        [np.unpackbits(bits, bitorder="little")[low - view.offset : high - view.offset] for bits in touched[index]]
        for index, view in (one, other)
    )
    return bool((written & (reads | writes)).any() or (writes & read).any())


def _are_same_buffer(first: StorageView, second: StorageView) -> bool:
    buffers = first.layout is None and second.layout is None
    return buffers and (first.offset, first.nbytes) == (second.offset, second.nbytes)


def _are_same_image(first: StorageView, second: StorageView) -> bool:
    return first.layout is not None and second.layout is not None and first.key == second.key


def _accessed_of(kernel: SimKernel, index: int, view: StorageView, accessed: Mapping[int, AccessedBytes]) -> AccessedBytes:
    """Returns what a launch may access through an argument, as bytes of its storage."""
    known = accessed.get(index)
    if known is not None and view.layout is None:
        return AccessedBytes(_moved(known.read, view.offset), _moved(known.written, view.offset))
    type, whole = kernel.function.params[index].type, (view.offset, view.offset + view.nbytes)
    reads = not isinstance(type, ir.Image) or type.access != "write_only"
    return AccessedBytes(whole if reads else None, whole if kernel.writes(index) else None)


def _moved(range: ByteRange | None, by: int) -> ByteRange | None:
    return None if range is None else (range[0] + by, range[1] + by)


def _intersect(a: ByteRange | None, b: ByteRange | None) -> bool:
    return a is not None and b is not None and a[0] < b[1] and b[0] < a[1]


def _finding(kernel: SimKernel, numbered: Sequence[tuple[int, StorageView]], uses: Sequence[AccessedBytes]) -> Finding:
    params = kernel.function.params
    index, view = numbered[0]
    if _are_same_image(*(view for _, view in numbered)):
        named = " and ".join(f"{params[i].name} ({params[i].access})" for i, _ in numbered)
        return Finding(
            Kind.IMAGE_READ_AND_WRITTEN,
            f"arguments {named} are one image: what the kernel reads there is undefined; a read_write argument, or a second "
            "image, is expected",
            kernel.name,
            kernel.function.loc.line,
            access=Access(params[index].name, view.nbytes, offset=view.offset),
        )
    described = [f"{params[i].name} ({_describe(use)})" for (i, _), use in zip(numbered, uses, strict=True)]
    return Finding(
        Kind.STORAGE_REUSED_LIVE,
        f"arguments {' and '.join(described)} share one storage: what the kernel reads is undefined",
        kernel.name,
        kernel.function.loc.line,
        access=Access(params[index].name, view.nbytes, offset=view.offset),
    )


def _describe(use: AccessedBytes) -> str:
    assert use.any is not None
    return f"bytes {use.any[0]} to {use.any[1]}, {'written' if use.written else 'read'}"
