"""A model in, a CompiledModel out: importers, pipeline, passes, artifact, VM, memory plans."""

if not __name__.startswith("adreno_sim."):
    raise ImportError("import this package as adreno_sim.compiler")
