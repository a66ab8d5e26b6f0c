"""The same kernel launched with other sizes, groups and buffers: proofs of one launch are no proofs of another."""

from __future__ import annotations

import dataclasses
import random

import numpy as np

from .launches import Launch, Memory
from .layout import Image
from .plant import Variant

MOST_ITEMS = 3000


def resize(variant: Variant, chooser: random.Random) -> Variant:
    """A launch of the same program in another way: the model says what is wrong with it."""
    launch = variant.launch
    way = chooser.choice([_fewer_groups, _more_groups, _more_of_all, _larger_buffers, _other_groups, _smaller_buffers])
    changed = way(launch, chooser, {p.name for p in variant.program.parameters if isinstance(p, Image)})
    return Variant(variant.program, changed)


def _fewer_groups(launch: Launch, chooser: random.Random, images: set[str]) -> Launch:
    axis = max(range(3), key=lambda n: launch.groups[n])
    return _with_groups(launch, axis, chooser.randint(1, launch.groups[axis]))


def _more_groups(launch: Launch, chooser: random.Random, images: set[str]) -> Launch:
    most = max(1, MOST_ITEMS // launch.items)
    axis = chooser.randrange(launch.dimensions)
    return _with_groups(launch, axis, launch.groups[axis] * min(most, chooser.choice([2, 3])))


def _more_of_all(launch: Launch, chooser: random.Random, images: set[str]) -> Launch:
    return _larger_buffers(_more_groups(launch, chooser, images), chooser, images)


def _larger_buffers(launch: Launch, chooser: random.Random, images: set[str]) -> Launch:
    if len({v.storage for v in launch.values.values() if isinstance(v, Memory)}) < sum(
        isinstance(v, Memory) for v in launch.values.values()
    ):
        return launch  # two that lie side by side would overlap
    return dataclasses.replace(
        launch, values={n: _larger(v) if isinstance(v, Memory) and n not in images else v for n, v in launch.values.items()}
    )


def _smaller_buffers(launch: Launch, chooser: random.Random, images: set[str]) -> Launch:
    """One buffer is cut by a quarter or so."""
    names = [n for n, v in launch.values.items() if isinstance(v, Memory) and n not in images and v.nbytes >= 32]
    if not names:
        return launch
    name = chooser.choice(names)
    memory = launch.values[name]
    assert isinstance(memory, Memory)
    keep = memory.nbytes * 3 // 4 // 16 * 16
    unset = tuple((a, min(b, keep)) for a, b in memory.unset if a < keep)
    cut = dataclasses.replace(memory, contents=memory.contents[:keep].copy(), unset=unset)
    return dataclasses.replace(launch, values={**launch.values, name: cut})


def _other_groups(launch: Launch, chooser: random.Random, images: set[str]) -> Launch:
    """Groups half as large, twice as many; or the other way round."""
    axis = chooser.randrange(launch.dimensions)
    group, groups = list(launch.group), list(launch.groups)
    if group[axis] % 2 == 0 and chooser.random() < 0.6:
        group[axis], groups[axis] = group[axis] // 2, groups[axis] * 2
    elif groups[axis] % 2 == 0 and launch.group_items <= 512:
        group[axis], groups[axis] = group[axis] * 2, groups[axis] // 2
    return dataclasses.replace(launch, group=tuple(group), groups=tuple(groups))


def _with_groups(launch: Launch, axis: int, count: int) -> Launch:
    groups = list(launch.groups)
    groups[axis] = count
    return dataclasses.replace(launch, groups=tuple(groups))


def _larger(memory: Memory) -> Memory:
    """Twice as large: what is unset at its end goes on."""
    unset = tuple((a, b * 2 if b == memory.nbytes else b) for a, b in memory.unset)
    return dataclasses.replace(memory, contents=np.tile(memory.contents, 2), unset=unset)
