"""Fixes of defects of TVM's Adreno path: one small named pass a file, listed in `registry`."""
