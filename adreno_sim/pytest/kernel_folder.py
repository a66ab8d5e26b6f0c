"""What a failed `adreno_kernel` leaves behind: its findings, a page, and a folder that `adreno-sim kernel` runs."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import AdrenoSimError
from ..base.json_io import write_json
from ..base.launch_folder import WrittenArgument, WrittenLaunch, write_folder
from ..base.output_file import write_text
from ..base.specs import ImageSpec, Local, Sampler
from ..findings import Finding
from ..launch_spec.data import DTYPES
from ..launch_spec.scalars import IN_OPENCL
from ..render.report import html
from ..results.verdict.finding_json import finding_to_json
from .results import safe_name

if TYPE_CHECKING:
    from .kernels import Image

DEPTH = {"image3d": "depth", "image2d_array": "layers", "image1d_array": "layers"}


def attach(folder: Path, test: str, device: str, launch: WrittenLaunch, findings: Sequence[Finding], said: str) -> Path:
    """Write them to a separate folder below `folder`, which it returns. What an earlier run left there goes away."""
    place = folder / safe_name(test)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    data = {"test": test, "device": device, "message": said, "findings": [finding_to_json(finding) for finding in findings]}
    write_json(place / "report.json", data)
    write_text(place / "report.txt", said + "\n")
    write_text(place / "report.html", html.of_launch(f"{test} on {device}", findings, launch.source, said.splitlines()[0]))
    with contextlib.suppress(AdrenoSimError):
        write_folder(place / "reproduce", launch)
    return place


def describe_launch(
    source: str,
    args: Sequence[Any],
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    kernel: str,
    options: str,
    device: str,
) -> WrittenLaunch:
    """The launch as a folder's contents. args: as the fixture takes them, with their contents before the launch."""
    keys = {"kernel": kernel, "options": options, "device": device, "global_size": list(global_size)}
    keys |= {"local_size": list(local_size)} if local_size else {}
    return WrittenLaunch(source, keys, [_argument(arg) for arg in args], comment=(f"written by a failed test, on {device}",))


def _argument(arg: Any) -> WrittenArgument:
    if isinstance(arg, np.ndarray):
        array = _flat(arg)
        return WrittenArgument({"kind": "buffer", "dtype": array.dtype.name, "count": array.size}, array)
    if isinstance(arg, Local):
        return WrittenArgument({"kind": "local", "nbytes": arg.nbytes})
    if isinstance(arg, Sampler):
        keys = {"normalized": arg.normalized, "addressing": arg.addressing, "filter": arg.filter}
        return WrittenArgument({"kind": "sampler", **keys})
    if hasattr(arg, "spec"):
        return _image(arg)
    if hasattr(arg, "pad"):
        return _scalar(arg.values)
    return _scalar(np.asarray(arg, None if isinstance(arg, np.generic) else ("f4" if isinstance(arg, float) else "i4")))


def _scalar(value: np.ndarray) -> WrittenArgument:
    """A scalar, or a vector of shape (n,); structures and what has no name in OpenCL C by their bytes."""
    name = IN_OPENCL.get(value.dtype.name)
    if name is None:
        return WrittenArgument({"kind": "scalar", "type": "bytes", "value": list(value.tobytes())})
    return WrittenArgument({"kind": "scalar", "type": f"{name}{value.size if value.ndim else ''}", "value": value.tolist()})


def _image(arg: Image) -> WrittenArgument:
    spec: ImageSpec = arg.spec()
    table: dict[str, Any] = {"kind": spec.kind, "width": spec.width}
    table |= {} if spec.kind.startswith("image1d") else {"height": spec.height}
    table |= {DEPTH[spec.kind]: spec.depth_or_layers} if spec.kind in DEPTH else {}
    table |= {"order": spec.order, "channel_type": spec.channel_type}
    return WrittenArgument(table, _flat(arg.array))


def _flat(array: np.ndarray) -> np.ndarray:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat if flat.dtype.name in DTYPES else flat.view(np.uint8)
