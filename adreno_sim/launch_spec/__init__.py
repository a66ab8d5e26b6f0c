"""Launches of hand-written kernels, described in TOML (`adreno-sim/launch/1`): read, run, judged, written.

tables.py reads TOML with errors that name file, table and key; model.py says what a launch is; read.py makes one from a
file; data.py fills buffers and images; run.py runs it on any Device; expected.py compares findings; write.py writes one.
"""
