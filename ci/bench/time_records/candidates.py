"""Random schedules of the workload of a record, out of the space of its search: the record, which won, should rank first."""

from __future__ import annotations

import random
from dataclasses import replace

from .record import Record, Split

MOST_PARTS = 8
"""Parts of an axis that a work-item computes: TVM's limit for convolutions, kept for depthwise ones, which have none."""
MOST_OUTPUTS = 128
"""Texels of output of a work-item. More were never the best of any record, and cost seconds to count."""
MOST_ITEMS = 1024
"""Work-items of a group."""


def draw_schedules(record: Record, count: int, seed: int) -> list[Record]:
    """Returns up to `count` other schedules of the record's workload, each once. The reduction's inner parts are 1 except for
    channels; the space of a small workload may have fewer."""
    generator = random.Random(f"{seed} {record.workload}")
    height, width = record.output
    most = 64 if record.depthwise else 16
    least = 1 if record.depthwise or record.channel_blocks % 2 else 2
    fc = _splits(record.channel_blocks, least, 255)
    y, x = _splits(_round_up(height), 1, most), _splits(_round_up(width), 1, most)
    chunks = [1] if record.depthwise else _divisors(record.input_blocks)
    found: dict[tuple[Split, Split, Split], Record] = {}
    for _ in range(20 * count):
        splits = generator.choice(fc), generator.choice(y), generator.choice(x)
        items = splits[0].items * splits[1].items * splits[2].items
        outputs = splits[0].parts * splits[1].parts * splits[2].parts
        if items > MOST_ITEMS or outputs > MOST_OUTPUTS or splits in found or splits == (record.fc, record.y, record.x):
            continue
        found[splits] = replace(record, fc=splits[0], y=splits[1], x=splits[2], rc=generator.choice(chunks), ry=1, rx=1)
        if len(found) == count:
            break
    return list(found.values())


def _divisors(number: int) -> list[int]:
    return [some for some in range(1, number + 1) if number % some == 0]


def _splits(extent: int, least: int, most: int) -> list[Split]:
    return [
        Split(parts, items)
        for parts in _divisors(extent)
        if parts <= MOST_PARTS
        for items in _divisors(extent // parts)
        if least <= items <= most
    ]


def _round_up(extent: int) -> int:
    """An axis of outputs as TVM expands it before it is split: to a multiple of 4."""
    even = extent + extent % 2
    return even + 2 * (even % 4 != 0)
