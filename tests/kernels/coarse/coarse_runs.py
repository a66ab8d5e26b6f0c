"""A launch by two devices: one runs several groups as one where it can, the other one work-item after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.findings import Finding
from adreno_sim.memory.storage import StorageView

COARSE = "one of each of"
"""What the description of coarse code says."""


@dataclass
class Run:
    """The contents of the buffers after a launch, which of their bytes were written (at level full), its findings, and how its
    code was made."""

    buffers: list[np.ndarray]
    written: list[bytes]
    findings: list[Finding]
    code: list[str]

    @property
    def is_coarse(self) -> bool:
        return COARSE in self.code[-1]

    def copies(self, items: int) -> int:
        """The work-items of a group of `items` whose work one does; 0 of a launch that runs its groups one by one."""
        if not self.is_coarse:
            return 0
        lanes, *size = map(int, re.findall(r"vectors of (\d+) .* work-groups of (\d+) x (\d+) x (\d+)", self.code[-1])[0])
        return items * lanes // prod(size)


def run(
    source: str,
    grid: Sequence[int],
    local: Sequence[int],
    args: Sequence[Any],
    *,
    emitter: str = "spmd",
    checks: str = "bounds",
    options: str = "",
    cache: bool = False,
    **more: Any,
) -> Run:
    """Launches the kernel k of `source` on a fresh device. Arrays in `args` become buffers of their own, of which masked elements
    were never written."""
    device = open_device("sim:adreno-740", checks=checks, cache=cache, emitter=emitter, **more)
    views, given = [], []
    for arg in args:
        if isinstance(arg, np.ndarray):
            views.append(device.view(device.allocate(arg.nbytes), BufferSpec(arg.nbytes, arg.dtype.name)))
            device.write(views[-1], np.ma.getdata(arg))
            if np.ma.is_masked(arg):
                unwrite(views[-1], np.repeat(np.ma.getmaskarray(arg).ravel(), arg.itemsize))
        given.append(views[-1] if isinstance(arg, np.ndarray) else arg)
    result = device.launch(device.build(source, options)["k"], tuple(grid), tuple(local), given)
    written = [view.block.valid.tobytes() for view in views if view.block.valid is not None]
    return Run([device.read(view) for view in views], written, result.findings, [code.description for code in result.code])


def unwrite(view: StorageView, which: np.ndarray) -> None:
    """Makes some bytes of a view's block as if nobody had written them."""
    assert view.block.valid is not None
    view.block.valid[: which.size][which] = 0
    view.block.forget()


def run_both(*args: Any, **more: Any) -> tuple[Run, Run]:
    """The launch by the usual device, and by the one that runs one work-item after the other; they must agree bit by bit."""
    ours, theirs = run(*args, **more), run(*args, **more, emitter="scalar")
    for number, (a, b) in enumerate(zip(ours.buffers, theirs.buffers, strict=True)):
        assert a.tobytes() == b.tobytes(), f"buffer {number}: {np.flatnonzero(a != b)[:8]} differ, code: {ours.code}"
    assert ours.findings == theirs.findings
    assert ours.written == theirs.written, f"other bytes are marked as written, code: {ours.code}"
    return ours, theirs
