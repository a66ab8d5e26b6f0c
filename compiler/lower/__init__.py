"""Lowers a Relax module with TVM's Adreno pipelines."""
