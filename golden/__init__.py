"""Independent references, comparison, snapshots."""

if not __name__.startswith("adreno_sim."):
    raise ImportError("import this package as adreno_sim.golden")
