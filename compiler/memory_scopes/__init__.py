"""Which storage scope each tensor of a Relax module gets: the texture scoping of Adreno, stage by stage.

The decisions of TVM's AnnotateCustomMemoryScope and FoldVDeviceScopeChange, made again in Python so that every step can
be examined, changed and checked: `collect` says what consumers ask for, `decide` what each producer writes, `define_vdevice`
writes both into the module, `merge_copies` and `fold_scope_changes` take copies back, `violations` proves the result.
`compiler.explain.scope_stages.run_stages` runs them all and keeps the module after each.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .decision import decide
    from .define import define_vdevice
    from .demand import collect
    from .fold import fold_scope_changes
    from .invariants import violations
    from .merge import merge_copies
    from .scoping import Scoping

__all__ = ["Scoping", "collect", "decide", "define_vdevice", "fold_scope_changes", "merge_copies", "violations"]

_HOME = {
    "Scoping": "scoping",
    "collect": "demand",
    "decide": "decision",
    "define_vdevice": "define",
    "fold_scope_changes": "fold",
    "merge_copies": "merge",
    "violations": "invariants",
}
"""Files of the names, which are imported when they are asked for: a check of a kept model asks for an option alone."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
