"""Options that several commands share: how a model is compiled, and with which inputs.

None has a default here: what was not given is not passed on, so that defaults are in one place (`CompileOptions`), and what
was given is known, and refused where it means nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..base.run_options import RunOptions
    from ..results.time_limits import TimeWish

FLOATS = ("float32", "float16")

MOST_DIGITS = 40
"""Characters of a number that a value has at most."""


def shape_argument(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME=DxDx... as (name, sizes)."""
    name, equals, dims = text.rpartition("=")
    sizes = dims.split("x")
    if not equals or not name or not all(re.fullmatch("[0-9]{1,10}", size) and 0 < int(size) < 2**31 for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=DxDx..., as data=1x3x224x224, each below 2^31")
    return name, tuple(int(size) for size in sizes)


def value_argument(text: str) -> tuple[str, bool | int | float]:
    """NAME=NUMBER as (name, number)."""
    name, equals, said = text.rpartition("=")
    number: bool | int | float | None = {"true": True, "false": False}.get(said.lower())
    for read in (int, float):
        if number is None:
            with contextlib.suppress(ValueError):
                number = read(said)
    if not equals or not name or number is None or len(said) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=NUMBER, as sr=16000 or training=false")
    return name, number


def count(text: str) -> int:
    """A number, 0 or more."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, 0 or more")
    return int(text)


def duration(text: str) -> float:
    """A time with its unit, in seconds."""
    from ..results.time_limits import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def layer_numbers(text: str) -> tuple[int, ...]:
    """N[,N...] as numbers."""
    if not re.fullmatch(r"-?[0-9]{1,9}(,-?[0-9]{1,9})*", text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers of layers, as 0,-1 (adreno-sim layers lists them)")
    return tuple(map(int, text.split(",")))


OPTIONS: dict[str, dict[str, Any]] = {
    "--target": {
        "metavar": "TARGET",
        "help": "texture, buffer, clml, clml-texture, or an OpenCL target as TVM takes it: a tag, or JSON such as "
        '{"kind": "opencl", "device": "adreno"} (default: texture)',
    },
    "--entry": {
        "metavar": "NAME",
        "help": "the Relax function that is run, of a module with several (default: main, or the only one)",
    },
    "--pipeline": {
        "choices": ("fixed", "stock"),
        "help": "fixed: TVM's passes with known defects fixed (default); stock: TVM's alone",
    },
    "--without-fix": {
        "action": "append",
        "metavar": "NAME[,NAME...]",
        "help": "leave a fix of the fixed pipeline out, to see its defect (adreno-sim doctor names them)",
    },
    "--dtype": {
        "choices": FLOATS,
        "help": "float16: store tensors in half; outputs may then differ by 2^-8 * sqrt(layers) (default: as the model is)",
    },
    "--accumulate": {
        "choices": FLOATS,
        "help": "with --dtype float16: what convolutions and matrix products sum in (default: float32)",
    },
    "--clml-min-flops": {
        "type": count,
        "metavar": "N",
        "help": "with --target clml: offload subgraphs of at least N operations (default: a cost model decides)",
    },
    "--clml-min-operators": {
        "type": count,
        "metavar": "N",
        "help": "with --target clml: offload subgraphs of at least N operators (default: 1)",
    },
    "--recast": {
        "metavar": "TYPE[:RESULT]",
        "help": "compute convolutions (nn.conv2d) on operands of another type, as float16:float32, int8:int32 or int4; "
        "outputs are then judged against the network as recast",
    },
    "--layout": {
        "metavar": "DATA[:KERNEL]",
        "help": "layout of convolutions: NCHW4c (what texture targets make of them), default (unchanged), or another one, "
        "as NHWC, NHWC:OHWI or HWNC",
    },
    "--skip-layers": {
        "type": layer_numbers,
        "metavar": "N[,N...]",
        "help": "leave these convolutions in their type and layout; negative numbers count from the end, as in --skip-layers=-1 "
        "(adreno-sim layers lists them)",
    },
    "--rule": {
        "choices": ("tvm", "fewest-copies"),
        "help": "where the consumers of a tensor ask for different scopes: as TVM's pass settles it (default), or what most "
        "ask for, copies merged",
    },
    "--weights": {
        "choices": ("buffer", "texture", "relay"),
        "help": "where weights of packed convolutions lie: buffers (default), textures, or as Relay decided: textures, except "
        "for float32 constants of kernels with no extent of 1",
    },
    "--tuned": {"metavar": "DIR", "help": "use schedules that adreno-sim tune found, before TVM's own"},
    "--shape": {
        "action": "append",
        "type": shape_argument,
        "metavar": "NAME=DxDx...",
        "help": "full shape of an input whose dimensions the model leaves open",
    },
    "--input-value": {
        "action": "append",
        "type": value_argument,
        "metavar": "NAME=NUMBER",
        "help": "make a constant of an input: all its elements are this number, and an If of ONNX that it decides is followed",
    },
    "--seed": {"type": count, "metavar": "N", "help": "of weights and inputs that are not given (default: 0)"},
    "--counters": {
        "action": "store_true",
        "help": "also count operations, bytes, and transactions and divergence of waves (simulated devices; runs longer)",
    },
    "--time": {
        "action": "store_true",
        "help": "also predict how long kernels take on the device, with an interval and what bounds them (simulated devices; "
        "docs/time.md)",
    },
    "--max-time": {
        "type": duration,
        "metavar": "TIME",
        "help": "with --time: an error where even the lower end of the interval is above it, as 15ms or 200us",
    },
    "--compare": {
        "metavar": "FILE.json",
        "help": "with --time: hold times against those of an earlier --json, and warn of kernels that became slower",
    },
    "--isa": {
        "action": "store_true",
        "help": "also compile each kernel to the machine code of the device's chip, by Mesa: registers, waves (extra isa)",
    },
    "--isa-of": {"metavar": "CHIP,CHIP", "help": "the same for these chips, side by side: a630,a740"},
    "--all-drivers": {
        "action": "store_true",
        "help": "warn of constructs that any known driver compiles wrongly, not only the device's (driver-erratum)",
    },
    "--every-reading": {
        "action": "store_true",
        "help": "run each launch again under each choice that OpenCL or Qualcomm leaves to the device, and warn of what changes "
        "(depends-on-reading; docs/readings.md)",
    },
    "--input": {"metavar": "FILE", "help": "inputs: .npz by name; .npy or a picture for a model with one input"},
}
"""Flag -> keyword arguments of argparse's add_argument."""

COMPILE = (
    "--target", "--entry", "--pipeline", "--without-fix", "--dtype", "--accumulate", "--recast", "--layout",
    "--skip-layers", "--rule", "--weights", "--clml-min-flops", "--clml-min-operators",
    "--tuned", "--input-value",
)  # fmt: skip
"""How a model becomes kernels."""


SEED_OF_RUNS = "of weights and inputs that are not given, and of the order of work-items at level full (default: 0)"
"""What --seed is where kernels run."""


def add(parser: argparse.ArgumentParser, *flags: str, **helps: str) -> None:
    """Register these of OPTIONS. helps: what to say of some, where that is something else."""
    for flag in flags:
        said = {"help": helps[_destination(flag)]} if _destination(flag) in helps else {}
        parser.add_argument(flag, **{**OPTIONS[flag], **said})


KEYWORDS = {
    "--shape": "shapes",
    "--input-value": "input_values",
    "--input": "inputs",
    "--to": "reproduce",
    "--kernel": "reproduce_kernel",
}
"""Flag -> the keyword of the Python functions, where that is another word."""

_VALUES: dict[str, Callable[[Any], Any]] = {
    "--without-fix": lambda texts: tuple(name for text in texts for name in text.split(",") if name),
    "--shape": dict,
    "--input-value": dict,
}
"""Flag -> what makes the keyword's value of the parsed one."""


def given_options(args: argparse.Namespace, *flags: str) -> dict[str, Any]:
    """The values of those `flags` that the command line has, by keyword of the Python functions."""
    values = {flag: value for flag in flags if (value := _value(args, flag)) is not None}
    return {KEYWORDS.get(flag, _destination(flag)): _VALUES.get(flag, _same)(value) for flag, value in values.items()}


def arguments(args: argparse.Namespace, *flags: str) -> list[str]:
    """Those of the flags that the command line has, as it has them, for another command line."""
    found: list[str] = []
    for flag in flags:
        value = _value(args, flag)
        for one in [] if value is None else value if isinstance(value, list) else [value]:
            found += [flag, str(one)]
    return found


def refuse(args: argparse.Namespace, flags: Iterable[str], reason: str) -> None:
    """AdrenoSimError for the first of the flags that the command line has: it would say nothing here."""
    from ..base.errors import AdrenoSimError

    for flag in flags:
        value = _value(args, flag)
        if not (value is None or value is False or value == []):
            raise AdrenoSimError(f"{flag}: {reason}")


def device_for_all_drivers(args: argparse.Namespace) -> str | None:
    """The device that the command line names, with the option in it where --all-drivers asks for it; None if it names none."""
    from ..base.errors import OptionError
    from ..base.trust.device_string import default_device

    named: str | None = args.device
    if not args.all_drivers:
        return named
    device = named or default_device()
    if not device.startswith("sim:"):
        raise OptionError("device", f"{device}: --all-drivers is for simulated devices: a real one has the driver that it has")
    return f"{device},all_drivers=true"


def level_of_checks(device: str | None, checks: str | None) -> str | None:
    """The level of checks of a command whose default is full; None if the device's string names one, or is not a simulated
    device's.

    device, checks: what the command line names, if anything.
    """
    from ..base.trust.device_string import default_device, options_in

    text = device or default_device()
    if checks is not None or not text.startswith("sim:") or "checks" in options_in(text):
        return checks
    return "full"


TIME = ("--time", "--max-time", "--compare")
"""Options of commands that predict times."""


def time_options(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line asks about time, by keyword of the Python functions. AdrenoSimError for a limit or a baseline without
    --time."""
    if not args.time:
        refuse(args, ("--max-time", "--compare"), "is for predicted times: it needs --time")
    return {"time": args.time, "max_time": args.max_time, "baseline": args.compare}


def time_wish(args: argparse.Namespace, device: str) -> TimeWish | None:
    """What the command line holds times on a simulated device against; None without --time. Raises what is wrong with it before
    anything runs: also UnsupportedError for a device that is not a chip, and AdrenoSimError for a baseline that is none of it."""
    given = time_options(args)
    if not args.time:
        return None
    from ..backends.sim.device_text import read_device
    from ..results.time_limits import TimeWish, read_baseline
    from ..timing.machines import machine_of_profile

    name = machine_of_profile(read_device(device.partition(":")[2])[0]).name
    if given["baseline"] is not None:
        read_baseline(given["baseline"], name)
    return TimeWish(given["max_time"], given["baseline"])


def chips(args: argparse.Namespace) -> tuple[str, ...] | None:
    """Returns the chips whose machine code is asked for: none named is the device's own; None if nobody asks."""
    if args.isa_of is not None:
        return tuple(filter(None, (name.strip() for name in args.isa_of.split(","))))
    return () if args.isa else None


def refuse_counters(chosen: RunOptions) -> None:
    """OptionError for a device that counts, in a command whose report has no counters: it would run longer and say no more."""
    from ..base.errors import OptionError

    if chosen.counters:
        raise OptionError("device", "counters: this command reports none; check and kernel do (--counters)")


def flag_of(keyword: str) -> str:
    """The flag for a keyword of the Python functions."""
    flags = {name: flag for flag, name in KEYWORDS.items()}
    return flags.get(keyword) or "--" + keyword.replace("_", "-")


def _value(args: argparse.Namespace, flag: str) -> Any:
    return getattr(args, _destination(flag))


def _destination(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _same(value: Any) -> Any:
    return value
