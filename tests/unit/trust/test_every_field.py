"""Every field of every file that is read, with values that its type allows and nobody expects: one error in words, or a value.

What is read is used, too, as far as that is quick: a profile answers clGetDeviceInfo, a plan becomes a problem.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import handmade
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adreno_sim.backends.open import open_device
from adreno_sim.base.allow import read_file
from adreno_sim.base.array_files import read_header
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.plan import problem, trace
from adreno_sim.compiler.plan.plan_file import read_plan
from adreno_sim.icd import identity
from adreno_sim.icd.server import open_device as open_server_device
from adreno_sim.icd.settings import DriverSettings
from adreno_sim.icd.trace.archive import open_trace
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.profiles import profile
from adreno_sim.profiles.user_profile import load_profile
from adreno_sim.render.run.html import of_run
from adreno_sim.results.run_report import make_run_report

HARD: list[Any] = [
    -1, 0, 1, (1 << 31) - 1, 1 << 31, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**30, True, False, None, "", ",", "a,b",
    "float32,float32", "f4", "V8", "O", "\0", "x\0y", "\x1b[31m", "\n", "é", "\ud800", "x" * 3000, "../../x", "*", "inf", "nan",
    1.5, math.inf, math.nan, -0.0, [], [(1 << 63) - 1, 4], [-1], [0], ["", ""], [[[]]], {}, {"op": "x"},
]  # fmt: skip

TENSOR = {
    "storage": "s",
    "offset": 0,
    "shape": [2, 4],
    "dtype": "float32",
    "scope": "global",
    "dense_bytes": 32,
    "right_bytes": 32,
}
PLAN = {
    "schema": "adreno-sim/plan/1", "function": "main", "rule": "texture rows of 64 bytes", "accesses_known": True, "model": "m",
    "storages": [{"id": "s", "scope": "global", "planned_bytes": 64, "needed_bytes": 64, "first": 1, "last": 9}],
    "tensors": [
        {"id": f"t{k}", **TENSOR, "first": k, "last": k + 1, "written": k, "call": [1, 2], "symbolic": [4]} for k in (1, 2)
    ],
    "summary": {"storages": 1, "tensors": 2, "planned": 64, "right": 64, "live_lower_bound": 64, "unplanned": 0, "constants": 0},
    "fixed": [{"name": "x", "kind": "input", "shape": [2, 4], "dtype": "float32", "scope": "global", "nbytes": 32}],
    "workspaces": [{"id": "w", "function": "f", "instruction": 2, "nbytes": 8}],
    "symbols": [{"name": "n", "low": 1, "high": 4}], "order": [0, 1],
}  # fmt: skip
ITEM = {
    "id": "a", "size": 64, "start": 0, "end": 2, "scope": "global.texture", "dtype": "float32", "shape": [1, 1, 4],
    "alignment": 64,
}  # fmt: skip
TRACE = {"schema": "adreno-sim/trace/1", "name": "x", "items": [ITEM, {**ITEM, "id": "b", "call": [0, 1], "symbolic": [4]}]}
GIVEN = dict(profile.load("adreno-740").values)
PROFILE = {"profile": {"mine": {"base": "adreno-740", "more_extensions": ["cl_x"], "given": GIVEN}}}
CLINFO = {
    "devices": [{"online": [{
        "CL_DEVICE_NAME": "QUALCOMM Adreno(TM) 740", "CL_DEVICE_VERSION": "OpenCL 3.0 Adreno(TM) 740", "CL_DRIVER_VERSION": "d",
        "CL_DEVICE_EXTENSIONS": "cl_khr_fp16 cl_khr_image2d_from_buffer", "CL_DEVICE_MAX_WORK_ITEM_SIZES": [1024, 1024, 1024],
        "CL_DEVICE_SINGLE_FP_CONFIG": {"raw": 6, "config": ["CL_FP_INF_NAN", "CL_FP_ROUND_TO_NEAREST"]},
        "CL_DEVICE_GLOBAL_MEM_SIZE": 6 << 30, "CL_DEVICE_MAX_COMPUTE_UNITS": 6, "CL_DEVICE_IMAGE_PITCH_ALIGNMENT": 64,
        "CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT": True, "CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE": 64,
    }]}],
}  # fmt: skip
LAUNCH = {
    "source": "k.cl", "kernel": "k", "options": "-DX={n}", "device": "sim:adreno-740,seed=1", "global_size": [4, "n"],
    "local_size": [1, 1], "values": {"n": 1}, "run": {"checks": "full", "timeout": 5, "seed": 1},
    "storage": {"s": {"nbytes": 256}},
    "argument": [
        {"kind": "buffer", "dtype": "float32", "count": 4, "data": {"fill": "random", "seed": 1, "low": 0, "high": 1},
         "storage": "s", "offset": 0, "extent": {"shape": [4], "strides": [4], "offset": 0}},
        {"kind": "scalar", "type": "float", "value": 2.0}, {"kind": "buffer", "dtype": "int8", "data": [1, [2, 3]]},
        {"kind": "image2d", "width": 4, "height": 4, "order": "RGBA", "channel_type": "FLOAT", "row_pitch": 64, "data": "zeros",
         "extent": {"width": 4, "height": 4}},
        {"kind": "sampler", "normalized": False, "addressing": "clamp_to_edge", "filter": "nearest"},
        {"kind": "local", "nbytes": 16},
    ],
    "output": [{"argument": 0, "data": {"fill": "constant", "value": 1.0}, "tolerance": 1e-3}],
    "finding": [{"kind": "data-race", "line": 1, "coordinate": [1]}], "expected": {"function": "r.py:f", "tolerance": 0.1},
}  # fmt: skip
ALLOW = {"allow": [{"kernel": "*", "kind": "data-race", "place": "k.cl:10", "reason": "x", "expires": "2099-06-30"}]}
RECORDING = {
    "format": 2, "command": ["x"], "device": "sim:adreno-740", "checks": "full",
    "sessions": [{"program": "x", "pid": 1, "member": "session-0"}],
}  # fmt: skip


def read_profile(path: Path, tree: Any) -> None:
    path = path / "p.toml"
    path.write_text(toml_text(tree), encoding="utf-8")
    answer(load_profile(str(path)))


def read_dump(path: Path, tree: Any) -> None:
    path = path / "p.json"
    path.write_bytes(json_bytes(tree))
    answer(load_profile(str(path)))


def answer(found: profile.Profile) -> None:
    """All that a program may ask of the device."""
    identity.platform_answers(found)
    identity.device_answers(found)


def read_a_plan(path: Path, tree: Any) -> None:
    path = path / "plan.json"
    path.write_bytes(json_bytes(tree))
    problem.from_plan(read_plan(path)).lower_bound if hasattr(problem.Problem, "lower_bound") else problem.from_plan(
        read_plan(path)
    )


def read_a_trace(path: Path, tree: Any) -> None:
    path = path / "trace.json"
    path.write_bytes(json_bytes(tree))
    trace.read(path)


def read_a_launch(path: Path, tree: Any) -> None:
    path = path / "launch.toml"
    path.write_text(toml_text(tree), encoding="utf-8")
    read_launch(path)


def read_allow(path: Path, tree: Any) -> None:
    path = path / "allow.toml"
    path.write_text(toml_text(tree).replace('"2099-06-30"', "2099-06-30"), encoding="utf-8")
    read_file(path)


def read_recording(path: Path, tree: Any) -> None:
    path = path / "t.asim"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trace.json", json_bytes(tree))
        archive.writestr("session-0", b"")
    with open_trace(path) as (made, _):
        of_run(make_run_report(made.command, made.device, made.checks, 0, []))


def read_bundle(path: Path, tree: Any, members: dict[str, bytes]) -> None:
    path = path / "m.asim"
    held = {**members, "model.json": json_bytes(tree)}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(held.items())}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**held, "digests.json": json.dumps(digests, indent=1).encode()}.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    CompiledModel.load(path)


READERS: dict[str, tuple[Any, Callable[[Path, Any], None]]] = {
    "plan": (PLAN, read_a_plan),
    "trace": (TRACE, read_a_trace),
    "profile": (PROFILE, read_profile),
    "clinfo": (CLINFO, read_dump),
    "launch": (LAUNCH, read_a_launch),
    "allow-list": (ALLOW, read_allow),
    "recording": (RECORDING, read_recording),
}


def json_bytes(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def toml_text(tree: dict[str, Any]) -> str:
    """A tree as TOML, every value inline. A value that TOML lacks becomes another hard one."""
    return "".join(f"{json.dumps(str(key))} = {_toml(value)}\n" for key, value in tree.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, (bool, str)):
        return json.dumps(value).replace("\\ud800", "\\u0007")
    return "nan" if value is None else str(value)


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every field and item: what holds it, and its key there."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from places(value)


def damaged(tree: Any, place: int, value: Any) -> Any:
    """A copy with another value at a place; without it for .... What an earlier damage has emptied has no place."""
    tree = copy.deepcopy(tree)
    found = list(places(tree))
    if not found:
        return tree
    holder, key = found[place % len(found)]
    if value is ...:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(value)
    return tree


values = st.sampled_from([*HARD, ...]) | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers(), max_size=4)


@pytest.mark.parametrize("kind", READERS)
def test_the_files_are_read_as_they_are(kind: str, tmp_path: Path) -> None:
    """Else the damaged ones would be refused for another reason."""
    tree, read = READERS[kind]
    (tmp_path / "r.py").write_text("")
    read(tmp_path, tree)


@pytest.mark.share()
@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), values), min_size=1, max_size=2))
@example(changes=[(0, ...), (1, None)])  # of an allow-list the first leaves nothing
def test_a_damaged_field_is_one_error_or_a_value(kind: str, changes: list[tuple[int, Any]], tmp_path: Path) -> None:
    tree, read = READERS[kind]
    for place, value in changes:
        tree = damaged(tree, place, value)
    with contextlib.suppress(AdrenoSimError):
        read(tmp_path, tree)


@pytest.mark.parametrize(
    ("field", "value"), [("command", []), ("command", ""), ("command", {}), ("sessions", {}), ("sessions", "")]
)
def test_lists_of_a_recording_are_lists(field: str, value: Any, tmp_path: Path) -> None:
    """A command of no words was an internal error of the page."""
    with pytest.raises(AdrenoSimError, match=r"expected the words of a command|expected a list"):
        read_recording(tmp_path, {**RECORDING, field: value})


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1.5, True, "1", -1, 1 << 63, None, []])
def test_the_number_of_a_recorded_process_is_one(value: Any, tmp_path: Path) -> None:
    """Infinity was an OverflowError."""
    session = {**RECORDING["sessions"][0], "pid": value}  # type: ignore[index]
    with pytest.raises(AdrenoSimError, match="expected the number of a process"):
        read_recording(tmp_path, {**RECORDING, "sessions": [session]})


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """The members of bundles of handmade models."""
    path = tmp_path_factory.mktemp("bundles") / "m.asim"
    found = []
    for make in (handmade.branch, handmade.texture, handmade.calls, handmade.symbolic):
        make().save(path)
        with zipfile.ZipFile(path) as archive:
            found.append({info.filename: archive.read(info) for info in archive.infolist() if info.filename != "digests.json"})
    return found


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(which=st.integers(0, 3), place=st.integers(0, 10**6), value=values)
def test_a_damaged_field_of_a_bundle(bundles: list[dict[str, bytes]], which: int, place: int, value: Any, tmp_path: Path) -> None:
    tree = json.loads(bundles[which]["model.json"])
    with contextlib.suppress(AdrenoSimError):
        read_bundle(tmp_path, damaged(tree, place, value), bundles[which])


@pytest.mark.share()
@pytest.mark.parametrize("key", list(profile.FIELDS))
def test_every_value_of_a_profile(key: str, tmp_path: Path) -> None:
    """Some hard values, and lists of them, in the file and in the device string: for each field others."""
    every = [*HARD, *([value] for value in HARD), ["cl_khr_fp16", "\0"], ["a b"], [1, 2, 3], [1 << 63, 1, 1]]
    for value in every[[*profile.FIELDS].index(key) % 4 :: 4]:
        with contextlib.suppress(AdrenoSimError):
            read_profile(tmp_path, {"profile": {"mine": {"base": "adreno-740", "given": {key: value}}}})
        with contextlib.suppress(AdrenoSimError, ValueError):
            answer(open_device(f"sim:adreno-740,{key}={value}").profile)  # type: ignore[attr-defined]


@pytest.mark.parametrize("nbytes", [1, 1 << 45, (1 << 45) + 1, (1 << 62), (1 << 63) - 1])
def test_memory_of_any_size_is_mapped_or_refused(nbytes: int) -> None:
    """By the driver's server, which maps all of it at once."""
    try:
        _, heap = open_server_device(DriverSettings(f"sim:adreno-740,GLOBAL_MEM_SIZE={nbytes}", "bounds", "", False))
    except AdrenoSimError as error:
        assert "GLOBAL_MEM_SIZE" in str(error) or "cannot be mapped" in str(error)
    else:
        os.close(heap.descriptor)


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00", b"PK\x03\x04"]))
def test_any_head_of_an_array_file(data: bytes, magic: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_header(magic + data)
