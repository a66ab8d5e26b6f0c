"""`adreno-sim devices`: simulated profiles and real OpenCL devices; one profile with where each of its values comes from."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from .output import declare, write_data

if TYPE_CHECKING:
    from ..profiles.profile import Profile

DETAILS = """\
NAME is a built-in profile (adreno-740), a device string (sim:adreno-740,pitch_rule=pixels), a .toml file with one table
[profile.NAME] (`base` names a built-in profile, `given` holds the values that differ), or the output of `clinfo --json`
on a device as a .json file. Both kinds of files serve as devices too: --device sim:mine.toml.

    [profile.mine]
    base = "adreno-740"
    without_extensions = ["cl_khr_fp16"]
    given = { LOCAL_MEM_SIZE = 16384, wave_sizes = [64] }

each value is marked: sourced (read in a public dump or table), inferred (not found; from a related device), given (yours)
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "devices",
        help="list simulated profiles and real OpenCL devices, or show one profile",
        description="List simulated profiles and the OpenCL devices that installed drivers offer, each with what it lacks; "
        "or show every value of one profile, and whether it is sourced, inferred or given.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profile", metavar="NAME", help="show this profile (built-in, .toml, or .json of clinfo)")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON (- = standard output)")
    declare(parser, ("--json",), ("--profile",))
    parser.set_defaults(run=_devices)


def _devices(args: argparse.Namespace) -> int:
    from ..render.devices import listing, profile_text

    if args.profile is None:
        found = listing.collect()
        encode, show = partial(listing.to_json, found), partial(listing.show, found)
    else:
        profile = load_profile(args.profile)
        encode, show = partial(profile_text.to_json, profile), partial(profile_text.show, profile)
    if args.json != "-":
        show(sys.stdout)
    write_data(args, encode)
    return 0


def load_profile(name: str | None) -> Profile:
    """A profile by the name of a built-in one, its file, or a device string with its changes; None: the default."""
    from ..backends.open import open_device
    from ..base.errors import AdrenoSimError
    from ..profiles.profile import DEFAULT, load

    if name is None or not name.startswith("sim"):
        return load(name or DEFAULT)
    profile = open_device(name).info.profile
    if profile is None:
        raise AdrenoSimError(f"{name}: expected a simulated device")
    return profile
