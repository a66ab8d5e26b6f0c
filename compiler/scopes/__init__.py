"""Which storage scope each tensor of a Relax module gets: the texture scoping of Adreno, stage by stage.

The decisions of TVM's AnnotateCustomMemoryScope and FoldVDeviceScopeChange, made again in Python so that every step can
be looked at, changed and checked. `stages` runs them, `invariants` proves the result, `report` tells it.
"""
