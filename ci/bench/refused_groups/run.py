"""Launches that an Adreno 530 refused, and those that it ran, beside what is said of them here.

python ci/bench/refused_groups/run.py --records wisdom-merged.wis [--every N] [--jobs N]

The file is test/wisdom-merged.wis of https://github.com/moskewcz/boda: seven tunings of each of 198 convolutions. Kernels of the
same shape are rebuilt and asked for their registers (extra isa), where a group is larger than any kernel's may be. Then registers
of Qualcomm's compiler for three kernels (doc/sgemm-notes.txt there) beside ir3's.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from group_kernels import make_kernel, make_local_product, make_product
from records import Launch, read_launches

import adreno_sim
from adreno_sim.device.machine_code import RegisterUse
from adreno_sim.isa.chips import find_chip
from adreno_sim.isa.register_use import find_register_use

CHIP = "a530"
OPTIONS = "-cl-fast-relaxed-math -cl-denorms-are-zero"
DUMPS = {
    "sgemm of 512, tile 8x8": (make_product(8, 8, 512), 23),
    "sgemm of 512, tile 8x8, group 16x16": (make_product(8, 16, 512), 23),
    "sgemm_simd_local, tile 4x4": (make_local_product(4, 16, 512, 4, 4), 15),
}
"""Kernels, and the registers that Qualcomm's compiler takes. Of the fourth dump (k1conv "fast", 6) no text is public."""


def find_use(source: str) -> RegisterUse:
    """Returns what a kernel takes on the chip."""
    kernel = adreno_sim.open_device("sim:adreno-530").build(source, OPTIONS)["k"]
    return find_register_use(kernel.function, find_chip(CHIP))  # type: ignore[attr-defined]


def judge(launch: Launch) -> tuple[str, str]:
    """What the device did, and what is said here."""
    done = "refused" if launch.limit else "ran"
    if launch.items <= find_chip(CHIP).least_group_limit:
        return done, "runs"
    use = find_use(make_kernel(launch))
    if not use.may_refuse(launch.items):
        return done, "runs"
    if not use.meets:
        return done, "runs, with a warning"
    return done, "is refused" if use.refuses(launch.items) else "may be refused"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True, help="test/wisdom-merged.wis of boda")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth launch alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    options = parser.parse_args()
    launches = list(read_launches(options.records))[:: options.every]
    with ProcessPoolExecutor(options.jobs) as pool:
        counts = Counter(pool.map(judge, launches))
    for done in ("refused", "ran"):
        total = sum(count for (what, _), count in counts.items() if what == done)
        said = ", ".join(f"{count} {word!r}" for (what, word), count in sorted(counts.items()) if what == done)
        print(f"of {total} launches that the device {'refused' if done == 'refused' else 'ran'}: {said}")
    for name, (source, theirs) in DUMPS.items():
        use = find_use(source)
        ours = math.nan if use.by != "ir3" else use.registers[0]
        print(f"{name}: {theirs} registers by Qualcomm's compiler, {ours} by ir3; limits {use.group_limit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
