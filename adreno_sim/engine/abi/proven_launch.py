"""What is proven of a launch, as it is kept on disk."""

from __future__ import annotations

from ...device.protocol import AccessCounts
from ...records import dataclass
from .specialization import Proofs


@dataclass(frozen=True)
class ProvenLaunch:
    """What the proofs say of a launch.

    accesses: how many instructions access memory, and how many of them are proven in range. single_writer (level full): the
    arguments in which no two work-items race and no store is dead, if no other argument shares their memory. written_whole: those
    of them that the launch does not read and writes whole. failures: why something is not proven, for each analysis that failed.
    """

    accesses: AccessCounts
    proofs: Proofs
    single_writer: frozenset[int]
    written_whole: frozenset[int]
    failures: tuple[str, ...]
