"""Random kernels that are run as well: what the simulator finds in them must not be proven."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "kernels"))

import numpy as np
from in_range_cases import HEAD, ITEMS, LOCAL
from launches import Launch, row_launch
from test_unreachable import random_body

import adreno_sim
from adreno_sim.base.specs import BufferSpec

WRITE_ATOMS = (
    "i", "l", "g", "(i & 7)", "(i / 3)", "(i % 5)", "(l + g)", "(l * 4 + g)", "(i / 8)", "(15 - l)", "max(l, 4)", "min(i, 40)",
)  # fmt: skip
ENOUGH = 9000
"""Elements of `a` with which every index of a random write is in range."""


def random_launches(count: int) -> Iterator[Launch]:
    """Yields `count` kernels with accesses that may be out of range ("random"), and as many whose work-items write the same
    elements or not ("writes")."""
    for seed in range(count):
        rng = random.Random(seed)
        bodies = " ".join(random_body(rng) for _ in range(3))
        yield _random_launch("random", seed, f"{HEAD} int d = b[i]; {bodies} }}", ITEMS)
        writes = " ".join(_random_write(rng) for _ in range(rng.randrange(1, 4)))
        yield _random_launch("writes", seed, f"{HEAD} {writes} }}", ENOUGH)


def _random_write(rng: random.Random) -> str:
    """A write under a condition that many work-items may meet; its index is in 0 to 9000."""
    first, second, third, fourth = (rng.choice(WRITE_ATOMS) for _ in range(4))
    index = f"{rng.randrange(1, 9)} * ({first}) {rng.choice('+-')} {rng.randrange(5)} * ({second}) + {rng.randrange(2000, 2064)}"
    condition = f"{third} {rng.choice(('<', '>=', '==', '!='))} {rng.choice((fourth, str(rng.randrange(20))))}"
    loop = rng.choice(("", "", "for (int j = 0; j < 4; ++j) "))
    return f"\nif ({condition}) {loop}a[{index}{' + j * 8' if loop else ''}] = 1;\n"


def _random_launch(group: str, seed: int, source: str, elements: int) -> Launch:
    """A launch with what the simulator finds where it runs it; it checks all that the engine has no proof of."""
    launch = row_launch(group, f"seed {seed}", "", source, elements)
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    a, b = (device.view(device.allocate(4 * count), BufferSpec(4 * count, "int32")) for count in (elements, ITEMS))
    device.write(a, np.zeros(elements, np.int32))
    device.write(b, np.arange(ITEMS, dtype=np.int32) % 16 + 1)
    found = device.launch(device.build(source)["k"], (ITEMS,), (LOCAL,), [a, b, np.int32(7), np.uint32(5)]).findings
    wrong = {f"line {f.line}" for f in found if f.kind.label.startswith("out-of-bounds")}
    wrong |= {f"argument {f.access.view}" for f in found if f.kind.label.endswith("-race") and f.access is not None}
    return launch._replace(wrong=frozenset(wrong))
