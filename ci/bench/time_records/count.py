"""Counts the launches of records in the simulator, in all processors, and keeps what was counted in a file."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.device.group_sample import GroupCounter
from adreno_sim.timing.figures import LaunchFigures, figures_of
from adreno_sim.timing.launches import TRACING

from .kernels import TimedKernel, kernels_of
from .record import Record

DEVICE = "sim:adreno-730,wave_size=64,checks=bounds"


def count_records(
    records: Iterable[Record], kept: Path | None, jobs: int, until: float = float("inf")
) -> list[list[LaunchFigures] | None]:
    """Returns the figures of what each record launches, as `count_kernels` does."""
    return count_kernels([(kernels_of(record), record.dtype) for record in records], kept, jobs, until)


def count_kernels(
    functions: Sequence[tuple[Sequence[TimedKernel], str]], kept: Path | None, jobs: int, until: float = float("inf")
) -> list[list[LaunchFigures] | None]:
    """Returns the figures of what each function launches; a function has launches and a type. kept: a file of earlier counts,
    which gets the new ones. until: by `time.monotonic`, when counting stops: a function that is not counted by then has None."""
    wanted = {_digest(kernel, dtype): (kernel, dtype) for made, dtype in functions for kernel in made}
    known: dict[str, LaunchFigures] = {}
    if kept is not None and kept.exists():
        known = {key: LaunchFigures(**figures) for key, figures in json.loads(kept.read_text(encoding="utf-8")).items()}
    found = _count_missing({key: launch for key, launch in wanted.items() if key not in known}, jobs, until)
    known |= found
    if kept is not None and found:
        kept.write_text(json.dumps({key: asdict(figures) for key, figures in known.items()}), encoding="utf-8")
    counted = []
    for made, dtype in functions:
        figures = [known.get(_digest(kernel, dtype)) for kernel in made]
        counted.append(None if None in figures else [one for one in figures if one is not None])
    return counted


def _count_missing(missing: Mapping[str, tuple[TimedKernel, str]], jobs: int, until: float) -> dict[str, LaunchFigures]:
    """Counts launches in other processes, in their order, as long as there is time."""
    found: dict[str, LaunchFigures] = {}
    if not missing:
        return found
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:  # leaving it ends the processes
        counts = pool.imap_unordered(_count_one, [(key, *launch) for key, launch in missing.items()])
        for _ in missing:
            try:
                key, figures = counts.next(max(0.0, until - time.monotonic()) if until < float("inf") else None)
            except multiprocessing.TimeoutError:
                break
            found[key] = figures
    return found


def _count_one(task: tuple[str, TimedKernel, str]) -> tuple[str, LaunchFigures]:
    key, kernel, dtype = task
    return key, _count(kernel, dtype)


def _digest(kernel: TimedKernel, dtype: str) -> str:
    text = "\0".join((kernel.source, str(kernel.global_size), str(kernel.local_size), dtype))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _open() -> GroupCounter:
    device = open_device(DEVICE)
    assert isinstance(device, GroupCounter)
    return device


def _count(kernel: TimedKernel, dtype: str) -> LaunchFigures:
    device = _open()
    channel_type, texel = ("HALF_FLOAT", 8) if dtype == "float16" else ("FLOAT", 16)
    images = [
        device.create_image(ImageSpec("image2d", columns, rows, channel_type=channel_type)) for rows, columns in kernel.textures
    ]
    storage = device.allocate(max(1, kernel.buffer_bytes))
    buffers = [device.view(storage, BufferSpec(kernel.buffer_bytes, dtype))] if kernel.buffer_bytes else []
    arguments = [*buffers, *images] if kernel.writes else [*images, *buffers]
    try:
        built = device.build(kernel.source)[kernel.name]
        sample = device.count_groups(built, kernel.global_size, kernel.local_size, arguments, TRACING)
    finally:
        for storage_ in [storage, *(image.storage for image in images)]:
            device.free(storage_)
    touched = kernel.buffer_bytes + sum(rows * columns * texel for rows, columns in kernel.textures)
    return figures_of(sample, touched)
