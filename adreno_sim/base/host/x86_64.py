"""x86-64, from the oldest processors (SSE2) to those with AVX512-FP16."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from .family import ProcessorFamily

X86_64 = ProcessorFamily(
    machine="x86_64",
    name="x86-64",
    triple="x86_64-unknown-linux-gnu",
    shim_target="x86_64-linux-gnu.2.17",
    library_folder="x86_64-linux-gnu",
    linker_mark="x86-64",
    header=Path(__file__).with_name("x86_64.h"),
    half_arithmetic="avx512fp16",
    wide_vectors="avx512vl",
    byte_masks="avx512bw",
    # AMD's. Measured on Zen 4: 16 lanes of 32 bits take 8 ns to gather and 11 ns to scatter; if none is active, 6 ns and 7 ns.
    slow_lanes="sse4a",
    conversions=("f16c", "fma"),
    # LLVM moves bytes between vectors with INSERTQ then: measured on a virtual machine of Zen 3, some 100 cycles each.
    avoided=("sse4a",),
    choices_flush=True,
    vector_flags=MappingProxyType({"avx2": "-mavx2"}),
)
