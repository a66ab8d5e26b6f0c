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
    fc, y, x, chunks = _list_axes(record)
    found: dict[tuple[Split, Split, Split], Record] = {}
    for _ in range(20 * count):
        splits = generator.choice(fc), generator.choice(y), generator.choice(x)
        if not _is_allowed(*splits) or splits in found or splits == (record.fc, record.y, record.x):
            continue
        found[splits] = replace(record, fc=splits[0], y=splits[1], x=splits[2], rc=generator.choice(chunks), ry=1, rx=1)
        if len(found) == count:
            break
    return list(found.values())


def list_neighbours(record: Record, seed: int) -> list[Record]:
    """Returns schedules of the workload that differ in one choice, in random order: the split of an axis, by one step of its
    parts, of its work-items or of both, or the inner part of the reduction."""
    fc, y, x, chunks = _list_axes(record)
    found = [replace(record, rc=rc) for rc in chunks if rc != record.rc]
    for name, splits in (("fc", fc), ("y", y), ("x", x)):
        found += [replace(record, **{name: split}) for split in splits if _is_near(split, getattr(record, name), splits)]
    allowed = [one for one in found if _is_allowed(one.fc, one.y, one.x)]
    return random.Random(f"{seed} {record}").sample(allowed, len(allowed))


def _list_axes(record: Record) -> tuple[list[Split], list[Split], list[Split], list[int]]:
    """What may be chosen: splits of channels, rows and columns, and inner parts of the reduction."""
    height, width = record.output
    most = 64 if record.depthwise else 16
    least = 1 if record.depthwise or record.channel_blocks % 2 else 2
    fc = list_splits(record.channel_blocks, least, 255)
    y, x = list_splits(_round_up(height), 1, most), list_splits(_round_up(width), 1, most)
    return fc, y, x, [1] if record.depthwise else _divisors(record.input_blocks)


def _is_allowed(fc: Split, y: Split, x: Split) -> bool:
    return fc.items * y.items * x.items <= MOST_ITEMS and fc.parts * y.parts * x.parts <= MOST_OUTPUTS


def _is_near(split: Split, other: Split, splits: list[Split]) -> bool:
    """Whether two splits differ by one step at the most in each of their numbers."""
    places = [sorted({each[number] for each in (*splits, other)}) for number in range(2)]
    steps = [abs(some.index(split[number]) - some.index(other[number])) for number, some in enumerate(places)]
    return max(steps) == 1


def _divisors(number: int) -> list[int]:
    return [some for some in range(1, number + 1) if number % some == 0]


def list_splits(extent: int, least: int, most: int, most_parts: int = MOST_PARTS) -> list[Split]:
    """Returns the splits of an axis without a rest. least, most: work-items of a group."""
    return [
        Split(parts, items)
        for parts in _divisors(extent)
        if parts <= most_parts
        for items in _divisors(extent // parts)
        if least <= items <= most
    ]


def _round_up(extent: int) -> int:
    """An axis of outputs as TVM expands it before it is split: to a multiple of 4."""
    even = extent + extent % 2
    return even + 2 * (even % 4 != 0)
