"""Analyses of a kernel: uniformity, intervals, affine forms, path conditions, loops, regions."""
