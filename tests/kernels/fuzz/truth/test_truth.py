"""What the judging of random kernels tells apart: each kind of result, right and wrong in one place."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.judge import same
from fuzz.truth.collectives import COLLECTIVES, wrong_items
from fuzz.truth.references import wrong_lanes

GROUP = 12
SUB = np.repeat([0, 1, 2], [5, 5, 2])
PLACE = np.concatenate([np.arange(5), np.arange(5), np.arange(2)])
SIZE = np.repeat([5, 5, 2], [5, 5, 2])


def column(values: object, dtype: str = "i4") -> np.ndarray:
    return np.array(values, dtype)[:, None]


@pytest.mark.parametrize("function", COLLECTIVES)
def test_a_result_of_a_sub_group_is_held_against_its_members(function: str) -> None:
    value = np.random.default_rng(1).integers(-9, 9, 2 * GROUP).astype("i4")
    shape = [column(np.tile(one, 2)) for one in (SUB, PLACE, SIZE)]
    starts = zip((0, 5, 10, 12, 17, 22), (5, 5, 2) * 2, strict=True)
    right = np.concatenate([COLLECTIVES[function](value[at : at + count]) for at, count in starts])
    operands = [*shape, value[:, None]]
    assert not wrong_items(function, operands, right[:, None], GROUP).any()
    wrong = right.copy()
    wrong[18] += 1
    assert np.argwhere(wrong_items(function, operands, wrong[:, None], GROUP)).tolist() == [[18, 0]]


def test_places_in_a_sub_group_must_be_those_up_to_its_size() -> None:
    value = column(np.ones(GROUP))
    right = column(SIZE)
    twice = np.where(PLACE == 1, 0, PLACE)
    for place, size in ((twice, SIZE), (PLACE, SIZE + 1)):
        operands = [column(SUB), column(place), column(size), value]
        assert wrong_items("sub_group_reduce_add", operands, right, GROUP).any()
    assert not wrong_items("sub_group_reduce_add", [column(SUB), column(PLACE), column(SIZE), value], right, GROUP).any()


def test_zeros_differ_by_their_sign_unless_that_is_left_open() -> None:
    own, other = np.array([0.0, -0.0, 1.0, np.nan], "f4"), np.array([-0.0, -0.0, 2.0, np.nan], "f4")
    assert same(own, other).tolist() == [False, True, False, True]
    assert same(own, other, signs=False).tolist() == [True, True, False, True]


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("function", ["{} * {} + {}", "dot", "length", "normalize", "cross", "smoothstep", "{} / {}"])
def test_a_result_may_be_off_by_its_bound_only(function: str, dtype: str) -> None:
    operands = [np.array([[1.25, 2.5, 3.0], [4.5, 5.0, 6.25]], dtype) for _ in range(3)]
    operands[1] = operands[1][:, ::-1] + np.array(1, dtype)
    if function == "smoothstep":
        operands = [np.full((2, 3), low, dtype) for low in (0.0, 3.0)] + [operands[0]]
    made = {
        "{} * {} + {}": lambda x, y, z: x * y + z, "dot": lambda x, y, z: (x * y).sum(1, keepdims=True),
        "length": lambda x, y, z: np.sqrt((x * x).sum(1, keepdims=True)), "cross": lambda x, y, z: np.cross(x, y),
        "normalize": lambda x, y, z: x / np.sqrt((x * x).sum(1, keepdims=True)), "{} / {}": lambda x, y, z: x / y,
        "smoothstep": lambda low, high, x: (t := np.clip((x - low) / (high - low), 0, 1)) * t * (3 - 2 * t),
    }[function]  # fmt: skip
    count = {"length": 1, "normalize": 1, "dot": 2, "cross": 2, "{} / {}": 2}.get(function, 3)
    right = made(*(one.astype("f8") for one in operands)).astype(dtype)
    assert not wrong_lanes(function, operands[:count], right).any()
    assert wrong_lanes(function, operands[:count], right + np.abs(right).max() / np.array(4, dtype)).all()


def test_infinite_elements_alone_give_a_direction() -> None:
    operand = np.array([[np.inf, -np.inf, 7], [0, 0, 0]], "f4")
    half = np.float32(np.sqrt(0.5))
    assert not wrong_lanes("normalize", [operand], np.array([[half, -half, 0], [0, 0, 0]], "f4")).any()
