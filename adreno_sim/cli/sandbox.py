"""`--sandbox`: the wall around the commands that read models, kernels and recordings of others."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMANDS = ("bundle", "check", "footprint", "kernel", "layers", "precision", "replay", "reproduce", "scopes")
"""Commands behind the wall. `sweep` is not, whose children are; of `run`, the driver's servers are."""
SWITCHED = (*COMMANDS, "run", "sweep")
FOLDERS = ("reproduce", "to")
"""Arguments that name a folder to be written."""
CODE = (".py", ".pt2")
"""Models that are programs of Python's, or hold some: they may read and start what their author likes, as any program."""
CONFIGURATION = ("adreno-sim.toml", "pyproject.toml")


def add_option(name: str, parser: argparse.ArgumentParser) -> None:
    """The option, of the commands that have a wall."""
    if name in SWITCHED:
        parser.add_argument(
            "--sandbox",
            choices=("on", "off"),
            default="on",
            help="off: leave files, programs and network open to what runs (default: on; docs/security.md)",
        )
    parser.set_defaults(command_name=name)


def enter_sandbox(args: argparse.Namespace, is_program: bool) -> None:
    """Put this process behind the wall, if it is to be. is_program: it is the command line's own, and not somebody's who calls
    `main`. Says in a line on standard error what the wall lacks."""
    from ..base.wall import enter

    if getattr(args, "sandbox", "on") == "off":
        os.environ[enter.SWITCH] = "off"  # of children and of the driver's servers too
    if args.command_name == "run" and not enter.is_switched_off() and (missing := enter.find_gaps()):
        print(f"note: sandbox: {missing}", file=sys.stderr)
    if not is_program or args.command_name not in COMMANDS or enter.is_switched_off() or _starts_others(args):
        return
    missing = _find_reason(args) or _enter(args)
    if missing:
        print(f"note: sandbox: {missing}", file=sys.stderr)


def _starts_others(args: argparse.Namespace) -> bool:
    """Whether the work is done by a process of its own, which has a wall itself."""
    return bool(getattr(args, "isolate", False)) and getattr(args, "progress_file", None) is None


def _find_reason(args: argparse.Namespace) -> str:
    """Why there is no wall at all; "" where there is one."""
    words = list(_words(args))
    devices = [getattr(args, "device", None) or os.environ.get("ADRENO_SIM_DEVICE"), getattr(args, "compare_with", None)]
    if any(str(device).partition(":")[0] == "cl" for device in devices if device):
        return "none, since a real device's driver runs programs and keeps files of its own"
    if any(Path(word.partition(":")[0]).suffix.lower() in CODE or Path(word).suffix.lower() in CODE for word in words):
        return "none, since a model that is a program may do what any program may"
    return ""


def _enter(args: argparse.Namespace) -> str:
    import tempfile

    from ..base import disk_cache
    from ..base.errors import AdrenoSimError
    from ..base.processes.scratch import make_scratch_folder
    from ..base.wall.enter import Openings, enter
    from ..base.wall.outputs import begin_keeper
    from ..frontend.compiler_paths import compiler_paths

    read = [place for path in _named_paths(args) for place in _readable(path)]
    here = Path.cwd()
    read += [folder / name for folder in (here, *here.parents) for name in CONFIGURATION]
    write = [Path(path) for path in _outputs(args) if not os.path.isfile(path) and os.path.exists(path)]  # a pipe, a device
    folders = [str(value) for name in FOLDERS if (value := getattr(args, name, None))]
    try:
        outside = Path(tempfile.gettempdir())
        scratch = make_scratch_folder("sandbox")
        if disk_cache.is_enabled():
            disk_cache.make_folder(disk_cache.root())
        begin_keeper([*_outputs(args), *folders])
    except OSError as error:
        raise AdrenoSimError(f"--sandbox on: cannot be made: {error.strerror or error}") from error
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    write.append(scratch)
    if noted := getattr(args, "progress_file", None):
        write.append(Path(noted).parent)
    return enter(Openings((*read, *map(Path, folders)), tuple(write), tuple(compiler_paths()), (outside,)))


def _outputs(args: argparse.Namespace) -> list[str]:
    from .output import find_outputs

    return [file for _, file in find_outputs(args)]


def _words(args: argparse.Namespace) -> Iterator[str]:
    """All texts of the command line, but for outputs."""

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, (str, os.PathLike)):
            yield os.fspath(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from texts(item)
        elif isinstance(value, dict):
            for item in value.values():
                yield from texts(item)

    outputs = set(_outputs(args))
    for name, value in vars(args).items():
        if name not in ("argv", "command_name", "progress_file", "output_flags", "input_names", "bundle_flags"):
            yield from (text for text in texts(value) if text and text not in outputs)


def _named_paths(args: argparse.Namespace) -> set[str]:
    """The files and folders that the command line names: as they are, behind NAME=, or as a part of a device string."""
    pieces = {piece for word in _words(args) for piece in (word, word.partition("=")[2], *re.split("[=:,]", word))}
    return {piece for piece in pieces if piece and os.path.exists(piece)}


def _readable(path: str) -> Iterator[Path]:
    """What may be read of an input: a folder whole, a file with the folder in which it lies, as its weights may."""
    real = Path(os.path.realpath(path))
    yield real
    if not real.is_dir():
        yield real.parent
        yield Path(os.path.abspath(path)).parent
