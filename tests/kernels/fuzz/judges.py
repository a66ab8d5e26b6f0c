"""The implementations that judge the simulator, and what each is known to get wrong or to lack."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

import oracle

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
    """Who judges: `oracle` "pocl" or "intel", for the OpenCL C version `standard`, at the simulator's level `checks`.

    instead: who runs what was made for that oracle, where it is unfit; the kernels stay the same.
    """

    oracle: str
    standard: int
    checks: Checks = "bounds"
    instead: str = ""

    @property
    def asked(self) -> str:
        """Who is asked."""
        return self.instead or self.oracle

    def can_judge(self, used: Container[str]) -> bool:
        """Whether the one who is asked gets right all that a kernel uses; kernels are made with that in mind for their oracle."""
        return not self.instead or not any(construct.partition(":")[0] in used for construct in _AVOID[self.instead])

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


def fit_judge(judge: Judge) -> Judge:
    """The judge, or with whoever stands in for its oracle where that is missing or unfit. Raises OracleUnavailable."""
    for name in (judge.oracle, *oracle.NAMES):
        try:
            oracle.open_oracle(name)
        except oracle.OracleUnavailable as error:
            reason = error
        else:
            return judge if name == judge.oracle else replace(judge, instead=name)
    raise reason
