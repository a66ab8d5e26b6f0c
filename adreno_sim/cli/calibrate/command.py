"""`adreno-sim calibrate`: measure a real device, and write a profile with which predicted times are of that device."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from ..output import declare, write_data

if TYPE_CHECKING:
    from ...timing.calibration.rates import Measured

SCHEMA = "adreno-sim/calibration/1"

LEAST = 2e-3
"""Seconds that a measured launch takes at least."""

DETAILS = """\
Small kernels run on the device, each with more work until it takes 2 ms by the time of its event: multiply-adds, groups of them,
products that wait for each other over more and more registers, reads of buffers and images of growing size. Nothing else should
run there, and the clock should be up: run it twice.

    adreno-sim calibrate --device cl:0 --base adreno-740 --toml mine.toml
    adreno-sim kernel --launch k.toml --device sim:mine.toml --time        # times by rates of this device: measured

--base names the built-in profile of the device's chip, which has the other values. How groups are counted to units, and cycles to
the clock, are Adreno's: of another device the rates are measured too, and mean less.
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "calibrate",
        help="measure a real device for predicted times",
        description="Measure a real device with small kernels, and write a profile with its rates for --time.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", required=True, metavar="DEVICE", help="cl:... as of devices")
    parser.add_argument("--base", default="adreno-740", metavar="NAME", help="built-in profile of its chip (default: adreno-740)")
    parser.add_argument("--name", default="calibrated", metavar="NAME", help="of the profile (default: calibrated)")
    parser.add_argument("--largest", type=_power, default=64, metavar="MIB", help="largest memory that is read (default: 64)")
    parser.add_argument("--toml", metavar="FILE", help="write the profile, for --device sim:FILE")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured as JSON (- = standard output)")
    declare(parser, ("--json", "--toml"), ())
    parser.set_defaults(run=_calibrate)


def _power(text: str) -> int:
    if not text.isdigit() or len(text) > 4 or int(text) < 16 or int(text) & (int(text) - 1) or int(text) > 1024:
        raise argparse.ArgumentTypeError(f"{text!r:.60}: expected a power of two, from 16 to 1024")
    return int(text)


def _calibrate(args: argparse.Namespace) -> int:
    from ...backends.open import open_device
    from ...base.errors import AdrenoSimError, OptionError
    from ...base.json_io import write_text
    from ...profiles import profile
    from ...timing.calibration.measure import Calibration
    from ...timing.calibration.rates import find_rates

    if args.device.partition(":")[0] != "cl":
        raise OptionError("device", f"{args.device}: expected cl:..., a real device: a simulated one has a model, and no clock")
    if not profile.is_builtin(args.base):
        raise AdrenoSimError(f"--base {args.base}: expected a built-in profile, as adreno-740 (adreno-sim devices lists them)")
    if not args.name.isprintable() or not args.name or profile.is_builtin(args.name):
        raise AdrenoSimError(f"--name {args.name!r}: expected text that names no built-in profile")
    device = open_device(args.device)
    work = Calibration(device, least=LEAST, largest=args.largest << 20, say=lambda step: print(f"  {step}", file=sys.stderr))
    measured = work.measure()
    rates = find_rates(measured)
    if args.toml:
        write_text(args.toml, write_profile(args.name, args.base, device.info.name, rates))
    if args.json != "-":
        _show(device.info.name, rates, measured, work.limits)
    write_data(args, lambda: _to_json(device.info.name, rates, measured, work.limits))
    return 0


def write_profile(name: str, base: str, device: str, rates: dict[str, int]) -> str:
    """Returns the text of a profile file: all rates are given, so that times by it are `measured`."""
    from ...profiles.fields import check_value

    table = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    lines = [
        f"# Measured by adreno-sim calibrate on {' '.join(device.split())}.",
        f"[profile.{table}]",
        f'base = "{base}"',
        "",
        f"[profile.{table}.given]",
        *(f"{key} = {check_value(name, key, value)}" for key, value in rates.items()),
    ]
    return "\n".join(lines) + "\n"


def _show(device: str, rates: dict[str, int], measured: Measured, limits: dict[int, int]) -> None:
    from ...results.time_limits import show_duration
    from ...timing.calibration.rates import find_registers

    print(f"measured on {device}")
    for key, value in rates.items():
        print(f"  {key:<20}{value:>12,}")
    registers = find_registers(measured.chains)
    print(f"  a launch takes {show_duration(measured.launch)}")
    print(
        f"  floats that live in registers: {f'{registers} or more' if registers is not None else f'all {max(measured.chains)}'}"
    )
    print(f"  CL_KERNEL_WORK_GROUP_SIZE by floats: {', '.join(f'{live}: {limit}' for live, limit in limits.items())}")


def _to_json(device: str, rates: dict[str, int], measured: Measured, limits: dict[int, int]) -> dict[str, Any]:
    from ...base.json_io import plain_json
    from ...base.version import __version__

    data = {
        "schema": SCHEMA,
        "version": __version__,
        "device": device,
        "rates": rates,
        "launch_seconds": measured.launch,
        "buffers": [{"bytes": size, "bytes_per_second": rate} for size, rate in measured.buffers.items()],
        "images": [{"bytes": size, "bytes_per_second": rate} for size, rate in measured.images.items()],
        "groups": [{"groups": count, "seconds": seconds} for count, seconds in measured.groups.items()],
        "chains": [{"floats": live, "seconds": seconds} for live, seconds in measured.chains.items()],
        "group_limits": [{"floats": live, "work_items": limit} for live, limit in limits.items()],
    }
    encoded: dict[str, Any] = plain_json(data)
    return encoded
