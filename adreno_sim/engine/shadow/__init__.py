"""Level full: shadows of memory that say what was written and by whom, and code around every access that looks at them.

Valid bytes (`validity`) tell whether anybody wrote a byte; those of global memory live as long as the storage, those of local
and private memory as long as the group and the work-item. Race cells (`cells`) tell which work-item touched a piece of
memory last, and when. Values in registers carry masks where they may be undefined (`undefined`, `values`).

What is known beforehand costs nothing: an argument that nobody writes in this launch has no cells, and no valid bytes
either where all of it has been written before. Launches that need no cells and have no variable without a value run as
vectors first (`vector.init_checks`); this code says where and what, if those find anything.

A copy of uninitialised bytes by a load and a store is reported at the load; memcpy, struct assignment and asynchronous copies
carry validity along and are reported where the copy is read.
"""

from .accesses import ShadowInstrumentation
from .shadow_plan import ShadowPlan

__all__ = ["ShadowInstrumentation", "ShadowPlan"]
