"""clFFT's own client, which compares transforms with known results. Argument: Debian's packages, unpacked.

Exit code 1 where a transform is wrong or does not run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TRANSFORMS = (
    "-x 64 -b 4",
    "-x 100 -b 3 -o",
    "-x 16 -y 16",
    "-x 1024 --inLayout 1 --outLayout 1",
    "-x 210 --inLayout 2 --outLayout 2 -o",
    "-x 128 --inLayout 5 --outLayout 3 -o",
    "-x 96 -y 20 --inLayout 5 --outLayout 3 -o",
    "-x 8 -y 8 -z 8",
    "-x 4096 -b 2",
    "-x 343 --inLayout 1 --outLayout 2 -o",
    "-x 30 -y 30 --inLayout 3 --outLayout 5 -o",
)
"""Sizes, batches (-b) and layouts: 1 complex interleaved, 2 planar, 3 and 5 Hermitian and real. -o: not in place."""


def main() -> int:
    packages = Path(sys.argv[1])
    program = packages / "usr/bin/clFFT-client"
    paths = [str(next(packages.rglob("libclFFT.so.2")).parent), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}
    right = True
    for words in TRANSFORMS:
        command = [str(program), "-g", *words.split()]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
        passed = "*****PASS*****" in said
        print(f"{words}: {'ok' if passed else said}", flush=True)
        right = right and passed
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
