"""A launch that runs several of its groups as one (`engine/coarsen`): its code and its grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.specs import Size3
from ...records import dataclass
from ..abi.bound import Bound
from . import launch
from .compiled_kernel import CompiledKernel
from .launch import RawResult


@dataclass(frozen=True)
class CoarseLaunch:
    """Machine code of the coarse kernel, and the global size over which it is launched."""

    compiled: CompiledKernel
    global_size: Size3

    def run(self, args: Sequence[Bound], options: Any) -> RawResult | None:
        """Runs the launch. Returns None if something is to be reported, which only the kernel itself can: it has to run then, and
        writes the same bytes again."""
        result = launch.run(self.compiled, self.global_size, (0, 0, 0), args, **options)
        return None if result.failed or result.findings else result
