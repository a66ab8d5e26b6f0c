"""inference-dropout: Dropout, which passes its input on at inference, is taken out.

For textures ConvertLayout stops at its tuple result ("Expected nested to match tuple"); for buffers a kernel is run
for the mask nobody reads. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def remove_dropout() -> Pass:
    """Relax pass: `dropout(x)` becomes the pair of x and a mask of ones; only the used ones remain."""
    tvm = import_tvm()
    relax = tvm.relax
    pairs = rewrite_calls("RemoveDropout", ("relax.nn.dropout",), lambda _, call: _pair(call.args[0]))
    clean = [relax.transform.CanonicalizeBindings(), relax.transform.DeadCodeElimination()]
    return tvm.transform.Sequential([pairs, *clean], name="adreno_sim.RemoveDropout")


def _pair(value: Any) -> Any:
    relax = import_tvm().relax
    return relax.Tuple([value, relax.op.ones_like(value)])


def add(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run first."""
    return [remove_dropout(), *passes]


FIX = Fix(
    name="inference-dropout",
    versions=ALL_VERSIONS,
    summary="Dropout is the identity at inference: no kernel for its mask, no stop in the layout conversion",
    relax=add,
)
