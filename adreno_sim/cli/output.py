"""Files that commands write: refused before the work where they cannot be written; JSON; SARIF and annotations of findings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


def refuse_unwritable(path: str | None) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    from ..base.errors import AdrenoSimError

    if path in (None, "-"):
        return
    target = Path(str(path))
    if target.is_dir() or not os.access(target.parent, os.W_OK):
        reason = "is a folder" if target.is_dir() else f"folder {target.parent} does not exist or is not writable"
        raise AdrenoSimError(f"cannot write {target}: {reason}")


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Options of every command with findings; `write_outputs` does what they say."""
    parser.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0")
    parser.add_argument("--annotations", action="store_true", help="print the findings as ::error file=,line=:: lines")


def report_stream(args: argparse.Namespace) -> TextIO:
    """Where the report for people goes: to standard error if standard output holds something for a tool."""
    return sys.stderr if args.json == "-" or getattr(args, "dump", None) else sys.stdout


def write_data(args: argparse.Namespace, encode: Callable[[], dict[str, Any]]) -> None:
    """Write what `encode` returns as JSON where --json says: to a file, or to standard output for "-"; nowhere without it."""
    from ..base.json_io import plain_json, print_json, write_json

    if args.json == "-":
        print_json(plain_json(encode()), sys.stdout)
    elif args.json:
        write_json(args.json, plain_json(encode()))


def write_outputs(args: argparse.Namespace, findings: Any, allowed: Any, sources: Any = None) -> None:
    """Write SARIF and annotations where the options ask for them. sources: see `sarif.to_sarif`."""
    from ..base import json_io
    from ..render.report import annotations, sarif

    if args.annotations:
        print(*annotations.lines(findings), sep="\n", end="\n" if findings else "", file=report_stream(args))
    if args.sarif:
        json_io.write_json(args.sarif, sarif.to_sarif(findings, allowed, sources))
