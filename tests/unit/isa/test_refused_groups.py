"""The comparison with launches that a device refused: its records are read, its kernels build and wait where boda's do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "ci/bench/refused_groups"))
import group_kernels
import records

import adreno_sim
from adreno_sim.isa.chips import find_chip
from adreno_sim.isa.register_use import find_register_use

CONV = (
    "(str_vals=(func_name=conv,type=Convolution),nda_vals=(filts=(dims=(in_chan=16,y=3,x=3)),in=(dims=(img=1,chan=16,y=8,x=8)),"
    "in_pad=(tn=none,dims=(y=1,x=1)),out=(dims=(img=1,chan=16,y=8,x=8)),stride=(tn=none,dims=(y=1,x=1)),work=(tn=none,"
    "dims=(pels_blk=1,out_chan_blk=1,pels_tile=25,out_chan_tile=3,pels=8,out_chan=8))))"
)
SIMD = (
    "(str_vals=(func_name=conv_simd,type=Convolution),nda_vals=(filts=(dims=(in_chan=16,y=1,x=1,out_chan=16)),in=(dims=(chan=16,"
    "pel=64)),in_pels=(tn=none,dims=(img=1,y=8,x=8)),stride=(tn=none,dims=(y=1,x=1)),work=(tn=none,dims=(pels_blk=1,"
    "out_chan_blk=1,pels_tile=8,out_chan_tile=2,pels=8,out_chan=8))))"
)
RECORDS = f"""op_tune_wisdom_t
(use_be=ocl,MNt=8 8,MNb=8 16)
op_run_t
ocl:Fiji
0.1

{CONV}
op_run_t
ocl:QUALCOMM Adreno(TM)
nan
profile call failure: error: Can't run kernel: loc_work_sz is 75 but OpenCL says max is 64 for this kernel+device.
/op_tune_wisdom_t
op_tune_wisdom_t
op_run_t
ocl:QUALCOMM Adreno(TM)
0.2

{SIMD}
"""


@pytest.fixture
def launches(tmp_path):
    file = tmp_path / "wisdom.wis"
    file.write_text(RECORDS)
    return list(records.read_launches(file))


def test_refused_and_run_launches_are_read(launches):
    assert [(one.function, one.items, one.limit) for one in launches] == [("conv", 75, 64), ("conv_simd", 16, 0)]
    assert launches[0].dimensions["in_pad"] == {"y": 1, "x": 1}


def test_their_kernels_build_and_wait_as_they_did(launches):
    device = adreno_sim.open_device("sim:adreno-530")
    uses = [find_register_use(device.build(group_kernels.make_kernel(one))["k"].function, find_chip("a530")) for one in launches]
    assert [use.meets for use in uses] == [True, False]
    assert all(use.registers[1] >= 20 for use in uses)  # 64 sums
    assert uses[0].group_limit[0] == 64 <= uses[0].group_limit[1]
