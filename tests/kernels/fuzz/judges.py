"""The implementations that judge the simulator, and what each is known to get wrong or to lack."""

from __future__ import annotations

from dataclasses import dataclass

from adreno_sim.base.run_options import Checks

_AVOID = {
    "pocl": frozenset[str](),
    # unoptimised, mad_sat(1, 1, x) saturates where it must not, or wraps; shuffle(long4, ulong8) picks wrong lanes
    "intel": frozenset(
        {"integer/mad_sat:int", "integer/mad_sat:uint", "integer/mad_sat:long", "integer/mad_sat:ulong"}
        | {"vector/shuffle:long", "vector/shuffle:ulong"}
    ),
}


@dataclass(frozen=True)
class Judge:
    """Who judges: `oracle` "pocl" or "intel", for the OpenCL C version `standard`, at the simulator's level `checks`."""

    oracle: str
    standard: int
    checks: Checks = "bounds"

    @property
    def half(self) -> bool:
        return self.oracle == "intel"

    @property
    def avoid(self) -> frozenset[str]:
        return _AVOID[self.oracle]

    @property
    def options(self) -> str:
        """Build options of both sides. Without optimisation the oracles compile in half the time or less."""
        version = f"{self.standard // 100}.{self.standard // 10 % 10}"
        return f"-cl-std=CL{version} -cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable"


JUDGES = [(6, Judge("pocl", 120)), (3, Judge("intel", 200)), (1, Judge("intel", 120))]
"""Shares of the kernels. PoCL's OpenCL C 2.0 finds no vloadn of a global pointer."""
