"""Level full in vectors: the launches that run so, what they find, and that all is as in the code of one work-item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local
from adreno_sim.device.protocol import Device
from adreno_sim.engine.run import launch, optimistic
from adreno_sim.engine.run.compiled_kernel import CompiledKernel
from adreno_sim.engine.run.launch import RawResult
from adreno_sim.findings import Finding
from adreno_sim.memory.storage import StorageView

ITEMS, GROUP = 64, 16


def argument(device: Device, given: Any) -> Any:
    """An array is written whole; (array, first, last) only between these elements; an ImageSpec has no texel written."""
    if isinstance(given, (Local, np.generic)):
        return given
    if isinstance(given, ImageSpec):
        return device.view(device.allocate(device.view_nbytes(given)), given)
    if isinstance(given[0], ImageSpec):
        return lacking(device, *given)
    data, first, last = given if isinstance(given, tuple) else (given, 0, len(given))
    view = device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, data.dtype.name))
    device.write(view, data)
    assert isinstance(view, StorageView)
    assert view.block.valid is not None
    view.block.valid[: first * data.itemsize] = 0
    view.block.valid[last * data.itemsize :] = 0
    view.block.forget()
    return view


def lacking(device: Device, spec: ImageSpec, x: int, y: int) -> Any:
    """An image of which one texel was never written."""
    view = device.view(device.allocate(device.view_nbytes(spec)), spec)
    assert isinstance(view, StorageView)
    device.write(view, np.ones_like(view.array()))
    marks = view.marks()
    assert marks is not None
    marks[..., y, x, :] = 0
    view.block.forget()
    return view


@dataclass
class Outcome:
    """What a launch left: findings, contents and valid bytes of the views."""

    found: list[Finding]
    contents: list[bytes]
    valid: list[bytes]


def launched(emitter: str, source: str, given: Sequence[Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, bool]:
    """The outcome, and whether vectors ran to its end."""
    runs: list[bool] = []

    def run(compiled: CompiledKernel, *args: Any, **options: Any) -> RawResult:
        result = launch.run(compiled, *args, **options)
        runs.append(compiled.module.lanes > 1 and not result.failed)
        return result

    monkeypatch.setattr(optimistic, "launch", SimpleNamespace(run=run))
    device = adreno_sim.open_device("sim:reference", checks="full", cache=False, emitter=emitter)
    args = [argument(device, one) for one in given]
    found = device.launch(device.build(source, "-cl-std=CL2.0")["k"], (ITEMS,), (GROUP,), args).findings
    views = [view for view in args if isinstance(view, StorageView)]
    valid = [view.block.valid.tobytes() for view in views if view.block.valid is not None]
    return Outcome(found, [device.read(view).tobytes() for view in views], valid), runs[-1]


FLOATS = np.arange(4 * ITEMS, dtype=np.float32)
OUT = (np.zeros(4 * ITEMS, np.float32), 0, 0)
UNWRITTEN = ["uninitialized-read"]
THRICE = "for (int n = 0; n < 3; n++)"
ALL = "for (int m = 0; m < 32; m++)"
EIGHT = "float p[8]; for (int n = 0; n <"
TREE = "for (int n = 8; n > 0; n >>= 1) { if (l < n) s[l] += s[l + n]; barrier(CLK_LOCAL_MEM_FENCE); }"
WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"
HALVES, ROOM = "(global const half *)b", "(local half *)s"


def kernel(body: str) -> str:
    return (
        "kernel void k(global float *a, global const float *b, local float *s) { "
        f"int i = get_global_id(0), l = get_local_id(0), g = get_group_id(0); {body} }}"
    )


KERNELS = {  # body; what is given for `b`; whether vectors do it all; kinds of findings
    "a plain copy": ("a[i] = b[i];", FLOATS, True, []),
    "all that is read was written": ("a[i] = b[i + 8];", (FLOATS, 8, 80), True, []),
    "one element too few": ("a[i] = b[i];", (FLOATS, 0, ITEMS - 1), False, UNWRITTEN),
    "nothing was written": ("a[i] = b[2 * i + 1];", (FLOATS, 0, 0), False, UNWRITTEN),
    "read by some alone": ("if (i < 40) a[i] = b[i];", (FLOATS, 0, 40), True, []),
    "read by one too many": ("if (i <= 40) a[i] = b[i];", (FLOATS, 0, 40), False, UNWRITTEN),
    "the same element for all": ("a[i] = b[70];", (FLOATS, 0, 70), False, UNWRITTEN),
    "a vector of which one lane is used": ("a[i] = vload4(i, b).x;", (FLOATS, 0, 253), True, []),
    "a vector of which the last is used": ("a[i] = vload4(i, b).w;", (FLOATS, 0, 253), False, UNWRITTEN),
    "rows of vectors": ("vstore4(vload4(i, b), i, a);", FLOATS, True, []),
    "gathered": ("a[i] = b[(i * 37) & 63];", (FLOATS, 0, 64), True, []),
    "gathered, one too few": ("a[i] = b[(i * 37) & 63];", (FLOATS, 1, 64), False, UNWRITTEN),
    "scattered": ("a[(i * 5) & 63] = b[i];", FLOATS, False, []),  # not seen to be apart: race cells
    "its own output": ("a[i] = b[i]; a[i] = a[i] + 1;", FLOATS, True, []),
    "local memory": (f"s[l] = b[i]; {WAIT} a[i] = s[15 - l];", FLOATS, True, []),
    "local memory that half of them write": (f"if (l < 8) s[l] = b[i]; {WAIT} a[i] = s[15 - l];", FLOATS, False, UNWRITTEN),
    "local memory of the group before": ("a[i] = g == 0 ? 0 : s[l];", FLOATS, False, UNWRITTEN),
    "a tree": (
        f"s[l] = b[i]; {WAIT} {TREE} if (l == 0) a[g] = s[0];",
        FLOATS, True, [],
    ),
    "a tree of what was not written": (
        f"if (l < 15) s[l] = b[i]; {WAIT} {TREE} a[i] = s[l & 1];",
        FLOATS, False, UNWRITTEN,
    ),
    "a private array": (f"{EIGHT} 8; n++) p[n] = b[i] + n; a[i] = p[i & 7] + p[3];", FLOATS, True, []),
    "a private array that lacks one": (f"{EIGHT} 7; n++) p[n] = n; a[i] = p[i & 7];", FLOATS, False, UNWRITTEN),
    "a private array with its initialiser": ("float p[4] = {1, 2}; p[i & 3] += b[i]; a[i] = p[(i + 1) & 3];", FLOATS, True, []),
    "a private array kept over a barrier": (f"float p[4]; p[l & 3] = b[i]; {WAIT} a[i] = p[l & 3];", FLOATS, True, []),
    "a private array kept over a barrier, another element": (
        f"float p[4]; p[l & 3] = b[i]; {WAIT} a[i] = p[(l + (b[0] > 9)) & 1];", FLOATS, False, UNWRITTEN,
    ),
    "a private array through a pointer": ("float p[4]; float *q = p + (i & 1); q[0] = b[i]; a[i] = *q;", FLOATS, True, []),
    "elements that all index alike": (
        "float p[4], r = 0; for (int n = 0; n < 4; n++) p[n] = b[i] + n; for (int n = 0; n < 4; n++) r += p[n]; a[i] = r;",
        FLOATS, True, [],
    ),
    "elements that all index alike, one too few": (
        "float p[4], r = 0; for (int n = 1; n < 4; n++) p[n] = b[i] + n; for (int n = 0; n < 4; n++) r += p[n]; a[i] = r;",
        FLOATS, False, UNWRITTEN,
    ),
    "elements of those that write them": (
        "float p[6]; if (i % 3) p[g] = b[i]; if (i < 60 && i % 3) p[g] += 2; if (i % 3 == 1) a[i] = p[g];", FLOATS, True, [],
    ),
    "elements of those that write them, and of one more": (
        "float p[6]; if (i != 33) p[g] = b[i]; if (i > 5) a[i] = p[g];", FLOATS, False, UNWRITTEN,
    ),
    "sums of those that wrote what they add to": (
        "float p[6]; if (i < 60) p[g] = 1; if (i < 60) { p[g] += b[i]; a[i] = p[g]; }", FLOATS, True, [],
    ),
    "a sum on what one did not write": (
        "float p[6]; if (i < 60) p[g] = 1; if (i <= 60) { p[g] += b[i]; a[i] = p[g]; }", FLOATS, False, UNWRITTEN,
    ),
    "an element written before, and copied over": (
        "struct T { float x[2]; } p, q; p.x[0] = b[i]; q.x[g & 1] = 1; q.x[g & 1] += 2; if (i & 1) p = q; "
        "p.x[g & 1] = b[i]; a[i] = p.x[g & 1];",
        FLOATS, True, [],
    ),
    "elements of two bytes": (
        "short p[4], r = 0; for (int n = 0; n < 4; n++) if (i > n) p[n] = i; for (int n = 0; n < 4; n++) if (i > n) r += p[n]; "
        "a[i] = r;",
        FLOATS, True, [],
    ),
    "elements of vectors": (
        "float4 p[2]; p[g & 1] = vload4(i, b); p[1 - (g & 1)] = 2; a[i] = p[0].y + p[1].y;", FLOATS, True, [],
    ),
    "elements of vectors, of another vector": (
        "float4 p[3]; p[g & 1] = vload4(i, b); p[1 - (g & 1)] = 2; a[i] = p[0].x + p[g & 2].y;", FLOATS, False, UNWRITTEN,
    ),
    "elements kept over a barrier": (
        f"float p[4]; if (l & 1) p[g] = b[i]; {WAIT} if (l & 1) a[i] = p[g];", FLOATS, True, [],
    ),
    "elements kept over a barrier, of one more": (
        f"float p[4]; if (l > 1) p[g] = b[i]; {WAIT} if (l) a[i] = p[g];", FLOATS, False, UNWRITTEN,
    ),
    "a vector that lacks its last": ("float2 v = vload2(i, b); a[i] = v.x + v.y;", (FLOATS, 0, 127), False, UNWRITTEN),
    "triples": ("float3 v = vload3(i, b); ((global float3 *)a)[i] = v;", FLOATS, True, []),
    "triples stored with their padding": ("vstore4(as_float4(vload3(i, b)), i, a);", FLOATS, False, []),
    "halves": (f"a[i] = vload_half(i, {HALVES});", (FLOATS, 0, 32), True, []),
    "halves, two too few": (f"a[i] = vload_half(i, {HALVES});", (FLOATS, 0, 31), False, UNWRITTEN),
    "vectors of halves of which one lane is used": (f"a[i] = vload_half4(i, {HALVES}).y;", (FLOATS, 0, 127), True, []),
    "vectors of halves of which the last is used": (f"a[i] = vload_half4(i, {HALVES}).w;", (FLOATS, 0, 127), False, UNWRITTEN),
    "triples of halves in local memory": (
        f"if (l < 8) vstorea_half3((float3)(b[i]), l, {ROOM}); {WAIT} a[i] = vloada_half3(7 - (l & 7), {ROOM}).z;",
        FLOATS, True, [],
    ),
    "what is between triples of halves in local memory": (
        f"if (l < 8) vstorea_half3((float3)(b[i]), l, {ROOM}); {WAIT} a[i] = vload_half(31 - 4 * (l & 7), {ROOM});",
        FLOATS, False, UNWRITTEN,
    ),
    "a private array of the group before": (
        "float p[8]; if (g == 0) for (int n = 0; n < 8; n++) p[n] = n; a[i] = p[i & 7];", FLOATS, False, UNWRITTEN,
    ),
    "structs": ("struct T { float x, y; } p, q; p.x = b[i]; p.y = 2; q = p; a[i] = q.x + q.y;", FLOATS, True, []),
    "a struct of which one lacks a field": (
        "struct T { float x, y; } p, q; p.x = b[i]; if (i != 5) p.y = 2; q = p; a[i] = q.x + q.y;", FLOATS, False, UNWRITTEN,
    ),
    "a struct of which nobody reads what it lacks": (
        "struct T { float x, y; } p, q; p.x = b[i]; q = p; a[i] = q.x;", FLOATS, True, [],
    ),
    "a struct that some copy": (
        "struct T { float x, y; } p = {b[i], 2}, q = {1, 3}; if (i & 1) q = p; a[i] = q.x + q.y;", FLOATS, True, [],
    ),
    "a struct that some copy to what has no value": (
        "struct T { float x, y; } p = {b[i], 2}, q; if (i & 1) q = p; a[i] = q.y;", FLOATS, False, UNWRITTEN,
    ),
    "a struct copied from one to the next": (
        "struct T { float x[3]; } p, q, r; p.x[0] = b[i]; p.x[1] = 1; p.x[i & 1] = p.x[2] = 4; q = p; r = q; a[i] = r.x[i & 1];",
        FLOATS, True, [],
    ),
    "structs handed on in a loop": (
        "struct T { float x[3]; } p, q, r; p.x[0] = p.x[1] = p.x[2] = 1; q = r = p; "
        "for (int n = 0; n < 3; n++) { r = q; q = p; p.x[i % 3] += b[i]; } a[i] = r.x[g % 3];",
        FLOATS, True, [],
    ),
    "structs handed on in a loop, of which one lacks an element": (
        "struct T { float x[3]; } p, q, r; p.x[0] = p.x[1] = 1; if (i != 20) p.x[2] = 1; "
        "for (int n = 0; n < 3; n++) { if (n) r = q; q = p; p.x[i % 2] += b[i]; } a[i] = r.x[2];",
        FLOATS, False, UNWRITTEN,
    ),
    "a struct with fields of several sizes": (
        "struct T { float x; char c; } p, q; p.x = b[i]; p.c = i; q = p; a[i] = q.x + q.c;", FLOATS, True, [],
    ),
    "an array of each iteration": (
        f"float t = 0; {THRICE} {{ float p[4]; for (int m = 0; m < 4; m++) p[m] = b[i]; t += p[i & 3] + p[n]; }} a[i] = t;",
        FLOATS, True, [],
    ),
    "an array of each iteration, set in the first": (
        f"float t = 0; {THRICE} {{ float p[4]; if (!n) for (int m = 0; m < 4; m++) p[m] = b[i]; t += p[n]; }} a[i] = t;",
        FLOATS, False, UNWRITTEN,
    ),
    "an array of all iterations, set in the first": (
        f"float t = 0, p[4]; {THRICE} {{ if (!n) for (int m = 0; m < 4; m++) p[m] = b[i]; t += p[n]; }} a[i] = t;",
        FLOATS, True, [],
    ),
    "arrays in the iterations of some lanes": (
        f"float q[32]; {ALL} q[m] = 1; {THRICE} if (i & n) {{ float p[32]; {ALL} p[m] = b[i]; q[n] += p[n]; }} a[i] = q[2];",
        FLOATS, True, [],
    ),
    "arrays in the iterations of some lanes, set in the first": (
        f"float t = 0; {THRICE} if (i & 1) {{ float p[32]; if (!n) {ALL} p[m] = b[i]; t += p[n]; }} a[i] = t;",
        FLOATS, False, UNWRITTEN,
    ),
    "structs in the iterations of some lanes": (
        f"float t = 0; {THRICE} if (i & n) {{ struct T {{ float x; char c; }} p; p.x = b[i]; p.c = n; t += p.x + p.c; }} "
        "a[i] = t;",
        FLOATS, True, [],
    ),
    "structs in the iterations of some lanes, one field set in the first": (
        f"float t = 0; {THRICE} if (i & 1) {{ struct T {{ float x; char c; }} p; p.x = b[i]; if (!n) p.c = n; t += p.x + p.c; }} "
        "a[i] = t;",
        FLOATS, False, UNWRITTEN,
    ),
    "a sum on what was not written": ("a[i] = a[i] + b[i];", FLOATS, False, UNWRITTEN),
    "local memory that two write": (f"s[l / 2] = b[i]; {WAIT} a[i] = s[l / 2];", FLOATS, False, ["data-race"]),
    "a variable without a value": ("float v; if (i < 60) v = b[i]; a[i] = v;", FLOATS, False, UNWRITTEN),
    "a race": ("a[i & 7] = b[i];", FLOATS, False, ["data-race"]),
    "out of bounds": ("a[i] = b[i + 200];", FLOATS, False, ["out-of-bounds-read"]),
    "a function on each lane": ("a[i] = sin(b[i]) + fmod(b[i], 3.0f);", FLOATS, True, []),
}  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("name", KERNELS)
def test_findings_and_valid_bytes_are_those_of_one_work_item(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, b, whole, kinds = KERNELS[name]
    given = [OUT, b, Local(4 * GROUP)]
    outcome, fast = launched("spmd", kernel(body), given, monkeypatch)
    assert [finding.kind.label for finding in outcome.found] == kinds
    assert (outcome, False) == launched("scalar", kernel(body), given, monkeypatch)
    assert fast is whole


IMAGES = {
    "texels": ("write_imagef(t, (int2)(i & 15, i >> 4), (float4)(b[i]));", True),
    "texels of some": ("if (i & 1) write_imagef(t, (int2)(i & 15, i >> 4), (float4)(b[i]));", True),
    "one texel by all": ("write_imagef(t, (int2)(0, 0), (float4)(1));", False),
}


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("channel", ["FLOAT", "HALF_FLOAT", "UNORM_INT8"])
def test_texels_written_in_vectors_are_valid(name: str, channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, whole = IMAGES[name]
    source = f"kernel void k(write_only image2d_t t, global const float *b) {{ int i = get_global_id(0); {body} }}"
    given = [ImageSpec("image2d", 16, 4, 1, "RGBA", channel), FLOATS]
    outcome, fast = launched("spmd", source, given, monkeypatch)
    assert (outcome, False) == launched("scalar", source, given, monkeypatch)
    assert fast is whole


@pytest.mark.parametrize("where", ["(int2)(i & 15, i >> 4)", "(int2)(i >> 4, i & 3)"])
def test_texels_nobody_wrote_are_found(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a row, and one by one."""
    body = f"int i = get_global_id(0); a[i] = read_imagef(t, {where}).y;"
    source = f"kernel void k(read_only image2d_t t, global float *a) {{ {body} }}"
    given = [ImageSpec("image2d", 16, 4, 1, "RGBA", "FLOAT"), OUT]
    outcome, fast = launched("spmd", source, given, monkeypatch)
    assert [finding.kind.label for finding in outcome.found] == UNWRITTEN
    assert not fast
    assert (outcome, False) == launched("scalar", source, given, monkeypatch)


@pytest.mark.parametrize(("order", "channel"), [("RGBA", "FLOAT"), ("sRGBA", "UNORM_INT8")])
@pytest.mark.parametrize("where", ["(int2)(i & 15, i >> 4)", "s, (float2)(i & 15, i >> 4)"])
def test_one_texel_that_nobody_wrote(where: str, order: str, channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All lanes read at once, or each in its turn: by a sampler, or a format that vectors do not hold."""
    sampler = "constant sampler_t s = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;"
    given = [(ImageSpec("image2d", 16, 4, 1, order, channel), 15, 3), OUT]
    for items, kinds in ((63, []), (64, UNWRITTEN)):
        body = f"int i = get_global_id(0); if (i < {items}) a[i] = read_imagef(t, {where}).y;"
        source = f"{sampler} kernel void k(read_only image2d_t t, global float *a) {{ {body} }}"
        outcome, fast = launched("spmd", source, given, monkeypatch)
        assert [finding.kind.label for finding in outcome.found] == kinds
        assert (outcome, False) == launched("scalar", source, given, monkeypatch)
        assert fast is (not kinds)


def test_what_lies_outside_an_image_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of the border of an image in which a texel that nobody reads was never written."""
    body = "int i = get_global_id(0); a[i] = read_imagef(t, s, (int2)((i & 15) - (i >> 4), i >> 4)).y;"
    sampler = "constant sampler_t s = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;"
    source = f"{sampler} kernel void k(read_only image2d_t t, global float *a) {{ {body} }}"
    given = [(ImageSpec("image2d", 16, 4, 1, "RGBA", "FLOAT"), 15, 3), OUT]
    outcome, fast = launched("spmd", source, given, monkeypatch)
    assert {finding.kind.label for finding in outcome.found} == {"clamped-read"}
    assert fast
    assert (outcome, False) == launched("scalar", source, given, monkeypatch)
