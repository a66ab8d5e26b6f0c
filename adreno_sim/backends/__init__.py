"""Devices, one file each: the simulator and real OpenCL."""
