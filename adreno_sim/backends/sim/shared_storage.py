"""Arguments of one launch that share a storage: what one of them writes, another must not access."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.prove.accessed_bytes import AccessedBytes, ByteRange
from ...engine.run.launch_analysis import LaunchAnalysis
from ...findings import Access, Finding, Kind
from ...ir import ir
from ...memory.storage import StorageView
from .program import SimKernel


def find_overlaps(kernel: SimKernel, args: Sequence[Any], analysis: LaunchAnalysis) -> list[Finding]:
    """Returns a finding for each two arguments of which one may write bytes that the other may access.

    Two buffers over exactly the same bytes are allowed, because OpenCL C defines what they do. Of other buffers those bytes count
    that the launch may access, of images all.
    """
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
    found = []
    for one, other in pairs:
        uses = [_accessed_of(kernel, *numbered, accessed) for numbered in (one, other)]
        if _intersect(uses[0].written, uses[1].any) or _intersect(uses[1].written, uses[0].any):
            found.append(_finding(kernel, [one, other], uses))
    return found


def _are_same_buffer(first: StorageView, second: StorageView) -> bool:
    buffers = first.layout is None and second.layout is None
    return buffers and (first.offset, first.nbytes) == (second.offset, second.nbytes)


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
