"""CompiledModel: everything needed to run a model, without any compiler object; saved as one file.

The file is a zip: model.json (schema adreno-sim/bundle/1), constants.npz, kernels/NAME.cl, graphs/NAME.json and
digests.json with the SHA-256 of every other member; golden.json and golden.npz where golden results travel along; recorded.npz
where the calls of a session do.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import field, replace
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from ...base.archive import open_zip, read_member, require_room
from ...base.array_files import open_npz
from ...base.bounded_read import parse_json
from ...base.bundle_name import RECORDING, is_bundle_name
from ...base.errors import AdrenoSimError
from ...base.output_file import open_output
from ...base.text.spelling import decode as decode_text
from ...base.text.spelling import encode_exactly
from ...records import dataclass
from . import golden as golden_data
from .golden import GoldenData
from .host_function import HostFunction
from .interface import EntryParam, ResultInfo, TensorInfo, TupleInfo
from .memory_plan import MemoryPlan
from .script import Script
from .serial import SchemaError, decode, encode
from .vm_function import VMFunction

SCHEMA = "adreno-sim/bundle/1"
ENTRY = "main"

CONSTANTS = "constants.npz"
RECORDED = "recorded.npz"
ARRAY_MEMBERS = frozenset({CONSTANTS, RECORDED, golden_data.ARRAYS})

TEXT_LIMIT = 32 << 20
"""Bytes of each other member: JSON and kernels."""


@dataclass(frozen=True)
class KernelParamInfo:
    """One kernel parameter as the compiler declared it. dtype: element (buffer), channel (image) or value (scalar) type."""

    name: str
    kind: Literal["buffer", "image", "scalar"]
    dtype: str
    access: Literal["none", "read", "write", "read_write"] = "none"
    scope: str = ""


@dataclass(frozen=True)
class KernelCode:
    """One OpenCL program with one kernel, built alone with `options`."""

    name: str
    source: str
    params: tuple[KernelParamInfo, ...]
    options: str = ""


@dataclass(frozen=True)
class GraphCode:
    """A subgraph for OpenCL ML: JSON as TVM's runtime loads it, and its constants: name -> key of CompiledModel.constants."""

    name: str
    source: str
    constants: dict[str, str]


@dataclass(frozen=True)
class OffloadDecision:
    """The decision on one candidate for OpenCL ML. operators: their names; reason: why it is offloaded, or falls back to TVM."""

    name: str
    operators: tuple[str, ...]
    flops: int
    offloaded: bool
    reason: str


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model. `functions` holds the VM functions, ENTRY among them; `results` describes ENTRY's value.

    Invariant (checked by `validate`): every kernel, host function, VM function and constant that the host program names
    is present, and each launch passes as many arguments as its kernel has parameters.
    `plan` is the plan as compiled, under the pitch rule the target states; None if input shapes are symbolic.
    `graphs`: subgraphs for OpenCL ML, by name; `offload`: what the policy for them decided.
    `golden`: what the calls of one run should compute, where it was recorded; no part of the model's digest.
    `entries`: of a model for sessions, which has no ENTRY then: the parameters of each function that a session may call.
    `script`: the calls of a session that was saved; `recorded`: the arrays it names.
    """

    name: str
    target: str
    tvm_version: str
    pipeline: str
    fixes: tuple[str, ...]
    inputs: tuple[TensorInfo, ...]
    results: ResultInfo
    kernels: dict[str, KernelCode]
    host_functions: dict[str, HostFunction]
    functions: dict[str, VMFunction]
    constants: dict[str, np.ndarray] = field(compare=False)
    plan: MemoryPlan | None = None
    golden: GoldenData | None = field(default=None, compare=False)
    graphs: dict[str, GraphCode] = field(default_factory=dict)
    offload: tuple[OffloadDecision, ...] = ()
    entries: dict[str, tuple[EntryParam, ...]] = field(default_factory=dict)
    script: Script | None = None
    recorded: dict[str, np.ndarray] = field(default_factory=dict, compare=False)

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The result's tensors, nested tuples flattened in order."""
        return tuple(_flatten(self.results))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bundle, as `open_output` does: a regular file appears complete or not at all."""
        members = _members(self) | (golden_data.to_members(self.golden) if self.golden else {})
        with open_output(path) as file:
            _write_bundle(file, members)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> CompiledModel:
        """Read a bundle. Raises AdrenoSimError if it is missing, damaged, of another schema or inconsistent."""
        members = _read_bundle(Path(path))
        try:
            return _from_members(members)
        except (SchemaError, KeyError, ValueError, AdrenoSimError) as error:
            raise AdrenoSimError(f"{path}: not a valid {SCHEMA} bundle: {error}") from error
        except RecursionError as error:  # from data that are nested less deeply than JSON may be
            raise AdrenoSimError(f"{path}: not a valid {SCHEMA} bundle: nested too deeply") from error

    def digest(self) -> str:
        """SHA-256 of the bundle's contents: equal models have equal digests."""
        return hashlib.sha256(_digests(_members(self))).hexdigest()


def is_compiled(source: object) -> bool:
    """Whether a model's source is a CompiledModel or the path of a bundle."""
    return isinstance(source, CompiledModel) or (isinstance(source, (str, os.PathLike)) and is_bundle_name(source))


def as_compiled(source: Any) -> CompiledModel | None:
    """The CompiledModel that `source` is, or whose bundle's path it is; None for a model to be compiled. Errors as `load`."""
    if not is_compiled(source):
        return None
    return source if isinstance(source, CompiledModel) else CompiledModel.load(source)


def _flatten(info: ResultInfo) -> list[TensorInfo]:
    return [info] if isinstance(info, TensorInfo) else [leaf for item in info.items for leaf in _flatten(item)]


@dataclass(frozen=True)
class _Document:
    """model.json: CompiledModel without constants and kernel sources."""

    schema: str
    name: str
    target: str
    tvm_version: str
    pipeline: str
    fixes: tuple[str, ...]
    inputs: tuple[TensorInfo, ...]
    results: TensorInfo | TupleInfo
    kernels: dict[str, KernelCode]
    host_functions: dict[str, HostFunction]
    functions: dict[str, VMFunction]
    plan: MemoryPlan | None = None
    graphs: dict[str, GraphCode] = field(default_factory=dict)
    offload: tuple[OffloadDecision, ...] = ()
    entries: dict[str, tuple[EntryParam, ...]] = field(default_factory=dict)
    script: Script | None = None


def bundle_schema() -> dict[str, Any]:
    """JSON Schema of model.json."""
    from .serial_schema import json_schema

    schema = json_schema(_Document, "adreno-sim:bundle/1", "A compiled model without its constants and kernel sources")
    schema["properties"]["schema"] = {"const": SCHEMA}
    return schema


_SHARED = (
    "name",
    "target",
    "tvm_version",
    "pipeline",
    "fixes",
    "inputs",
    "results",
    "host_functions",
    "functions",
    "plan",
    "offload",
    "entries",
    "script",
)


def _members(model: CompiledModel) -> dict[str, bytes]:
    bare = {name: replace(kernel, source="") for name, kernel in model.kernels.items()}
    graphs = {name: replace(graph, source="") for name, graph in model.graphs.items()}
    document = _Document(schema=SCHEMA, kernels=bare, graphs=graphs, **{key: getattr(model, key) for key in _SHARED})
    members = {"model.json": json.dumps(encode(document), indent=1, allow_nan=False).encode()}
    members[CONSTANTS] = _npz(model.constants)
    if model.script is not None:
        members[RECORDED] = _npz(model.recorded)
    for name, kernel in model.kernels.items():
        members[f"kernels/{name}.cl"] = encode_exactly(kernel.source)
    for name, graph in model.graphs.items():
        members[f"graphs/{name}.json"] = encode_exactly(graph.source)
    return members


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    """As np.savez, but any key is allowed and equal arrays give equal bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for key, array in sorted(arrays.items()):
            npy = io.BytesIO()
            np.lib.format.write_array(npy, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), npy.getvalue())
    return packed.getvalue()


def _from_members(members: dict[str, bytes]) -> CompiledModel:
    data = parse_json(members["model.json"])
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SCHEMA:
        raise SchemaError(f"model.json: expected schema {SCHEMA!r}, found {found!r}")
    document = decode(_Document, data, "model.json")
    kernels = {name: replace(code, source=decode_text(members[f"kernels/{name}.cl"])) for name, code in document.kernels.items()}
    constants, recorded = _arrays(members[CONSTANTS]), _arrays(members[RECORDED]) if RECORDED in members else {}
    graphs = {name: replace(code, source=decode_text(members[f"graphs/{name}.json"])) for name, code in document.graphs.items()}
    golden = golden_data.from_members(members)
    shared = {key: getattr(document, key) for key in _SHARED}
    model = CompiledModel(kernels=kernels, constants=constants, golden=golden, graphs=graphs, recorded=recorded, **shared)
    from .validate import require_no_files, validate

    validate(model)
    require_no_files(model)
    return model


def _arrays(member: bytes) -> dict[str, np.ndarray]:
    with open_npz(io.BytesIO(member)) as archive:
        return archive.read_all()


def _digests(members: dict[str, bytes]) -> bytes:
    return json.dumps({name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())}, indent=1).encode()


def _write_bundle(target: IO[bytes], members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in {**members, "digests.json": _digests(members)}.items():
            stored = name in ARRAY_MEMBERS  # weights do not shrink, but cost seconds to try
            method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)


def _read_bundle(path: Path) -> dict[str, bytes]:
    """Members of the bundle at `path`, digests checked; what they declare is bounded before any is decompressed."""
    try:
        packed = path.stat().st_size
        with open_zip(str(path)) as archive:
            infos = archive.infolist()
            if RECORDING in archive.namelist():
                raise AdrenoSimError(f"{path}: a recording of adreno-sim run, not a bundle: adreno-sim replay runs it")
            for info in infos:
                if info.filename not in ARRAY_MEMBERS and info.file_size > TEXT_LIMIT:
                    raise ValueError(f"{info.filename}: {info.file_size:,} bytes: expected at most {TEXT_LIMIT:,} of text")
            require_room("its members", sum(info.file_size for info in infos), packed)
            members = {info.filename: read_member(archive, info) for info in infos}
        for name in ARRAY_MEMBERS & set(members):  # archives of their own
            with open_npz(io.BytesIO(members[name])) as arrays:
                require_room(f"arrays in {name}", arrays.nbytes, packed)
    except OSError as error:
        raise AdrenoSimError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise AdrenoSimError(f"{path}: not an adreno-sim bundle, or damaged: {error}") from error
    wanted = members.pop("digests.json", None)
    if wanted is None or "model.json" not in members or CONSTANTS not in members:
        raise AdrenoSimError(f"{path}: not an adreno-sim bundle (expected model.json, {CONSTANTS} and digests.json inside)")
    if wanted != _digests(members):
        raise AdrenoSimError(f"{path}: damaged bundle: its contents do not match its digests; save it again")
    return members
