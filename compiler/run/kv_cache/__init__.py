"""The paged KV cache of TVM's runtime, on the host side: which page holds what, and which kernels run on it."""

CREATE = "vm.builtin.paged_attention_kv_cache_create"
"""TVM's function that makes a cache."""
