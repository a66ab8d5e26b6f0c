"""Files and folders that are named on a command line: those of another kind than is expected, and empty names."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from pathlib import Path

from ...base.errors import AdrenoSimError, OptionError

KERNELS = (".cl", ".clcpp", ".ocl")
MODELS = (".onnx", ".pt2", ".asim")


def refuse_empty_names(args: argparse.Namespace, names: Iterable[str]) -> None:
    """Raise AdrenoSimError for an option or argument whose value is "", as of a variable that is not set. names: options, and
    arguments by their attributes."""
    for name in names:
        attribute = name.removeprefix("--").replace("-", "_")
        value = getattr(args, attribute, None)
        if "" in (value if isinstance(value, list) else [value]) and args.parser.get_default(attribute) != "":
            raise AdrenoSimError(f"{name if name.startswith('--') else name.upper()}: expected a name, got an empty one")


def refuse_other_kinds(kernels: Iterable[str | None], launch: str | None) -> None:
    """Raise AdrenoSimError if a launch file or a model is named as a kernel, or a kernel as a launch file."""
    for file in filter(None, kernels):
        ending, word = Path(file).suffix.lower(), shlex.quote(file)
        if ending == ".toml":
            raise AdrenoSimError(f"{file}: expected a kernel, as FILE.cl, got a launch file; next: --launch {word}")
        if ending in MODELS:
            raise AdrenoSimError(f"{file}: expected a kernel, as FILE.cl, got a model; next: adreno-sim check {word}")
        if ending == ".py":
            raise AdrenoSimError(f"{file}: expected a kernel, as FILE.cl; --function NAME runs a PrimFunc of a .py file")
    if launch is not None and Path(launch).suffix.lower() in KERNELS:
        told = f"--launch: {launch}: expected a launch file, as SPEC.toml, got a kernel"
        raise AdrenoSimError(f"{told}; next: adreno-sim init {shlex.quote(launch)} writes one")


def find_root(name: str | None) -> Path | None:
    """The folder of --root; None without it. Raises OptionError if there is no such folder."""
    if name is not None and not (name and Path(name).is_dir()):
        raise OptionError("root", f"{name or 'an empty name'}: expected a folder that is there")
    return None if name is None else Path(name)
