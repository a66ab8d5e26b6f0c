"""Machines whose constants are known: where each comes from, and how sure it is."""

from __future__ import annotations

from .model import Machine

RECORDS = Machine(
    units=8,
    slots=17.3,
    multiply_add=1.04e-9,
    texel=6.32e-9,
    large_texel=1.50e-8,
    local_pass=1e-9,
    line=5.06e-10,
    link=7.07e-8,
    fetch=1.72e-6,
    registers=35.5,
    cached_byte=1.18e-11,
    memory_byte=8.38e-12,
    cache=1.66e6,
    window=57,
    refetch=0.158,
    launch=1.59e-6,
)
"""The Adreno whose times TVM's tuning records have (tlc-pack/tophub, adreno_v0.02.log, 2022; it is not named). Fitted to these
times, but for the units, which were tried from 3 to 48; window and refetch, which winners of a search do not show, and which put
them before random schedules of their workloads; and local memory, which no record uses (a guess: one cycle a pass)."""
