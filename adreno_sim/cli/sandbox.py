"""`--sandbox`: the wall around the commands that read models, kernels and recordings of others."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..base.trust.confined_path import is_below

COMMANDS = ("bundle", "check", "debug", "footprint", "kernel", "layers", "precision", "replay", "reproduce", "scopes")
"""Commands behind the wall. `sweep` is not, whose children are; of `run`, the driver's servers are."""
SWITCHED = (*COMMANDS, "run", "sweep")
FOLDERS = ("reproduce", "to", "export")
"""Arguments that name a folder to be written."""
PROGRAMS, LOADED_BY_TORCH = ".py", ".pt2"
"""Models that are programs of the user's own: they may read and start what they like. What PyTorch needs to read its own is not
known here."""
TUNING_FILES = ("CLML_TUNING_CACHE", "CLML_TUNNING_CACHE")
"""Variables that name a file which OpenCL ML reads, or replaces."""
MOST = 2000
"""The most files beside and below an input that each get a rule, since every rule takes time. If there are more, the folder is
open.
"""
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


@contextlib.contextmanager
def sandbox_option(args: argparse.Namespace) -> Iterator[None]:
    """Context in which --sandbox off holds, also for the processes and the driver's servers that are started in it."""
    from ..base.wall.enter import SWITCH

    before = os.environ.get(SWITCH)
    if getattr(args, "sandbox", "on") == "off":
        os.environ[SWITCH] = "off"
    try:
        yield
    finally:
        os.environ.pop(SWITCH, None)
        if before is not None:
            os.environ[SWITCH] = before


def enter_sandbox(args: argparse.Namespace, is_program: bool) -> None:
    """Put this process behind the wall, if it is to be. is_program: it is the command line's own, and not somebody's who calls
    `main`. Says in a line on standard error what the wall lacks."""
    from ..base.wall import enter
    from ..base.wall.bytecode import begin_compiling

    if args.command_name == "run" and not enter.is_switched_off() and (missing := enter.find_gaps()):
        print(f"note: sandbox: {missing}", file=sys.stderr)
    if not is_program or args.command_name not in COMMANDS or enter.is_switched_off() or starts_others(args):
        return
    if _is_program(args):
        return
    try:
        missing = _find_reason(args)
        if not missing:
            begin_compiling()
            missing = _enter(args)
    except enter.ThreadsError:  # a module that Python loads at its start, as an environment can ask for, has begun some
        missing = "none, since this Python began threads before the command did (sitecustomize, a .pth file)"
    if missing:
        print(f"note: sandbox: {missing}", file=sys.stderr)


def starts_others(args: argparse.Namespace) -> bool:
    """Whether the work is done by a separate process, which has a wall itself."""
    return bool(getattr(args, "isolate", False)) and getattr(args, "progress_file", None) is None


def _find_reason(args: argparse.Namespace) -> str:
    """Why there is no wall at all; "" if there is one."""
    devices = [getattr(args, "device", None) or os.environ.get("ADRENO_SIM_DEVICE"), getattr(args, "compare_with", None)]
    if any(str(device).partition(":")[0] == "cl" for device in devices if device):
        return "none, since a real device's driver runs programs and keeps its own files"
    if any(Path(word).suffix.lower() == LOADED_BY_TORCH for word in _words(args)):
        return "none, since PyTorch reads the model"
    if getattr(args, "dap", False) and args.launch is None:
        return "none, since an editor names the files (with --launch on the command line there is one)"
    return ""


def _is_program(args: argparse.Namespace) -> bool:
    """Whether the model is a program of the user's own, FILE.py or FILE.py:NAME. Another file of that name does not count, nor
    does any other argument.
    """
    model = getattr(args, "model", None) or getattr(args, "source", None)
    if not isinstance(model, (str, os.PathLike)):
        return False
    named = os.fspath(model)
    return Path(named if os.path.exists(named) else named.partition(":")[0]).suffix.lower() == PROGRAMS


def _enter(args: argparse.Namespace) -> str:
    from ..frontend.sandbox import enter_sandbox

    folders = [str(value) for name in FOLDERS if (value := getattr(args, name, None))]
    named = _named_paths(args)
    read = [place for path in named for place in _readable(path)]
    here = Path.cwd()
    read += [folder / name for folder in (here, *here.parents) for name in CONFIGURATION]
    write = [Path(path) for path in _outputs(args) if os.path.exists(path) and not os.path.isfile(path)]  # a pipe, a device
    write += [Path(path).parent for name in TUNING_FILES if (path := os.environ.get(name))]
    if noted := getattr(args, "progress_file", None):
        write.append(Path(noted).parent)
    if getattr(args, "unsafe_includes", False) or any("unsafe_includes" in word for word in _words(args)):
        read.append(Path("/"))
    listed = [folder for path in named for folder in _folders_of(path)]
    return enter_sandbox(read=[*read, *folders], listed=listed, write=write, outputs=[*_outputs(args), *folders])


def _outputs(args: argparse.Namespace) -> list[str]:
    from .output import find_outputs

    more = getattr(args, "more_outputs", None)
    return [file for _, file in find_outputs(args)] + (more(args) if more else [])


def _words(args: argparse.Namespace) -> Iterator[str]:
    """All texts of the command line, except for outputs."""

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
        if name not in (
            "argv",
            "command_name",
            "progress_file",
            "output_flags",
            "input_names",
            "bundle_flags",
            "more_outputs",
            "parser",
        ):
            yield from (text for text in texts(value) if text and text not in outputs)


def _named_paths(args: argparse.Namespace) -> set[str]:
    """The files and folders that the command line names: as they are, else behind NAME= or -I, or as a part of a device string,
    also of the one in the environment. The root of all folders is none: a part of a word is soon that."""
    found: set[str] = set()
    for word in (*_words(args), os.environ.get("ADRENO_SIM_DEVICE", "")):
        parts = (word.partition("=")[2], *re.split(r"[=:,]|\s+(?:-I)?|^-I", word))
        found.update([word] if os.path.exists(word) else filter(os.path.exists, filter(None, parts)))
    return {path for path in found if os.path.realpath(path) != "/"}


def _folders_of(path: str) -> set[Path]:
    """The folders in which a file lies, by its name and by where links lead; none of a folder."""
    return set() if os.path.isdir(path) else {Path(os.path.realpath(path)).parent, Path(os.path.abspath(path)).parent}


def _readable(path: str) -> Iterator[Path]:
    """What may be read of an input: a folder whole; a file with the files beside and below it, such as weights and headers,
    except for hidden files and folders: beside a file in somebody's home are keys.
    """
    yield Path(path)
    for folder in _folders_of(path):
        found = _unhidden(folder, [MOST])
        yield from [folder] if found is None else found


def _unhidden(folder: Path, left: list[int]) -> list[Path] | None:
    """The files and folders in a folder that are not hidden, a folder with something hidden below it is divided in the
    same way; None if there are more than `left`."""
    found: list[Path] = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    left[0] -= len(entries)
    for entry in entries:
        if left[0] < 0:
            return None
        path = Path(entry)
        if entry.name.startswith(".") or (entry.is_symlink() and not is_below(path, folder)):  # a link may lead anywhere
            continue
        below = _unhidden(path, left) if entry.is_dir(follow_symlinks=False) and _has_hidden(path, left) else [path]
        if below is None:
            return None
        found += below
    return None if left[0] < 0 else found


def _has_hidden(folder: Path, left: list[int]) -> bool:
    """Whether something hidden lies anywhere below a folder."""
    for _, folders, files in os.walk(folder):
        left[0] -= len(folders) + len(files)
        if left[0] < 0 or any(name.startswith(".") for name in (*folders, *files)):
            return left[0] >= 0
    return False
