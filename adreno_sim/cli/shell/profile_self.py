"""`--profile-self`: where the time of a command itself goes, as a trace and as a table."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator

FLAG = "--profile-self"


def add_option(parser: argparse.ArgumentParser) -> None:
    """Give a command the option."""
    parser.add_argument(
        FLAG,
        metavar="FILE",
        help="write a trace of this command's own time (ui.perfetto.dev opens it), and print what each stage took",
    )


@contextlib.contextmanager
def profile_option(args: argparse.Namespace) -> Iterator[None]:
    """Samples the command while the block runs, if the command line asks for it; of an isolated command, the process that runs
    it."""
    file = getattr(args, "profile_self", None)
    if file is None or (getattr(args, "isolate", False) and getattr(args, "progress_file", None) is None):
        yield
        return
    from ...base.json_io import write_json
    from ...base.profiling.sampler import sampling
    from ...base.profiling.trace import Samples, list_stages, make_trace

    try:
        with sampling() as records:
            yield
    finally:
        samples = Samples.gather(os.getpid(), records)
        write_json(file, make_trace(samples))
        stages = list_stages(samples)
        print(f"own time, of {len(os.sched_getaffinity(0))} processors ({file}):", file=sys.stderr)
        for stage in stages:
            busy = stage.processor / stage.seconds if stage.seconds > 0 else 0.0
            print(f"  {stage.name:12} {stage.seconds:7.2f} s  {busy:5.2f} processors busy", file=sys.stderr)
