"""Level full: shadow memory that records what was written and by whom, and the code around every access that checks it.

The init shadow (`init_shadow`) has one byte per byte of memory: whether it was written. For global memory it lives as long as
the storage, for local memory as long as the group, for private memory as long as the work-item. Race cells (`race_cells`)
record which work-item last accessed a unit of memory, and in which epoch. Values in registers carry masks of their undefined
lanes if they have any (`undefined_values`, `values`).

What is known at compile time costs nothing: an argument that no work-item writes in this launch has no cells, and no init
shadow either if all of it is already written. Launches that need no cells and have no variable without a value run as vectors
first (`vector.init_checks`); if those find a fault, this code reports where and what.

A copy of uninitialised bytes by a load and a store is reported at the load. memcpy, struct assignment and asynchronous copies
copy the init shadow too, and the report comes where the copy is read.
"""

from .accesses import ShadowInstrumentation
from .shadow_plan import ShadowPlan

__all__ = ["ShadowInstrumentation", "ShadowPlan"]
