"""Which storage scope each tensor of a Relax module gets: the texture scoping of Adreno, stage by stage.

The decisions of TVM's AnnotateCustomMemoryScope and FoldVDeviceScopeChange, made again in Python so that every step can
be examined, changed and checked: `collect` says what consumers ask for, `decide` what each producer writes, `define_vdevice`
writes both into the module, `merge_copies` and `fold_scope_changes` take copies back, `violations` proves the result.
`compiler.explain.scope_stages.run_stages` runs them all and keeps the module after each.
"""
