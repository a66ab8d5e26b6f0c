"""Processors to compile for, of the family that runs the tests."""

from __future__ import annotations

from adreno_sim.base.host.current import current_family

OLDEST = {"x86_64": ("x86-64", "+sse2,+cx16"), "aarch64": ("generic", "+neon")}[current_family().machine]
"""LLVM's name and features of the oldest one."""
SMALLER = {
    "x86_64": [("x86-64-v3", "+avx2,+fma,+f16c,-avx512f"), ("x86-64", "+sse2,-avx,-fma,-f16c")],
    "aarch64": [("generic", "+neon,-fullfp16")],
}[current_family().machine]
"""The same of some that have fewer features than most."""
