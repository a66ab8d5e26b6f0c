"""OpenCL ML as a TVM backend ("bring your own code generation"): patterns, partitioning, policy, JSON code generation."""

from .partition import is_clml_runtime_enabled, partition_for_clml

__all__ = ["is_clml_runtime_enabled", "partition_for_clml"]
