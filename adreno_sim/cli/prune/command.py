"""The command line of `adreno-sim prune`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from .other_systems import Part, find_parts, measure

DETAILS = """\
Kernels and the OpenCL driver are compiled by the package ziglang, which is more than half of a plain installation. More than
half of that package is C libraries. Kernels need none of them, and the driver needs those of Linux. An installation from a wheel
for one platform has the driver compiled, so it needs no C library; --compile-driver compiles it into any other installation.
Only folders of that package in this environment are removed. Afterwards a kernel is compiled and run, and the driver is made,
without any cache: half a minute. If one fails, everything is put back. From then on `python -m ziglang` compiles only for Linux,
or not at all.

    adreno-sim prune                          # the folders that would be removed, and their size
    adreno-sim prune --yes                    # remove them
    adreno-sim prune --yes --compile-driver   # compile the driver first, and remove all C libraries

exit code: 0 removed, or nothing to be removed; 2 the package cannot be changed, or is needed whole
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "prune",
        help="remove what the installed compiler has for other systems",
        description="List the folders of the installed compiler that nothing here needs; remove them with --yes.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--yes", action="store_true", help="remove them, if a kernel and the OpenCL driver work without")
    parser.add_argument(
        "--compile-driver",
        action="store_true",
        help="with --yes: keep the compiled OpenCL driver in this installation, and remove what compiled it; another version of "
        "adreno-sim needs the whole package again",
    )
    parser.set_defaults(run=_prune)


def _prune(args: argparse.Namespace) -> int:
    from ...base.errors import OptionError
    from .removal import changing

    if args.compile_driver and not args.yes:
        raise OptionError("compile_driver", "changes this installation: give --yes, too")
    package = find_package()
    if not args.yes:
        _list_parts(package)
        return 0
    require_own(package)
    with changing(package):
        _remove_parts(package, args.compile_driver)
    return 0


def _list_parts(package: Path) -> None:
    from ...icd.build import explain_return, find_brought_along

    if _show_parts(package, find_parts(package, has_driver=find_brought_along() is not None)):
        print(f"nothing was removed: --yes does that. {explain_return(package)}")


def _remove_parts(package: Path, compile_driver: bool) -> None:
    from ...icd.build import bring_along, explain_return, find_brought_along
    from .removal import remove, restore
    from .trial import find_harm

    if restore(package):
        print("what an interrupted call had put aside is back")
    if compile_driver and find_brought_along() is None:
        bring_along()
    parts = find_parts(package, has_driver=find_brought_along() is not None)
    total = _show_parts(package, parts)
    if total:
        remove(package, [part.path for part in parts], lambda: find_harm(package))
        print(f"removed {_megabytes(total)}; a kernel and the OpenCL driver work without. {explain_return(package)}")


def _show_parts(package: Path, parts: list[Part]) -> int:
    """Prints what may go, by system, and returns its bytes."""
    total = sum(part.nbytes for part in parts)
    print(f"{package}: {_megabytes(measure(package))}; {_megabytes(total)} of it are not needed")
    for system in dict.fromkeys(part.system for part in parts):
        own = [part for part in parts if part.system == system]
        print(f"  {system:13} {_megabytes(sum(part.nbytes for part in own)):>7}")
        for part in own:
            print(f"    {part.path}")
    return total


def find_package() -> Path:
    """Returns the folder of the package ziglang."""
    from ...frontend.driver import find_zig

    return Path(find_zig()).parent


def require_own(package: Path) -> None:
    """Raises AdrenoSimError if the package is outside this environment, or cannot be written."""
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
