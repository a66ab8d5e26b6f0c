"""The first failing launch of a run as a folder that `adreno-sim kernel` runs, to attach to a bug report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...base.launch_folder import WrittenArgument, WrittenLaunch, require_writable, write_folder
from ...base.specs import View
from ...base.trust.table import Input, take_options
from ...device.launch_tables import describe_options, describe_view
from ...device.protocol import Device, LaunchResult
from ...findings import Finding, Severity
from ...launch_spec import scalars
from ...launch_spec.data import DTYPES
from ...memory.storage import poison_word
from ...profiles.profile import is_builtin
from ...records import dataclass
from ..run.observer import FunctionCall, LaunchCall, Observer
from ..run.vm import typed_arguments


@dataclass(frozen=True)
class Snapshot:
    """A launch and the contents of its views before it, None for arguments by value."""

    launch: LaunchCall
    contents: list[np.ndarray | None]


class Reproducer(Observer):
    """Keeps what the launches of one host-function call were given, and writes the first that fails to `folder`.

    kernel: "" any, else only launches of that kernel. written: what was written, in words, "" while nothing was.
    """

    def __init__(self, folder: Path, kernel: str = ""):
        require_writable(folder)
        self.written = ""
        self._folder, self._kernel = folder, kernel
        self._taken: list[Snapshot] = []

    def before_function(self, call: FunctionCall) -> None:
        self._taken.clear()

    def before_launch(self, launch: LaunchCall) -> None:
        if not self.written:
            device = launch.call.device
            contents = [None if isinstance(arg, np.generic) else np.asarray(device.read(arg)) for arg in launch.args]
            self._taken.append(Snapshot(launch, contents))

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        """Write the launch that just ended if it has an error."""
        errors = [finding for finding in result.findings if finding.severity is Severity.ERROR]
        if errors and self._taken:
            self._write(self._taken[-1], _finding_line(errors[0]), {})

    def write_rejected(self, error: Exception) -> None:
        """Write the launch that the device refused."""
        if self._taken:
            self._write(self._taken[-1], str(error).splitlines()[0], {})

    def wrong_value(self, call: FunctionCall, position: int, golden: np.ndarray, finding: Finding) -> None:
        """Write the launch that left argument `position` of `call` wrong, with the contents expected of it."""
        name = call.function.params[position].name
        place = finding.detail.get("index")
        named = place if isinstance(place, tuple) else ()
        for taken in reversed(self._taken):
            for index, (view, param) in enumerate(zip(taken.launch.names, taken.launch.code.params, strict=True)):
                if view == name and param.access in ("write", "read_write"):
                    self._write(taken, _finding_line(finding), {index: golden}, named)
                    return

    def _write(self, taken: Snapshot, why: str, expected: dict[int, np.ndarray], element: Sequence[int] = ()) -> None:
        kernel = taken.launch.code.name
        if self.written or (self._kernel and kernel != self._kernel):
            return
        write_folder(self._folder, describe_launch(taken, why, expected, element))
        self.written = f"kernel {kernel}: {why}"


def _finding_line(finding: Finding) -> str:
    return f"{finding.kind.label}: {finding.message}"


def describe_launch(taken: Snapshot, why: str, expected: dict[int, np.ndarray], element: Sequence[int] = ()) -> WrittenLaunch:
    """The folder's contents for a launch. expected: argument position -> what it should hold afterwards; element: which of its
    elements the finding names."""
    launch = taken.launch
    device = launch.call.device
    shared = _shared_storages(launch)
    keys = {"kernel": launch.code.name, "options": launch.code.options}
    if device.info.profile is not None and is_builtin(device.info.name):
        keys["device"] = f"sim:{device.info.name}"
    sizes = {"global_size": launch.global_size, "local_size": launch.local_size}
    run = take_options(Input.LAUNCH, describe_options(device.options))
    outputs = {index: array if array.dtype.name in DTYPES else _flat(array.reshape(-1)) for index, array in expected.items()}
    return WrittenLaunch(
        launch.code.source,
        {**keys, **sizes},
        _arguments(taken, shared),
        run=run.options,
        storages={name: storage.nbytes for name, storage in shared.values()},
        outputs=outputs,
        elements={index: element for index, array in outputs.items() if len(element) == array.ndim},
        comment=(
            f"launch {launch.index} of a model, on {device.info.name}: {why}",
            *(f"it ran with {said}" for said in run.refused.values()),
        ),
    )


def _shared_storages(launch: LaunchCall) -> dict[int, tuple[str, Any]]:
    """Storages under several arguments, by identity, each with its name in the launch file."""
    storages = [arg.storage for arg in launch.args if not isinstance(arg, np.generic)]
    uses = Counter(map(id, storages))
    found = {id(storage): storage for storage in storages if uses[id(storage)] > 1}
    return {key: (f"storage{number}", storage) for number, (key, storage) in enumerate(found.items())}


def _arguments(taken: Snapshot, shared: dict[int, tuple[str, Any]]) -> list[WrittenArgument]:
    launch = taken.launch
    values = typed_arguments(launch.code, launch.args)
    out = []
    for value, contents, param in zip(values, taken.contents, launch.kernel.params, strict=True):
        name = {"name": param.name} if param.name else {}
        if contents is None:
            assert isinstance(value, np.generic)
            out.append(WrittenArgument({"kind": "scalar", **name, **_scalar(value)}))
            continue
        assert not isinstance(value, np.generic)
        array = _flat(contents.reshape(-1))
        table = {**describe_view(value, array.dtype.name), **name, **_placement(value, shared)}
        fresh = _is_fresh(contents, launch.call.device)
        out.append(WrittenArgument({**table, "data": "unwritten"} if fresh else table, None if fresh else array))
    return out


def _scalar(value: np.generic) -> dict[str, Any]:
    if value.dtype.name in scalars.IN_OPENCL:
        return {"type": scalars.IN_OPENCL[value.dtype.name], "value": value.item()}
    return {"type": "bytes", "value": list(value.tobytes())}


def _placement(view: View, shared: dict[int, tuple[str, Any]]) -> dict[str, Any]:
    name, _ = shared.get(id(view.storage), ("", None))
    return {"storage": name, "offset": view.offset} if name else {}


def _flat(array: np.ndarray) -> np.ndarray:
    """Elements of a dtype that launch files have: others, as booleans, go by their bytes."""
    return array if array.dtype.name in DTYPES else np.ascontiguousarray(array).view(np.uint8)


def _is_fresh(contents: np.ndarray, device: Device) -> bool:
    """Every byte is what fresh memory of a simulated device holds: nothing was written yet."""
    if device.info.profile is None:
        return False
    pattern = np.array([poison_word(device.options.seed)], np.uint64).view(np.uint8)
    data = np.ascontiguousarray(contents).reshape(-1).view(np.uint8)
    whole = data.size // 8 * 8
    return bool((data[:whole].reshape(-1, 8) == pattern).all()) and bool((data[whole:] == pattern[: data.size - whole]).all())
