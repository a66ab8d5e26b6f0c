"""The paged KV cache of TVM's runtime, on the host side: which page holds what, and which kernels run on it."""
