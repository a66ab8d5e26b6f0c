"""Compiles what a wheel for Linux on x86-64 brings along into TREE/adreno_sim/prebuilt: python ci/release/prebuild.py TREE

It is the C runtime as LLVM text, the library of OpenCL's built-in functions as far as a launch needs it, and the OpenCL driver.
Keys are those of the cache on disk: what does not fit the installed compiler or LLVM is not used, and made again.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

KERNEL = "kernel void k(global float *p) { p[get_global_id(0)] = 2.0f; }"
KINDS = ("runtime", "library", "driver")


def main() -> int:
    tree = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(tree))
    with tempfile.TemporaryDirectory(prefix="adreno-sim-prebuild-") as folder:
        os.environ.update(ADRENO_SIM_CACHE="on", ADRENO_SIM_CACHE_DIR=folder)
        _compile()
        target = tree / "adreno_sim" / "prebuilt"
        shutil.rmtree(target, ignore_errors=True)
        for kind in KINDS:
            if (Path(folder) / kind).is_dir():
                shutil.copytree(
                    Path(folder) / kind, target / kind, ignore=shutil.ignore_patterns("vendors", "libOpenCL.so", "*.h", "*.map")
                )
    print(f"{sum(path.is_file() for path in target.rglob('*'))} files in {target}")
    return 0


def _compile() -> None:
    import numpy as np

    import adreno_sim
    from adreno_sim.base.specs import BufferSpec
    from adreno_sim.icd.build import build_libraries
    from adreno_sim.icd.waiting import load_waiting

    for checks in ("off", "bounds", "full"):
        device = adreno_sim.open_device("sim:adreno-740", checks=checks)
        view = device.view(device.allocate(256), BufferSpec(256, "float32"))
        device.write(view, np.zeros(64, "float32"))
        device.launch(device.build(KERNEL)["k"], (64,), (64,), [view])
    build_libraries()
    load_waiting()


if __name__ == "__main__":
    sys.exit(main())
