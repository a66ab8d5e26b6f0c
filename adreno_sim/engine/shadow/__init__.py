"""Shadow memory of level full: what was written, and by whom; the analyses and machine code that the checks share.

The init shadow (`init_shadow`) has one byte per byte of memory: whether it was written. For global memory it lives as long as
the storage, for local memory as long as the group, for private memory as long as the work-item. Race cells (`race_cells`)
record which work-item last accessed a unit of memory, and in which epoch. Values in registers carry masks of their undefined
lanes if they have any (`undefined_values`, `values`).
"""
