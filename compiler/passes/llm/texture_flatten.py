"""texture-flatten: TVM's flattening of textures leaves functions without textures alone.

TextureFlatten rebuilds every function of a module, and fails on some that were scheduled before (the attention kernels of
`relax.frontend.nn.llm` with a walk over tiles), though they hold no texture. 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge.versions import import_tvm
from ..base import Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

FLATTEN = "s_tir.backend.adreno.TextureFlatten"


def flatten_textures() -> Pass:
    """TIR pass instead of TextureFlatten: the same, of functions that hold textures."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        held = {var: func for var, func in mod.functions_items() if _holds_texture(func)}
        if held:
            flat = tvm.s_tir.backend.adreno.transform.TextureFlatten()(tvm.IRModule(held, attrs=mod.attrs))
            for var, func in flat.functions_items():
                mod[var] = func
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.FlattenTextures")


def _holds_texture(func: Any) -> bool:
    import tvm_ffi

    scopes: list[str] = []
    tvm_ffi.structural_walk(func, (import_tvm().tirx.Var, lambda var: scopes.append(_scope(var))))
    return any("texture" in scope for scope in scopes)


def _scope(var: Any) -> str:
    return str(getattr(var.ty, "storage_scope", ""))


FIX = Fix(
    name="texture-flatten",
    versions=("0.27",),
    summary="functions without textures are not flattened for them, which fails on scheduled attention kernels",
    instead=(FLATTEN, flatten_textures),
)
