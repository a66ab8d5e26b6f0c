"""A launch as a folder that `adreno-sim kernel` runs, with the data of its arguments as they are now."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...base.launch_folder import WrittenArgument, WrittenLaunch, write_folder
from ...base.run_options import RunOptions
from ...base.specs import BufferSpec, Local, Sampler
from ...base.trust.table import Input, take_options
from ...device.launch_tables import describe_options, describe_view
from ...engine.abi.specialization import Specialization
from ...engine.run.second_run import SWITCH
from ...ir import ir
from ...memory.storage import StorageView
from .launch_config import PreparedLaunch

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}


def report_launch(device: str, options: RunOptions, spec: Specialization, launch: PreparedLaunch, why: str) -> str:
    """Writes a launch as `save_launch` does, and returns what to do with the folder."""
    folder = save_launch(device, options, spec, launch, why)
    return f"report the folder {folder}; {SWITCH}=all adreno-sim kernel --launch {folder}/launch.toml shows it again"


def save_launch(device: str, options: RunOptions, spec: Specialization, launch: PreparedLaunch, why: str) -> Path:
    """Writes a launch to a new temporary folder, and returns that.

    device: the name of its profile. why: becomes a comment of the launch file, as does what such a file has no key for.
    """
    kernel, shared = launch.kernel, _shared_storages(launch.args)
    keys = {"kernel": kernel.name, "options": kernel.options, "device": f"sim:{device}"}
    run = take_options(Input.LAUNCH, describe_options(options))
    comment = [why, *(f"it ran with {said}" for said in run.refused.values())]
    if any(launch.config.offset):
        comment.append(f"not in this file: the global offset {launch.config.offset}")
    arguments = []
    for param, arg in zip(kernel.function.params, launch.args, strict=True):
        argument, missing = _describe(param, arg, shared)
        arguments.append(argument)
        comment += [f"not in this file: {param.name}: {what}" for what in missing]
    written = WrittenLaunch(
        kernel.source,
        {**keys, "global_size": launch.config.total, "local_size": spec.local_size},
        arguments,
        run=run.options,
        storages={name: storage.nbytes for name, storage in shared.values()},
        comment=comment,
    )
    folder = Path(tempfile.mkdtemp(prefix="adreno-sim-difference-"))
    write_folder(folder, written)
    return folder


def _shared_storages(args: Sequence[Any]) -> dict[int, tuple[str, Any]]:
    """Returns the storages under several arguments, by identity, each with its name in the launch file."""
    storages = [arg.storage for arg in args if isinstance(arg, StorageView)]
    uses = Counter(map(id, storages))
    found = {id(storage): storage for storage in storages if uses[id(storage)] > 1}
    return {key: (f"storage{number}", storage) for number, (key, storage) in enumerate(found.items())}


def _describe(param: ir.Param, arg: Any, shared: dict[int, tuple[str, Any]]) -> tuple[WrittenArgument, list[str]]:
    """Returns an argument, and what a launch file cannot say of it."""
    name = {"name": param.name} if param.name else {}
    if isinstance(arg, StorageView):
        return _describe_view(name, arg, shared)
    if isinstance(arg, Local):
        return WrittenArgument({"kind": "local", **name, "nbytes": arg.nbytes}), []
    if isinstance(arg, Sampler):
        fields = {"normalized": arg.normalized, "addressing": arg.addressing, "filter": arg.filter}
        return WrittenArgument({"kind": "sampler", **name, **fields}), []
    if isinstance(arg, bytes):
        return WrittenArgument({"kind": "scalar", **name, **_describe_scalar(param.type, arg)}), []
    return WrittenArgument({"kind": "buffer", **name, "dtype": "uint8", "count": 1}), ["a NULL pointer"]


def _describe_scalar(type: ir.Type, data: bytes) -> dict[str, Any]:
    elem, count = (type.elem, type.count) if isinstance(type, ir.Vector) else (type, 1)
    if not isinstance(elem, (ir.Int, ir.Float)) or elem.bits < 8:
        return {"type": "bytes", "value": list(data)}
    kind, names = ("f", _FLOATS) if isinstance(elem, ir.Float) else ("i", _INTEGERS)
    numbers = np.frombuffer(data, f"{kind}{elem.bits // 8}")[:count].tolist()
    return {"type": f"{names[elem.bits]}{count if count > 1 else ''}", "value": numbers if count > 1 else numbers[0]}


def _describe_view(
    name: dict[str, str], view: StorageView, shared: dict[int, tuple[str, Any]]
) -> tuple[WrittenArgument, list[str]]:  # fmt: skip
    dtype = view.spec.dtype if isinstance(view.spec, BufferSpec) else ""
    storage, _ = shared.get(id(view.storage), ("", None))
    table = {**describe_view(view, dtype), **name, **({"storage": storage, "offset": view.offset} if storage else {})}
    missing = [] if view.spec.extent is None else [f"the extent {view.spec.extent} of a tensor in it"]
    marks = view.marks()
    if marks is not None and not marks.view(np.uint8).any():
        return WrittenArgument({**table, "data": "unwritten"}), missing
    if marks is not None and not marks.view(np.uint8).all():
        missing.append("that some of its bytes were never written")
    return WrittenArgument(table, np.ascontiguousarray(view.array()).reshape(-1)), missing
