"""The known answers: right on the simulator, and what is said of a device that gets one wrong or refuses it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adreno_sim.backends.opencl.known_answers import IMAGES, KNOWN_ANSWERS
from adreno_sim.backends.opencl.trial import find_failure, required_answers
from adreno_sim.device import open_device

DEVICE = open_device("sim:reference")

BROKEN = [
    ("a sum of two", "a[i] + b[i]", "a[i] - b[i]"),
    ("a tiled matrix product", "t < n / 8", "t < n / 16"),
    ("a sum by halves", "part[i] += part[i + w]", "part[i] = part[i + w]"),
    ("running sums", "s[from][i] + s[from][i - d]", "s[from][i - d]"),
    ("squares of neighbours", "(half)2", "(half)3"),
    ("neighbours of texels", "yxwz", "xyzw"),
    ("neighbours in layers", "(int4)(1, 0, 0, 0)", "(int4)(0, 0, 0, 0)"),
]
"""Of each known answer: what in its kernel is replaced by what."""


@pytest.mark.parametrize("known", KNOWN_ANSWERS, ids=lambda known: known.name)
def test_the_simulator_knows_each(known):
    assert find_failure(DEVICE, known) == ""


@pytest.mark.parametrize("known", KNOWN_ANSWERS, ids=lambda known: known.name)
def test_each_can_be_got_wrong(known):
    """What was there before the kernel is no answer, nor are one other element and NaN."""
    assert known.judge(np.zeros_like(known.expected))
    for value in (known.expected.flat[-1] + 1, np.nan):
        if np.isnan(value) and known.expected.dtype.kind != "f":
            continue
        found = known.expected.copy()
        found.flat[-1] = value
        last = found.size - 1
        assert known.judge(found) == (
            f"gets {known.what} wrong ({known.name}: element {last} is {found.flat[-1]:g} where {known.expected.flat[-1]:g} "
            f"is right, 1 of {found.size} differ)"
        )


@pytest.mark.parametrize("known", KNOWN_ANSWERS, ids=lambda known: known.name)
def test_a_device_that_computes_something_else_is_found(known):
    """The same kernel with another operator stands for a driver that compiles it wrongly."""
    name, right, wrong = BROKEN[KNOWN_ANSWERS.index(known)]
    assert name == known.name
    assert known.source.count(right) == 1
    said = find_failure(DEVICE, replace(known, source=known.source.replace(right, wrong)))
    assert said.startswith(f"gets {known.what} wrong ({known.name}: element ")


def test_a_refusal_is_wrong_and_named():
    known = replace(KNOWN_ANSWERS[1], source="kernel void k(global int *a) { *a = nonsense; }")
    said = find_failure(DEVICE, known)
    assert said.startswith("gets loops with barriers wrong (a tiled matrix product: refused, ")
    assert "\n" not in said


def test_what_a_device_says_it_has_not_is_not_asked():
    info = DEVICE.info
    names = {known.needs for known in required_answers(info)}
    assert names == {"", "cl_khr_fp16", IMAGES}
    bare = replace(info, extensions=info.extensions - {"cl_khr_fp16"}, limits={**info.limits, "IMAGE_SUPPORT": 0})
    assert {known.needs for known in required_answers(bare)} == {""}
