"""Which size a sub-group has that a kernel asks for nothing of: up to 7xx the compiler's choice by type, on 8xx always 64."""

from __future__ import annotations

import pytest

import adreno_sim

HALVES = "half x = a[i], y = x * x + 1.0h; b[i] = (float)(y * x); "
FLOATS = "float x = (float)a[i], y = x * x + 1.0f; b[i] = y * x + 0.5f; "
SEES = "if (get_sub_group_local_id() == 3) b[0] = 0; "
HALF, FULL = ('__attribute__((qcom_reqd_sub_group_size("half"))) ', '__attribute__((qcom_reqd_sub_group_size("full"))) ')


def size(device: str, body: str, asked: str = "") -> int:
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    {asked}__kernel void k(__global const half *a, __global float *b) {{ int i = get_global_id(0); {body} }}"""
    return adreno_sim.open_device(f"sim:{device}").build(source, "-cl-std=CL2.0")["k"].sub_group_size


@pytest.mark.parametrize("device", ["adreno-650", "adreno-740"])
def test_the_type_that_dominates_chooses(device: str) -> None:
    assert size(device, SEES + HALVES) == 128
    assert size(device, SEES + FLOATS) == 64
    assert size(device, SEES + FLOATS, FULL) == 128
    assert size(device, SEES + HALVES, HALF) == 64


def test_where_nothing_is_known_the_full_wave_stays() -> None:
    assert size("adreno-740", SEES) == 128  # neither type
    assert size("adreno-740", FLOATS) == 128  # no work-item sees its sub-group
    assert size("adreno-740,sub_group_rule=full", SEES + FLOATS) == 128


def test_an_8xx_has_one_size() -> None:
    assert {size("adreno-830", SEES + body) for body in (HALVES, FLOATS)} == {64}
