"""`adreno-sim devices`: simulated profiles and real OpenCL devices; one profile with where each of its values comes from; a
profile made of a dump of a phone; what differs between two."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from .output import declare, write_data

if TYPE_CHECKING:
    from ..profiles.profile import Profile

DETAILS = """\
NAME is a built-in profile: a chip (adreno-740) or a phone (galaxy-s23); a device string (sim:adreno-740,driver=E031.41.03 or
sim:adreno-740,pitch_rule=pixels); a .toml file with one table [profile.NAME] (`base` names a built-in profile, `given` holds the
values that differ); or what `clinfo` says on a device, as a .txt file, or `clinfo --json` as a .json file. All serve as devices
too: --device sim:mine.toml.

    [profile.mine]
    base = "adreno-740"
    without_extensions = ["cl_khr_fp16"]
    given = { LOCAL_MEM_SIZE = 16384, wave_sizes = [64] }

each value is marked: sourced (read in a public dump or table), inferred (not found; from a related device), given (yours). A
value that those who sell a device choose is the smallest that its phones were seen with; the range is after it.

    adb shell clinfo > phone.txt
    adreno-sim devices --from phone.txt --toml phone.toml    # a profile of the phone, and what differs from the built-in one
    adreno-sim devices --profile adreno-740 --against galaxy-s23
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
    parser.add_argument("--from", dest="dump", metavar="DUMP", help="show the profile of a phone: its clinfo, or clinfo --json")
    parser.add_argument("--against", metavar="NAME", help="print only what differs from this profile (--from: of the same chip)")
    parser.add_argument("--toml", metavar="FILE", help="write the profile of --from, for --device sim:FILE")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON (- = standard output)")
    declare(parser, ("--json", "--toml"), ("--profile", "dump", "--against"))
    parser.set_defaults(run=_devices)


def _devices(args: argparse.Namespace) -> int:
    from ..render.devices import listing, profile_text
    from . import options

    if args.dump is not None:
        options.refuse(args, ("--profile",), "names another profile than --from makes")
        return _show_dump(args)
    options.refuse(args, ("--toml",), "is for the profile that --from makes")
    if args.against is not None:
        return _show_difference(args, load_profile(args.profile), load_profile(args.against))
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


def _show_dump(args: argparse.Namespace) -> int:
    from pathlib import Path

    from ..base.output_file import write_text
    from ..profiles.clinfo import find_base, from_clinfo
    from ..render.devices import profile_toml

    profile = from_clinfo(Path(args.dump))
    base = find_base(profile.values)
    if args.toml:
        write_text(args.toml, profile_toml.to_toml(profile, load_profile(base or None)))
    return _show_difference(args, profile, load_profile(args.against or base or None))


def _show_difference(args: argparse.Namespace, profile: Profile, other: Profile) -> int:
    from ..render.devices import profile_difference

    if args.json != "-":
        profile_difference.show(profile, other, sys.stdout)
    write_data(args, partial(profile_difference.to_json, profile, other))
    return 0


def load_profile(name: str | None) -> Profile:
    """A profile by the name of a built-in one, its file, or a device string with its changes; None: the default."""
    from ..backends.open import open_device
    from ..base.errors import AdrenoSimError
    from ..profiles.profile import DEFAULT
    from ..profiles.user_profile import load_profile as load

    if name is None or not name.startswith("sim"):
        return load(name or DEFAULT)
    profile = open_device(name).info.profile
    if profile is None:
        raise AdrenoSimError(f"{name}: expected a simulated device")
    return profile
