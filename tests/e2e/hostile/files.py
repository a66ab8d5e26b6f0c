"""Two thousand damaged files, of every kind that a user hands over or that lies in the cache: the same for one seed."""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import handmade
import numpy as np
from kernels.corpus_cases import CASES

from adreno_sim.compiler.artifact import model as artifact

from .cache_entries import damaged_caches
from .case import Case
from .mutate import damage_bytes, damage_tree, toml_text
from .programs import CORPUS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHARES = {
    "bundle": 350,
    "plan": 250,
    "launch": 400,
    "profile": 250,
    "allow": 150,
    "trace": 200,
    "npy": 150,
    "npz": 150,
    "cache": 100,
}
FILES = sum(SHARES.values())

PROFILE = """[profile.mine]
base = "adreno-740"
without_extensions = ["cl_khr_fp16"]
given = { LOCAL_MEM_SIZE = 16384, wave_sizes = [64], MAX_WORK_GROUP_SIZE = 256, IMAGE2D_MAX_WIDTH = 4096, half = false }
"""
CLINFO = {
    "devices": [{"platform": 0, "online": [{
        "CL_DEVICE_NAME": "QUALCOMM Adreno(TM) 740", "CL_DEVICE_TYPE": {"raw": 4, "type": ["CL_DEVICE_TYPE_GPU"]},
        "CL_DEVICE_VERSION": "OpenCL 3.0 Adreno(TM) 740", "CL_DEVICE_MAX_WORK_GROUP_SIZE": 1024,
        "CL_DEVICE_MAX_WORK_ITEM_SIZES": [1024, 1024, 1024], "CL_DEVICE_IMAGE_PITCH_ALIGNMENT": 64,
        "CL_DEVICE_IMAGE2D_MAX_WIDTH": 16384, "CL_DEVICE_LOCAL_MEM_SIZE": 32768, "CL_DEVICE_GLOBAL_MEM_SIZE": 6 << 30,
        "CL_DEVICE_MAX_MEM_ALLOC_SIZE": 1 << 30, "CL_DEVICE_EXTENSIONS": "cl_khr_fp16 cl_khr_image2d_from_buffer",
    }]}],
}  # fmt: skip
ALLOW = """[[allow]]
kernel = "shift"
kind = "data-race"
place = "k.cl:10"
reason = "only an estimate"
expires = 2099-06-30
[[allow]]
kernel = "*"
kind = "out-of-bounds-read"
reason = "known"
expires = 2001-01-01
"""
TRACE = "id,lower,upper,size,alignment\n" + "".join(f"t{k},{k},{k + 3},{64 * (k + 1)},64\n" for k in range(12))
LAUNCH = 'global_size = [4]\n[[argument]]\nkind = "buffer"\ndtype = "float32"\ndata = {file = "x.npy"}\n'
KERNEL = b"kernel void k(global float *a) { a[get_global_id(0)] *= 2; }\n"


def files(seed: int, only: str = "") -> list[Case]:
    """The cases, each named by its kind and number. only: of this kind."""
    makers: dict[str, Callable[[random.Random, int], list[Case]]] = {
        "bundle": _bundles, "plan": _plans, "launch": _launches, "profile": _profiles, "allow": _allow_files,
        "trace": _traces, "npy": _arrays, "npz": _archives, "cache": damaged_caches,
    }  # fmt: skip
    return [
        Case(f"{kind} {number}", case.args, case.files, case.expected)
        for kind, count in SHARES.items()
        if kind.startswith(only)
        for number, case in enumerate(makers[kind](random.Random(f"{kind} {seed}"), count))
    ]


def models() -> dict[str, bytes]:
    """Bundles of handmade models."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.asim")
        found = {}
        for make in (handmade.branch, handmade.texture, handmade.calls):
            make().save(path)
            found[make.__name__] = path.read_bytes()
        return found


def _bundles(dice: random.Random, count: int) -> list[Case]:
    made = list(models().values())
    cases = []
    for number in range(count):
        data = dice.choice(made)
        data = damage_bytes(data, dice) if number % 4 == 0 else _damage_members(data, dice)
        args = (("check", "m.asim"), ("check", "m.asim", "--checks", "full"), ("footprint", "m.asim"))[number % 3]
        cases.append(Case("", args, {"m.asim": data}))
    return cases


def _damage_members(data: bytes, dice: random.Random) -> bytes:
    """The bundle with one of its members damaged, and the digests that fit it."""
    with zipfile.ZipFile(io.BytesIO(data)) as read:
        members = {name: read.read(name) for name in read.namelist() if name != "digests.json"}
    name = dice.choice([*members, "model.json", "model.json"])
    if name.endswith(".json") and dice.random() < 0.85:
        members[name] = json.dumps(damage_tree(json.loads(members[name]), dice)).encode()
    else:
        members[name] = damage_bytes(members[name], dice)
    return _zip({**members, "digests.json": artifact._digests(members)})


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive that does not say when it was made."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, data in members.items():
            made.writestr(zipfile.ZipInfo(name), data, method)
    return packed.getvalue()


def _plan() -> dict[str, Any]:
    tensor = {
        "storage": "s",
        "offset": 0,
        "shape": [2, 4],
        "dtype": "float32",
        "scope": "global",
        "dense_bytes": 32,
        "right_bytes": 32,
    }
    return {
        "schema": "adreno-sim/plan/1",
        "function": "main",
        "rule": "adreno-740, texture rows of 64 bytes",
        "storages": [
            {
                "id": "s",
                "scope": "global",
                "planned_bytes": 64,
                "needed_bytes": 64,
                "first": 1,
                "last": 9,
                "planned": True,
                "why": "",
            }
        ],
        "tensors": [
            {"id": f"t{k}", **tensor, "first": k, "last": k + 1, "origin": "add_one", "written": k, "read": k + 1}
            for k in range(1, 6)
        ],
        "summary": {
            "storages": 1,
            "tensors": 5,
            "planned": 64,
            "right": 64,
            "live_lower_bound": 64,
            "unplanned": 0,
            "constants": 0,
        },
        "fixed": [{"name": "x", "kind": "input", "shape": [2, 4], "dtype": "float32", "scope": "global", "nbytes": 32}],
        "accesses_known": True,
        "model": "handmade",
    }


def _plans(dice: random.Random, count: int) -> list[Case]:
    made = models()["texture"]
    uses = (
        ("footprint", "p.json", "--planners", "all"),
        ("footprint", "p.json", "--html", "/dev/null", "--svg", "/dev/null"),
        ("check", "m.asim", "--plan", "p.json"),
        ("footprint", "good.csv", "--compare", "p.json"),
        ("footprint", "p.json", "--measure"),
    )
    footprint = {
        "schema": "adreno-sim/footprint/1",
        "source": "x",
        "rule": "r",
        "tensors": 5,
        "plan": _plan(),
        "lives": [{"id": "t1", "start": 1, "end": 2, "size": 32}],
        "planners": [{"planner": "arena", "total": 64, "ratio": 1.0}],
    }
    cases = []
    for number in range(count):
        args = uses[number % len(uses)]
        tree = damage_tree(footprint if "--compare" in args else _plan(), dice)
        data = json.dumps(tree).encode()
        cases.append(
            Case(
                "",
                args,
                {"p.json": damage_bytes(data, dice) if number % 7 == 0 else data, "m.asim": made, "good.csv": TRACE.encode()},
            )
        )
    return cases


def _launches(dice: random.Random, count: int) -> list[Case]:
    cases = []
    for number in range(count):
        path = dice.choice(CASES)
        data = path.read_bytes()
        data = damage_bytes(data, dice) if number % 4 == 0 else _damaged_toml(data, dice)
        variant = ("--variant", "clean") if number % 5 == 1 else ()
        found = {"k.cl": path.with_suffix(".cl").read_bytes(), "launch.toml": data}
        cases.append(Case("", ("kernel", "k.cl", "--launch", "launch.toml", *variant), found))
    return cases


def _damaged_toml(data: bytes, dice: random.Random) -> bytes:
    return toml_text(damage_tree(tomllib.loads(data.decode()), dice)).encode("utf-8", "replace")


def _profiles(dice: random.Random, count: int) -> list[Case]:
    cases = []
    for number in range(count):
        if number % 2:
            name, data = "p.json", json.dumps(damage_tree(CLINFO, dice)).encode()
        else:
            name, data = "p.toml", _damaged_toml(PROFILE.encode(), dice)
        if number % 6 == 0:
            data = damage_bytes(data, dice)
        uses = (
            ("devices", "--profile", name),
            ("kernel", "k.cl", "--launch", "launch.toml", "--device", f"sim:{name}"),
            ("layout", "image2d", "4x4", "--profile", f"sim:{name}"),
            ("footprint", "good.csv", "--device", f"sim:{name}"),
        )
        launch = LAUNCH.replace('data = {file = "x.npy"}', 'count = 4\ndata = "ones"').encode()
        cases.append(
            Case(
                "",
                uses[number % 4 if number % 3 else 1],
                {name: data, "k.cl": KERNEL, "launch.toml": launch, "good.csv": TRACE.encode()},
            )
        )
    return cases


def _allow_files(dice: random.Random, count: int) -> list[Case]:
    path = CORPUS / "data-race" / "struct_assignment.cl"
    found = {
        "k.cl": path.read_bytes(),
        "launch.toml": path.with_suffix(".toml").read_bytes().replace(b"[[finding]]", b"[[found]]"),
    }
    found["launch.toml"] = path.with_suffix(".toml").read_bytes().partition(b"[[finding]]")[0]
    cases = []
    for number in range(count):
        own = number % 3 > 0
        text = ALLOW if own else ALLOW.replace("[[allow]]", "[[tool.adreno-sim.allow]]")
        data = damage_bytes(text.encode(), dice) if number % 4 == 0 else _damaged_toml(text.encode(), dice)
        name = "adreno-sim.toml" if own else "pyproject.toml"
        cases.append(Case("", ("kernel", "k.cl", "--launch", "launch.toml"), {**found, name: data}))
    return cases


def _traces(dice: random.Random, count: int) -> list[Case]:
    cases = []
    for number in range(count):
        if number % 4 == 3:
            items = [{"id": f"t{k}", "start": k, "end": k + 3, "size": 64 * k, "alignment": 64} for k in range(1, 6)]
            name, data = (
                "t.json",
                json.dumps(damage_tree({"schema": "adreno-sim/trace/1", "name": "t", "items": items}, dice)).encode(),
            )
        elif number % 4 == 2:
            rows = damage_tree([row.split(",") for row in TRACE.splitlines()], dice)
            name, data = (
                "t.csv",
                "\n".join(",".join(map(str, row)) if isinstance(row, list) else str(row) for row in rows).encode(
                    "utf-8", "replace"
                ),
            )
        else:
            name, data = "t.csv", damage_bytes(TRACE.encode(), dice)
        more = (("--planners", "all"), ("--html", "/dev/null"), ())[number % 3]
        cases.append(Case("", ("footprint", name, *more), {name: data}))
    return cases


def _npy(array: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.save(packed, array)
    return packed.getvalue()


def _damaged_npy(dice: random.Random) -> bytes:
    """An array file with its bytes damaged, or its header alone."""
    shape, dtype = dice.choice([(4,), (2, 2), (), (0,), (4, 1)]), dice.choice(["<f4", ">f4", "<f8", "|b1", "<c8", "<U4"])
    data = _npy(np.zeros(shape, dtype))
    return damage_bytes(data, dice) if dice.random() < 0.5 else damage_bytes(data[:128], dice) + data[128:]


def _arrays(dice: random.Random, count: int) -> list[Case]:
    args = ("kernel", "k.cl", "--launch", "launch.toml")
    return [Case("", args, {"k.cl": KERNEL, "launch.toml": LAUNCH.encode(), "x.npy": _damaged_npy(dice)}) for _ in range(count)]


def _archives(dice: random.Random, count: int) -> list[Case]:
    made = models()["branch"]
    good = _zip({"c.npy": _npy(np.array(True)), "x.npy": _npy(np.zeros((2, 4), np.float32))})
    cases = []
    for number in range(count):
        method = dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        names = dice.sample(["c.npy", "x.npy", "x", "../x.npy", "y.npy"], 2)
        data = damage_bytes(good, dice) if number % 2 else _zip({name: _damaged_npy(dice) for name in names}, method)
        cases.append(Case("", ("check", "m.asim", "--input", "x.npz"), {"m.asim": made, "x.npz": data}))
    return cases
