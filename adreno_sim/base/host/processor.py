"""One processor: its family, and those of the family's features that it has."""

from __future__ import annotations

from ...records import dataclass
from .family import ProcessorFamily


@dataclass(frozen=True)
class Processor:
    """features: LLVM's, as "+avx,-fma,..."; what is not named is absent."""

    family: ProcessorFamily
    features: str

    def has(self, feature: str) -> bool:
        """Returns whether this processor has a feature."""
        return f"+{feature}" in self.features.split(",")

    @property
    def features_of_code(self) -> str:
        """The features that code is compiled for."""
        named = self.features.split(",")
        return ",".join(f"-{name[1:]}" if name[1:] in self.family.avoided else name for name in named)

    @property
    def lane_counts(self) -> tuple[int, ...]:
        """The lane counts of vectors to choose from, best first."""
        return (16, 8) if self.has(self.family.wide_vectors) else (8,)

    @property
    def lanes_of_halves(self) -> int:
        """The lane count of vectors of halves, where it pays."""
        return 32 if self.computes_halves and self.lane_counts[0] == 16 else self.lane_counts[0]

    @property
    def masks_bytes(self) -> bool:
        """Whether one instruction stores some bytes of a vector."""
        return self.has(self.family.byte_masks)

    @property
    def stores_some_lanes_slowly(self) -> bool:
        """Whether a store of some lanes takes longer than one of all: AVX2 has instructions for it, which take 12 times as long
        on Zen 3; others go from lane to lane."""
        return not self.has(self.family.wide_vectors)

    @property
    def skips_lanes_slowly(self) -> bool:
        """Whether a gather or scatter without an active lane takes about as long as one with all of them."""
        return self.has(self.family.slow_lanes)

    @property
    def computes_halves(self) -> bool:
        """Whether there is arithmetic of halves."""
        return self.has(self.family.half_arithmetic)

    @property
    def needs_soft_float(self) -> bool:
        """Whether LLVM calls functions for conversions of halves or for fused multiply-add (`runtime/soft_float.c`)."""
        return not all(map(self.has, self.family.conversions))

    @property
    def vector_flags(self) -> tuple[str, ...]:
        """clang's flags for the widest vectors of this processor."""
        return tuple(flag for feature, flag in self.family.vector_flags.items() if self.has(feature))
