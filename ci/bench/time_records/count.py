"""Counts the launches of records in the simulator, in all processors, and keeps what was counted in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
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


def count_records(records: Iterable[Record], kept: Path | None, jobs: int) -> list[list[LaunchFigures]]:
    """Returns the figures of what each record launches. kept: a file of earlier counts, which gets the new ones."""
    wanted = [kernels_of(record) for record in records]
    dtypes = {
        _digest(kernel, record.dtype): (kernel, record.dtype)
        for record, made in zip(records, wanted, strict=True)
        for kernel in made
    }
    known: dict[str, LaunchFigures] = {}
    if kept is not None and kept.exists():
        known = {key: LaunchFigures(**figures) for key, figures in json.loads(kept.read_text(encoding="utf-8")).items()}
    missing = [key for key in dtypes if key not in known]
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(_count, *zip(*(dtypes[key] for key in missing), strict=True), chunksize=8) if missing else []
        known |= dict(zip(missing, found, strict=True))
    if kept is not None and missing:
        kept.write_text(json.dumps({key: asdict(figures) for key, figures in known.items()}), encoding="utf-8")
    return [[known[_digest(kernel, record.dtype)] for kernel in made] for record, made in zip(records, wanted, strict=True)]


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
    storage = device.allocate(kernel.buffer_bytes)
    buffer = device.view(storage, BufferSpec(kernel.buffer_bytes, dtype))
    arguments = [buffer, *images] if kernel.writes else [*images, buffer]
    try:
        built = device.build(kernel.source)[kernel.name]
        sample = device.count_groups(built, kernel.global_size, kernel.local_size, arguments, TRACING)
    finally:
        for storage_ in [storage, *(image.storage for image in images)]:
            device.free(storage_)
    touched = kernel.buffer_bytes + sum(rows * columns * texel for rows, columns in kernel.textures)
    return figures_of(sample, touched)
