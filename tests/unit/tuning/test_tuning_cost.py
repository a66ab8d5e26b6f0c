"""The cost by counters: each term alone, and that no figure that grows makes a launch cheaper."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from adreno_sim.compiler.tuning.cost import (
    BARRIER,
    HIT,
    LOCAL,
    MISS,
    OPERATION,
    OPERATIONS,
    PRIVATE,
    WAVES,
    Machine,
    cost,
)
from adreno_sim.compiler.tuning.figures import Figures

MACHINE = Machine(wave=64, units=2, local_bytes=32768, line_bytes=64)
FULL = Figures(
    operations={"float32": 4096.0}, wave_accesses=64, accesses=4096, accessed_bytes=16384, buffer_lines=256, texture_lines=0,
    fetched_lines=0, line_bytes=64, local_passes=0, local_least=0, private_bytes=0, waves=WAVES * 2, barriers=0, lanes=1.0,
    group_waves=1, local_size=0, private_size=0, groups=8, counted=8,
)  # fmt: skip
"""A launch of full waves, as many as hide a fetch on two units."""


def total(**changed: Any) -> float:
    return cost([replace(FULL, **changed)], MACHINE).total


def test_each_term_alone() -> None:
    lines, operations = 64 * 256, OPERATION * 4096
    assert total() == lines + operations
    assert total(buffer_lines=512) == total() + lines
    assert total(buffer_lines=0, texture_lines=256, fetched_lines=256) == total(), "read once, a texture is as a buffer"
    assert total(buffer_lines=0, texture_lines=256, fetched_lines=64) == HIT * lines + MISS * lines / 4 + operations
    assert total(local_passes=10) == total() + LOCAL * 10 * 32 * 4
    assert total(barriers=3) == total() + 3 * BARRIER
    assert total(lanes=0.5) == lines + 2 * operations
    assert total(operations={"float16": 4096.0}) == lines + operations / 2
    assert total(operations={"special": 4096.0}) == lines + operations * OPERATIONS["special"]
    assert total(private_bytes=1000.0, private_size=PRIVATE) == total(), "registers hold them"
    assert total(private_bytes=1000.0, private_size=2 * PRIVATE) == total() + 500
    assert total(waves=WAVES) == 2 * total() and total(waves=100 * WAVES) == total()
    assert total(local_size=32768) == WAVES * total(), "one group of one wave at a time"
    assert total(local_size=32768 // WAVES) == total()
    assert cost([FULL, FULL], MACHINE).total == 2 * total()


def test_parts_add_up_to_the_total() -> None:
    launches = [replace(FULL, local_passes=9, barriers=2, lanes=0.4, private_bytes=64, private_size=4096), FULL]
    found = cost(launches, MACHINE)
    parts = (
        found.buffer_bytes, found.texture_bytes, found.local_bytes, found.operation_bytes, found.barrier_bytes, found.spill_bytes,
    )  # fmt: skip
    assert found.occupancy == 1 and found.total == pytest.approx(sum(parts))
    assert found.spill == pytest.approx(found.total / (found.total - found.spill_bytes))


def test_no_more_work_is_cheaper() -> None:
    """A launch that is no better in any figure does not rank first."""
    grown = {
        "buffer_lines": 300, "texture_lines": 5, "fetched_lines": 5, "local_passes": 5, "barriers": 5, "lanes": 0.9, "waves": 7,
        "operations": {"float32": 4097.0}, "local_size": 32768,
    }  # fmt: skip
    assert set(grown) < {field.name for field in fields(Figures)}
    for name, value in grown.items():
        assert total(**{name: value}) > total(), name
    for name in OPERATIONS:
        assert total(operations={"float32": 4096.0, name: 4200.0}) >= total(), name


def test_every_type_of_operation_has_a_weight() -> None:
    from adreno_sim.engine.counting import operations

    named = {operations.COMPARE, operations.CONVERT, operations.WIDTH, operations.SPECIAL, operations.ATOMIC}
    floats, integers = {f"float{bits}" for bits in (16, 32, 64)}, {f"int{bits}" for bits in (8, 16, 32, 64)}
    assert set(OPERATIONS) == named | floats | integers
