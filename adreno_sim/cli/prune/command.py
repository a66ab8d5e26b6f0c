"""The command line of `adreno-sim prune`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

DETAILS = """\
Kernels and the OpenCL driver are compiled by the package ziglang, which is more than half of a plain installation. A third of it
is the C libraries of other systems. Only folders of that package in this environment are removed. Afterwards a kernel is compiled
and run, and the driver is compiled, without any cache: half a minute. Where one fails, everything is put back.
`python -m ziglang` compiles for Linux alone from then on.

    adreno-sim prune                  # what would go, and how much of it there is
    adreno-sim prune --yes            # remove it

exit code: 0 removed, or nothing to be removed; 2 the package cannot be changed, or is needed whole
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "prune",
        help="remove what the installed compiler has for other systems",
        description="List the folders of the installed compiler that are for other systems than Linux; remove them with --yes.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--yes", action="store_true", help="remove them, if a kernel and the OpenCL driver compile without")
    parser.set_defaults(run=_prune)


def _prune(args: argparse.Namespace) -> int:
    from ...base.installed.package_version import find_version
    from .other_systems import find_parts, measure
    from .removal import remove, restore
    from .trial import find_harm

    package = find_package()
    if args.yes:
        require_own(package)
    if args.yes and restore(package):
        print("what an interrupted call had put aside is back")
    parts = find_parts(package)
    total = sum(part.nbytes for part in parts)
    print(f"{package}: {_megabytes(measure(package))}, {_megabytes(total)} of it for other systems")
    for system in dict.fromkeys(part.system for part in parts):
        own = [part for part in parts if part.system == system]
        print(f"  {system:13} {_megabytes(sum(part.nbytes for part in own)):>7}")
        for part in own:
            print(f"    {part.path}")
    if not parts:
        return 0
    back = f"{sys.executable} -m pip install --force-reinstall --no-deps ziglang=={find_version(str(package), 'ziglang')}"
    if not args.yes:
        print(f"nothing was removed: --yes does that, and this brings it back: {back}")
        return 0
    remove(package, [part.path for part in parts], lambda: find_harm(package))
    print(f"removed {_megabytes(total)}; a kernel and the OpenCL driver compile without. This brings it back: {back}")
    return 0


def find_package() -> Path:
    """Returns the folder of the package ziglang."""
    from ...frontend.driver import find_zig

    return Path(find_zig()).parent


def require_own(package: Path) -> None:
    """Raises AdrenoSimError where the package lies outside this environment, or cannot be written."""
    import sysconfig

    from ...base.errors import AdrenoSimError

    own = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    if package.parent not in own or package.is_symlink():
        raise AdrenoSimError(
            f"{package}: lies outside this environment ({sys.prefix}), where others may use it; nothing was removed"
        )
    if not (os.access(package, os.W_OK) and os.access(package / "lib", os.W_OK)):
        raise AdrenoSimError(f"{package}: this user may not change it; nothing was removed")


def _megabytes(nbytes: int) -> str:
    return f"{nbytes / 1e6:.0f} MB"
