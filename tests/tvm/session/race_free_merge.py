"""A kernel that joins two results of attention, as TVM's runtime calls one, without a race: a work-item a token and head."""

from typing import Any

from tvm.script import tirx as T


def merge_states(heads: int, dim: int, dtype: str) -> Any:
    """The PrimFunc, bound to threads."""

    @T.prim_func(s_tir=True)
    def merge(v: T.handle, s: T.handle, v_other: T.handle, s_other: T.handle):
        T.func_attr({"global_symbol": "merge", "tirx.is_scheduled": True})
        n = T.int32()
        V = T.match_buffer(v, (n, heads, dim), dtype)
        S = T.match_buffer(s, (n, heads), "float32")
        V2 = T.match_buffer(v_other, (n, heads, dim), dtype)
        S2 = T.match_buffer(s_other, (n, heads), "float32")
        for i in T.thread_binding(n, thread="blockIdx.x"):
            for j in T.thread_binding(heads, thread="threadIdx.x"):
                with T.sblock("merge"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads()
                    T.writes()
                    a = T.sblock_alloc_buffer((1,), "float32", scope="local")
                    b = T.sblock_alloc_buffer((1,), "float32", scope="local")
                    most = T.sblock_alloc_buffer((1,), "float32", scope="local")
                    most[0] = T.max(S[vi, vj], S2[vi, vj])
                    a[0] = T.exp2(S[vi, vj] - most[0])
                    b[0] = T.exp2(S2[vi, vj] - most[0])
                    for k in range(dim):
                        V[vi, vj, k] = T.Cast(
                            dtype,
                            (T.Cast("float32", V[vi, vj, k]) * a[0] + T.Cast("float32", V2[vi, vj, k]) * b[0]) / (a[0] + b[0]),
                        )
                    S[vi, vj] = T.log2(a[0] + b[0]) + most[0]

    return merge
