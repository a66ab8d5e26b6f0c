"""Fixes for operators that TVM's other pipelines for GPUs dispatch to kernels of their own, and the Adreno pipeline leaves."""
