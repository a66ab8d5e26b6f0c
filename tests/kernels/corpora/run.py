"""Other people's OpenCL kernels against the simulator: ggml, OpenCV, CLBlast, darktable.

python tests/kernels/corpora/run.py FOLDER                     fetch what is not there, build and compile all, launch 300
python tests/kernels/corpora/run.py FOLDER --only opencv/dnn   some of them
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from corpora.archives import ArchiveError  # noqa: E402
from corpora.campaign import compile_all, gather, launch_some  # noqa: E402
from corpora.judge import find_verdict  # noqa: E402
from corpora.known import ALLOWED  # noqa: E402
from corpora.summary import describe, find_faults, summarise  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps the archives; gets summary.json")
    parser.add_argument("--only", default="", metavar="PART", help="sources whose names hold this")
    parser.add_argument("--launches", type=int, default=300, help="kernels to launch at level full (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other kernels (default 1)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        sources = gather(options.folder.resolve(), options.only)
    except ArchiveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    lines = compile_all(sources, options.jobs)
    lines += launch_some(sources, lines, options.launches, options.seed, options.jobs)
    summary = summarise(sources, lines, find_verdict)
    faults = find_faults(summary, ALLOWED)
    (options.folder / "summary.json").write_text(json.dumps({**summary, "faults": faults}, indent=1) + "\n")
    print(describe(summary))
    print("\n".join(f"FAULT: {fault}" for fault in faults) or "no faults")
    print(f"{time.monotonic() - began:.0f} s; {options.folder / 'summary.json'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
