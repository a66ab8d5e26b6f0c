"""Defaults of options in [tool.adreno-sim] of the pyproject.toml in the working folder.

The command line and a device of the environment go before it. It asks for more checks than a command has by default,
never for fewer, and names no file: a pull request changes it as it does any file of a project.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ...base.errors import AdrenoSimError
from ...base.toml_tables import Table, load_toml
from ...base.trust.device_string import VARIABLE, default_device, options_in
from ...base.trust.table import Input, take_device

FILE, TABLE = "pyproject.toml", "adreno-sim"
FLAGS = ("strict", "notes", "annotations")
"""Options without a value, which a project turns on."""
COMMANDS = ("bundle", "check", "footprint", "kernel", "layers", "precision", "reproduce", "run", "scopes", "tune")
"""Commands whose defaults a project sets."""


def apply_project(args: argparse.Namespace) -> None:
    """Give options that the command line leaves out the values of the project. AdrenoSimError for what a project may not set."""
    path = Path(FILE)
    if args.command_name not in COMMANDS or not path.is_file():
        return
    tool = Table(load_toml(path), path).table("tool")
    if TABLE not in tool:
        return
    table = tool.table(TABLE)
    table.tables("allow")
    values: dict[str, Any] = {name: table.flag(name, False) for name in FLAGS}
    checks, target, device = table.text("checks", None, choices=("full",)), table.text("target", None), _device(table)
    table.finish()
    if getattr(args, "launch", None) is None:  # which says what it runs on
        values["device"] = device
    if args.command_name != "kernel" or args.function is not None:
        values["target"] = target
    for name, value in values.items():
        if value and getattr(args, name, True) in (None, False):
            setattr(args, name, value)
    if checks and getattr(args, "checks", checks) is None and _is_simulated(args):
        args.checks = checks


def _is_simulated(args: argparse.Namespace) -> bool:
    """Whether a level means something to the device; a string that names one goes before the project."""
    text = args.device or default_device()
    return bool(text.startswith("sim:")) and "checks" not in options_in(text)


def _device(table: Table) -> str | None:
    """The simulated device, without options that would check less."""
    text: str | None = table.text("device", None)
    if text is None:
        return None
    try:
        found = take_device(Input.PROJECT, text)
        found.require_all()
    except AdrenoSimError as error:
        raise table.error("device", str(error)) from None
    return None if os.environ.get(VARIABLE) else text
