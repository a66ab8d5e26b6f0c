"""CLBlast's own samples, compiled and run. Arguments: their folder, Debian's packages unpacked, libOpenCL.so.

Exit code 1 where one does not end as it does on a device without doubles.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OK, NO_DOUBLES = "status 0", "status -2044"
EXPECTED = {
    "cache.c": OK,
    "dgemv.c": NO_DOUBLES,
    "dtrsm.cpp": NO_DOUBLES,
    "haxpy.c": "Output value at index 0: b[0] = 1.500",
    "samax.c": "with value 9",
    "sasum.c": "1000 * |-1.5| = 1500.0",
    "sgemm.c": OK,
    "sgemm.cpp": OK,
    "sgemm_batched.cpp": OK,
    "tuning_api.cpp": OK,
}
"""What each prints. Those for CUDA, and the one for a library with the interface of Netlib, are left out."""
VERSIONS = [f"-DCL_{name}_OPENCL_VERSION=120" for name in ("TARGET", "HPP_TARGET", "HPP_MINIMUM")]


def compile_sample(source: Path, packages: Path, opencl: str, program: Path) -> None:
    compiler = ["g++"] if source.suffix == ".cpp" else ["gcc", "-fgnu89-inline"]  # its header for halves has inline functions
    include = packages / "usr/include"
    libraries = [str(library_of(packages)), opencl, "-lm"]
    words = [*compiler, "-w", *VERSIONS, f"-I{include}", f"-I{include / 'CL'}", str(source), "-o", str(program), *libraries]
    subprocess.run(words, check=True)


def library_of(packages: Path) -> Path:
    return next(packages.rglob("libclblast.so.1"))


def main() -> int:
    samples, packages, opencl = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    paths = [str(library_of(packages).parent), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}
    right = True
    for name, expected in EXPECTED.items():
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, name.replace(".", "-"))
            compile_sample(samples / name, packages, opencl, program)
            said = subprocess.run([str(program)], env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
        statuses = set(re.findall(r"status (-?\d+)", said))
        fits = expected in said and statuses == {"-2044" if expected == NO_DOUBLES else "0"}
        print(f"{name}: {'ok' if fits else f'expected {expected!r}'}\n{said}", flush=True)
        right = right and fits
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
