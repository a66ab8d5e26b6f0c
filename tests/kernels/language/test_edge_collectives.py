"""Functions of sub-groups and work-groups in groups at the edge of the grid, which are smaller than others: only work-items that
are there take part, in the order of their linear local ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

Numbers = Sequence[int]
FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "group_reduce_add(i)": lambda values: [sum(values)] * len(values),
    "group_reduce_max(-i)": lambda values: [-min(values)] * len(values),
    "group_scan_inclusive_add(i)": lambda values: np.cumsum(values).tolist(),
    "group_scan_exclusive_add(i)": lambda values: [0, *np.cumsum(values)[:-1].tolist()],
    "group_any(i == 0)": lambda values: [int(0 in values)] * len(values),
}


def groups(size: tuple[int, int], local: tuple[int, int]) -> Iterator[tuple[list[int], int]]:
    """The global linear ids of each group's work-items, by their linear local ids; and the extent of the group along x."""
    (width, height), (wide, high) = size, local
    for y in range(0, height, high):
        for x in range(0, width, wide):
            inside = min(wide, width - x)
            yield [b * width + a for b in range(y, min(height, y + high)) for a in range(x, x + inside)], inside


def run(call: str, size: tuple[int, int], local: tuple[int, int], checks: str) -> tuple[list[int], int]:
    """Returns the results, and the work-items of a full sub-group."""
    device = adreno_sim.open_device("sim:adreno-740", checks=checks, cache=False)
    view = device.view(device.allocate(4 * size[0] * size[1]), BufferSpec(4 * size[0] * size[1], "int32"))
    source = f"kernel void k(global int *a) {{ int i = get_global_linear_id(); a[i] = {call}; }}"
    kernel = device.build(source, "-cl-std=CL2.0")["k"]
    assert not device.launch(kernel, size, local, [view]).findings
    return device.read(view).tolist(), kernel.sub_group_size


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize(("size", "local"), [((30, 7), (16, 4)), ((37, 1), (16, 1)), ((5, 9), (8, 4)), ((60, 5), (32, 4))])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_work_items_that_are_there_take_part(function, size, local, checks):
    for scope in ("sub_", "work_"):
        found, wave = run(scope + function, size, local, checks)
        most = wave if scope == "sub_" else size[0] * size[1]
        wanted = [0] * (size[0] * size[1])
        for items, _ in groups(size, local):
            for part in (items[first : first + most] for first in range(0, len(items), most)):
                for item, value in zip(part, FUNCTIONS[function](part), strict=True):
                    wanted[item] = value
        assert found == wanted, scope


@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_a_broadcast_names_a_local_id(checks):
    size, local = (29, 7), (16, 4)
    for call, x, y in (("work_group_broadcast(i, 5, 2)", 5, 2), ("work_group_broadcast(i, 12, 0)", 12, 0)):
        wanted = [0] * (size[0] * size[1])
        for items, wide in groups(size, local):
            for item in items:
                wanted[item] = items[y * wide + x]
        assert run(call, size, local, checks)[0] == wanted
