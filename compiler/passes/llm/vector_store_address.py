"""vector-store-address: the address of a vector store declares no variable.

TVM's code generation writes `vstore4(value, 0, ` before it prints the address. A `Let` in it (the lowering of a modulo makes one)
becomes a declaration in the middle of the call, which no driver compiles: attention over whole sequences, batched matrix products
with a symbolic extent. 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge.read import kind, walk
from ...tvm_bridge.versions import import_tvm
from ..base import Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def inline_lets_in_addresses() -> Pass:
    """TIR pass on device code: each `Let` in the address of a vector store is replaced by its body over the value."""
    tvm = import_tvm()

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        import tvm_ffi

        body = tvm_ffi.structural_map(func.body, (tvm.tirx.BufferStore, _rewrite_store), order="post")
        return func if body.same_as(func.body) else func.with_body(body)

    return tvm.tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.InlineLetsInAddresses")


def has_let_in_address(store: Any) -> bool:
    """Whether a store writes a vector to an address that declares a variable."""
    vectors = (index for index in store.indices if kind(index) == "Ramp")
    return any(kind(node) == "Let" for index in vectors for node in walk(index))


def _rewrite_store(store: Any) -> Any:
    import tvm_ffi

    tirx = import_tvm().tirx
    if not has_let_in_address(store):
        return store
    indices = [tvm_ffi.structural_map(index, (tirx.Let, _inline), order="post") for index in store.indices]
    return tirx.BufferStore(store.buffer, store.value, indices)


def _inline(let: Any) -> Any:
    import tvm_ffi

    var, value = let.var, let.value
    return tvm_ffi.structural_map(
        let.body, (import_tvm().tirx.Var, lambda used: value if used.same_as(var) else used), order="post"
    )


FIX = Fix(
    name="vector-store-address",
    versions=("0.27",),
    summary="addresses of vector stores declare no variable, which does not compile",
    device=inline_lets_in_addresses,
)
