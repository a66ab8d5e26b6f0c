"""`adreno-sim cache`: what is kept on disk between runs, and `--no-cache` for the commands that use it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CONTENTS = {
    "library": "built-in functions as IR",
    "runtime": "functions that all machine code may call, as LLVM text",
    "programs": "what builds say about their kernels",
    "proofs": "what is proven of accesses, by kernel and launch",
    "coarse": "which launches run several work-groups as one",
    "modules": "generated LLVM text by kernel and launch",
    "objects": "machine code",
    "machine": "Adreno machine code by Mesa's ir3",
    "search": "machine code of the search for memory plans",
    "golden": "reference results",
    "models": "compiled models with their references",
    "drivers": "which known answers each OpenCL driver gives",
}
"""Kinds of entries."""

RETIRED = ("single_writer",)
"""Kinds that earlier versions left."""

DETAILS = """\
environment: ADRENO_SIM_CACHE_DIR is the folder, ADRENO_SIM_CACHE_MB its limit in MiB (default 1024; what was not used for
longest goes first), ADRENO_SIM_CACHE=off leaves the disk alone, as --no-cache does.
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "cache",
        help="show or clear what is kept on disk between runs",
        description="Show the folder of compiled kernels and reference results, or clear it.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clear", action="store_true", help="remove every entry")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_cache)


def add_option(parser: argparse.ArgumentParser) -> None:
    """--no-cache, which `main` heeds for every command."""
    parser.add_argument("--no-cache", action="store_true", help="neither use nor fill the cache on disk (see the command cache)")


@contextmanager
def cache_option(args: argparse.Namespace) -> Iterator[None]:
    """Context in which --no-cache turns the disk cache off, also for processes started in it. A folder that others could have
    filled also turns it off, which is said here once for all of them.
    """
    from ..base import disk_cache

    disk_cache.limit()  # refused here, and not by the first entry that is written
    disk_cache.tell = _print_warning
    if not getattr(args, "no_cache", False) and (disk_cache.is_switched_off() or disk_cache.is_enabled()):
        yield
        return
    with disk_cache.cache_off():
        yield


def _print_warning(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def _cache(args: argparse.Namespace) -> int:
    import json

    from ..base import disk_cache
    from ..base.stored.ownership import find_intruder

    freed = disk_cache.clear([*CONTENTS, *RETIRED]) if args.clear else None
    usage = disk_cache.usage()
    total = sum(size for _, size in usage.values())
    if args.json:
        kinds = {kind: {"entries": count, "bytes": size} for kind, (count, size) in usage.items()}
        print(
            json.dumps({"folder": str(disk_cache.root()), "limit": disk_cache.limit(), "bytes": total, "kinds": kinds}, indent=2)
        )
        return 0
    refused = find_intruder(disk_cache.root())
    why = f"{disk_cache.SWITCH} is set" if disk_cache.is_switched_off() else refused
    state = f" (off: {why})" if why else ""
    print(f"{disk_cache.root()}{state}: {_bytes(total)} of at most {_bytes(disk_cache.limit())}")
    if freed is not None:
        print(f"{_bytes(freed)} removed")
    for kind, (count, size) in usage.items():
        print(f"  {kind:9} {count:6} entries {_bytes(size):>10}  {CONTENTS.get(kind, '')}")
    return 0


def _bytes(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
