"""TVM's own paged KV cache on the CPU, whose kernels are callbacks that write down what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
import tvm_ffi

Record = tuple[str, list[Any]]
"""The role of a kernel, and its arguments: numbers and integer arrays as they are, of other arrays their shapes."""

ROLES = ("ragged", "prefill", "decode", "prefill", "decode")
LAST = ("rope", "copy", "debug", "compact")
HEADS, DIM = 2, 4


class RecordingCache:
    """sliding: with windows. records: what the kernels were given since `take`."""

    def __init__(self, page_size: int, tokens: int, chunk: int, sequences: int, sliding: bool):
        self.records: list[Record] = []
        none = tvm_ffi.convert([])
        backends = [tvm_ffi.convert(["tirx", self._kernel(role)]) for role in ROLES]
        config = tvm_ffi.Shape([sequences, tokens, chunk, page_size, int(sliding)])
        layers, kinds = tvm_ffi.Shape([0, 1]), tvm_ffi.Shape([0])
        self.cache = tvm.get_global_func("vm.builtin.paged_attention_kv_cache_create")(
            config, layers, HEADS, HEADS, DIM, DIM, kinds, False, 1, 1.0, 10000.0, None, tvm.runtime.tensor(np.float32(0)),
            self._kernel("append"), None, *backends, none, none, none, tvm_ffi.convert([self._kernel("merge")]),
            *(self._kernel(role) for role in LAST),
        )  # fmt: skip

    def _kernel(self, role: str) -> Any:
        return tvm_ffi.convert(lambda *args: self.records.append((role, [_shown(arg) for arg in args])))

    def take(self) -> list[Record]:
        """What was written down, which is forgotten then."""
        found, self.records[:] = list(self.records), []
        return found

    def call(self, name: str, *args: Any) -> Any:
        shapes = [tvm_ffi.Shape(arg) if isinstance(arg, tuple) else arg for arg in args]
        return tvm.get_global_func(f"vm.builtin.{name}")(self.cache, *shapes)

    def attend(self, tokens: int) -> None:
        qkv, out = (tvm.runtime.tensor(np.zeros((tokens, heads, DIM), np.float32)) for heads in (3 * HEADS, HEADS))
        self.call("attention_kv_cache_attention_with_fused_qkv", 0, 1.0, qkv, out)


def _shown(arg: Any) -> Any:
    if not hasattr(arg, "numpy"):
        return arg
    return arg.numpy() if "int" in str(arg.dtype) else tuple(arg.shape)
