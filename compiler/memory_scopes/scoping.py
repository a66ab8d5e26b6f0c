"""How scopes are decided, as an option. The passes that decide them so are in `scoping_passes.py`: a kept model needs none."""

from __future__ import annotations

from ...base.errors import AdrenoSimError
from ...records import dataclass
from .rules import WEIGHTS

NO_TEXTURES = "is for texture targets; on this one every tensor is in a buffer"

RULES = ("tvm", "fewest-copies")
"""How consumers that disagree are settled: as TVM's pass does, or as most of them ask, copies merged."""


@dataclass(frozen=True)
class Scoping:
    """rule: one of RULES. weights: one of WEIGHTS. AdrenoSimError for another one."""

    rule: str = "tvm"
    weights: str = "buffer"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise AdrenoSimError(f"rule {self.rule!r}: expected one of {', '.join(RULES)}")
        if self.weights not in WEIGHTS:
            raise AdrenoSimError(f"weights {self.weights!r}: expected one of {', '.join(WEIGHTS)}")


TVMS = Scoping()
"""What TVM's own passes do."""
