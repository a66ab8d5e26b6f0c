"""Options that several commands share: how a model is compiled, and with which inputs."""

from __future__ import annotations

import argparse
import re
from typing import Any

FLOATS = ("float32", "float16")


def shape_argument(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME=DxDx... as (name, sizes)."""
    name, equals, dims = text.rpartition("=")
    sizes = dims.split("x")
    if not equals or not name or not all(re.fullmatch("[0-9]{1,10}", size) and 0 < int(size) < 2**31 for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=DxDx..., as data=1x3x224x224, each below 2^31")
    return name, tuple(int(size) for size in sizes)


def count(text: str) -> int:
    """A number, 0 or more."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, 0 or more")
    return int(text)


OPTIONS: dict[str, dict[str, Any]] = {
    "--target": {
        "default": "texture",
        "metavar": "TARGET",
        "help": "texture, buffer, clml, clml-texture, or a tag of TVM's (default: texture)",
    },
    "--pipeline": {
        "default": "fixed",
        "choices": ("fixed", "stock"),
        "help": "fixed: TVM's passes with known defects mended (default); stock: TVM's alone",
    },
    "--without-fix": {
        "action": "append",
        "default": [],
        "metavar": "NAME[,NAME...]",
        "help": "leave a mend of the fixed pipeline out, to see its defect",
    },
    "--dtype": {
        "default": "float32",
        "choices": FLOATS,
        "help": "float16: store tensors in half; outputs may then differ by 2^-8 * sqrt(layers) (default: as the model is)",
    },
    "--accumulate": {
        "default": "float32",
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
        "default": 1,
        "metavar": "N",
        "help": "with --target clml: offload subgraphs of at least N operators (default: 1)",
    },
    "--tuned": {"metavar": "DIR", "help": "use schedules that adreno-sim tune found, before TVM's own"},
    "--shape": {
        "action": "append",
        "default": [],
        "type": shape_argument,
        "metavar": "NAME=DxDx...",
        "help": "full shape of an input whose dimensions the model leaves open",
    },
    "--seed": {"type": int, "default": 0, "help": "of weights and inputs that are not given (default: 0)"},
    "--input": {"metavar": "FILE", "help": "inputs: .npz by name; .npy or a picture for a model with one input"},
}
"""Flag -> what argparse is told of it."""

COMPILE = (
    "--target", "--pipeline", "--without-fix", "--dtype", "--accumulate", "--clml-min-flops", "--clml-min-operators", "--tuned",
)  # fmt: skip
"""How a model becomes kernels."""


def add(parser: argparse.ArgumentParser, *flags: str) -> None:
    """Register these of OPTIONS."""
    for flag in flags:
        parser.add_argument(flag, **OPTIONS[flag])


def without_fix(args: argparse.Namespace) -> tuple[str, ...]:
    """The names of --without-fix, given apart or with commas."""
    return tuple(name for names in args.without_fix for name in names.split(",") if name)


def compile_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """What COMPILE and --shape say, as keywords of `compile_model`, `make_bundle` and `check`."""
    return {
        "target": args.target,
        "pipeline": args.pipeline,
        "without_fix": without_fix(args),
        "dtype": args.dtype,
        "accumulate": args.accumulate,
        "clml_min_flops": args.clml_min_flops,
        "clml_min_operators": args.clml_min_operators,
        "tuned": args.tuned,
        "shapes": dict(args.shape),
    }
