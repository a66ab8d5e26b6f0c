"""Fixes of what TVM does to language models: attention kernels, scans, sampling."""
