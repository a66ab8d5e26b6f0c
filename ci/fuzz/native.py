"""The shim and the C runtime as programs of libFuzzer with sanitizers: python ci/fuzz/native.py FOLDER

FOLDER/shim and FOLDER/runtime take libFuzzer's options; `ci/fuzz.sh` runs them. Needs a clang with its runtime libraries (Debian:
clang-16 and libclang-rt-16-dev), which CC names; ziglang's has no libFuzzer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from adreno_sim.engine.emit import c_runtime  # noqa: E402
from adreno_sim.engine.runtime import compiled  # noqa: E402
from adreno_sim.icd.build import SHIM, generate_headers, library_sources  # noqa: E402

SANITIZERS = "-fsanitize=fuzzer,address,undefined"
RENAMED = {"__extendhfsf2": "own_extend", "__truncsfhf2": "own_truncate", "fmaf": "own_fmaf", "fma": "own_fma"}


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python ci/fuzz/native.py FOLDER", file=sys.stderr)
        return 2
    clang = os.environ.get("CC") or shutil.which("clang") or shutil.which("clang-16")
    if not clang:
        print("note: no clang; name one that has libFuzzer in CC (Debian: clang-16 and libclang-rt-16-dev)", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    flags = [clang, "-g", "-O1", "-std=gnu11", "-w", "-pthread", SANITIZERS, "-fno-sanitize-recover=all"]
    for name, words in (("shim", _shim(folder)), ("runtime", _runtime(folder, flags))):
        if code := subprocess.run([*flags, *words, "-o", str(folder / name)]).returncode:
            return code
    return 0


def _shim(folder: Path) -> list[str]:
    """The harness in place of link.c, which it includes, and the rest of the shim."""
    sources = folder / "sources"
    shutil.rmtree(sources, ignore_errors=True)
    shutil.copytree(SHIM, sources)
    for file, text in generate_headers().items():
        (sources / file).write_text(text, encoding="utf-8")
    own = [str(sources / path.relative_to(SHIM)) for path in library_sources() if path.name != "link.c"]
    return [
        f"-I{sources}",
        f"-I{sources / 'core'}",
        str(HERE / "native" / "shim.c"),
        *own,
        str(sources / "loader_exports.c"),
        "-ldl",
    ]


def _runtime(folder: Path, flags: list[str]) -> list[str]:
    """Soft float under names of its own, so that libm's are there as well."""
    (folder / "constants.h").write_text(c_runtime.constants(), encoding="utf-8")
    names = [f"-D{name}={own}" for name, own in RENAMED.items()]
    source, made = compiled.FOLDER / "soft_float.c", folder / "soft_float.o"
    more = ["-fno-builtin", "-ffp-contract=off", f"-I{compiled.FOLDER}", "-include", str(folder / "constants.h")]
    subprocess.run([*flags, *names, *more, "-c", str(source), "-o", str(made)], check=True)
    return [str(HERE / "native" / "runtime.c"), str(made), "-fno-builtin", "-ffp-contract=off", "-lm"]


if __name__ == "__main__":
    sys.exit(main())
