"""Which lanes of a value are used: through moves, selections, cycles, and chains as long as a kernel."""

from __future__ import annotations

import pytest

from adreno_sim.engine.analysis.lane_uses import Demand, LaneUses
from adreno_sim.frontend.program import FrontEndTarget, compile_source

ALL = frozenset(range(4))


def demand_of_load(body: str) -> Demand:
    """The demand for what p[0] holds."""
    source = f"kernel void k(global float4 *p, global float *o, int n) {{ float4 v = p[0]; {body} }}"
    function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
    load = next(instr for block in function.blocks for instr in block.instrs if instr.op == "load")
    return LaneUses(function).demand(load)


@pytest.mark.share()
@pytest.mark.parametrize(
    ("body", "demand"),
    [
        ("o[0] = v.y;", Demand({1})),
        ("float4 w = v.wzyx; o[0] = w.x + w.y;", Demand({2, 3})),
        ("v.x = 1; v.y = 2; o[0] = v.x + v.z;", Demand(soft={2})),
        ("float4 w = v + 1; o[0] = w.z;", Demand({2})),
        ("float4 w = select((float4)(0), v, (int4)(n)); o[0] = w.x;", Demand(soft={0})),
        ("o[n & 3] = v.x; p[1] = v;", Demand(ALL)),
        ("v = v * v.yxwz;" * 1500 + " o[0] = v.x;", Demand({0, 1})),  # longer than Python's stack is deep
    ],
    ids=["one", "shuffled", "replaced", "elementwise", "chosen", "stored", "chain"],
)
def test_the_lanes_that_are_demanded(body, demand):
    assert demand_of_load(body) == Demand(frozenset(demand.hard), frozenset(demand.soft))


def test_a_cycle_demands_what_its_lanes_reach():
    found = demand_of_load("for (int i = 0; i < n; ++i) v = v.yzwx + 1; o[0] = v.x;")
    assert found.any == ALL
