"""The budget of a memory plan on the command line: a size, or the memory of the device."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from .output import report_stream

if TYPE_CHECKING:
    from ..compiler.plan.rules import DeviceRules

OF_DEVICE = "device"
"""The budget that is the device's memory."""

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_budget(text: str) -> int | str:
    """Bytes of a size as 64MB; `device` unchanged. argparse.ArgumentTypeError for anything else."""
    if text == OF_DEVICE:
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if not match or match[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a size, as 64MB or 64MiB, or {OF_DEVICE}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def resolve_budget(args: argparse.Namespace, rules: DeviceRules) -> None:
    """Replace the budget `device` by the device's memory, and say which that is."""
    from ..base.errors import AdrenoSimError

    if args.budget != OF_DEVICE:
        return
    args.budget = int(rules.limits.get("GLOBAL_MEM_SIZE") or 0)
    if not args.budget:
        raise AdrenoSimError(f"--budget {OF_DEVICE}: {rules.device} does not say how much memory it has; give a size")
    known = f"{args.budget:,}{rules.range_text('GLOBAL_MEM_SIZE')}"
    print(f"budget: GLOBAL_MEM_SIZE of {rules.device} is {known}", file=report_stream(args))
