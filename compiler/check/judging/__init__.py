"""Judging the kernels of a model while it runs: what observes a run, and the parts it is made of."""
