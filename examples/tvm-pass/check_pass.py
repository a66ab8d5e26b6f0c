"""Checks a pass of doubling.py on a small module: python check_pass.py PASS; exit code 0 ok, 1 findings."""

import sys

import doubling
import tvm
from module import Module
from tvm.relax.backend import adreno

import adreno_sim


def with_pass(make):
    """TVM's Adreno pipeline up to scheduled kernels, with a pass before it."""

    def lower(module):
        passes = [make(), *adreno.legalize_passes(tvm.target.Target.current())]
        return tvm.transform.Sequential(passes)(module)

    return lower


def check(name, device="sim:adreno-740"):
    """The report on the module with the pass called `name`."""
    return adreno_sim.check(Module, device=device, target="buffer", pipeline=with_pass(getattr(doubling, name)))


if __name__ == "__main__":
    report = check(sys.argv[1])
    print(report)
    sys.exit(report.exit_code)
