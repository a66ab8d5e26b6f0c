"""Shadow memory of level full: what was written, and by whom; the analyses and machine code that the checks share.

The init shadow (`init_shadow`) has one byte per byte of memory: whether it was written, and which of its bits are undefined. For
global memory it lives as long as the storage, for local memory as long as the group, for private memory as long as the work-item.
Race cells (`race_cells`) record which work-item last accessed a unit of memory, and in which epoch. Values in registers that may
be undefined (`undefined_values`) have shadows of their undefined bits (`values`, `propagation`, `texels`), which are tested where
they matter (`sinks`).
"""
