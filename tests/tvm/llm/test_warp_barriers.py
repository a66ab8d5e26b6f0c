"""Barriers that TVM makes of a warp's synchronisation, where only some work-items come by: refused by name."""

import pytest

pytest.importorskip("tvm")
from tvm import relax

from adreno_sim import UnsupportedError, check
from adreno_sim.compiler.doctor.models import module
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.lower.targets import make_target

pytestmark = pytest.mark.tvm


def target_of(warp):
    return {**dict(make_target("buffer").export()), "thread_warp_size": warp}


def normalised():
    """A mean of squares over 4096 values, which 256 work-items sum."""
    return module(lambda x: relax.op.mean(relax.op.multiply(x, x), axis=[-1]), (3, 4096))


def test_warps_of_more_than_one_work_item_are_refused_by_name():
    """TVM writes `barrier()` inside `if (threadIdx.x < 32)`: undefined, and wrong on drivers."""
    with pytest.raises(UnsupportedError) as refused:
        check(normalised(), target=target_of(32))
    said = str(refused.value)
    assert "kernel mean_kernel: TVM's code generation for OpenCL makes a barrier of a warp's synchronisation" in said
    assert "next: give the target thread_warp_size 1 (TVM's default)" in said
    assert "\n" not in said


def test_warps_of_one_work_item_compile():
    assert any("barrier" in text for text in lower(normalised(), target_of(1)).sources.values())
