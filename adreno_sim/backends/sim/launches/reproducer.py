"""A launch as a folder that `adreno-sim kernel` runs, with the data of its arguments as they are now."""

from __future__ import annotations

import shlex
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....base.errors import AdrenoSimError
from ....base.launch_folder import WrittenArgument, WrittenLaunch, write_folder
from ....base.processes.lasting_folder import find_lasting_folder
from ....base.run_options import RunOptions
from ....base.specs import BufferSpec, Local, Sampler
from ....base.trust.table import Input, take_options
from ....device.launch_tables import describe_options, describe_view
from ....engine.abi.specialization import Specialization
from ....engine.run.second_run import SWITCH
from ....ir import ir
from ....memory.storage import StorageView
from ....memory.undefined_bits import ALL, undefined_bits
from .launch_config import PreparedLaunch

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}


def report_launch(device: str, options: RunOptions, spec: Specialization, launch: PreparedLaunch, why: str) -> str:
    """Writes a launch as `save_launch` does, and returns what to do with the folder, or why there is none: what differed is said
    in any case."""
    try:
        folder = save_launch(device, options, spec, launch, why)
    except (OSError, AdrenoSimError) as error:
        return f"the launch could not be kept ({error}); report it with the kernel: {SWITCH}=all shows it again"
    file = shlex.quote(f"{folder}/launch.toml")
    return f"report the folder {folder}; {SWITCH}=all adreno-sim kernel --launch {file} shows it again"


def save_launch(device: str, options: RunOptions, spec: Specialization, launch: PreparedLaunch, why: str) -> Path:
    """Writes a launch to a new folder that outlasts the process, and returns that. Raises OSError and AdrenoSimError.

    device: the name of its profile. why: becomes a comment of the launch file, as does what such a file has no key for.
    """
    keys = {"device": f"sim:{device}"}
    run = take_options(Input.LAUNCH, describe_options(options))
    comment = [why, *(f"it ran with {said}" for said in run.refused.values())]
    written = describe_launch(launch, spec.local_size, keys, run.options, comment)
    folder = Path(tempfile.mkdtemp(prefix="adreno-sim-difference-", dir=find_lasting_folder("differences")))
    write_folder(folder, written)
    return folder


def describe_launch(
    launch: PreparedLaunch,
    local_size: Sequence[int] | None,
    keys: Mapping[str, Any],
    run: Mapping[str, Any],
    comment: Sequence[str] = (),
    options: str | None = None,
) -> WrittenLaunch:
    """A launch with the data of its arguments as they are now. keys: of the launch file, besides its own; run: of its [run].
    comment: lines at its top; what such a file has no key for is added. options: of the build, None: those of the kernel."""
    kernel, shared = launch.kernel, _shared_storages(launch.args)
    arguments, left_out = [], []
    for param, arg in zip(kernel.function.params, launch.args, strict=True):
        argument, missing = _describe(param, arg, shared)
        arguments.append(argument)
        left_out += [f"not in this file: {param.name}: {what}" for what in missing]
    total, offset = launch.config.total[: launch.dimensions], launch.config.offset[: launch.dimensions]
    sizes: dict[str, Any] = {"global_size": total}
    sizes |= {} if local_size is None else {"local_size": tuple(local_size)[: launch.dimensions]}
    sizes |= {"global_offset": offset} if any(offset) else {}
    named = {"kernel": kernel.name, "options": kernel.options if options is None else options}
    return WrittenLaunch(
        kernel.source,
        {**named, **keys, **sizes},
        arguments,
        run=run,
        storages={name: storage.nbytes for name, storage in shared.values()},
        comment=[*comment, *left_out],
    )


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
    return WrittenArgument({"kind": "null", **name}), []


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
    array = np.ascontiguousarray(view.array()).reshape(-1)
    undefined = undefined_bits(view)
    if undefined is None or not undefined.any():
        return WrittenArgument(table, array), missing
    if (undefined == ALL).all():
        return WrittenArgument({**table, "data": "unwritten"}), missing
    return WrittenArgument(table, array, undefined), missing
