"""Kernels whose accesses are known, with one planted defect or none, and a model that says what is to be found."""
