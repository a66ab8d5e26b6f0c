"""Measures a real device: small kernels that each ask one thing of it, and the rates of a profile that follow."""
