"""The keys of a profile by which the model of time scales its constants (docs/time.md)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RATES: Mapping[str, int] = MappingProxyType(
    {
        "time_units": 8,  # compute units that take work-groups: Mesa's shader cores hold two or three
        "time_gflops": 900,  # multiply-adds on float32, as a microbenchmark measures them; a multiply-add is two operations
        "time_texture_mbps": 546000,  # texels of four floats that textures give while their first-level caches hold them
        "time_cache_mbps": 85000,  # what the second-level cache gives
        "time_memory_mbps": 50000,  # what memory behind it gives
        "time_cache_bytes": 1660000,  # a footprint beyond which the rate falls to that of memory
        "time_mhz": 818,  # the clock under load
    }
)
"""Each with the value of a profile that does not say: an Adreno 730's. MB/s are those of 10^6 bytes."""
