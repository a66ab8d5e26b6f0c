"""Files that commands write: refused before the work where they cannot be written or would overwrite another; JSON; SARIF and
annotations of findings."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

OUTPUTS, INPUTS, BUNDLES = "output_flags", "input_names", "bundle_flags"
"""Attributes of parsed arguments: what `declare` said."""

REPORTED, CHECKED = "is_reported", "outputs_are_checked"
"""Attributes of parsed arguments: a report was written; `refuse_outputs` let all outputs pass."""

_REPORT = re.compile(
    rb'\{\s*"schema": "adreno-sim/(failure|report|launch-report|run|sweep|footprint|session-footprint|scopes|layers|layout'
    rb'|devices|doctor|precision|tune|time|machine-code|readings)/|\{\s*"\$schema": "[^"]*sarif|<!doctype html>'
)
"""How reports begin, and no input but a report itself."""

PRINTED = ("--json",)
"""Flags whose value - is standard output."""


def declare(
    parser: argparse.ArgumentParser, outputs: Sequence[str], inputs: Sequence[str] = (), bundles: Sequence[str] = ()
) -> None:
    """Say which options of a command name files that it writes and reads; positional arguments by their names.

    bundles: those of `outputs` that write bundles. `refuse_outputs`, which `main` calls before the command runs, holds them all
    against each other.
    """
    parser.set_defaults(**{OUTPUTS: tuple(outputs), INPUTS: tuple(inputs), BUNDLES: tuple(bundles)})


def refuse_outputs(args: argparse.Namespace) -> None:
    """AdrenoSimError before the work where an output cannot be written, or is the same file as another output or an input."""
    from ..base.errors import AdrenoSimError
    from ..base.output_file import identify
    from .shell.named_files import refuse_empty_names

    refuse_empty_names(args, (*getattr(args, OUTPUTS, ()), *getattr(args, INPUTS, ())))
    written: dict[object, str] = {}
    for flag, file in find_outputs(args):
        if reason := _find_obstacle(flag, file, flag in getattr(args, BUNDLES, ())):
            raise AdrenoSimError(f"{flag}: {reason}")
        key = identify(file)
        if key is not None and key in written:
            raise AdrenoSimError(f"{flag} {file}: the same file as {written[key]}: one would overwrite the other; name another")
        written[key] = f"{flag} {file}"
    refuse_overwriting(args, [file for name in getattr(args, INPUTS, ()) for file in _values(args, name)])
    setattr(args, CHECKED, True)


def refuse_overwriting(args: argparse.Namespace, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """AdrenoSimError if an output is one of the files that are read."""
    from ..base.errors import AdrenoSimError
    from ..base.output_file import identify

    written = {identify(file): f"{flag} {file}" for flag, file in find_outputs(args)}
    for file in inputs:
        key = identify(file)
        if key is not None and key in written:
            setattr(args, CHECKED, False)
            raise AdrenoSimError(f"{written[key]}: would overwrite an input, {os.fspath(file)}; name another file")


def find_outputs(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Flag and file of everything that is written, but what is printed."""
    named = [(flag, file) for flag in getattr(args, OUTPUTS, ()) for file in _values(args, flag)]
    return [(flag, file) for flag, file in named if flag not in PRINTED or file != "-"]


def _find_obstacle(flag: str, file: str, is_bundle: bool) -> str:
    from ..base.bundle_name import find_wrong_name
    from ..base.output_file import find_obstacle

    if file == "-":
        return f"-: expected a file; only {PRINTED[0]} takes - for standard output (which is the file /dev/stdout)"
    if reason := find_obstacle(file):
        return f"cannot write {file}: {reason}"
    wrong = find_wrong_name(file) if is_bundle else ""
    return wrong and f"{file}: {wrong}"


def _values(args: argparse.Namespace, flag: str) -> list[str]:
    """What the command line gives for an option or argument: nothing, a file, or several."""
    value = getattr(args, flag.removeprefix("--").replace("-", "_"))
    return [] if value in (None, "") else value if isinstance(value, list) else [value]


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Options of every command with findings; `write_outputs` does what they say."""
    parser.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0")
    parser.add_argument("--annotations", action="store_true", help="print the findings as ::error file=,line=:: lines")


def command_line(args: argparse.Namespace) -> str:
    """What was typed, for reports that are read later."""
    return shlex.join(["adreno-sim", *args.argv])


def report_stream(args: argparse.Namespace) -> TextIO:
    """Where the report for people goes: to standard error if standard output holds something for a tool."""
    return sys.stderr if args.json == "-" or getattr(args, "dump", None) else sys.stdout


def write_data(args: argparse.Namespace, encode: Callable[[], dict[str, Any]]) -> None:
    """Write what `encode` returns as JSON where --json says: to a file, or to standard output for "-"; nowhere without it."""
    from ..base.json_io import plain_json, print_json, write_json

    setattr(args, REPORTED, True)
    if args.json == "-":
        print_json(plain_json(encode()), sys.stdout)
    elif args.json:
        write_json(args.json, plain_json(encode()))


def write_failure(args: argparse.Namespace, code: int, text: str, diagnostics: Iterable[object]) -> None:
    """Write why there is no report where the command line asks for one, as JSON, SARIF or a page. Nothing behind a report, if
    outputs were refused, or over a file that is not a report: it may be an input that the command did not read yet.
    text: as printed on standard error."""
    from ..base.errors import AdrenoSimError
    from ..base.json_io import print_json, write_json, write_text
    from ..render.failure import formats

    data, sarif, page = (getattr(args, name, None) for name in ("json", "sarif", "html"))
    if getattr(args, REPORTED, False) or not getattr(args, CHECKED, False) or not (data or sarif or page):
        return
    with contextlib.suppress(AdrenoSimError, OSError):
        if data == "-":
            print_json(formats.to_json(code, text, diagnostics), sys.stdout)
        elif data and _is_report(data):
            write_json(data, formats.to_json(code, text, diagnostics))
        if sarif and _is_report(sarif):
            write_json(sarif, formats.to_sarif(code, text, diagnostics))
        if page and _is_report(page):
            write_text(page, formats.to_page(code, text, command_line(args)))


def _is_report(file: str) -> bool:
    """Whether a file is a report of an earlier run, or is not there, or is a device as a pipe."""
    if not os.path.isfile(file):
        return True
    with open(file, "rb") as opened:
        return _REPORT.match(opened.read(1000)) is not None


def write_build_error(args: argparse.Namespace, diagnostics: Iterable[object]) -> None:
    """Write annotations of what a compiler says where --annotations asks for them."""
    from ..base.text.stream import print_commands
    from ..render.report import annotations

    if args.annotations:
        print_commands(annotations.diagnostic_lines(diagnostics), report_stream(args))


def write_outputs(
    args: argparse.Namespace, findings: Any, allowed: Any, sources: Any = None, checks: str = "", program: str = ""
) -> None:
    """Write SARIF and annotations where the options ask for them. sources, checks, program: see `sarif.to_sarif`."""
    if args.annotations:
        from ..base.text.stream import print_commands
        from ..render.report import annotations

        print_commands(annotations.lines(findings), report_stream(args))
    if args.sarif:
        from ..base import json_io
        from ..render.report import sarif

        json_io.write_json(args.sarif, sarif.to_sarif(findings, allowed, sources, checks, program))


def write_model_outputs(args: argparse.Namespace, model: Any, findings: Any, allowed: Any, sources: Any, checks: str) -> None:
    """As `write_outputs`, of kernels that a compiler made of a model: at the model's file, if it is one."""
    from dataclasses import replace

    from ..render.report.model_places import place_at_model

    if isinstance(model, str) and os.path.isfile(model):
        findings = place_at_model(findings, model)
        allowed = [replace(item, finding=place_at_model([item.finding], model)[0]) for item in allowed]
    write_outputs(args, findings, allowed, sources, checks)
