"""Kernel IR to machine code: work-group loops, barriers, checks, compilation, launch."""
